"""Kernels with random shapes and numbers, right and wrong, for a build with sanitizers: ``make sanitize``.

    python tests/_kernels/random_calls.py SECONDS [SEED]

Every kernel of the table is called with shapes drawn anew, at every instruction set that the machine has, with one and with
several threads, and held to its definition; then the core itself with arguments that do not fit, which must raise. A
sanitizer ends the process at the first read or write that is not the kernel's own.
"""

from __future__ import annotations

import collections
import os
import re
import sys
import time
from typing import Any

import numpy as np
import test_called_wrongly as wrong
from kernel_cases import TABLE, assert_follows, run

from badac._kernels import COMPILED, NUMPY
from badac._kernels.compiled import levels

_LARGEST = 40  # of a length: small enough for a sanitizer, over every width of vectors and tiles


def right(rng: np.random.Generator, counts: collections.Counter[str]) -> None:
    """One kernel with a shape of its own: as its definition, and no bit different with threads."""
    name = str(rng.choice(list(TABLE)))
    row = TABLE[name]
    typical = row.sizes[int(rng.integers(0, len(row.sizes)))]
    # Lengths near those of the table, whose makers know which of them hang together.
    size = tuple(int(np.clip(n + rng.integers(-1, 2), 1, _LARGEST)) if n > 1 else n for n in typical)
    os.environ["BADAC_SIMD"] = str(rng.choice(levels()))
    try:
        arguments = row.make(*size)
    except (ValueError, IndexError):
        size = typical
        arguments = row.make(*size)
    alone = run(COMPILED, name, arguments)
    for found, expected in zip(run(COMPILED, name, arguments, n_threads=3), alone, strict=True):
        np.testing.assert_array_equal(found, expected)
    if rng.random() < 0.2:
        assert_follows(COMPILED, NUMPY, name, typical)
    counts["right"] += 1


def wrongly(rng: np.random.Generator, counts: collections.Counter[str]) -> None:
    """The core with one argument replaced by another: an exception, or a result if it happens to fit."""
    name = str(rng.choice(list(wrong.CALLS)))
    names = re.findall(r"(\w+): ", getattr(wrong.CORE, name).__doc__)
    changed: dict[str, Any] = {
        str(rng.choice(names)): _ODD[int(rng.integers(0, len(_ODD)))](rng)
        for _ in range(int(rng.integers(1, 3)))
    }
    try:
        wrong.CALLS[name](**changed)
        counts["wrong that fit"] += 1
    except (TypeError, ValueError, RuntimeError, MemoryError):
        counts["wrong and refused"] += 1


_ODD = (
    lambda rng: rng.standard_normal(int(rng.integers(0, 6))),
    lambda rng: rng.standard_normal((int(rng.integers(0, 5)), int(rng.integers(0, 5)))),
    lambda rng: rng.standard_normal(
        (int(rng.integers(0, 4)), int(rng.integers(0, 4)), int(rng.integers(0, 4)))
    ),
    lambda rng: rng.integers(-3, 9, int(rng.integers(0, 6))),
    lambda rng: rng.choice([2**63 - 1, -(2**63), 2**31, -1, 0], int(rng.integers(1, 6))),
    lambda rng: rng.integers(-3, 9, int(rng.integers(0, 6))).astype(np.int32),
    lambda rng: rng.integers(-(2**31), 2**31 - 1, int(rng.integers(0, 6))).astype(np.int32),
    lambda rng: np.full((3, 2), rng.choice([np.nan, np.inf, 1e308, 5e-324])),
    lambda rng: int(rng.choice([0, -1, 1, 2, 7])),
    lambda rng: None,
    lambda rng: "text",
)


def main() -> None:
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rng, counts, end = np.random.default_rng(seed), collections.Counter[str](), time.time() + seconds
    np.seterr(all="ignore")
    while time.time() < end:
        for _ in range(10):
            right(rng, counts)
        for _ in range(50):
            wrongly(rng, counts)
    said = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
    print(f"random calls, seed {seed}: {said}, instruction sets {', '.join(levels())}")


if __name__ == "__main__":
    main()

"""Every kernel of the table in ``tests/_kernels/kernel_cases.py``: the core beside its definition, and on two threads.

Milliseconds of the clock, the best of some runs; agreement is what the tests of the same table check.

Run: python benchmarks/kernels.py [kernel ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from badac._kernels import COMPILED, NUMPY

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "_kernels"))
from kernel_cases import TABLE


def milliseconds(job: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="kernel", help="all if none is named")
    chosen = parser.parse_args().kernels or list(TABLE)
    if COMPILED is None:
        sys.exit("the core is not built here")
    print(f"{'kernel':24}{'sizes':>22}{'definition':>12}{'core':>10}{'2 threads':>11}{'ratio':>8}")
    for name in chosen:
        row = TABLE[name]
        arguments = row.make(*row.busy)
        slow = milliseconds(lambda n=name, a=arguments: getattr(NUMPY, n)(**a), 2)
        one, two = (
            milliseconds(lambda n=name, a=arguments, t=t: getattr(COMPILED, n)(**a, n_threads=t), 20)
            for t in (1, 2)
        )
        sizes = " x ".join(map(str, row.busy))
        print(f"{name:24}{sizes:>22}{slow:>12.1f}{one:>10.2f}{two:>11.2f}{slow / one:>8.0f}")


if __name__ == "__main__":
    main()

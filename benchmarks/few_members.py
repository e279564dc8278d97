"""Classes of few members, with and without the spread that classes borrow from each other.

    python -m benchmarks.few_members                     # seeds 500 to 515
    python -m benchmarks.few_members --write-docs        # and the place default:few of docs/default.md

Gaussian classes with known noise (`benchmarks.default_tables.noisy`). The classes have one spread, or spreads whose logarithms
scatter by a half from class to class and column to column: there nothing is to be borrowed. Without it: the same fit with
`badac.classes.population.pooled_spread.with_pooled_spread` put out of use.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.default import badac
from benchmarks.default_tables import Table, noisy
from reproduction.marked import write_into

PAGE = Path(__file__).resolve().parents[1] / "docs" / "default.md"
POOLED = "badac.estimators.fitting.with_pooled_spread"
# Objects to learn from, columns, classes.
SIZES = ((8, 4, 2), (16, 4, 2), (30, 10, 3), (60, 10, 3), (40, 20, 4))
SCATTERS = (0.0, 0.5)
N_OBJECTS = 800


def table(seed: int, size: tuple[int, int, int], scatter: float) -> Table:
    """Gaussian classes; the logarithms of their spreads scatter by so much."""
    n_train, m, classes = size
    centres = np.random.default_rng(seed + 10_000).standard_normal((classes, m))
    rng = np.random.default_rng(seed)
    label = rng.integers(classes, size=N_OBJECTS)
    spread = 0.7 * np.exp(scatter * rng.standard_normal((classes, m)))
    values = centres[label] + spread[label] * rng.standard_normal((N_OBJECTS, m))
    return noisy(values, label, seed, n_train=n_train)


def loss(made: Table, seed: int) -> float:
    p = np.clip(badac(made, seed), 1e-12, 1.0)
    return float(-np.log(p[np.arange(len(p)), made.truth]).mean())


def compared(size: tuple[int, int, int], scatter: float, seeds: list[int]) -> np.ndarray:
    """Return (seeds, 2): log-loss without the pooled spread, and with it."""
    out = []
    for seed in seeds:
        made = table(seed, size, scatter)
        with patch(POOLED, lambda training: training.scales):
            without = loss(made, seed)
        out.append((without, loss(made, seed)))
    return np.array(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(500, 516)))
    parser.add_argument("--write-docs", action="store_true", help="write the table into docs/default.md")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| objects, columns, classes | one spread: without | with | gain | spreads that differ: without | with | gain |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        cells = ["{} objects of {} columns in {} classes".format(*size)]
        for scatter in SCATTERS:
            found = compared(size, scatter, chosen.seeds)
            gain = found[:, 0] - found[:, 1]
            cells += [f"{each:.3f}" for each in found.mean(axis=0)]
            cells.append(f"{gain.mean():+.3f} +- {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}")
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    if chosen.write_docs:
        write_into(PAGE, {"default:few": "\n".join(lines)})


if __name__ == "__main__":
    main()

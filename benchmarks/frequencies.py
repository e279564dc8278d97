"""Class frequencies of new objects, found by `adapt`: what is gained where they differ from the training's, and lost elsewhere.

    python -m benchmarks.frequencies                     # seeds 510 to 513
    python -m benchmarks.frequencies --write-docs        # and the place default:frequencies of docs/default.md

Tables of `benchmarks.default_tables`. Their new objects are judged as they are, and as those of a sky with other frequencies:
each class is more or less frequent by a factor of e, drawn at random (log-normal), and 300 new objects are drawn by that.
Log-loss of all new objects, weighed accordingly, with the frequencies of the training, those of `adapt`, the most likely ones
(EM, Saerens et al. 2002, what is usually taken), and the true ones.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt

from badac import BADACClassifier
from badac.calibration.class_frequencies import ClassFrequencies, estimate_frequencies
from badac.judge import Judgement
from benchmarks.default_tables import TABLES, Table
from reproduction.marked import write_into

FloatArray = npt.NDArray[np.float64]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "default.md"
CHOSEN = (
    "asteroids",
    "asteroids, noise",
    "supernovae",
    "stars, noise",
    "X-ray sources, noise",
    "cells, 2 %",
    "five spirals (2)",
    "iris, noise",
    "500 columns",
    "30 objects (10)",
    "8 objects (4)",
)
NEW, TURNS, EM_STEPS = 300, 5, 2000


def most_likely(log_match: FloatArray, start: FloatArray) -> FloatArray:
    """Return shares (k,) by EM on log evidence (n, k)."""
    match, share = np.exp(log_match - log_match.max(axis=1, keepdims=True)), start
    for _ in range(EM_STEPS):
        responsibility = match * share
        share = (responsibility / responsibility.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.maximum(share, 1e-6)


def log_loss(judged: Judgement, share: FloatArray, truth: npt.NDArray[np.int64], weight: FloatArray) -> float:
    """Log-loss of objects with other class frequencies, each object weighed."""
    found = judged.with_frequencies(ClassFrequencies(share, np.zeros_like(share))).log_proba
    return float(-(weight * found[np.arange(len(truth)), truth]).sum() / weight.sum())


def compared(table: Table, seed: int) -> FloatArray:
    """Return (5,): what new objects gain over the training's frequencies.

    Objects as they are, by `adapt` and by EM; objects of other frequencies, by `adapt`, by EM and by the true ones.
    """
    noise = {"noise": "poisson"} if table.counted else {}
    model = BADACClassifier(**noise, random_state=seed).fit(table.train, table.label)
    fitted, rng = model.fitted_, np.random.default_rng(seed)
    judged = fitted.judge(table.test)
    truth = np.searchsorted(model.classes_, table.truth)
    known, count = np.exp(fitted.log_prior), np.bincount(truth, minlength=len(model.classes_))
    whole = np.ones(len(truth))

    def gains(rows: npt.NDArray[np.int64], weight: FloatArray) -> list[float]:
        match = judged.calibrated[rows]
        tried = (
            estimate_frequencies(match, fitted.log_prior, len(table.label)).share,
            most_likely(match, known),
        )
        before = log_loss(judged, known, truth, weight)
        return [before - log_loss(judged, share, truth, weight) for share in tried]

    same = gains(np.arange(len(truth)), whole)
    other = []
    for _ in range(TURNS):
        share = np.where(count > 0, known * rng.lognormal(size=len(known)), 0.0)
        share /= share.sum()
        weight = (share / np.maximum(count, 1))[truth]
        rows = rng.choice(len(truth), NEW, p=weight / weight.sum())
        true = log_loss(judged, known, truth, weight) - log_loss(
            judged, np.maximum(share, 1e-6), truth, weight
        )
        other.append([*gains(rows, weight), true])
    return np.array([*same, *np.mean(other, axis=0)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(510, 514)))
    parser.add_argument("--write-docs", action="store_true", help="write the table into docs/default.md")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| table | the same frequencies: `adapt` | most likely | others: `adapt` | most likely | the true ones |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in CHOSEN:
        found = np.mean([compared(TABLES[name](seed), seed) for seed in chosen.seeds], axis=0)
        lines.append(f"| {name} | " + " | ".join(f"{gain:+.3f}" for gain in found) + " |")
        print(lines[-1], flush=True)
    if chosen.write_docs:
        write_into(PAGE, {"default:frequencies": "\n".join(lines)})


if __name__ == "__main__":
    main()

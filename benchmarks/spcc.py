"""Simulated DES supernovae (SPCC, Kessler et al. 2010): classes of raw griz light curves, with and without the host's redshift.

    python -m benchmarks.spcc measure random --draw 0            one draw of 1,103 training objects, 1,000 test objects
    python -m benchmarks.spcc measure random --draw 0 --redshift
    python -m benchmarks.spcc measure spectroscopic              the challenge's biased training set
    python -m benchmarks.spcc write                              the table of docs/light_curves.md, from all that was measured

Peers see weighted means in ten bins of time around the brightest point in each band, their errors, the peak's flux and, where
it is given, the redshift with its error, each training object three times with noise added. Times are CPU seconds on one core.
The data are looked for in ../shared/data/spcc beside the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score

from badac import BADACClassifier, Measurements
from badac.data import add_noise, align_at_peak, concatenate, from_table
from badac.data.gridding import Grid
from reproduction.marked import write_into

DATA = Path(__file__).parents[2] / "shared" / "data" / "spcc"
RESULTS = Path(__file__).parent / "results" / "spcc.json"
DOCUMENT = Path(__file__).parents[1] / "docs" / "light_curves.md"
N_TRAIN, N_TEST = 1103, 1000
COPIES, NOISE = (
    3,
    0.1,
)  # of a training object for the peers, and the noise added to all but the first, in the peak's flux


def load(redshift: bool) -> tuple[Measurements, np.ndarray, np.ndarray]:
    """Curves from their peaks, labels, and which objects are of the spectroscopic set."""
    table = pd.read_parquet(DATA / "objects.parquet")
    points = pd.read_parquet(DATA / "light_curves.parquet")
    found = from_table(points, objects=table, columns=["host_photoz"]) if redshift else from_table(points)
    order = table.set_index("object_id").loc[found.ids]
    return (
        align_at_peak(found.objects),
        order.label.to_numpy(str),
        (order.split == "spectroscopic").to_numpy(),
    )


def bins(objects: Measurements, grid: Grid) -> np.ndarray:
    """What the peers see."""
    there = grid.apply(objects.without_columns())
    sigma = np.where(there.observed, there.sigma, np.nan)
    beside = [np.column_stack(column) for name, column in objects.columns.items() if name != "peak_time"]
    return np.nan_to_num(np.hstack([there.values, sigma, *beside]), nan=-9.0, posinf=-9.0)


def measure(split: str, draw: int, redshift: bool, n_train: int = N_TRAIN) -> list[dict[str, Any]]:
    objects, label, spectroscopic = load(redshift)
    rng = np.random.default_rng(1000 + draw)
    if split == "random":
        order = rng.permutation(len(label))
        train, test = order[:n_train], order[-N_TEST:]
    else:
        train, rest = np.flatnonzero(spectroscopic), np.flatnonzero(~spectroscopic)
        test = rng.choice(rest, N_TEST, replace=False)
    about = {"split": split, "draw": draw, "redshift": redshift, "n_train": len(train)}
    rows = []

    def note(name: str, classes: Any, proba: np.ndarray, fit: float, each: float) -> None:
        truth, ia = label[test], list(classes).index("Ia")
        row = {
            **about,
            "model": name,
            "accuracy": float((np.asarray(classes)[proba.argmax(axis=1)] == truth).mean()),
            "log_loss": float(log_loss(truth, np.clip(proba, 1e-9, 1.0), labels=list(classes))),
            "auc": float(roc_auc_score(truth == "Ia", proba[:, ia])),
            "fit_seconds": fit,
            "microseconds": 1e6 * each,
        }
        print(row, flush=True)
        rows.append(row)

    grid = Grid(np.linspace(-50.0, 100.0, 11), 4, np.ones(40, dtype=np.bool_))
    copies = [objects[train], *(add_noise(objects[train], NOISE, rng) for _ in range(COPIES - 1))]
    seen, many = bins(concatenate(copies), grid), np.tile(label[train], COPIES)
    for name, peer in (
        ("random forest", RandomForestClassifier(300, min_samples_leaf=2, random_state=0)),
        ("extra trees", ExtraTreesClassifier(300, min_samples_leaf=2, random_state=0)),
    ):
        begin = time.process_time()
        peer.fit(seen, many)
        middle = time.process_time()
        proba = peer.predict_proba(bins(objects[test], grid))
        note(name, peer.classes_, proba, middle - begin, (time.process_time() - middle) / len(test))
    begin = time.process_time()
    model = BADACClassifier(random_state=0).fit(objects[train], label[train])
    middle = time.process_time()
    proba = model.predict_proba(objects[test])
    note("badac", model.classes_, proba, middle - begin, (time.process_time() - middle) / len(test))
    begin = time.process_time()
    model.log_evidence(objects[test])
    rows[-1]["evidence_microseconds"] = 1e6 * (time.process_time() - begin) / len(test)
    if split != "random":
        estimated = BADACClassifier(random_state=0, priors="estimate").adopt(model.fitted_)
        estimated.beside_, estimated.n_features_in_ = model.beside_, model.n_features_in_
        note("badac, priors estimated", model.classes_, estimated.predict_proba(objects[test]), 0.0, 0.0)
    return rows


def keep(rows: list[dict[str, Any]]) -> None:
    """Add results to the file; those of the same draw and model are replaced."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    keys = ("split", "draw", "redshift", "n_train", "model")
    new = {tuple(row[key] for key in keys) for row in rows}
    kept = [row for row in known if tuple(row[key] for key in keys) not in new]
    RESULTS.write_text(json.dumps([*kept, *rows], indent=1) + "\n")


def table(rows: list[dict[str, Any]]) -> str:
    frame = pd.DataFrame(rows)
    lines = [
        "| training | redshift | model | draws | accuracy | log-loss | AUC of Ia | fit, CPU s | an object, microseconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups = frame.groupby(["split", "n_train", "redshift", "model"], sort=True)
    for (split, count, redshift, model), own in groups:
        fit = f"{own.fit_seconds.mean():.1f}" if own.fit_seconds.mean() else ""
        each = f"{own.microseconds.mean():.0f}" if own.microseconds.mean() else ""
        lines.append(
            f"| {split}, {count} | {'host photo-z' if redshift else 'none'} | {model} | {len(own)} | {own.accuracy.mean():.3f} "
            f"| {own.log_loss.mean():.3f} | {own.auc.mean():.3f} | {fit} | {each} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "write"])
    parser.add_argument("split", nargs="?", default="random", choices=["random", "spectroscopic"])
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--n-train", type=int, default=N_TRAIN)
    parser.add_argument("--redshift", action="store_true")
    said = parser.parse_args()
    if said.what == "write":
        write_into(DOCUMENT, {"spcc": table(json.loads(RESULTS.read_text()))})
        return
    keep(measure(said.split, said.draw, said.redshift, said.n_train))


if __name__ == "__main__":
    main()

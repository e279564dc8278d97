"""Each class left out of training in turn: are its objects found? Raw curves of real stars (ASAS) and supernovae (OSC).

    python -m benchmarks.new_classes asas           each class of stars in turn, on the fixed split
    python -m benchmarks.new_classes osc
    python -m benchmarks.new_classes asas --only RRab Mira
    python -m benchmarks.new_classes write          the table of docs/light_curves.md, from all that was measured

Ours is the default on curves at their own points. Stars are folded at the period of the table, phase 0 where their smoothed
curve is faintest, less their mean, with the period beside them; supernovae are aligned at the catalogue's peak. Peers see the
same curves as weighted means in bins with their errors, and what stands beside them. The data are looked for in ../shared/data.
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
from sklearn.metrics import roc_auc_score

from badac import BADACClassifier, Measurements
from badac.data import fold, read
from benchmarks.bins import Grid
from benchmarks.real import DATA, RARE, DataSet, supernovae
from benchmarks.strangeness import on_columns
from reproduction.marked import write_into

RESULTS = Path(__file__).parent / "results" / "new_classes.json"
DOCUMENT = Path(__file__).parents[1] / "docs" / "light_curves.md"
PHASES = 20  # bins of a folded star
TITLES = {"asas": "stars (ASAS, raw)", "osc": "supernovae (OSC, raw)"}


def stars(folder: Path) -> DataSet:
    """Raw light curves, folded, less their mean; the logarithm of the period beside them."""
    import pandas as pd

    found = read(folder / "light_curves.parquet", labels=folder / "objects.parquet")
    table = pd.read_parquet(folder / "objects.parquet").set_index("object_id").loc[found.ids]
    period = np.asarray(table["period"], dtype=np.float64)
    curves, weight = found.objects, np.where(found.objects.observed, found.objects.sigma, np.inf) ** -2.0
    level = np.nansum(weight * curves.values, axis=1) / weight.sum(axis=1)
    level_free = Measurements(curves.values - level[:, None], curves.sigma, at=curves.at)
    binned = Grid(np.linspace(0.0, 1.0, PHASES + 1), 1, np.ones(PHASES, dtype=np.bool_)).apply(
        fold(level_free, period)
    )
    filled = np.where(binned.observed, binned.values, 0.0)
    smooth = filled + 0.5 * (np.roll(filled, 1, axis=1) + np.roll(filled, -1, axis=1))
    faintest = (smooth.argmax(axis=1) + 0.5) / PHASES  # magnitudes
    folded = fold(level_free, period, epoch=faintest * period)
    assert found.label is not None
    return DataSet(
        "asas",
        folded.with_columns({"period": (period, np.zeros(len(period)))}),
        found.label,
        np.asarray(table["split"] == "train"),
    )


def load(name: str) -> DataSet:
    if name == "asas":
        return stars(DATA / "asas_variables")
    found = supernovae(DATA / "osc_sn_bvri")
    return DataSet("osc", found.objects, found.label, found.is_train)


def columns_of(objects: Measurements, grid: Grid) -> np.ndarray:
    """What the peers see: bins, their errors, and the logarithm of what stands beside the curve."""
    there = grid.apply(objects.without_columns())
    sigma = np.where(there.observed, there.sigma, np.nan)
    beside = [
        np.log(np.maximum(values, 1e-9))
        for name, (values, _) in objects.columns.items()
        if name != "peak_time"
    ]
    return np.nan_to_num(np.column_stack([there.values, sigma, *beside]), nan=-9.0, posinf=-9.0)


def measure(data: DataSet, left_out: str) -> list[dict[str, Any]]:
    """AUC of the test objects of one class among those of the others, by models that have not seen it."""
    split = data.fixed()
    known, is_new = split.train_label != left_out, split.test_label == left_out
    begin = time.process_time()
    model = BADACClassifier(random_state=0).fit(split.train[known], split.train_label[known])
    scores = {"badac": model.anomaly_score(split.test)}
    seconds = time.process_time() - begin
    grid = Grid.of(split.train)
    scores |= on_columns(columns_of(split.train[known], grid), columns_of(split.test, grid))
    rows = []
    for name, score in scores.items():
        rows.append({"set": data.name, "left out": left_out, "model": name})
        rows[-1]["auc"] = float(roc_auc_score(is_new, score))
        print(rows[-1], flush=True)
    rows[0]["seconds"] = seconds
    return rows


def keep(rows: list[dict[str, Any]]) -> None:
    """Add results to the file; those of the same class and model are replaced."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    keys = ("set", "left out", "model")
    new = {tuple(row[key] for key in keys) for row in rows}
    kept = [row for row in known if tuple(row[key] for key in keys) not in new]
    RESULTS.write_text(json.dumps([*kept, *rows], indent=1) + "\n")


def table() -> str:
    """AUC by class left out and model, and their means."""
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if not rows:
        return "Not measured yet."
    models = ["badac", "isolation forest", "local outlier factor", "autoencoder"]
    lines = ["| left out | " + " | ".join(models) + " |", "|---" * (1 + len(models)) + "|"]
    for name, title in TITLES.items():
        own = [row for row in rows if row["set"] == name]
        found: dict[str, list[float]] = {model: [] for model in models}
        for left_out in sorted({row["left out"] for row in own}):
            cells = []
            for model in models:
                (auc,) = [r["auc"] for r in own if (r["left out"], r["model"]) == (left_out, model)]
                found[model].append(auc)
                cells.append(f"{auc:.2f}")
            lines.append(f"| {title}: {left_out} | " + " | ".join(cells) + " |")
        if own:
            means = [f"{np.mean(found[model]):.2f}" for model in models]
            lines.append(f"| {title}: mean | " + " | ".join(means) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*TITLES, "write"])
    parser.add_argument("--only", nargs="+", help="classes to leave out; all of them by default")
    said = parser.parse_args()
    if said.what == "write":
        write_into(DOCUMENT, {"new classes": table()})
        return
    data = load(said.what)
    for left_out in said.only or sorted(set(data.label) - set(RARE[data.name])):
        keep(measure(data, left_out))


if __name__ == "__main__":
    main()

"""Simulated DES supernovae (SPCC, Kessler et al. 2010): classes of raw griz light curves, with and without the host's redshift.

    python -m benchmarks.spcc measure random --draw 0            one draw of 1,103 training objects, 1,000 test objects
    python -m benchmarks.spcc measure random --draw 0 --redshift
    python -m benchmarks.spcc measure random --n-train 300       of the learning curve; --only badac leaves the peers out
    python -m benchmarks.spcc measure spectroscopic              the challenge's biased training set
    python -m benchmarks.spcc new II --draw 0                    a class that training does not have: is it found?
    python -m benchmarks.spcc injected --draw 0                  anomalies put into curves: are they found, and where?
    python -m benchmarks.spcc sweep --draws 5 --minutes 9        all that has no result of this commit, the most telling first
    python -m benchmarks.spcc six-bands                          time to learn from 400 objects in six bands
    python -m benchmarks.spcc double-peaks --draws 5             lists of curves in six bands with a second peak
    python -m benchmarks.spcc own-points                         time of the anomaly hypotheses where they alone are the score
    python -m benchmarks.spcc files --objects 100000             `badac rank` of a long Parquet file: time, and memory by size
    python -m benchmarks.spcc speed [--redshift] [--turns 3]     where the time of an object goes, beside its arithmetic
    python -m benchmarks.spcc write                              the tables of docs/light_curves.md, from all that was measured

Peers see weighted means in ten bins of time around the brightest point in each band, their errors, the peak's flux and, where
it is given, the redshift with its error, each training object three times with noise added. Times are CPU seconds on one core.
LightGBM is left out where it is not installed.
The data are looked for in ../shared/data/spcc beside the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest, RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score

from badac import BADACClassifier, Measurements
from badac.data import add_noise, align_at_peak, concatenate, from_table
from benchmarks.bins import Grid
from benchmarks.strangeness import on_columns
from reproduction.marked import write_into

DATA = Path(__file__).parents[2] / "shared" / "data" / "spcc"
RESULTS = Path(__file__).parent / "results" / "spcc.json"
DOCUMENT = Path(__file__).parents[1] / "docs" / "light_curves.md"
N_TRAIN, N_TEST = 1103, 1000
N_SHIFTS = 13  # of the maximum (`badac.nuisance.phase`)
LEARNING = (300, 3000, 8000)  # training objects beside N_TRAIN, for the learning curve
NEAR = 15.0  # days from the place of an anomaly within which it is placed
COPIES, NOISE = (
    3,
    0.1,
)  # of a training object for the peers, and the noise added to all but the first, in the peak's flux


@cache
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


def peers() -> dict[str, Any]:
    """Classifiers that see bins."""
    found: dict[str, Any] = {
        "random forest": RandomForestClassifier(300, min_samples_leaf=2, random_state=0),
        "extra trees": ExtraTreesClassifier(300, min_samples_leaf=2, random_state=0),
    }
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    return {**found, "LightGBM": LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)}


def bins_around_peak() -> Grid:
    return Grid(np.linspace(-50.0, 100.0, 11), 4, np.ones(40, dtype=np.bool_))


def calibration_error(proba: np.ndarray, right: np.ndarray) -> float:
    """Mean difference of the largest probability and the share that is right, in ten bins of the former."""
    sure = proba.max(axis=1)
    place = np.minimum((10 * sure).astype(int), 9)
    off = [abs(sure[place == cell].mean() - right[place == cell].mean()) for cell in np.unique(place)]
    return float(np.average(off, weights=np.unique(place, return_counts=True)[1]))


def measure(
    split: str, draw: int, redshift: bool, n_train: int = N_TRAIN, only: str = "all"
) -> list[dict[str, Any]]:
    """Classes told by the peers and by badac, or `only` by "badac" or the "peers"."""
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
            "ece": calibration_error(proba, np.asarray(classes)[proba.argmax(axis=1)] == truth),
            "fit_seconds": fit,
            "microseconds": 1e6 * each,
        }
        print(row, flush=True)
        rows.append(row)

    grid = bins_around_peak()
    copies = [objects[train], *(add_noise(objects[train], NOISE, rng) for _ in range(COPIES - 1))]
    seen, many = bins(concatenate(copies), grid), np.tile(label[train], COPIES)
    for name, peer in ({} if only == "badac" else peers()).items():
        begin = time.process_time()
        peer.fit(seen, many)
        middle = time.process_time()
        proba = peer.predict_proba(bins(objects[test], grid))
        note(name, peer.classes_, proba, middle - begin, (time.process_time() - middle) / len(test))
    if only == "peers":
        return rows
    begin = time.process_time()
    model = BADACClassifier(random_state=0).fit(objects[train], label[train])
    middle = time.process_time()
    proba = model.predict_proba(objects[test])
    note("badac", model.classes_, proba, middle - begin, (time.process_time() - middle) / len(test))
    begin = time.process_time()
    model.log_evidence(objects[test])
    rows[-1]["evidence_microseconds"] = 1e6 * (time.process_time() - begin) / len(test)
    begin = time.process_time()
    model.rank(objects[test])
    rows[-1]["rank_microseconds"] = 1e6 * (time.process_time() - begin) / len(test)
    if split != "random":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.process_time()
            adapted = model.adapt(objects[test])
            spent = time.process_time() - begin
        note("badac, adapted", model.classes_, adapted.predict_proba(objects[test]), spent, 0.0)
    return rows


def new_class(name: str, draw: int) -> list[dict[str, Any]]:
    """AUC of objects of a class that training does not have, among others of known classes."""
    objects, label, _ = load(False)
    order = np.random.default_rng(1000 + draw).permutation(len(label))
    known = order[label[order] != name][:N_TRAIN]
    test = order[-N_TEST:]
    is_new, grid, rows = label[test] == name, bins_around_peak(), []
    model_of_known = BADACClassifier(random_state=0).fit(objects[known], label[known])
    scores = {"badac": model_of_known.anomaly_score(objects[test])}
    scores |= on_columns(bins(objects[known], grid), bins(objects[test], grid))
    for model, score in scores.items():
        rows.append(
            {"split": f"new {name}", "draw": draw, "redshift": False, "n_train": len(known), "model": model}
        )
        rows[-1]["auc"] = float(roc_auc_score(is_new, score))
        print(rows[-1], flush=True)
    return rows


def spoiled(objects: Measurements, kind: str, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Objects with an anomaly each, and the window of times (n, 2) in which it is; the heights are in units of the peak."""
    n, at = len(objects), np.broadcast_to(objects.at, objects.shape)
    if kind == "dropped band":
        dropped = (objects.band == rng.integers(0, 4, (n, 1))) & objects.observed
        values = np.where(dropped, objects.sigma * rng.standard_normal(objects.shape), objects.values)
        return objects.replaced(values, objects.sigma), np.full((n, 2), np.nan)
    first, last, width, height = {"flare": (-30.0, 60.0, 3.0, 1.0), "second peak": (40.0, 70.0, 12.0, 0.6)}[
        kind
    ]
    # Where the object was looked at: at one of its own points.
    inside = objects.observed & (at > first) & (at < last)
    place = np.array([rng.choice(row[ok]) if ok.any() else 0.0 for row, ok in zip(at, inside, strict=True)])[
        :, None
    ]
    values = objects.values + height * np.exp(-0.5 * ((at - place) / width) ** 2)
    return objects.replaced(values, objects.sigma), np.hstack([place - 2.0 * width, place + 2.0 * width])


def injected(draw: int, n_new: int = 200) -> list[dict[str, Any]]:
    """AUC of spoiled objects among others, and the share whose strangest window has its middle near the anomaly."""
    objects, label, _ = load(False)
    rng = np.random.default_rng(1000 + draw)
    order = rng.permutation(len(label))
    model = BADACClassifier(random_state=0).fit(objects[order[:N_TRAIN]], label[order[:N_TRAIN]])
    plain, others, rows = objects[order[-n_new:]], objects[order[-2 * n_new : -n_new]], []
    normal, grid = model.anomaly_score(plain), bins_around_peak()
    seen = bins(objects[order[:N_TRAIN]], grid)
    forest = IsolationForest(random_state=0).fit(seen)
    for kind in ("flare", "second peak", "dropped band"):
        strange, window = spoiled(others, kind, rng)
        score, truth = model.anomaly_score(strange), np.repeat([0, 1], n_new)
        found = model.explain(strange[:60]).window
        near = np.abs(found.mean(axis=1) - window[:60].mean(axis=1)) <= NEAR
        about = {"split": f"injected {kind}", "draw": draw, "redshift": False, "n_train": N_TRAIN}
        rows.append({**about, "model": "badac", "auc": float(roc_auc_score(truth, np.append(normal, score)))})
        if kind != "dropped band":
            rows[-1]["placed"] = float(near.mean())
        far = -np.append(forest.score_samples(bins(plain, grid)), forest.score_samples(bins(strange, grid)))
        rows.append({**about, "model": "isolation forest", "auc": float(roc_auc_score(truth, far))})
        print(rows[-2:], flush=True)
    return rows


def per_object(work: Callable[[], Any], n: int, times: int = 5) -> float:
    """CPU microseconds of an object, the least of some runs."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return 1e6 * min(found) / n


def multiply_adds(model: BADACClassifier, objects: Measurements) -> dict[str, float]:
    """Of the sums over points alone, a middling object: half of m (r + j + 1)^2 for every class and width, or every shift."""
    m = float(objects.observed.sum()) / len(objects)
    found = {"phases": 0.0, "classes": 0.0}
    if model.phases_ is not None and model.phases_.population is not None:
        found["phases"] = 0.5 * m * N_SHIFTS * (model.phases_.population.band_factors.rank + 1) ** 2
    for own in model.class_models_:
        curves = own.band_factors
        size = curves.rank + curves.local.shape[2] + 1
        found["classes"] += 0.5 * m * len(own.log_shares) * size**2
    return found


def speed(draw: int, redshift: bool = False, turns: int = 3) -> list[dict[str, Any]]:
    """Microseconds of an object in each step, and what its sums over points would take at the rate of a matrix product.

    Each the best of so many turns, in every one of which the model is fitted and all steps are asked five times: what else the
    machine does comes and goes in minutes.
    """
    objects, label, _ = load(redshift)
    order = np.random.default_rng(1000 + draw).permutation(len(label))
    train, new = order[:N_TRAIN], objects[order[-N_TEST:]]
    about = {"split": "speed", "draw": draw, "redshift": redshift, "n_train": N_TRAIN, "model": "badac"}
    n, square = len(new), np.random.default_rng(0).random((600, 600))
    found: list[dict[str, float]] = []
    for _ in range(turns):
        begin = time.process_time()
        model = BADACClassifier(random_state=0).fit(objects[train], label[train])
        steps = {"fit_seconds": time.process_time() - begin}
        steps["product"] = per_object(lambda: square @ square, 1)
        phases = model.phases_
        assert phases is not None
        steps["phases"] = per_object(partial(phases.apply, new), n)
        steps["evidence"] = per_object(partial(model.log_evidence, new), n)
        steps["posterior"] = per_object(partial(model.predict_proba, new), n)
        steps["rank"] = per_object(partial(model.rank, new), n)
        found.append(steps)
        print(steps, flush=True)
    best = {name: min(each[name] for each in found) for name in found[0]}
    rate = 600**3 / best.pop("product")
    limit = {name: count / rate for name, count in multiply_adds(model, new).items()}
    row = {**about, **best, "turns": turns, "rate": rate, "limit": limit}
    print(row, flush=True)
    return [row]


def simulated(rng: np.random.Generator, count: np.ndarray, n_bands: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Transients of four classes at so many points (n,) in a year, as a long table, and their classes."""
    n = len(count)
    kind, rows = np.arange(n) % 4, []
    for number in range(n):
        time_of = np.sort(rng.uniform(0.0, 365.0, count[number]))
        band = rng.integers(0, n_bands, count[number])
        phase = (time_of - 150.0) / (10.0 + 15.0 * kind[number])
        flux = np.where(phase < 0, np.exp(-0.5 * phase**2), np.exp(-np.abs(phase) / (1.5 + 0.2 * band)))
        middle = 0.5 * (n_bands - 1)
        flux *= rng.lognormal(4.0, 0.5) * (1.0 + 0.1 * (kind[number] - 1.5) * (band - middle))
        error = rng.uniform(3.0, 8.0, count[number])
        seen = flux + error * rng.standard_normal(count[number])
        rows.append(
            pd.DataFrame(
                {"object_id": number, "mjd": time_of, "passband": band, "flux": seen, "flux_err": error}
            )
        )
    return pd.concat(rows), kind


def own_points(draw: int, n: int = 300) -> list[dict[str, Any]]:
    """CPU microseconds of an object for hypotheses and verdicts: four classes, three bands, 130 points, no stack."""
    rng = np.random.default_rng(1000 + draw)
    points, kind = simulated(rng, np.full(2 * n, 130), 3)
    objects = align_at_peak(from_table(points).objects).without_columns()
    model = BADACClassifier("population", random_state=0).fit(objects[:n], kind[:n])
    new = objects[n:]
    model.rank(new[:5])  # p-values leave objects out when they are first asked for
    judged = model.judge(new)
    deviations = judged.model.deviations()
    row: dict[str, Any] = {
        "split": "own points",
        "draw": draw,
        "redshift": False,
        "n_train": n,
        "model": "badac",
    }
    row["hypotheses"] = per_object(lambda: deviations.log_bayes_factor(judged.objects), n, 3)
    row["rank"] = per_object(lambda: model.rank(new), n, 3)
    row["explain"] = per_object(lambda: model.explain(new), n, 2)
    print(row, flush=True)
    return [row]


def six_bands(draw: int, n: int = 400) -> list[dict[str, Any]]:
    """CPU seconds to learn from objects as PLAsTiCC has them: six bands, 60 to 120 points in a year, four classes, redshift."""
    rng = np.random.default_rng(1000 + draw)
    points, kind = simulated(rng, rng.integers(60, 120, n), 6)
    redshift = pd.DataFrame({"object_id": np.arange(n), "redshift": rng.uniform(0.1, 0.8, n)})
    found = from_table(points, objects=redshift, columns=["redshift"])
    order = rng.permutation(n)[: n // 2]
    begin = time.process_time()
    model = BADACClassifier(random_state=0).fit(align_at_peak(found.objects), kind)
    row = {"split": "six bands", "draw": draw, "redshift": True, "n_train": n, "model": "badac"}
    row["fit_seconds"] = time.process_time() - begin
    begin = time.process_time()
    model.rank(align_at_peak(found.objects[order]))
    row["rank_microseconds"] = 1e6 * (time.process_time() - begin) / len(order)
    print(row, flush=True)
    return [row]


def double_peaks(draw: int, n: int = 400, others: int = 300) -> list[dict[str, Any]]:
    """Lists (a false share of .1) of curves in six bands, some with a second peak: how long and how right; ranks, p-values."""
    rng = np.random.default_rng(1000 + draw)
    points, kind = simulated(rng, rng.integers(60, 120, n), 6)
    known = from_table(points)
    model = BADACClassifier(random_state=0).fit(align_at_peak(known.objects), kind)
    rows = []
    for height in (0.4, 0.7):
        for count in (5, 30):
            points, _ = simulated(rng, rng.integers(60, 120, others + count), 6)
            number, time_of = points.object_id.to_numpy(), points.mjd.to_numpy()
            place, size = rng.uniform(190.0, 260.0, others + count), points.groupby("object_id").flux.max()
            added = height * size.to_numpy()[number] * np.exp(-0.5 * ((time_of - place[number]) / 10.0) ** 2)
            spoiled_points = points.assign(flux=points.flux + np.where(number < others, 0.0, added))
            found = from_table(spoiled_points, bands=known.bands)
            objects, strange = align_at_peak(found.objects), found.ids.astype(int) >= others
            listed = np.asarray(model.rank(objects, fdr=0.1).objects, dtype=int)
            place_of = 1 + np.flatnonzero(strange[np.argsort(-model.anomaly_score(objects), kind="stable")])
            about = {"split": f"double peaks {height} {count}", "draw": draw, "redshift": False, "n_train": n}
            rows.append(
                {
                    **about,
                    "model": "badac",
                    "listed": len(listed),
                    "right": int(strange[listed].sum()),
                    "middle_rank": float(np.median(place_of)),
                    "pvalue": float(np.median(model.anomaly_pvalue(objects[strange]))),
                    "stack": model.fitted_.ranks_left_out,
                }
            )
            print(rows[-1], flush=True)
    return rows


def table_of_double_peaks(rows: list[dict[str, Any]]) -> str:
    """Lists by height and number of second peaks."""
    frame = pd.DataFrame([row for row in rows if row["split"].startswith("double peaks")])
    if not len(frame):
        return "Not measured yet."
    lines = [
        "| height of the second peak | so many among 300 others | draws | objects listed | of these right | middle rank of the "
        "strange | their middle p-value | draws with a stack |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for split, own in frame.groupby("split", sort=True):
        height, count = str(split).split()[2:]
        own = own.sort_values("draw")
        lines.append(
            f"| {height} of the first | {count} | {len(own)} | {', '.join(map(str, own.listed))} "
            f"| {', '.join(map(str, own.right))} | {', '.join(f'{rank:g}' for rank in own.middle_rank)} "
            f"| {', '.join(f'{p:.2g}' for p in own.pvalue)} | {', '.join(map(str, own.draw[own['stack'].astype(bool)]))} |"
        )
    return "\n".join(lines)


def files(n: int, workers: int, draw: int = 0) -> list[dict[str, Any]]:
    """CPU seconds and peak memory of `badac rank` on long Parquet files of n objects and of a tenth of them."""
    points, table = pd.read_parquet(DATA / "light_curves.parquet"), pd.read_parquet(DATA / "objects.parquet")
    order = np.random.default_rng(1000 + draw).permutation(len(table))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        known = table.iloc[order[:N_TRAIN]]
        points[points.object_id.isin(known.object_id)].to_parquet(f"{folder}/known.parquet", index=False)
        known[["object_id", "label"]].to_parquet(f"{folder}/labels.parquet", index=False)
        command = [
            "fit",
            f"{folder}/known.parquet",
            "--labels",
            f"{folder}/labels.parquet",
            "--align",
            "peak",
        ]
        _badac([*command, "--folds", "0", "-o", f"{folder}/model.badac"])
        for count in (n // 10, n):
            tiled(points, count, f"{folder}/new.parquet")
            wall, cpu, memory = _badac(
                [
                    "rank",
                    f"{folder}/model.badac",
                    f"{folder}/new.parquet",
                    "--workers",
                    str(workers),
                    "-o",
                    f"{folder}/{count}",
                ]
            )
            row = {
                "split": f"files {count}",
                "draw": draw,
                "redshift": False,
                "n_train": N_TRAIN,
                "model": "badac",
            }
            rows.append({**row, "workers": workers, "wall": wall, "cpu": cpu, "megabytes": memory})
            print(rows[-1], flush=True)
    return rows


def tiled(points: pd.DataFrame, count: int, path: str) -> None:
    """Write a long Parquet file of so many objects: the survey's, again and again under other names and with noise added."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, written, writer = np.random.default_rng(0), 0, None
    names = points.object_id.unique()
    code = points.object_id.map({name: number for number, name in enumerate(names)}).to_numpy()
    while written < count:
        part = points[code < count - written].copy()
        part["object_id"] = code[code < count - written] + written
        part["flux"] += 0.1 * part.flux_err * rng.standard_normal(len(part))
        piece = pa.Table.from_pandas(part, preserve_index=False)
        writer = pq.ParquetWriter(path, piece.schema) if writer is None else writer
        writer.write_table(piece)
        written += len(names)
    assert writer is not None
    writer.close()


def _badac(arguments: list[str]) -> tuple[float, float, float]:
    """Run the command; wall and CPU seconds, and megabytes of the largest process."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [str(Path(sys.executable).with_name("badac")), *arguments], check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begin, cpu, after.ru_maxrss / 1024.0


def table_of_files(rows: list[dict[str, Any]]) -> str:
    """`badac rank` by number of objects."""
    found = [row for row in rows if row["split"].startswith("files")]
    if not found:
        return "Not measured yet."
    lines = ["| objects | workers | wall, s | CPU, s | largest process, MB |", "|---|---|---|---|---|"]
    for row in sorted(found, key=lambda row: int(row["split"].split()[1])):
        count = int(row["split"].split()[1])
        lines.append(
            f"| {count:,} | {row['workers']} | {row['wall']:.0f} | {row['cpu']:.0f} | {row['megabytes']:.0f} |"
        )
    return "\n".join(lines)


def table_of_speed(rows: list[dict[str, Any]]) -> str:
    """Where the time goes."""
    found = [row for row in rows if row["split"] == "speed"]
    if not found:
        return "Not measured yet."
    lines = [
        "| curves | step | CPU microseconds an object | of which the sums over points at least |",
        "|---|---|---|---|",
    ]
    for row in sorted(found, key=lambda row: row["redshift"]):
        limit, title = row["limit"], "SPCC, host photo-z" if row["redshift"] else "SPCC"
        lines.append(
            f"| {title} | maximum found among 13 shifts | {row['phases']:.0f} | {limit['phases']:.0f} |"
        )
        lines.append(
            f"| {title} | all of `log_evidence` | {row['evidence']:.0f} | {sum(limit.values()):.0f} |"
        )
        lines.append(
            f"| {title} | all of `predict_proba` | {row['posterior']:.0f} | {sum(limit.values()):.0f} |"
        )
        lines.append(f"| {title} | all of `rank` | {row['rank']:.0f} | |")
        lines.append(f"| {title} | `fit` of 1,103 objects, CPU s | {row['fit_seconds']:.1f} | |")
        if "rate" in row:
            said = (
                f"matrix product, 10^9 multiplications and additions a second (best of {row['turns']} turns)"
            )
            lines.append(f"| {title} | {said} | {row['rate'] / 1e3:.1f} | |")
    for row in rows:
        if row["split"] == "own points":
            title = "four classes, three bands, 130 points, no stack"
            lines.append(f"| {title} | anomaly hypotheses | {row['hypotheses']:.0f} | |")
            lines.append(f"| {title} | all of `rank` | {row['rank']:.0f} | |")
            lines.append(f"| {title} | `explain` | {row['explain']:.0f} | |")
    return "\n".join(lines)


def keep(rows: list[dict[str, Any]], code: str = "") -> None:
    """Add results of some code to the file; those of the same draw and model are replaced."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    RESULTS.parent.mkdir(exist_ok=True)
    keys = ("split", "draw", "redshift", "n_train", "model")
    new = {tuple(row[key] for key in keys) for row in rows}
    kept = [row for row in known if tuple(row[key] for key in keys) not in new]
    RESULTS.write_text(json.dumps([*kept, *({**row, "code": code} for row in rows)], indent=1) + "\n")


def commit() -> str:
    """The code as it is."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def of_one_code(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that may be averaged: of every split, size and model those by the code that measured it last."""

    def what(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["split"], row["redshift"], row["n_train"], row["model"]

    last = {what(row): row.get("code", "") for row in rows}
    return [row for row in rows if row.get("code", "") == last[what(row)]]


def known(code: str, split: str, draw: int, redshift: bool, n_train: int | None = None) -> bool:
    """Whether a run has a result of ours by this code."""
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return any(
        (row["split"], row["draw"], row["redshift"]) == (split, draw, redshift)
        and n_train in (None, row["n_train"])
        and (row["model"], row.get("code")) == ("badac", code)
        for row in rows
    )


Run = tuple[tuple[Any, ...], Callable[[], list[dict[str, Any]]]]


def runs(draws: int) -> list[Run]:
    """What `sweep` measures, the most telling first: what is run, and how."""
    found: list[Run] = []
    for draw in range(draws):
        for redshift in (False, True):
            for split in ("random", "spectroscopic"):
                what = (split, draw, redshift)
                found.append(((*what, N_TRAIN), partial(measure, *what)))
    for draw in range(draws):
        for count in LEARNING:
            what_of = ("random", draw, False, count)
            found.append((what_of, partial(measure, *what_of, "badac")))
    for draw in range(draws):
        for name in ("Ia", "Ibc", "II"):
            found.append(((f"new {name}", draw, False), partial(new_class, name, draw)))
        found.append((("injected flare", draw, False), partial(injected, draw)))
    return found


def sweep(draws: int, minutes: float) -> None:
    """Run what has no result of this commit, until the time is over."""
    end, code = time.monotonic() + 60.0 * minutes, commit()
    for what, run in runs(draws):
        if time.monotonic() > end:
            return
        if not known(code, *what):
            keep(run(), code)


def with_error(values: pd.Series) -> str:
    """Mean over the draws and, of more than one, its standard error."""
    if len(values) < 2:
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} +- {values.std() / np.sqrt(len(values)):.3f}"


def table(rows: list[dict[str, Any]]) -> str:
    """Classes told: accuracy, log-loss, AUC of Ia, and times."""
    frame = pd.DataFrame([{"ece": np.nan, **row} for row in rows if "log_loss" in row])
    lines = [
        "| training | redshift | model | draws | accuracy | log-loss | AUC of Ia | calibration error | fit, CPU s "
        "| an object, microseconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups = frame.groupby(["split", "n_train", "redshift", "model"], sort=True)
    for (split, count, redshift, model), own in groups:
        fit = f"{own.fit_seconds.mean():.1f}" if own.fit_seconds.mean() else ""
        each = f"{own.microseconds.mean():.0f}" if own.microseconds.mean() else ""
        off = f"{own.ece.mean():.3f}" if own.ece.notna().any() else ""
        beside = "host photo-z" if redshift else "none"
        lines.append(
            f"| {split}, {count:,} | {beside} | {model} | {len(own)} | {own.accuracy.mean():.3f} "
            f"| {with_error(own.log_loss)} | {with_error(own.auc)} | {off} | {fit} | {each} |"
        )
    return "\n".join(lines)


def table_of_learning(rows: list[dict[str, Any]]) -> str:
    """Classes told by the number of training objects, the same test objects each time."""
    found = [row for row in rows if row["split"] == "random" and row["model"] == "badac"]
    frame = pd.DataFrame([row for row in found if not row["redshift"]])
    lines = [
        "| training objects | draws | accuracy | log-loss | AUC of Ia | fit, CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for count, own in frame.groupby("n_train", sort=True):
        lines.append(
            f"| {count:,} | {len(own)} | {own.accuracy.mean():.3f} | {with_error(own.log_loss)} "
            f"| {with_error(own.auc)} | {own.fit_seconds.mean():.1f} |"
        )
    return "\n".join(lines)


def table_of_anomalies(rows: list[dict[str, Any]]) -> str:
    """What is new or spoiled: AUC, and whether it is placed."""
    frame = pd.DataFrame([row for row in rows if row["split"].startswith(("new", "injected"))])
    if not len(frame):
        return "Not measured yet."
    lines = ["| what is strange | model | draws | AUC | placed |", "|---|---|---|---|---|"]
    for (split, model), own in frame.groupby(["split", "model"], sort=True):
        placed = own.placed.mean() if "placed" in own else np.nan
        said = "" if np.isnan(placed) else f"{placed:.2f}"
        lines.append(f"| {split} | {model} | {len(own)} | {with_error(own.auc)} | {said} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        choices=[
            "measure",
            "new",
            "injected",
            "six-bands",
            "double-peaks",
            "own-points",
            "files",
            "speed",
            "sweep",
            "write",
        ],
    )
    parser.add_argument(
        "which", nargs="?", default="random", help="random or spectroscopic; of `new`, the class"
    )
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--n-train", type=int, default=N_TRAIN)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--redshift", action="store_true")
    parser.add_argument("--turns", type=int, default=3, help="of `speed`: the best of so many")
    parser.add_argument("--only", choices=["all", "badac", "peers"], default="all")
    said = parser.parse_args()
    if said.what == "write":
        rows = of_one_code(json.loads(RESULTS.read_text()))
        write_into(
            DOCUMENT,
            {
                "spcc": table(rows),
                "spcc learning": table_of_learning(rows),
                "spcc anomalies": table_of_anomalies(rows),
                "spcc speed": table_of_speed(rows),
                "spcc files": table_of_files(rows),
                "spcc double peaks": table_of_double_peaks(rows),
            },
        )
    elif said.what == "speed":
        keep(speed(said.draw, said.redshift, said.turns), commit())
    elif said.what == "own-points":
        keep(own_points(said.draw), commit())
    elif said.what == "double-peaks":
        for draw in range(said.draws):
            keep(double_peaks(draw), commit())
    elif said.what == "six-bands":
        keep(six_bands(said.draw), commit())
    elif said.what == "files":
        keep(files(said.objects, said.workers), commit())
    elif said.what == "sweep":
        sweep(said.draws, said.minutes)
    elif said.what == "new":
        keep(new_class(said.which, said.draw), commit())
    elif said.what == "injected":
        keep(injected(said.draw), commit())
    else:
        keep(measure(said.which, said.draw, said.redshift, said.n_train, said.only), commit())


if __name__ == "__main__":
    main()

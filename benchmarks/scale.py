"""Ranking a survey on one process and on several: throughput, scaling, memory, and what larger surveys would take.

survey    so many objects of 50 points with sigma in partitioned Parquet, two classes of sine curves, one in a thousand strange
rank      `badac.dask.rank_files` (what `badac rank --workers N` runs), p-values included, for each number of workers:
          seconds, objects per second, largest memory of a worker and of the caller
schedule  seconds that the scheduler needs for a task that does nothing
fit       the classes of a part of the survey learned from its partitions (`badac.dask.fit`), on the largest number of workers

Seconds are those of the clock, so run it on a quiet machine; starting the processes is not counted. What 10^7 and 10^9 objects
would take comes from these numbers alone:

    seconds = max( n / (rate of one worker * cores * efficiency) , partitions * seconds per task ) + closing

with the efficiency measured between one worker and the most, partitions of 50,000 objects, and closing (the ranking, which is
the caller's work) growing up to the 10^7 objects that a ranking holds at most.

Run: OMP_NUM_THREADS=1 python -m benchmarks.scale [--objects 1000000] [--workers 1 2] [--fit 200000]
     [--class-model population] [--folder DIR] [--write]
--write puts the tables into docs/scale.md. Needs about 500 bytes of disk an object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from badac import BADACClassifier, Measurements
from badac.dask import cluster, fit, rank_files
from badac.dask.parts import keep_parts
from badac.dask.pieces import ROWS_PER_PIECE
from badac.job import Layout, RankOptions
from reproduction.marked import write_into

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
POINTS = 50
PER_FILE = 25_000
RANKED = 10_000_000
CORES, SIZES = (2, 64, 1000), (10**7, 10**9)
FEATURES = tuple(f"y{j:02d}" for j in range(POINTS))


def curves(n: int, rng: np.random.Generator, strange: float = 0.0) -> tuple[Measurements, np.ndarray]:
    """Two classes of sine curves with an error of its own at every point; a share of `strange` ones has a bump."""
    at = np.linspace(0.0, 1.0, POINTS)
    label = rng.integers(0, 2, n)
    frequency = np.where(label == 0, rng.normal(5.0, 0.5, n), rng.normal(8.0, 0.5, n))
    truth = np.sin(frequency[:, None] * at)
    truth += (rng.random((n, 1)) < strange) * np.exp(-0.5 * ((at - rng.random((n, 1))) / 0.05) ** 2)
    sigma = 0.2 * rng.uniform(0.5, 1.5, truth.shape)
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma), label


def frame_of(objects: Measurements, label: np.ndarray, first: int) -> pd.DataFrame:
    columns: dict[str, Any] = {"name": np.arange(first, first + len(objects)), "label": label}
    for j, name in enumerate(FEATURES):
        columns[name] = objects.values[:, j].astype(np.float32)
        columns[f"{name}_err"] = objects.sigma[:, j].astype(np.float32)
    return pd.DataFrame(columns)


def per_file(n: int) -> int:
    """Objects of a file: eight files at least."""
    return max(min(PER_FILE, n // 8), 1)


def write_survey(folder: Path, n: int, rng: np.random.Generator) -> float:
    """Write the partitions; returns their size in bytes."""
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, n, per_file(n))):
        count = min(per_file(n), n - first)
        table = frame_of(*curves(count, rng, strange=1e-3), first)
        table.to_parquet(folder / f"part-{number:05d}.parquet", index=False)
    return float(sum(path.stat().st_size for path in folder.iterdir()))


def largest_memory() -> float:
    """Return the most memory that this process ever had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024.0 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


def warm_up() -> None:
    import badac.dask.files  # noqa: F401


def rank_with(workers: int, model: BADACClassifier, survey: Path, where: Path) -> dict[str, float]:
    """Rank the survey with so many workers, and measure."""
    print(f"ranking on {workers}", file=sys.stderr)
    with cluster(workers) as client:
        client.run(warm_up)
        start, last = time.perf_counter(), [0.0]

        def done(n: int) -> None:
            last[0] = time.perf_counter()

        layout = Layout(features=FEATURES)
        found = rank_files(
            model, survey, where / f"out-{workers}", client, RankOptions(layout=layout), done=done
        )
        seconds = time.perf_counter() - start
        memory = max(client.run(largest_memory).values())
        (where / f"out-{workers}").mkdir()
        keep_parts(found, where / f"out-{workers}")
    return {
        "workers": workers,
        "objects": found.n_objects,
        "seconds": seconds,
        "judging": last[0] - start,
        "worker_memory": memory,
        "caller_memory": largest_memory(),
        "discoveries": found.n_discoveries,
        "strangest": str(found.ranking.ids[0]),
    }


def schedule(n: int = 2000) -> float:
    """Return the seconds that a task costs the scheduler."""
    with cluster(2) as client:
        client.gather(client.map(abs, range(100), pure=False))
        start = time.perf_counter()
        client.gather(client.map(abs, range(n), pure=False))
        return (time.perf_counter() - start) / n


def fit_with(workers: int, survey: Path, n: int) -> dict[str, float]:
    """Learn the classes of the first n objects from their partitions."""
    import dask.dataframe as dd

    paths, members = [], 0
    for path in sorted(survey.iterdir()):
        if members < n:
            paths.append(path)
            members += len(pd.read_parquet(path, columns=["label"]))
    with cluster(workers) as client:
        client.run(warm_up)
        frame = dd.read_parquet([str(path) for path in paths])
        start = time.perf_counter()
        lazy = fit(BADACClassifier("population", random_state=0), frame, "label", features=FEATURES)
        fitted = client.compute(lazy).result()
        seconds = time.perf_counter() - start
        memory = max(client.run(largest_memory).values())
    ranks = [len(one.factors.T) for one in fitted.class_models_]
    return {"members": members, "seconds": seconds, "worker_memory": memory, "ranks": ranks}


def duration(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def tables(measured: dict[str, Any]) -> str:
    """Return the page's tables."""
    runs = measured["rank"]
    first, most = runs[0], runs[-1]
    speedup = first["seconds"] / most["seconds"]
    rate = first["objects"] / first["judging"]
    efficiency = first["judging"] / most["judging"] * first["workers"] / most["workers"]
    lines = [
        f"{first['objects']:,} objects of {POINTS} points in {measured['files']} Parquet files "
        f"({measured['bytes'] / 1e9:.2f} GB), {measured['class_model']} classes of 2,000 training objects, anomalies and "
        f"p-values included; {measured['machine']}.",
        "",
        "| workers | seconds | objects per second | speed-up | largest worker (MB) | caller (MB) |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        lines.append(
            f"| {run['workers']:.0f} | {run['seconds']:.1f} | {run['objects'] / run['seconds']:,.0f} | "
            f"{first['seconds'] / run['seconds']:.2f} | {run['worker_memory'] / 1e6:.0f} | {run['caller_memory'] / 1e6:.0f} |"
        )
    learned = measured["fit"]
    lines += [
        "",
        f"Learning two classes from {learned['members']:,} members in their partitions: {learned['seconds']:.1f} s on "
        f"{most['workers']:.0f} workers, largest worker {learned['worker_memory'] / 1e6:.0f} MB.",
        f"The scheduler needs {1e3 * measured['per_task']:.2f} ms for a task.",
        "",
        "What it would take, from these numbers (one core judges "
        f"{rate:,.0f} objects per second, efficiency {efficiency:.2f}):",
        "",
        "| objects | " + " | ".join(f"{cores:,} cores" for cores in CORES) + " |",
        "|---|" + "---|" * len(CORES),
    ]
    closing = (most["seconds"] - most["judging"]) / most["objects"]
    for n in SIZES:
        cells = []
        for cores in CORES:
            judging = n / (rate * cores * min(efficiency, 1.0))
            scheduling = n / ROWS_PER_PIECE * measured["per_task"]
            cells.append(duration(max(judging, scheduling) + closing * min(n, RANKED)))
        lines.append(f"| 10^{round(np.log10(n))} | " + " | ".join(cells) + " |")
    met = speedup >= 1.7 and max(run["worker_memory"] for run in runs) < 1e9
    print(f"speed-up {speedup:.2f}, bar of 1.7 and 1 GB a worker {'met' if met else 'NOT met'}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--fit", type=int, default=200_000, help="members to learn from")
    parser.add_argument("--class-model", default="population", help="of the model that ranks")
    parser.add_argument("--folder", type=Path, help="where to put the survey; a temporary folder by default")
    parser.add_argument("--write", action="store_true", help="write docs/scale.md")
    given = parser.parse_args()
    where = Path(tempfile.mkdtemp(prefix="badac-scale-", dir=given.folder))
    try:
        rng = np.random.default_rng(0)
        print("learning", file=sys.stderr)
        model = BADACClassifier(given.class_model, random_state=0).fit(*curves(2000, rng))
        model.prepare_pvalues()
        print(f"writing {given.objects:,} objects", file=sys.stderr)
        size = write_survey(where / "survey", given.objects, rng)
        measured: dict[str, Any] = {
            "class_model": given.class_model,
            "files": len(list((where / "survey").iterdir())),
            "bytes": size,
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
            "rank": [rank_with(n, model, where / "survey", where) for n in sorted(given.workers)],
            "per_task": schedule(),
            "fit": fit_with(max(given.workers), where / "survey", given.fit),
        }
    finally:
        shutil.rmtree(where)
    assert len({(run["strangest"], run["discoveries"]) for run in measured["rank"]}) == 1, "answers differ"
    text = tables(measured)
    print(json.dumps(measured, indent=1))
    print(text)
    if given.write:
        write_into(PAGE, {"scale": f"\n{text}\n"})


if __name__ == "__main__":
    main()

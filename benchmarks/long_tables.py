"""Light curves of a survey: a long Parquet table of 100,000 objects through `badac rank`, and a fit of few in six bands.

    python -m benchmarks.long_tables rank                  100,000 objects of four bands from one file
    python -m benchmarks.long_tables rank --workers 2      the same from a folder of files, by two processes
    python -m benchmarks.long_tables rank --objects 25000  less of it
    python -m benchmarks.long_tables fit                   400 objects of six bands
    python -m benchmarks.long_tables write                 the tables of docs/light_curves.md, from all that was measured

Curves are drawn here: transients of three classes that rise and fall at their own rates, redder as they fade, at random times
within a season, with errors that grow for faint objects. Memory is the most that one process held (of two workers the larger);
times are CPU seconds of all processes together.
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
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from badac import BADACClassifier
from badac.data import align_at_peak, from_table
from reproduction.marked import write_into

RESULTS = Path(__file__).parent / "results" / "long_tables.json"
DOCUMENT = Path(__file__).parents[1] / "docs" / "light_curves.md"
CLASSES = {"fast": (4.0, 12.0, 0.02), "slow": (8.0, 30.0, 0.01), "plateau": (6.0, 60.0, 0.03)}
"""Days of the rise and of the decline, and how fast a band fades against the next redder one."""
N_TRAIN, PER_FILE = 1000, 10_000


def draw(
    n: int, bands: str, points: int, rng: np.random.Generator, start: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of measurements of n transients, and a table of their classes."""
    names = np.array(list(CLASSES))
    kind = rng.integers(0, len(names), n)
    rise, decline, fade = np.array(list(CLASSES.values()))[kind].T * np.exp(0.2 * rng.standard_normal((3, n)))
    count = rng.poisson(points, n).clip(1)
    owner = np.repeat(np.arange(n), count)
    time = rng.uniform(-60.0, 120.0, len(owner))
    band = rng.integers(0, len(bands), len(owner))
    colour = np.exp(-fade[owner] * np.maximum(time, 0.0) * (len(bands) - 1 - band) / 2.0)
    shape = np.where(time < 0, np.exp(-0.5 * (time / rise[owner]) ** 2), np.exp(-time / decline[owner]))
    error = 0.02 * np.exp(0.8 * rng.standard_normal(n))[owner] + 0.01
    flux = shape * colour + error * rng.standard_normal(len(owner))
    scale = np.exp(rng.normal(4.0, 1.0, n))[owner]
    rows = pd.DataFrame(
        {
            "object_id": start + owner,
            "mjd": 59000.0 + (100.0 * rng.random(n))[owner] + time,
            "band": np.array(list(bands))[band],
            "flux": scale * flux,
            "flux_err": scale * error,
        }
    )
    return rows, pd.DataFrame({"object_id": start + np.arange(n), "label": names[kind]})


def fit(bands: str = "ugrizy", points: int = 87, n: int = 400) -> dict[str, Any]:
    """CPU seconds of a fit of few objects in many bands, and how well others are told."""
    rows, table = draw(2 * n, bands, points, np.random.default_rng(1))
    found = from_table(rows)
    label = table.set_index("object_id").loc[found.ids].label.to_numpy(str)
    curves = align_at_peak(found.objects)
    begin = time.process_time()
    model = BADACClassifier(random_state=0).fit(curves[:n], label[:n])
    seconds = time.process_time() - begin
    accuracy = float((model.predict(curves[n:]) == label[n:]).mean())
    return {
        "what": "fit",
        "objects": n,
        "bands": len(bands),
        "points": points,
        "seconds": seconds,
        "accuracy": accuracy,
    }


def rank(n: int, workers: int) -> dict[str, Any]:
    """CPU seconds and memory of `badac rank` on a folder of Parquet files."""
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, table = draw(N_TRAIN, "griz", 90, rng)
        rows.to_parquet(folder / "training.parquet", index=False)
        table.to_csv(folder / "labels.csv", index=False)
        (folder / "survey").mkdir()
        whole = None
        for start in range(0, n, PER_FILE):
            part, _ = draw(min(PER_FILE, n - start), "griz", 90, rng, start)
            if workers > 1:
                part.to_parquet(folder / "survey" / f"part{start}.parquet", index=False)
            else:
                import pyarrow
                import pyarrow.parquet

                piece = pyarrow.Table.from_pandas(part, preserve_index=False)
                if whole is None:
                    whole = pyarrow.parquet.ParquetWriter(folder / "survey.parquet", piece.schema)
                whole.write_table(piece)
        if whole is not None:
            whole.close()
        run = [str(Path(sys.executable).parent / "badac")]
        subprocess.run(
            [
                *run,
                "fit",
                "training.parquet",
                "--labels",
                "labels.csv",
                "--align",
                "peak",
                "-o",
                "model.badac",
            ],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        new = "survey" if workers > 1 else "survey.parquet"
        more = ["--workers", str(workers)] if workers > 1 else []
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [*run, "rank", "model.badac", new, "-o", "results", *more],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin
        found = len(pd.read_parquet(folder / "results" / "ranking.parquet"))
        if found != n:
            raise RuntimeError(f"{n} objects went in and {found} came out")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "what": "rank",
        "objects": n,
        "workers": workers,
        "seconds": seconds,
        "wall": wall,
        "megabytes": after.ru_maxrss / 1024,
    }


def keep(row: dict[str, Any]) -> None:
    """Add a result to the file; one of the same run is replaced."""
    print(row, flush=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    same = ("what", "objects", "workers", "bands")
    kept = [one for one in known if [one.get(key) for key in same] != [row.get(key) for key in same]]
    RESULTS.write_text(json.dumps([*kept, row], indent=1) + "\n")


def table(rows: list[dict[str, Any]]) -> str:
    """What was measured, as a document has it."""
    lines = [
        "| `badac rank`, long Parquet | workers | CPU s | CPU microseconds an object | wall s | memory, MB |",
        "|---|---|---|---|---|---|",
    ]
    for row in sorted(
        (one for one in rows if one["what"] == "rank"), key=lambda one: (one["objects"], one["workers"])
    ):
        each = 1e6 * row["seconds"] / row["objects"]
        lines.append(
            f"| {row['objects']:,} objects | {row['workers']} | {row['seconds']:.0f} | {each:.0f} | {row['wall']:.0f} "
            f"| {row['megabytes']:.0f} |"
        )
    for row in rows:
        if row["what"] == "fit":
            lines += [
                "",
                f"A fit of {row['objects']} objects of {row['points']} points in {row['bands']} bands takes "
                f"{row['seconds']:.1f} CPU s; of as many others {100 * row['accuracy']:.0f} % are told right.",
            ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["rank", "fit", "write"])
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    said = parser.parse_args()
    if said.what == "write":
        write_into(DOCUMENT, {"long tables": table(json.loads(RESULTS.read_text()))})
    elif said.what == "fit":
        keep(fit())
    else:
        keep(rank(said.objects, said.workers))


if __name__ == "__main__":
    main()

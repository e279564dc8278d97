"""How fast `badac rank` is, and how much memory it takes: a Parquet file of a million objects of 50 points.

Writes the file a piece at a time, learns two populations of noisy curves from 2,000 labelled objects, and runs the command as a
user would, in a process of its own, whose memory (the largest resident set) and times are measured. Reading, scoring, p-values,
sorting, writing the ranking and the report are all in it. `python -m reproduction.readme` copies the result into README.md. The
process keeps and finds compiled Python as an installed package does, whatever the environment here says of it.

Run: python -m benchmarks.throughput [--objects 1000000] [--jobs 2 | --workers 2] [--folder FOLDER] [--write-docs]

With `--folder` model and file are made there once and found again, some 5 GB for ten million objects, which are
written in single precision as surveys do; `--only-make` makes them and stops. A run of a million objects on one thread is the
README's; every run is kept beside it (results/throughput_files.json), and `--write-docs` puts those into docs/scale.md.
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

import numpy as np

from badac import Measurements, save
from badac.job import Settings, learn, read_training
from badac.job.simulated import to_frame
from badac.simulate import experiment
from reproduction.marked import write_into

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE.parent / "docs" / "scale.md"
PIECE, DISTINCT, TRAINING, POINTS, SINGLE = 20_000, 100_000, 2000, 50, 1_000_000


def curves(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    """Half of the paper's 100 points, so 50, with its noise as released; one percent with a compact bump."""
    data = experiment(2, "released", n_train=20, n_test=n, rng=np.random.default_rng(seed))
    return data.test.points(slice(None, None, 100 // POINTS)), data.test_label


def write_new(path: Path, n: int) -> None:
    """Write the new objects a piece at a time; beyond `DISTINCT` of them the same ones come again under other names."""
    import pyarrow
    import pyarrow.parquet

    writer = None
    made = []
    for number, start in enumerate(range(0, n, PIECE)):
        count = min(PIECE, n - start)
        if start < DISTINCT:
            frame = to_frame(curves(PIECE, 1000 + number)[0], "")
            if n > SINGLE:
                frame = frame.astype({name: "float32" for name in frame.columns if name != "object"})
            made.append(pyarrow.Table.from_pandas(frame, preserve_index=False))
        table = made[number % len(made)].slice(0, count)
        names = pyarrow.array([f"new-{number:04d}-{row:05d}" for row in range(count)])
        table = table.set_column(table.column_names.index("object"), "object", names)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def write_model(path: Path, folder: Path) -> None:
    data = experiment(2, "released", n_train=TRAINING, n_test=20, rng=np.random.default_rng(0))
    train = folder / "train.parquet"
    to_frame(data.train.points(slice(None, None, 100 // POINTS)), "known-", data.train_label).to_parquet(
        train
    )
    save(learn(read_training(train), Settings(class_model="population", diagnose=False)), path)


def prepared(folder: Path, n: int) -> tuple[Path, Path]:
    """Return model and file of n new objects in a folder, made unless they are there."""
    model, new = folder / "model.badac", folder / f"new-{n}.parquet"
    if not model.exists():
        write_model(model, folder)
    if not new.exists():
        # Under another name until it is whole.
        write_new(folder / "unfinished.parquet", n)
        (folder / "unfinished.parquet").rename(new)
    return model, new


def measure(n: int, how: list[str], kept: Path | None = None) -> dict[str, object]:
    """Run the command with options `how` and return what it took, of this process's children and theirs."""
    with tempfile.TemporaryDirectory(dir=kept) as place:
        model, new = prepared(kept or Path(place), n)
        size = new.stat().st_size
        command = [
            sys.executable, "-c", "from badac.cli import main; main()",
            "rank", str(model), str(new), "-o", str(Path(place) / "out"), *how, "--json",
        ]  # fmt: skip
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "objects": found["n_objects"],
        "points": POINTS,
        "training_objects": TRAINING,
        "file_megabytes": round(size / 1e6),
        "how": " ".join(how),
        "cores": os.cpu_count(),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "objects_per_second": round(n / seconds),
        "objects_per_cpu_second": round(n / cpu),
        "max_memory_megabytes": round(after.ru_maxrss / 1e3),
        "discoveries": found["discoveries"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--workers", type=int, help="processes, in place of threads")
    parser.add_argument("--folder", type=Path, help="where model and file are kept")
    parser.add_argument("--only-make", action="store_true", help="make model and file, and stop")
    parser.add_argument("--write-docs", action="store_true", help="write the table of docs/scale.md")
    given = parser.parse_args()
    if given.only_make:
        prepared(given.folder, given.objects)
        return
    how = ["--workers", str(given.workers)] if given.workers else ["--jobs", str(given.jobs)]
    load = os.getloadavg()[0]
    found = measure(given.objects, how, given.folder)
    if load > 1.0:
        found["remarks"] = f"busy machine, load {load:.0f} before"
    print(json.dumps(found, indent=1))
    keep(found)
    if given.write_docs:
        write_into(PAGE, {"files": table(json.loads((RESULTS / "throughput_files.json").read_text()))})


def keep(found: dict[str, object]) -> None:
    """Keep a run in the place of an earlier one of its kind; of code before a change it is `superseded`, and only shown."""
    RESULTS.mkdir(exist_ok=True)
    if found["objects"] == 1_000_000 and found["how"] == "--jobs 1":
        (RESULTS / "throughput.json").write_text(json.dumps(found, indent=1) + "\n")
    runs = RESULTS / "throughput_files.json"
    kept = {} if not runs.exists() else json.loads(runs.read_text())
    kept[f"{found['objects']:>12} {found['how']}"] = found
    runs.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def table(kept: dict[str, dict[str, object]]) -> str:
    """Return the table of runs, in Markdown."""
    lines = [
        "| objects | file, MB | `badac rank` with | seconds | of the processor | a second | a CPU second | memory, MB | |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for one in kept.values():
        numbers = (
            "seconds",
            "cpu_seconds",
            "objects_per_second",
            "objects_per_cpu_second",
            "max_memory_megabytes",
        )
        shown = " | ".join(f"{one[name]:,}" for name in numbers)
        lines.append(
            f"| {one['objects']:,} | {one['file_megabytes']:,} | `{one['how']}` | {shown} | {one.get('remarks', '')} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""Random verbs on random tables with kills at random moments, compared with an undisturbed run: ``make soak``.

    python tests/reliability/soak.py --seconds 3600 [--seed 0]

Each round draws a table and a verb (fit, or rank with or without workers), runs it undisturbed, then again with SIGKILL,
SIGTERM or SIGINT after a random part of that time until it ends by itself. Held: what is there after a kill is the old
result or none; what is there at the end is what the undisturbed run wrote; and nothing else is left beside it.
"""

from __future__ import annotations

import argparse
import collections
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
from small_tables import small_table

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from badac.cli import main; main()"
FEW = ["--class-model", "template", "--folds", "0", "--no-diagnose"]


def verb(draw: random.Random, folder: Path) -> tuple[list[str], str]:
    """Return the words of a command, without its output, and the name of what it writes."""
    small_table(draw.randrange(30, 200), draw.randrange(1000)).to_csv(folder / "train.csv", index=False)
    new = small_table(draw.randrange(20, 400), draw.randrange(1000)).drop(columns="label")
    new.to_parquet(folder / "new.parquet", index=False)
    which = draw.choice(["fit", "rank", "workers"])
    if which == "fit":
        return ["fit", str(folder / "train.csv"), *FEW], "model.badac"
    words = [
        "rank",
        str(folder / "train.csv"),
        str(folder / "new.parquet"),
        *FEW,
        "--format",
        "csv",
        "--show",
        "2",
    ]
    return words + (["--workers", "1"] if which == "workers" else []), "out"


def result(path: Path) -> bytes | pd.DataFrame | None:
    """What a verb wrote, but for times and the names of folders."""
    if path.is_dir():
        return pd.read_csv(path / "ranking.csv") if (path / "ranking.csv").exists() else None
    return path.read_bytes() if path.exists() else None


def same(found: bytes | pd.DataFrame | None, expected: bytes | pd.DataFrame | None) -> bool:
    if isinstance(found, pd.DataFrame) and isinstance(expected, pd.DataFrame):
        return found.columns.equals(expected.columns) and all(
            np.allclose(found[name], expected[name], rtol=1e-6)
            if found[name].dtype.kind == "f"
            else found[name].equals(expected[name])
            for name in found
        )
    return type(found) is type(expected) and (isinstance(found, bytes) or found is None)


def one_round(draw: random.Random, counts: collections.Counter[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        words, name = verb(draw, folder)
        start = time.monotonic()
        calm = folder / "calm" / name
        calm.parent.mkdir()
        subprocess.run([sys.executable, "-c", MAIN, *words, "-o", str(calm)], check=True, capture_output=True)
        took = time.monotonic() - start
        expected, target = result(calm), folder / "rough" / name
        target.parent.mkdir()
        for attempt in range(6):
            running = subprocess.Popen(
                [sys.executable, "-c", MAIN, *words, "-o", str(target), "--overwrite"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            try:
                # The last attempt is left in peace.
                _, said = running.communicate(timeout=draw.random() * 1.1 * took if attempt < 5 else None)
            except subprocess.TimeoutExpired:
                running.send_signal(number := draw.choice(SIGNALS))
                _, said = running.communicate()
                counts[f"stopped by {number.name}"] += 1
                assert "Traceback" not in said, said
                found = result(target)
                assert found is None or same(found, expected), "half a result"
                continue
            assert running.returncode == 0, said
            counts["went to the end"] += 1
            break
        assert same(result(target), expected), "another result than undisturbed"
        left = sorted(path.name for path in target.parent.iterdir() if path != target)
        assert not left, left
        counts["rounds"] += 1


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--seconds", type=float, default=3600.0)
    words.add_argument("--seed", type=int, default=0)
    asked = words.parse_args()
    draw, counts, end = (
        random.Random(asked.seed),
        collections.Counter[str](),
        time.monotonic() + asked.seconds,
    )
    while time.monotonic() < end:
        one_round(draw, counts)
    print(f"soak, seed {asked.seed}: {dict(counts)}; nothing lost, nothing left behind")


if __name__ == "__main__":
    main()

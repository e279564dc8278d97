"""Random verbs on random tables with kills at random moments, compared with an undisturbed run: ``make soak``.

    python tests/reliability/soak.py --seconds 3600 [--seed 0]

Each round draws a table and a verb (simulate, fit, rank with a table, with a model, with workers or with what was said of
objects, or a triage session of a dozen looks), runs it undisturbed, then again with SIGKILL, SIGTERM or SIGINT after a
random part of that time until it ends by itself; sometimes two runs go into one place at once. Held: what is there after a
kill is a whole result or none; what is there at the end is what the undisturbed run wrote, a model bit by bit in its
answers; no process of the run lives on; and nothing else is left beside it. A session holds after a kill whatever it had
acknowledged, and ends with the same looks in the same order. A round that does not keep to it is counted, said and kept, and
the others go on.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import badac

sys.path.insert(0, str(Path(__file__).parent))
from small_tables import small_table
from tally import counted, record

from badac.triage import Journal, Statement

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Until a program's own first line Ctrl-C is Python's to answer, with a traceback of its own start. A process begins with it
# blocked (`started`) and hears it as soon as it would be ended without a word; what badac says begins with its `main`.
HEARING = """
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
"""
MAIN = HEARING + "from badac.cli import main; main()"
FEW = ["--class-model", "template", "--folds", "0", "--no-diagnose"]
# A dozen looks at the most promising object; what is acknowledged is said on the standard output.
LOOKS = (
    HEARING
    + """
import os, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pandas as pd, badac
from badac.triage import Session
model, table, path = sys.argv[1], pd.read_parquet(sys.argv[2]), sys.argv[4]
new = badac.Measurements(table[[f"y{j}" for j in range(4)]].to_numpy(), table[[f"y{j}_err" for j in range(4)]].to_numpy())
begin = Session.open if os.path.exists(path) else lambda path, *rest: Session(*rest[:2], path, rest[2])
session = begin(path, badac.load(model), new, table["object"].tolist())
while len(session.said) < min(12, len(new)):
    row = int(session.next()[0])
    session.say(row, ("new", "dull", "artefact", "unsure")[row % 4], f"kind {row % 3}", who="soak")
    print(session.ids[row], flush=True)
"""
)


def verb(draw: random.Random, folder: Path) -> tuple[str, list[str], str]:
    """Return a verb, the words of its command without the output, and the name of what it writes."""
    small_table(draw.randrange(30, 200), draw.randrange(1000)).to_csv(folder / "train.csv", index=False)
    new = small_table(draw.randrange(20, 400), draw.randrange(1000)).drop(columns="label")
    new.to_parquet(folder / "new.parquet", index=False)
    which = draw.choice(
        ["simulate", "fit", "rank", "rank with a model", "rank with workers", "rank with looks", "triage"]
    )
    if which == "simulate":
        return which, ["simulate", "1", "-n", str(draw.randrange(20, 200)), "-f", "csv"], "out"
    if which == "fit":
        return which, ["fit", str(folder / "train.csv"), *FEW], "model.badac"
    known = folder / "train.csv"
    if which in ("rank with a model", "triage"):
        known = folder / "known.badac"
        subprocess.run(
            [sys.executable, "-c", MAIN, "fit", str(folder / "train.csv"), *FEW, "-o", str(known)],
            check=True, capture_output=True,
        )  # fmt: skip
    if which == "triage":
        return which, [str(known), str(folder / "new.parquet")], "looks.jsonl"
    words = ["rank", str(known), str(folder / "new.parquet"), "--format", "csv", "--show", "2"]
    if which == "rank with looks":
        journal = Journal.at(folder / "said.jsonl")
        journal.name_model("any", objects=len(new))
        for name in draw.sample(new["object"].tolist(), 5):
            journal.add(Statement.now("soak", object=name, said=draw.choice(["dull", "artefact", "new"])))
        words += ["--verdicts", str(folder / "said.jsonl")]
    words += [] if which == "rank with a model" else FEW
    return which, words + (["--workers", "1"] if which == "rank with workers" else []), "out"


def result(path: Path) -> dict[str, Any] | None:
    """What a verb wrote, but for times and the names of folders: tables by their names, a model by its answers."""
    if path.is_dir():
        return {one.name: pd.read_csv(one) for one in sorted(path.glob("*.csv"))} or None
    if not path.exists():
        return None
    if path.suffix == ".jsonl":
        return {"looks": [(each.object, each.said, each.name) for each in Journal.at(path).statements]}
    asked = np.linspace(-3.0, 5.0, 40).reshape(10, 4)
    return {"answers": badac.load(path).predict_proba(asked, X_err=0.3).tobytes()}


def same(found: dict[str, Any], expected: dict[str, Any] | None) -> bool:
    """Whether two results are one: text and numbers of tables (written as text, so to 1e-9), bits of answers."""
    if expected is None or found.keys() != expected.keys():
        return False
    for name, one in found.items():
        other = expected[name]
        if not isinstance(one, pd.DataFrame):
            if one != other:
                return False
            continue
        try:
            pd.testing.assert_frame_equal(one, other, rtol=1e-9)
        except AssertionError:
            return False
    return True


def is_begun(found: dict[str, Any], expected: dict[str, Any], acknowledged: list[str]) -> bool:
    """Whether a session holds the first looks of the undisturbed one, and all that it acknowledged."""
    looks = found["looks"]
    return looks == expected["looks"][: len(looks)] and {name for name, *_ in looks} >= set(acknowledged)


def started(which: str, words: list[str], target: Path) -> subprocess.Popen[str]:
    code, more = (LOOKS, []) if which == "triage" else (MAIN, ["--overwrite"])
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code, *words, "-o", str(target), *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def lives_on(group: int) -> bool:
    """Whether a process of the group is still there after ten seconds."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.2)
    return True


def one_round(draw: random.Random, counts: collections.Counter[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        which, words, name = verb(draw, folder)
        counts[f"{which}: rounds"] += 1
        calm, target = folder / "calm" / name, folder / "rough" / name
        calm.parent.mkdir()
        target.parent.mkdir()
        start = time.monotonic()
        undisturbed = started(which, words, calm)
        _, said = undisturbed.communicate()
        assert undisturbed.returncode == 0, said
        took, expected = time.monotonic() - start, result(calm)
        assert expected is not None
        acknowledged: list[str] = []
        for attempt in range(6):
            running = started(which, words, target)
            # Two people in one session see each other's looks, and go on in another order.
            twice = draw.random() < 0.15 and which != "triage"
            second = started(which, words, target) if twice else None
            try:
                # The last attempt is left in peace.
                out, said = running.communicate(timeout=draw.random() * 1.1 * took if attempt < 5 else None)
            except subprocess.TimeoutExpired:
                running.send_signal(number := draw.choice(SIGNALS))
                out, said = running.communicate()
                counts[f"ended by {number.name}"] += 1
            if second is not None:
                _, of_second = second.communicate()
                counts["two runs into one place"] += 1
                assert "Traceback" not in of_second, of_second
            # The looks are a script of ours: Ctrl-C ends it as it ends any Python.
            assert "Traceback" not in said or (which == "triage" and "KeyboardInterrupt" in said), said
            assert not lives_on(running.pid), "a process of the run lives on"
            found = result(target)
            acknowledged += out.split("\n")[:-1] if which == "triage" else []
            if which == "triage" and found is not None:
                assert is_begun(found, expected, acknowledged), f"a look is lost: {found}, {acknowledged}"
            else:
                assert found is None or same(found, expected), "half a result"
                assert not acknowledged, "a session is gone"
            if running.returncode == 0:
                counts["went to their end"] += 1
                break
            assert running.returncode != 1 or second is not None or which == "triage", said
        found = result(target)
        assert found is not None and same(found, expected), "another result than undisturbed"
        left = sorted(path.name for path in target.parent.iterdir() if path != target)
        assert not left, f"left behind: {left}"
        counts["rounds"] += 1


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--seconds", type=float, default=3600.0)
    words.add_argument("--seed", type=int, default=0)
    asked = words.parse_args()
    draw, counts, start = random.Random(asked.seed), collections.Counter[str](), time.monotonic()
    lost: list[str] = []
    while time.monotonic() < start + asked.seconds:
        try:
            one_round(draw, counts)
        except AssertionError as failure:
            lost.append(str(failure))
            print(f"LOST: {failure}", flush=True)
        minutes = (time.monotonic() - start) / 60
        record(
            f"soak, seed {asked.seed}",
            f"{minutes:.0f} minutes: {counted(counts)}",
            f"{len(lost)} FAILED: {' '.join('; '.join(lost).split())[:300]}"
            if lost
            else "nothing lost, nothing left behind",
        )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

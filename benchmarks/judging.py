"""What judging costs: microseconds an object of the fitted default on the tables of `benchmarks.default`, beside the forest's.

    python -m benchmarks.judging                       # all tables, seed 0, what is not measured yet
    python -m benchmarks.judging --tables digits cells --seed 500 --print
    python -m benchmarks.judging --again               # all of them once more
    python -m benchmarks.judging --write-docs          # the table of docs/default.md

`predict_proba` of `BADACClassifier()` and of the random forest of 500 trees that stands beside it in `benchmarks.default`, on
one thread (set OMP_NUM_THREADS=1) and on some thousands of objects: the new ones of the table, repeated. CPU time of the best
of a few turns each, one after the other, so that both meet the same machine. Figures are kept in
benchmarks/results/judging.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from badac import BADACClassifier
from badac.writing import write_whole
from benchmarks.default import PAGE, ROOT, values_of
from benchmarks.default_tables import TABLES, Table
from reproduction.marked import write_into

RESULTS = ROOT / "benchmarks" / "results" / "judging.json"
OBJECTS, TURNS = 4000, 4
BAR = 200.0  # microseconds an object


def measure(table: Table, seed: int) -> dict[str, Any]:
    """Return microseconds an object of both, and whether badac's probabilities follow a stack."""
    noise = {"noise": "poisson"} if table.counted else {}
    model = BADACClassifier(**noise, random_state=seed).fit(table.train, table.label)
    forest = RandomForestClassifier(500, random_state=seed).fit(values_of(table.train), table.label)
    n = len(table.truth)
    new = table.test[np.resize(np.arange(n), max(OBJECTS, n))]
    numbers = values_of(new)
    asked: dict[str, Callable[[], Any]] = {
        "badac": lambda: model.predict_proba(new),
        "forest": lambda: forest.predict_proba(numbers),
    }
    best = dict.fromkeys(asked, np.inf)
    for _ in range(TURNS):
        for name, ask in asked.items():
            start = time.process_time()
            ask()
            best[name] = min(best[name], 1e6 * (time.process_time() - start) / len(numbers))
    return {**best, "stacked": model.ensemble_ is not None, "classes": len(model.classes_)}


def run(names: list[str], seed: int, *, keep: bool, again: bool) -> None:
    """Measure what is not measured yet, or all of it again."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if keep and RESULTS.exists() else {}
    for name in names:
        if name in results and not again:
            continue
        try:
            table = TABLES[name](seed)
        except (FileNotFoundError, ImportError) as missing:
            print(f"{name}: skipped, {missing}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = measure(table, seed)
        found = results[name]
        print(
            f"{name:40} badac {found['badac']:6.0f}   forest {found['forest']:6.0f} us an object", flush=True
        )
        if keep:
            write_whole(RESULTS, json.dumps(results, indent=1))


def words(results: dict[str, Any]) -> str:
    """Say how many tables hold the bar, and write one row for each."""
    own = {name: found["badac"] for name, found in results.items()}
    held = sum(each <= BAR for each in own.values())
    beside = np.median([found["badac"] / found["forest"] for found in results.values()])
    dearest = max(own, key=lambda name: own[name])
    lines = [
        f"Microseconds an object of `predict_proba`, on one thread, of {OBJECTS:,} objects or more at once, beside the forest "
        f"of 500 trees in the same minute (`python -m benchmarks.judging`). At most {BAR:.0f} on {held} of {len(own)} tables, "
        f"at most {own[dearest]:.0f} ({dearest}); {beside:.2f} times the forest's in the middle.",
        "",
        "| table | classes | badac | forest |  |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, found in results.items():
        kind = "a stack" if found["stacked"] else ""
        lines.append(
            f"| {name} | {found['classes']} | {found['badac']:.0f} | {found['forest']:.0f} | {kind} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=[""], help="tables whose name contains one of these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="measure once more what was measured")
    parser.add_argument("--print", action="store_true", help="keep nothing")
    parser.add_argument("--write-docs", action="store_true", help="write docs/default.md from what is kept")
    chosen = parser.parse_args()
    if chosen.write_docs:
        write_into(PAGE, {"default:judging": words(json.loads(RESULTS.read_text()))})
        return
    names = [name for name in TABLES if any(part in name for part in chosen.tables)]
    run(names, chosen.seed, keep=not chosen.print, again=chosen.again)


if __name__ == "__main__":
    main()

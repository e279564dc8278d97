"""Looks that learn: an expert who knows the truth looks at 100 objects, and what is new among them is counted.

    python -m benchmarks.triage --seeds 3                       # all sets, clean and noisy
    python -m benchmarks.triage --sets gaia cells --seeds 1 --peers none
    python -m benchmarks.triage --seeds 5 --write-docs          # the tables of docs/triage.md

Sets and cases are those of `benchmarks.triage_sets`: rare classes, and classes left out of the training, among new objects of
known classes. After each look the expert says the object's class, or names the new kind. Beside a `badac.triage.Session`: the
static ranking of the same model, coniferest's isolation forest, PineForest and AADForest (pip install coniferest) on the same
new objects, with values and with values and errors as features (gaps filled by the median; irregular curves in ten bins of
time a band), which are told "anomaly" or "regular", and a random order. Printed: found after 10, 30 and 100 looks, and the
processor's seconds a decision. Finished cases are kept in benchmarks/results/triage.json, and not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from badac import BADACClassifier, Measurements
from badac.triage import Session, TriageOptions
from badac.verdicts import Verdicts
from badac.writing import write_whole
from benchmarks.triage_sets import SETS, TITLES, Case, cases, features, find
from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "triage.json", ROOT / "docs" / "triage.md"
LOOKS = 100
AT = (10, 30, 100)
PEERS = ("isolation forest", "PineForest", "AADForest")
ALL = (
    "session",
    "static ranking",
    *(f"{peer}{more}" for peer in PEERS for more in ("", ", errors too")),
    "random",
)
Found = list[bool]


def with_session(
    case: Case, model: BADACClassifier, new: Measurements, judged: Verdicts
) -> tuple[Found, float]:
    """Look at what a session shows next, and say what it is."""
    session = Session(model, new, options=TriageOptions(verdicts=judged))
    found, is_new = [], case.is_new
    start = time.process_time()
    for _ in range(min(LOOKS, len(new))):
        row = int(session.next()[0])
        session.say(row, "new" if is_new[row] else "class", str(case.truth[row]))
        found.append(bool(is_new[row]))
    return found, (time.process_time() - start) / len(found)


def in_order(case: Case, order: np.ndarray) -> Found:
    return [bool(one) for one in case.is_new[order[:LOOKS]]]


def with_forest(name: str, case: Case, table: np.ndarray, seed: int) -> tuple[Found, float]:
    """Look at what a forest of coniferest shows next, and say whether it is an anomaly."""
    from coniferest.aadforest import AADForest
    from coniferest.isoforest import IsolationForest
    from coniferest.label import Label
    from coniferest.pineforest import PineForest
    from coniferest.session import Session as Forest

    start = time.process_time()
    if name == "isolation forest":
        score = IsolationForest(random_seed=seed, n_jobs=1).fit(table).score_samples(table)
        found = in_order(case, np.argsort(score, kind="stable"))
        return found, (time.process_time() - start) / len(found)
    found, is_new = [], case.is_new

    def expert(row: int, _: Any, session: Any) -> Any:
        found.append(bool(is_new[row]))
        if len(found) >= min(LOOKS, len(table)):
            session.terminate()
        return Label.A if is_new[row] else Label.R

    forest: Callable[..., Any] = {"PineForest": PineForest, "AADForest": AADForest}[name]
    Forest(table, np.arange(len(table)), expert, model=forest(random_seed=seed, n_jobs=1)).run()
    return found, (time.process_time() - start) / len(found)


def run_case(case: Case, seed: int, peers: tuple[str, ...]) -> dict[str, Any]:
    """Run everybody on a case, clean and noisy."""
    model = BADACClassifier(random_state=seed).fit(case.train, case.label)
    out: dict[str, Any] = {}
    for kind, new in (("clean", case.new), ("noisy", case.noisy(np.random.default_rng([seed, 5])))):
        judged = model.verdicts(new)
        found = {"session": with_session(case, model, new, judged)}
        found["static ranking"] = in_order(case, np.argsort(-judged.score, kind="stable")), 0.0
        for peer in peers:
            for more in (False, True):
                table = features(new, with_errors=more)
                found[f"{peer}{', errors too' if more else ''}"] = with_forest(peer, case, table, seed)
        shuffled = np.random.default_rng([seed, 9]).permutation(len(new))
        found["random"] = in_order(case, shuffled), 0.0
        out[kind] = {
            "n": len(new),
            "n_new": int(case.is_new.sum()),
            **{
                name: {"found": [int(sum(looks[:k])) for k in AT], "seconds": round(seconds, 5)}
                for name, (looks, seconds) in found.items()
            },
        }
    return out


# -- what was found --------------------------------------------------------------------------------------------------


def rows_of(kept: dict[str, Any], name: str) -> list[tuple[str, list[str]]]:
    """Name of each algorithm, and its cells: mean found after 10, 30, 100 looks over the cases of a set ("": all sets)."""
    chosen = [one[kind] for key, one in kept.items() if key.startswith(name) for kind in ("clean", "noisy")]
    out = []
    for who in ALL:
        found = np.array([one[who]["found"] for one in chosen if who in one], dtype=float)
        if not len(found):
            continue
        low, middle, high = np.percentile(found, (5, 50, 95), axis=0)
        cells = [
            f"{mean:.1f} ({m:.0f}; {a:.0f}-{b:.0f})"
            for mean, m, a, b in zip(found.mean(0), middle, low, high, strict=True)
        ]
        seconds = np.mean([one[who]["seconds"] for one in chosen if who in one])
        out.append((who, [*cells, f"{1000 * seconds:.1f}" if seconds else ""]))
    return out


def table(kept: dict[str, Any]) -> str:
    """Markdown: one row an algorithm over all sets, then the session beside static ranking and best peer of each set."""
    lines = [
        f"| mean over {len(kept)} cases, clean and noisy | 10 looks | 30 looks | 100 looks | ms a decision |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {who} | {' | '.join(cells)} |" for who, cells in rows_of(kept, "")]
    lines += [
        "",
        "| found after 100 looks, mean | new ones | session | static ranking | best peer | random |",
        "|---|---|---|---|---|---|",
    ]
    for name in SETS:
        for case in ("rare", "left out"):
            for kind in ("clean", "noisy"):
                chosen = [one[kind] for key, one in kept.items() if key.startswith(f"{name}/{case}/")]
                if not chosen:
                    continue

                def mean(who: str, among: list[dict[str, Any]] = chosen) -> float:
                    return float(np.mean([one[who]["found"][-1] for one in among if who in one] or [np.nan]))

                peers = {who: mean(who) for who in ALL[2:-1] if any(who in one for one in chosen)}
                best = max(peers, key=lambda who: peers[who]) if peers else ""
                beside = f"{peers[best]:.1f} ({best})" if best else ""
                count = np.mean([one["n_new"] for one in chosen])
                lines.append(
                    f"| {TITLES[name]}, {case}, {kind} | {count:.0f} | {mean('session'):.1f} | {mean('static ranking'):.1f} | "
                    f"{beside} | {mean('random'):.1f} |"
                )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--peers", nargs="+", default=list(PEERS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--write-docs", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    kept: dict[str, Any] = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    peers = tuple(peer for peer in asked.peers if peer in PEERS)
    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
        for name in asked.sets:
            found = find(name)
            for case in cases(found, name, seed) if found is not None else ():
                key = f"{name}/{case.name}/{seed}"
                if key in kept:
                    continue
                kept[key] = run_case(case, seed, peers)
                write_whole(asked.results, json.dumps(kept, indent=1))
                line = {
                    kind: {who: one[who]["found"] for who in ALL if who in one}
                    for kind, one in kept[key].items()
                }
                print(key, json.dumps(line), flush=True)
    print(table(kept))
    if asked.write_docs:
        write_into(PAGE, {"triage": table(kept)})


if __name__ == "__main__":
    main()

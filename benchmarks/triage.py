"""Looks that learn: an expert who knows the truth looks at 100 objects, and what is new among them is counted.

    python -m benchmarks.triage --seeds 20                      # all sets, clean and noisy
    python -m benchmarks.triage --sets gaia cells --seeds 1 --who session "static ranking"
    python -m benchmarks.triage --seeds 20 --again session --write-docs         # the tables of docs/triage.md

Sets and cases are those of `benchmarks.triage_sets`: rare classes, and classes left out of the training, among new objects of
known classes. After each look the expert says the object's class, or names the new kind. Beside a `badac.triage.Session`: the
static ranking of the same model, coniferest's isolation forest, PineForest and AADForest (pip install coniferest) on the same
new objects, with values and with values and errors as features (gaps filled by the median; irregular curves in ten bins of
time a band), which are told "anomaly" or "regular", and a random order. Printed: found after 10, 30 and 100 looks, and the
processor's seconds a decision. What is finished is kept, models in benchmarks/results/triage_fits and what was found in
benchmarks/results/triage.json, and not run again: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac import BADACClassifier, Measurements
from badac.triage import Session, TriageOptions
from badac.verdicts import Verdicts
from badac.writing import write_whole
from benchmarks.triage_sets import SETS, TITLES, Case, cases, features, find
from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "triage.json", ROOT / "docs" / "triage.md"
FITS = ROOT / "benchmarks" / "results" / "triage_fits"
KINDS = ("clean", "noisy")
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


@dataclass(frozen=True, eq=False)
class Judged:
    """A model of a case, and the new objects, clean and noisy, with what it says of them."""

    model: BADACClassifier
    new: dict[str, Measurements]
    verdicts: dict[str, Verdicts]


def judged(case: Case, seed: int, kept: Path) -> Judged:
    """Fit and judge, or read what an earlier run kept."""
    if kept.exists():
        found: Judged = pickle.loads(kept.read_bytes())
        return found
    model = BADACClassifier(random_state=seed).fit(case.train, case.label)
    new = {"clean": case.new, "noisy": case.noisy(np.random.default_rng([seed, 5]))}
    made = Judged(model, new, {kind: model.verdicts(objects) for kind, objects in new.items()})
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_whole(kept, pickle.dumps(made))
    return made


def run_one(who: str, case: Case, kind: str, seed: int, have: Judged) -> tuple[Found, float]:
    """Let one algorithm look."""
    new, verdicts = have.new[kind], have.verdicts[kind]
    if who == "session":
        return with_session(case, have.model, new, verdicts)
    if who == "static ranking":
        return in_order(case, np.argsort(-verdicts.score, kind="stable")), 0.0
    if who == "random":
        return in_order(case, np.random.default_rng([seed, 9]).permutation(len(new))), 0.0
    peer, _, more = who.partition(", ")
    return with_forest(peer, case, features(new, with_errors=bool(more)), seed)


def run_case(case: Case, seed: int, who: list[str], kept: dict[str, Any], fits: Path) -> list[str]:
    """Run those algorithms that a case has not been given to yet, clean and noisy; return their names."""
    missing = [each for each in who if any(each not in kept.get(kind, {}) for kind in KINDS)]
    if not missing:
        return []
    have = judged(case, seed, fits)
    for kind in KINDS:
        into = kept.setdefault(kind, {"n": len(case.new), "n_new": int(case.is_new.sum())})
        for each in missing:
            looks, seconds = run_one(each, case, kind, seed, have)
            into[each] = {"found": [int(sum(looks[:k])) for k in AT], "seconds": round(seconds, 5)}
    return missing


# -- what was found --------------------------------------------------------------------------------------------------


def finished(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the cases that everybody has been given: only those can be compared."""
    return {
        key: one
        for key, one in kept.items()
        if all(who in one.get(kind, {}) for who in ALL for kind in KINDS)
    }


def lines_of(kept: dict[str, Any]) -> str:
    """Return the results as JSON, one line a case."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in kept.items()) + "\n}\n"


def merged(paths: list[Path]) -> dict[str, Any]:
    """Return the results of several files, which were measured in parts, as one."""
    return {key: one for path in paths for key, one in json.loads(path.read_text()).items()}


def rows_of(kept: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Name of each algorithm, and its cells: found after 10, 30, 100 looks, mean over sets, median and 5-95 % over cases."""
    out = []
    for who in ALL:
        by_set = {name: found_by(kept, who, f"{name}/") for name in SETS}
        every = np.vstack([found for found in by_set.values() if len(found)])
        low, middle, high = np.percentile(every, (5, 50, 95), axis=0)
        mean = np.mean([found.mean(axis=0) for found in by_set.values() if len(found)], axis=0)
        cells = [
            f"{each:.1f} ({m:.0f}; {a:.0f}-{b:.0f})"
            for each, m, a, b in zip(mean, middle, low, high, strict=True)
        ]
        seconds = np.mean([one[kind][who]["seconds"] for one in kept.values() for kind in KINDS])
        out.append((who, [*cells, f"{1000 * seconds:.1f}" if seconds else ""]))
    return out


def found_by(
    kept: dict[str, Any], who: str, begins: str, kinds: tuple[str, ...] = KINDS
) -> npt.NDArray[np.float64]:
    """Return (cases, 3): found after 10, 30 and 100 looks in the cases whose names begin so."""
    found = [one[kind][who]["found"] for key, one in kept.items() if key.startswith(begins) for kind in kinds]
    return np.array(found, dtype=float).reshape(-1, len(AT))


def ahead(kept: dict[str, Any], other: str) -> str:
    """Return how many more the session found than another in 100 looks: mean over sets, and its standard error over cases."""
    differences = []
    for name in SETS:
        more = found_by(kept, "session", f"{name}/")[:, -1] - found_by(kept, other, f"{name}/")[:, -1]
        # Clean and noisy are the same objects: one case.
        differences.append(more.reshape(-1, len(KINDS)).mean(axis=1))
    present = [each for each in differences if len(each) > 1]
    mean = np.mean([each.mean() for each in present])
    error = np.sqrt(np.sum([each.var(ddof=1) / len(each) for each in present])) / len(present)
    return f"{mean:+.1f} ± {error:.1f} of {other}"


def table(kept: dict[str, Any]) -> str:
    """Markdown: one row an algorithm over all sets, then the session beside static ranking and best peer of each case."""
    kept = finished(kept)
    draws = {name: len({key for key in kept if key.startswith(f"{name}/rare/")}) for name in SETS}
    if min(draws.values()) < 2:
        return f"{len(kept)} cases were given to everybody: too few for a table."
    lines = [
        "Draws of each case that everybody was given: "
        f"{', '.join(f'{TITLES[name]} {count}' for name, count in draws.items())}. Found by the session in 100 looks beyond "
        "others, mean over sets and its standard error: "
        f"{'; '.join(ahead(kept, who) for who in ALL[1:])}.",
        "",
        f"| {len(kept)} cases, clean and noisy | 10 looks | 30 looks | 100 looks | ms a decision |",
        "|---|---|---|---|---|",
        *(f"| {who} | {' | '.join(cells)} |" for who, cells in rows_of(kept)),
        "",
        "| found after 100 looks | draws | new ones | session | static ranking | session beyond it | best peer | random |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        for case in ("rare", "left out"):
            lines += [row_of_case(kept, name, case, kind) for kind in KINDS]
    return "\n".join(lines)


def row_of_case(kept: dict[str, Any], name: str, case: str, kind: str) -> str:
    """One row: median (5-95 %), and means in the columns that compare, with the standard error of the difference."""
    begins = f"{name}/{case}/"
    found = {who: found_by(kept, who, begins, (kind,))[:, -1] for who in ALL}
    more = found["session"] - found["static ranking"]
    error = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.nan
    best = max(ALL[2:-1], key=lambda who: found[who].mean())
    new = np.mean([one[kind]["n_new"] for key, one in kept.items() if key.startswith(begins)])

    def cell(who: str) -> str:
        low, middle, high = np.percentile(found[who], (5, 50, 95))
        return f"{found[who].mean():.1f} ({middle:.0f}; {low:.0f}-{high:.0f})"

    return (
        f"| {TITLES[name]}, {case}, {kind} | {len(more)} | {new:.0f} | {cell('session')} | {cell('static ranking')} | "
        f"{more.mean():+.1f} ± {error:.1f} | {cell(best)} {best} | {found['random'].mean():.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--who", nargs="+", default=list(ALL), choices=ALL, metavar="ALGORITHM")
    parser.add_argument("--again", nargs="+", default=[], choices=ALL, help="run these once more")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument(
        "--fits", type=Path, default=FITS, help="folder of kept models; remove it after a change"
    )
    parser.add_argument(
        "--merge", nargs="+", type=Path, default=[], help="files of results measured in parts, put into one"
    )
    parser.add_argument("--write-docs", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    kept: dict[str, Any] = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    if asked.merge:
        kept = merged(asked.merge)
        write_whole(asked.results, lines_of(kept))
    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
        for name in asked.sets:
            found = find(name)
            for case in cases(found, name, seed) if found is not None else ():
                one = kept.setdefault(f"{name}/{case.name}/{seed}", {})
                for kind in one.values():
                    for who in asked.again:
                        kind.pop(who, None)
                file = asked.fits / f"{name}-{case.name.replace(' ', '_')}-{seed}.pkl"
                new = run_case(case, seed, asked.who, one, file)
                if new:
                    write_whole(asked.results, lines_of(kept))
                    line = {kind: {who: one[kind][who]["found"] for who in new} for kind in KINDS}
                    print(f"{name}/{case.name}/{seed}", json.dumps(line), flush=True)
    print(table(kept))
    if asked.write_docs:
        write_into(PAGE, {"triage": table(kept)})


if __name__ == "__main__":
    main()

"""What the targets of a release measured (`make wheel`, `test-oldest`, ...), kept and written into docs/project.md.

python -m benchmarks.project wheel WHEEL SDIST       # size, and what an import costs the interpreter that runs this
python -m benchmarks.project tests TARGET XML...     # tests that a target ran, from the reports of pytest (--junitxml)
python -m benchmarks.project commit                  # the commit that stands here, for a report of tests
python -m benchmarks.project coverage                # the share that `coverage` has measured, beside the floor
python -m benchmarks.project step NAME MINUTES       # what a step of the first hour (CONTRIBUTING.md) took who walked it
python -m benchmarks.project                         # the page again, from what is kept

The Makefile calls it. With RECORD=1 it keeps its row in benchmarks/results/project.json and writes the page, else it only
says what it found.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "project.json"
PAGE = ROOT / "docs" / "project.md"
REPEATS = 5
IMPORTS = ("import badac", "from badac import BADACClassifier", "import sklearn.base")
NAMED = ("numpy", "scipy", "scikit-learn", "pandas", "astropy", "dask")
BESIDE = ("lsdb", "nested-pandas", "coniferest", "polars")
HEADS = {
    "wheel": "| wheel | MB | core, MB | sdist, MB | "
    + " | ".join(f"`{code}`, CPU s" for code in IMPORTS)
    + " |",
    "tests": "| target | Python | packages | commit | passed | skipped | failed | minutes |",
    "step": "| step | minutes |",
    "coverage": "| package | share of lines and branches | floor |",
}

Row = list[str]


def cpu_seconds(code: str) -> float:
    """Return the least CPU time of several fresh interpreters, less that of one that does nothing."""

    def once(what: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-I", "-c", what], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    return min(once(code) for _ in range(REPEATS)) - min(once("pass") for _ in range(REPEATS))


def wheel_row(wheel: Path, sdist: Path) -> Row:
    """Return the tag and size of a wheel, the size of its core and of the sdist, and what imports cost."""
    with zipfile.ZipFile(wheel) as inside:
        core = sum(one.file_size for one in inside.infolist() if "_kernels/_core" in one.filename)
    python, abi, _ = wheel.stem.split("-")[2:5]
    sizes = (wheel.stat().st_size, core, sdist.stat().st_size)
    return [
        f"{python}-{abi}",
        *(f"{size / 1e6:.2f}" for size in sizes),
        *(f"{cpu_seconds(code):.2f}" for code in IMPORTS),
    ]


def commit() -> str:
    """Return the commit that stands here, with a + where files are changed beside what this module writes."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    written = [f":!{path.relative_to(ROOT)}" for path in (PAGE, RESULTS)]
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *written)
    return (git("rev-parse", "--short=7", "HEAD") or "no clone") + ("+" if changed else "")


@dataclass(frozen=True)
class Ended:
    """How a test ended (passed, skipped or failed), and the commit on which it ran."""

    how: str
    commit: str


def ended(reports: list[Path]) -> dict[tuple[str, str, int], Ended]:
    """Return how every test of a run, or of its pieces, ended last; names that one report has twice are two tests."""
    last: dict[tuple[str, str, int], Ended] = {}
    for path in sorted(reports, key=lambda one: one.stat().st_mtime):
        beside = path.with_suffix(".commit")
        on = beside.read_text("utf-8").strip() if beside.exists() else "unknown"
        seen: Counter[tuple[str, str]] = Counter()
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            name = (case.get("classname", ""), case.get("name", ""))
            inside = {child.tag for child in case}
            how = (
                "failed" if inside & {"failure", "error"} else "skipped" if "skipped" in inside else "passed"
            )
            last[(*name, seen[name])] = Ended(how, on)
            seen[name] += 1
    return last


def tests_row(target: str, reports: list[Path]) -> Row:
    """Return what the reports of a run, or of its pieces, come to: a test that was run again counts as it ended last."""
    tests = ended(reports).values()
    suites = [suite for path in reports for suite in ElementTree.parse(path).getroot().iter("testsuite")]
    on = Counter(one.commit for one in tests).most_common()
    return [
        f"`make {target}`",
        platform.python_version(),
        versions(target),
        f"{on[0][0]}{''.join(f', {count} on {which}' for which, count in on[1:])}" if on else "",
        *(f"{sum(one.how == how for one in tests):,}" for how in ("passed", "skipped", "failed")),
        f"{sum(float(suite.get('time', '0')) for suite in suites) / 60:.1f}",
    ]


def versions(target: str) -> str:
    """Return the packages that the target is about, as they are installed here."""
    found = {one.name.lower(): one.version for one in importlib.metadata.distributions()}
    names = [name for name in BESIDE if name in target or (name == "nested-pandas" and "lsdb" in target)]
    if "sklearn" in target:
        names = ["scikit-learn"]
    return ", ".join(f"{name} {found[name]}" for name in (names or NAMED) if name in found)


def coverage_row() -> Row:
    """Return the measured share of lines and branches and the floor in pyproject.toml."""
    done = subprocess.run(
        [sys.executable, "-m", "coverage", "report", "--format=total", "--precision=1", "--fail-under=0"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if done.returncode:
        sys.exit(f"coverage has nothing to report: {done.stdout}{done.stderr}")
    report = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]["report"]
    floor = f"{report['fail_under']} %" if "fail_under" in report else "none yet"
    return ["badac", f"{float(done.stdout):.1f} %", floor]


def record(place: str, row: Row) -> None:
    """Say a row; with RECORD=1 keep it and write the page."""
    for name, cell in zip(HEADS[place].strip("| ").split(" | "), row, strict=True):
        print(f"{name}: {cell}")
    if os.environ.get("BADAC_RECORD") == "1":
        kept = read()
        kept[place] = with_row(place, kept.get(place, []), row)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        write_into(PAGE, places(kept))


def with_row(place: str, rows: list[Row], row: Row) -> list[Row]:
    """Return the rows with this one in the place of that of an earlier run; tests have one for each minor version of Python."""

    def key(one: Row) -> tuple[str, ...]:
        return (one[0], *one[1].split(".")[:2]) if place == "tests" else (one[0],)

    return sorted([*(one for one in rows if key(one) != key(row)), row])


def read() -> dict[str, list[Row]]:
    """Return what is kept."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def places(kept: dict[str, list[Row]]) -> dict[str, str]:
    """Return the tables by the names of their places on the page."""
    return {
        place: "\n".join(
            [HEADS[place], "|---" * len(HEADS[place].strip("| ").split(" | ")) + "|"]
            + [f"| {' | '.join(row)} |" for row in rows]
        )
        for place, rows in kept.items()
    }


def main() -> None:
    """Measure and say what the Makefile asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb")
    wheel = verbs.add_parser("wheel")
    wheel.add_argument("files", type=Path, nargs=2)
    tests = verbs.add_parser("tests")
    tests.add_argument("target")
    tests.add_argument("reports", type=Path, nargs="+")
    verbs.add_parser("commit")
    verbs.add_parser("coverage")
    step = verbs.add_parser("step")
    step.add_argument("name")
    step.add_argument("minutes", type=float)
    asked = parser.parse_args()
    if asked.verb == "wheel":
        record("wheel", wheel_row(*asked.files))
    elif asked.verb == "tests":
        row = tests_row(asked.target, asked.reports)
        record("tests", row)
        if row[4] == "0":
            sys.exit(f"No test of `make {asked.target}` passed: skipped is not run.")
    elif asked.verb == "commit":
        print(commit())
    elif asked.verb == "step":
        record("step", [asked.name, f"{asked.minutes:.1f}"])
    elif asked.verb == "coverage":
        record("coverage", coverage_row())
    else:
        write_into(PAGE, places(read()))


if __name__ == "__main__":
    main()

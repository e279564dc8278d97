"""The walks and the measure of the tree, written into docs/architecture.md.

python -m reproduction.architecture            # write them
python -m reproduction.architecture --check    # say whether the document holds, and exit with 1 if not
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from badac.writing import write_whole
from reproduction.marked import put
from reproduction.tree import beside_before
from reproduction.walk import WALKS, Walk, walk

PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"


def main() -> None:
    """Write the document, or check it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = with_walks(before)
    if asked.check:
        if before != after:
            sys.exit(f"{PAGE.name} is not what the code does: run python -m reproduction.architecture.")
        return
    write_whole(PAGE, put(after, "tree", beside_before(), PAGE.name))


def with_walks(text: str) -> str:
    """Return the document with the walks as they are now."""
    seen: set[str] = set()
    for which in WALKS:
        found = walk(which)
        text = put(text, f"walk {which}", _shown(found, seen if which == "cli-rank" else set()), PAGE.name)
        seen |= set(found.files)
    return text


def _shown(found: Walk, known: set[str]) -> str:
    steps = [step for step in found.steps if step.path not in known]
    wide = max(len(step.path) for step in steps)
    lines = [f"{step.path:<{wide}}  {step.function}" for step in steps]
    return "\n".join(["```text", *lines, "```"])


if __name__ == "__main__":
    main()

"""What the long suites counted, kept in one file and written into ``docs/reliability.md``.

A suite that is run with ``BADAC_RECORD=1`` (``make fuzz RECORD=1``, likewise ``sanitize`` and ``soak``) replaces its own row;
the rows of the others stay as they were measured. ``python tests/reliability/tally.py`` writes the table from what is kept.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"
PLACE = "counts of the suites"

Rows = dict[str, dict[str, str]]


def record(suite: str, ran: str, found: str) -> None:
    """Print a row of the table; with BADAC_RECORD=1 keep it and write the page."""
    print(f"\n{suite}: {ran}: {found}", flush=True)
    if os.environ.get("BADAC_RECORD") == "1":
        RESULTS.parent.mkdir(exist_ok=True)
        rows: Rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        rows[suite] = {"ran": ran, "found": found}
        RESULTS.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", encoding="utf-8")
        write_page()


def write_page() -> None:
    """Put the table of what is kept into its place on the page."""
    sys.path.insert(0, str(ROOT))  # `reproduction` is in the repository, not in the wheel
    from reproduction.marked import write_into

    write_into(PAGE, {PLACE: table(json.loads(RESULTS.read_text(encoding="utf-8")))})


def table(rows: Rows) -> str:
    """Return the rows as a Markdown table."""
    lines = [f"| {suite} | {row['ran']} | {row['found']} |" for suite, row in rows.items()]
    return "\n".join(["| suite | run | result |", "|---|---|---|", *lines])


def counted(counts: dict[str, int]) -> str:
    """Return counts in words, the largest first."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


if __name__ == "__main__":
    write_page()

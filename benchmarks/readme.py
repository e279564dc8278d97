"""Copy measured numbers into README.md, from where they were measured.

The table of the paper's experiments comes from "At a glance" in docs/paper.md, which `badac reproduce --write-docs` writes; the
throughput from benchmarks/results/throughput.json, which `python benchmarks/throughput.py` writes. A block without a source
stays as it is.

Run: python benchmarks/readme.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"


def glance(page: str) -> str:
    """Return the table under the heading "At a glance"."""
    found = re.search(r"### At a glance\n+((?:\|.*\n)+)", page)
    if found is None:
        raise ValueError(
            "docs/paper.md has no table under 'At a glance': run badac reproduce --write-docs docs/paper.md."
        )
    return found.group(1).strip()


def throughput(found: dict[str, object]) -> str:
    """Say how fast the command is."""
    return (
        f"`badac rank` with two populations learned from {found['training_objects']:,} curves, on "
        f"{found['objects']:,} objects of {found['points']} points in a Parquet file of "
        f"{found['file_megabytes']:,} MB: {found['objects_per_cpu_second']:,} objects per second of one core, reading, "
        f"p-values and report included, and {found['max_memory_megabytes']:,} MB of memory at most "
        "(`python benchmarks/throughput.py`)."
    )


def put(text: str, name: str, content: str) -> str:
    """Replace what stands between the markers of a block."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def main() -> None:
    text = put(
        README.read_text(encoding="utf-8"),
        "glance",
        glance((HERE.parent / "docs/paper.md").read_text(encoding="utf-8")),
    )
    measured = HERE / "results" / "throughput.json"
    if measured.exists():
        text = put(text, "throughput", throughput(json.loads(measured.read_text())))
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

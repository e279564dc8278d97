"""Copy measured numbers into README.md and the paper of the package (paper.md), from where they were measured.

The table of the paper's experiments comes from "At a glance" in docs/paper.md, which `make reproduce ARGS="--write-docs
docs/paper.md"` writes; the throughput from benchmarks/results/throughput.json, which `python -m benchmarks.throughput` writes.
A block without a source stays as it is.

Run: python -m reproduction.readme
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]


def glance(page: str) -> str:
    """Return the table under the heading "At a glance"."""
    found = re.search(r"### At a glance\n+((?:\|.*\n)+)", page)
    if found is None:
        raise ValueError(
            "docs/paper.md has no table under 'At a glance': run make reproduce ARGS=\"--write-docs docs/paper.md\"."
        )
    return found.group(1).strip()


def throughput(found: dict[str, object]) -> str:
    """Say how fast the command is."""
    return (
        f"`badac rank` with two populations learned from {found['training_objects']:,} curves, on "
        f"{found['objects']:,} objects of {found['points']} points in a Parquet file of "
        f"{found['file_megabytes']:,} MB: {found['objects_per_cpu_second']:,} objects per second of one core, reading, "
        f"p-values and report included, and {found['max_memory_megabytes']:,} MB of memory at most "
        "(`python -m benchmarks.throughput`)."
    )


def main(root: Path = ROOT) -> None:
    """Fill the places of README.md and paper.md."""
    places = {"glance": glance((root / "docs/paper.md").read_text(encoding="utf-8"))}
    measured = root / "benchmarks" / "results" / "throughput.json"
    if measured.exists():
        places["throughput"] = throughput(json.loads(measured.read_text()))
    write_into(root / "README.md", places)
    write_into(root / "paper.md", {"glance": places["glance"]})


if __name__ == "__main__":
    main()

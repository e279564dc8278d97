"""Finished cells are kept: a run that was interrupted goes on where it stopped.

Each result is a JSON file of its own, written under another name and renamed, so that it is whole or absent. It holds a
fingerprint of everything that made it: the cell, the algorithm's settings, the versions of the packages, and the source of
what is involved (the simulators; for BADAC itself the whole library; for the Bayes limit its own). A result with another
fingerprint is not used, and is replaced by a new one.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import badac
from badac.writing import write_whole
from reproduction.algorithms import ALGORITHMS
from reproduction.cells import Cell
from reproduction.results import Result

_BADAC = Path(badac.__file__).resolve().parent
_LIMITS = Path(__file__).resolve().parent / "limits"
_PRESENTATION = ("cli", "plots")


def keep(directory: Path, result: Result) -> Path:
    """Write a result into the directory of cells; return its path."""
    path = _path(directory, result.cell)
    stored = {"fingerprint": fingerprint(result.cell.algorithm), **result.as_dict()}
    write_whole(path, json.dumps(stored, separators=(",", ":"), allow_nan=False))
    return path


def recall(directory: Path, cell: Cell) -> Result | None:
    """Return the kept result of a cell, or None if there is none that the present code would give."""
    try:
        stored = json.loads(_path(directory, cell).read_text())
        if stored["fingerprint"] != fingerprint(cell.algorithm):
            return None
        result = Result.from_dict(stored)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # not ours, or of another version: it is computed again and replaced
    return result if result.cell == cell else None


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    out = {"python": platform.python_version()}
    for package in ("badac", "numpy", "scipy", "scikit-learn", "pyod"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            continue
    return out


@cache
def fingerprint(algorithm: str) -> str:
    """Return a short hash of all that a result of this algorithm depends on, besides the cell itself."""
    digest = hashlib.sha256()
    digest.update(
        json.dumps([algorithm, ALGORITHMS[algorithm].settings, versions()], sort_keys=True).encode()
    )
    for path in _sources(algorithm):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(algorithm: str) -> Iterator[Path]:
    """The files whose change could change a result, in an order that does not depend on where they lie."""
    folders = [_BADAC] if algorithm.startswith("badac") else [_BADAC / "simulate"]
    if algorithm == "limit":
        folders.append(_LIMITS)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            of_presentation = folder == _BADAC and path.relative_to(_BADAC).parts[0] in _PRESENTATION
            if path.suffix in {".py", ".so", ".pyd"} and not of_presentation:
                yield path


def _path(directory: Path, cell: Cell) -> Path:
    return directory / f"{cell.name}.json"


def as_json(value: Any) -> str:
    """Return readable JSON; a number that is not finite is an error, since JSON has none."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"

"""The oldest packages that are promised, as constraints for pip: ``make test-oldest``.

    python tests/floors.py > constraints.txt

Read from pyproject.toml, so that a promise is written once: ``numpy>=2.1`` is tried as ``numpy==2.1``. Tools of the tests
and of the documentation promise nothing to a user and are not among them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROMISED = ("io", "plots", "cli", "scale", "triage", "notebook")


def floors(project: dict[str, object]) -> dict[str, str]:
    """Return the oldest promised version of each package that badac and its extras need."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    needed = [*project["dependencies"], *(one for extra in PROMISED for one in extras[extra])]  # type: ignore[misc]
    found = {}
    for one in needed:
        match = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?(?:>=([\w.]+))?", one.replace(" ", ""))
        assert match is not None, f"not of the form name>=version: {one}"
        if match[1] != "badac":
            assert match[3], f"{one} promises no oldest version"
            found[match[1]] = match[3]
    return found


if __name__ == "__main__":
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(f"{name}=={version}" for name, version in floors(read).items()))

"""The public names, written into docs/reference.md; the site makes a page of each from its docstring.

python -m reproduction.public_names            # write the page
python -m reproduction.public_names --check    # say whether the page holds, and exit with 1 if not
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import badac
from badac.writing import write_whole

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"

# In the order of a reader: what one uses on the first day, then what one extends, then what carries it to a survey.
PUBLIC = (
    "badac",
    "badac.data",
    "badac.ranking",
    "badac.verdicts",
    "badac.explain",
    "badac.diagnostics",
    "badac.comparison",
    "badac.metrics",
    "badac.plots",
    "badac.simulate",
    "badac.noise",
    "badac.noise_learning",
    "badac.classes",
    "badac.nuisance",
    "badac.anomalies",
    "badac.latent",
    "badac.checks",
    "badac.registry",
    "badac.estimators",
    "badac.stream",
    "badac.triage",
    "badac.store",
    "badac.job",
    "badac.partition",
    "badac.dask",
    "badac.lsdb",
)

INTRODUCTION = """# Reference

What is public: the names below, with the promises of [the project](project.md). Each has a page made from its docstring,
with an example that runs as a test (three that need a cluster or LSDB are only shown). Written by `python -m
reproduction.public_names`; a test holds the list against `__all__` of every module, so that nothing becomes public, or stops
being it, unseen.
"""


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit(f"{PAGE.name} is not what `__all__` says: run python -m reproduction.public_names.")
        return
    write_whole(PAGE, page())


def page() -> str:
    """Return the page as it has to be."""
    home = homes()
    parts = [INTRODUCTION, *(_section(module, home) for module in PUBLIC)]
    parts.append(
        "## Not public\n\nThe rest may change at any time: "
        + ", ".join(f"`{name}`" for name in inner())
        + ", every module inside the packages above, and whatever begins with an underscore.\n"
    )
    return "\n".join(parts)


def homes() -> dict[int, str]:
    """Return where each public object, by its id, has its page: the first module of `PUBLIC` that has it."""
    found: dict[int, str] = {}
    for name, value in _public_objects():
        found.setdefault(id(value), name)
    return found


def inner() -> list[str]:
    """Return the modules of the package that are not public."""
    return [
        name
        for name in (f"badac.{module.name}" for module in pkgutil.iter_modules(badac.__path__))
        if name not in PUBLIC
    ]


def _public_objects() -> list[tuple[str, Any]]:
    return [
        (f"{module}.{name}", getattr(import_module(module), name))
        for module in PUBLIC
        for name in import_module(module).__all__
    ]


def _section(module: str, home: dict[int, str]) -> str:
    found = import_module(module)
    said = (found.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    own, elsewhere, constants = [], [], []
    for name in found.__all__:
        value = getattr(found, name)
        if isinstance(value, ModuleType):
            continue
        if not callable(value):
            constants.append(f"`{name}`")
        elif home[id(value)] == f"{module}.{name}":
            own.append(name)
        else:
            elsewhere.append(f"{{py:obj}}`{home[id(value)]}`")
    lines = [f"## `{module}`", "", said, ""]
    if own:
        listed = "\n".join(f"   {name}" for name in own)
        lines += [
            "```{eval-rst}",
            f".. currentmodule:: {module}",
            "",
            ".. autosummary::",
            "   :toctree: reference",
            "   :nosignatures:",
            "",
            listed,
            "```",
            "",
        ]
    if constants:
        lines += [f"Constants: {', '.join(constants)}.", ""]
    if elsewhere:
        lines += [f"And, from elsewhere: {', '.join(elsewhere)}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

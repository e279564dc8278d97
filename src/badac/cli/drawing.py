"""Figures that a verb writes on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from badac.writing import write_whole


def draw(display: Any, path: Path) -> None:
    """Draw a Display into a PNG or SVG file, told by the suffix."""
    from badac.plots.style import rendered

    form = path.suffix.lstrip(".").lower()
    if form not in ("png", "svg"):
        raise ValueError(f"a figure is written as .png or .svg: got {path}.")
    display.plot()
    write_whole(path, rendered(display.figure_, form))

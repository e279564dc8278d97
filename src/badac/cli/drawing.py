"""Figures that a verb writes on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from badac.writing import check_file, write_whole

BEGINS: dict[str, tuple[bytes, ...]] = {"png": (b"\x89PNG",), "svg": (b"<?xml", b"<svg")}


def check_figure(path: Path | None, *, overwrite: bool) -> None:
    """Find out before the work that a figure could not be written, or would replace another file."""
    if path is None:
        return
    if _form(path) not in BEGINS:
        raise ValueError(f"a figure is written as .png or .svg: got {path}.")
    check_file(path, "the figure", overwrite=overwrite, begins=BEGINS[_form(path)])


def draw(display: Any, path: Path) -> None:
    """Draw a Display into a PNG or SVG file, told by the suffix."""
    from badac.plots.style import rendered

    display.plot()
    write_whole(path, rendered(display.figure_, _form(path)))


def _form(path: Path) -> str:
    return path.suffix.lstrip(".").lower()

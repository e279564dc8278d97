"""Cells that a spreadsheet would run: text that begins with ``=``, ``+``, ``-`` or ``@`` is a formula there.

A name in a table may come from anybody (`=HYPERLINK(...)`), and CSV has no way to say "this is text". So such a cell is written
with an apostrophe before it, which spreadsheets take as "text follows" and hide. Numbers are left alone, also those kept as
text. Parquet, FITS, VOTable and ECSV know their types, and keep every cell as it is.
"""

from __future__ import annotations

from typing import Any

_BEGINS = ("=", "+", "-", "@", "\t", "\r")
SAID = (
    "{n} {cells} of {file} would be formulas in a spreadsheet and {have} an apostrophe before them. Parquet keeps every name "
    "as it is."
)


def is_formula(cell: object) -> bool:
    """Whether a spreadsheet would run a cell."""
    if not isinstance(cell, str) or not cell.startswith(_BEGINS):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def as_text(cell: Any) -> Any:
    """Return a cell so that no spreadsheet runs it.

    Examples
    --------
    >>> from badac.data.spreadsheets import as_text
    >>> as_text("=1+1"), as_text("-1.5"), as_text("@home"), as_text(-2)
    ("'=1+1", '-1.5', "'@home", -2)
    """
    return f"'{cell}" if is_formula(cell) else cell


def safe_frame(frame: Any) -> tuple[Any, int]:
    """Return a pandas frame without formulas, the names of its columns too, and how many cells were changed."""
    changed: dict[Any, Any] = {}
    count = sum(map(is_formula, frame.columns))
    for name in frame.columns:
        if getattr(frame[name].dtype, "kind", "O") in "iufbMm":
            continue
        cells = frame[name].tolist()
        formulas = sum(map(is_formula, cells))
        if formulas:
            changed[name] = [as_text(cell) for cell in cells]
            count += formulas
    return (frame.assign(**changed).rename(columns=as_text), count) if count else (frame, 0)


def said(count: int, file: str) -> list[str]:
    """Say how many cells were changed, if any were."""
    if not count:
        return []
    return [
        SAID.format(
            n=count, cells="cells" if count > 1 else "cell", file=file, have="have" if count > 1 else "has"
        )
    ]

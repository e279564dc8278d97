"""Small tables for people: as text in a terminal, as HTML in a notebook.

print(model.explain(new))        text_table
model.explain(new)               html_table, where a notebook shows it
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]

ROWS_SHOWN = 20
_LEFT = (str,)


def cell(value: Any) -> str:
    """Return a cell's text: four digits of a number, anything else as it is.

    >>> cell(3.14159), cell(7), cell("star")
    ('3.142', '7', 'star')
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "f" if isinstance(value, float) else "")
    return f"{value:.4g}" if kind == "f" else str(value)


def text_table(columns: Columns, *, most: int = ROWS_SHOWN) -> str:
    """Return a table with aligned columns, numbers to the right; of many rows the first `most`.

    >>> print(text_table({"class": ["star", "galaxy"], "members": [12, 7]}))
    class   members
    star         12
    galaxy        7
    """
    cells, rows, more = _cells(columns, most)
    right = [not isinstance(next(iter(column), 0), _LEFT) for column in columns.values()]
    widths = [max([len(name), *map(len, column)]) for name, column in cells.items()]
    lines = []
    for row in (list(cells), *([column[number] for column in cells.values()] for number in range(rows))):
        aligned = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        )
        lines.append("  ".join(aligned).rstrip())
    return "\n".join([*lines, *([f"... {more} more"] if more else [])])


def html_table(columns: Columns, caption: str = "", *, most: int = ROWS_SHOWN) -> str:
    """Return the same as HTML, for ``_repr_html_``; all text is escaped."""
    cells, rows, more = _cells(columns, most)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in cells)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(column[row])}</td>" for column in cells.values()) + "</tr>"
        for row in range(rows)
    )
    said = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    after = f"<p>... {more} more</p>" if more else ""
    return f"<table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"


def _cells(columns: Columns, most: int) -> tuple[dict[str, list[str]], int, int]:
    n = min((len(column) for column in columns.values()), default=0)
    rows = min(n, most)
    return (
        {name: [cell(value) for value in column[:rows]] for name, column in columns.items()},
        rows,
        n - rows,
    )

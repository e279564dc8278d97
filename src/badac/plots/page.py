"""A report as one HTML file: text, tables and figures in one page that needs nothing else.

Styles are inline and figures are embedded, so the file can be mailed, opened without a network and read on a phone. Figures
are SVG inside an ``img`` with a description for readers who cannot see them; wide tables scroll by themselves and can be
reached with the keyboard. All text is escaped.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from badac.plots.style import rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PIXELS_PER_INCH = 122  # a figure of a page's width fills the text
_CSS = """
:root { color-scheme: light; --ink: #1b1b3a; --soft: #5c5c6e; --line: #d9d9e0; --tint: #f4f6fa; --accent: #00598c; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem 1.1rem 4rem; color: var(--ink); background: #fff;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { margin: .5rem 0; max-width: 46rem; }
.lead, figcaption, caption, .paper { color: var(--soft); }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1rem; list-style: none; padding: 0; margin: .8rem 0; }
a { color: var(--accent); }
.table { overflow-x: auto; margin: .6rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .2rem 0 .4rem; font-size: .9rem; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--ink); }
tbody tr:nth-child(even) { background: var(--tint); }
tr.ours th, tr.ours td { font-weight: 600; }
tbody th { font-weight: inherit; }
.paper { font-size: .82em; font-weight: 400; }
figure { margin: 1rem 0 1.6rem; }
figure img { display: block; max-width: 100%; height: auto; }
figcaption { font-size: .88rem; max-width: 46rem; margin-top: .4rem; }
pre { background: var(--tint); border: 1px solid var(--line); padding: .6rem .8rem; white-space: pre-wrap;
  overflow-wrap: break-word; font-size: .85rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 0 1.6rem; }
.cards figure { margin-bottom: .4rem; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
a:focus-visible, [tabindex]:focus-visible, summary:focus-visible { outline: 3px solid #e69f00; outline-offset: 2px; }
summary { cursor: pointer; color: var(--accent); }
@media (max-width: 36rem) { table { font-size: .8rem; } th, td { padding: .25rem .35rem; white-space: normal; }
  tbody th { overflow-wrap: break-word; } }
article ul { margin: 0 0 1rem; padding-left: 1.1rem; font-size: .88rem; }
.note { border-left: 4px solid #e69f00; background: #fff8e8; padding: .5rem .8rem; max-width: 46rem; }
"""


@dataclass(frozen=True)
class Text:
    """A table's cell: its text, and a smaller remark after it."""

    text: str
    remark: str = ""


@dataclass
class Page:
    """An HTML page that is put together from top to bottom; `render` gives the file.

    Examples
    --------
    >>> from badac.plots.page import Page
    >>> page = Page("Results").paragraph("2 < 3")
    >>> "2 &lt; 3" in page.render()
    True
    """

    title: str
    _parts: list[str] = field(default_factory=list)
    _sections: list[tuple[str, str]] = field(default_factory=list)

    def section(self, heading: str) -> Self:
        """Begin a section; its heading is linked from the top of the page."""
        anchor = f"section-{len(self._sections) + 1}"
        self._sections.append((anchor, heading))
        self._parts.append(f'<h2 id="{anchor}">{html.escape(heading)}</h2>')
        return self

    def heading(self, text: str) -> Self:
        """Add a heading inside a section."""
        self._parts.append(f"<h3>{html.escape(text)}</h3>")
        return self

    def paragraph(self, text: str, *, kind: str = "") -> Self:
        """Add a paragraph; `kind` is "" or one of the style sheet's: "lead", "note"."""
        style = f' class="{html.escape(kind)}"' if kind else ""
        self._parts.append(f"<p{style}>{html.escape(text)}</p>")
        return self

    def links(self, targets: Sequence[tuple[str, str]]) -> Self:
        """Add a list of links, each an address and its text."""
        items = "".join(
            f'<li><a href="{html.escape(address, quote=True)}">{html.escape(text)}</a></li>'
            for address, text in targets
        )
        self._parts.append(f"<ul>{items}</ul>")
        return self

    def cards(self, parts: Sequence[Page]) -> Self:
        """Add small pages beside each other where there is room, each with its title as a heading."""
        inside = "\n".join(
            f"<article><h3>{html.escape(part.title)}</h3>\n" + "\n".join(part._parts) + "\n</article>"
            for part in parts
        )
        self._parts.append(f'<div class="cards">{inside}</div>')
        return self

    def details(self, summary: str, inside: Page) -> Self:
        """Add what is shown on demand; the summary can be reached and opened with the keyboard."""
        self._parts.append(
            f"<details><summary>{html.escape(summary)}</summary>\n"
            + "\n".join(inside._parts)
            + "\n</details>"
        )
        return self

    def code(self, text: str) -> Self:
        """Add a block of code or a command."""
        self._parts.append(f'<pre tabindex="0"><code>{html.escape(text)}</code></pre>')
        return self

    def table(
        self,
        caption: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Text | str]],
        *,
        ours: Sequence[bool] | None = None,
    ) -> Self:
        """Add a table; the first column names the rows, and rows marked in `ours` stand out."""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
        lines = []
        for number, row in enumerate(rows):
            first, *rest = (_cell(value) for value in row)
            style = ' class="ours"' if ours is not None and ours[number] else ""
            lines.append(
                f'<tr{style}><th scope="row">{first}</th>'
                + "".join(f"<td>{one}</td>" for one in rest)
                + "</tr>"
            )
        label = html.escape(caption, quote=True)
        self._parts.append(
            f'<div class="table" role="region" aria-label="{label}" tabindex="0"><table><caption>{html.escape(caption)}'
            f"</caption><thead><tr>{head}</tr></thead><tbody>\n"
            + "\n".join(lines)
            + "\n</tbody></table></div>"
        )
        return self

    def figure(self, figure: Figure, caption: str, description: str, svg: bytes | None = None) -> Self:
        """Embed a figure with its caption.

        Parameters
        ----------
        figure : matplotlib Figure
        caption, description : str
            `description` says what it shows to those who cannot see it.
        svg : bytes, optional
            The figure as SVG, if it has been drawn already.
        """
        width, height = (round(_PIXELS_PER_INCH * side) for side in figure.get_size_inches())
        data = base64.b64encode(rendered(figure, "svg") if svg is None else svg).decode()
        self._parts.append(
            f'<figure><img src="data:image/svg+xml;base64,{data}" width="{width}" height="{height}" '
            f'alt="{html.escape(description, quote=True)}"><figcaption>{html.escape(caption)}</figcaption></figure>'
        )
        return self

    def render(self) -> str:
        """Return the page as HTML."""
        links = "".join(
            f'<li><a href="#{anchor}">{html.escape(name)}</a></li>' for anchor, name in self._sections
        )
        contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if links else ""
        title = html.escape(self.title)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n"
            '<a class="skip" href="#main">Skip to the results</a>\n'
            f"<header><h1>{title}</h1>{contents}</header>\n"
            '<main id="main">\n' + "\n".join(self._parts) + "\n</main>\n</body>\n</html>\n"
        )


def _cell(value: Text | str) -> str:
    if isinstance(value, str):
        return html.escape(value)
    remark = f' <span class="paper">{html.escape(value.remark)}</span>' if value.remark else ""
    return html.escape(value.text) + remark

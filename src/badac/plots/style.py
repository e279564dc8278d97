"""The house style of all figures: one column wide, colour-blind safe, no global state.

Colours are Okabe and Ito's, told apart by readers with any of the common colour-vision deficiencies; markers and dashes
differ as well, so that a grey print still reads. Figures are made by the object-oriented interface and never through
pyplot: nothing is registered, nothing has to be closed, and no window opens.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from badac.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

PALETTE: dict[str, str] = {
    "sky": "#56B4E9",
    "orange": "#E69F00",
    "ink": "#1B1B3A",
    "green": "#009E73",
    "vermilion": "#D55E00",
    "blue": "#0072B2",
    "purple": "#CC79A7",
    "grey": "#767676",
}
"""Okabe and Ito's colours by name (their black and yellow replaced: ink for marks, grey for guides)."""

CLASS_COLOURS: tuple[str, ...] = tuple(PALETTE[name] for name in ("sky", "orange", "green", "purple", "blue"))
CLASS_MARKERS: tuple[str, ...] = ("o", "^", "s", "v", "P")
ANOMALY_COLOUR = PALETTE["ink"]
ANOMALY_MARKER = "D"
LINE_COLOURS: tuple[str, ...] = tuple(
    PALETTE[name] for name in ("blue", "vermilion", "green", "purple", "orange", "sky", "ink", "grey")
)
LINE_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    "-",
    (0, (3, 1)),
    "-",
    "-",
)
LINE_MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P", "X", "*")

COLUMN = 3.4
"""Width of one column of a journal, in inches."""
PAGE = 7.1
"""Width of a page of two columns, in inches."""

_RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, so every machine draws the same figure
    "font.size": 7.5,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "legend.fontsize": 7.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "legend.frameon": True,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.fancybox": False,
    "legend.handlelength": 1.8,
    "savefig.dpi": 200,
    "figure.dpi": 150,
    "svg.fonttype": "path",  # text as outlines: the same on a phone without our font
    "svg.hashsalt": "badac",  # the same numbers give the same file
    "mathtext.default": "regular",
}


def house_style() -> Any:
    """Return a context in which matplotlib draws in the house style."""
    import matplotlib

    return matplotlib.rc_context(_RC)  # type: ignore[arg-type]


def new_figure(
    rows: int = 1, columns: int = 1, *, width: float = COLUMN, height: float | None = None, **subplots: Any
) -> tuple[Figure, Any]:
    """Return a figure in the house style and its axes, (rows, columns) as ``Figure.subplots`` gives them.

    Examples
    --------
    >>> from badac.plots import new_figure
    >>> figure, axes = new_figure(1, 2, width=7.0)
    >>> axes.shape
    (2,)
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(
            figsize=(width, 0.78 * width / columns * rows if height is None else height), layout="constrained"
        )
        return figure, figure.subplots(rows, columns, **subplots)


def new_axes(ax: Axes | None, *, width: float = COLUMN, height: float | None = None) -> Axes:
    """Return the given axes, or those of a new figure of one panel.

    Examples
    --------
    >>> from badac.plots import new_axes
    >>> new_axes(None).has_data()
    False
    """
    return new_figure(width=width, height=height)[1] if ax is None else ax


def _no_formulas(figure: Figure) -> None:
    """Let names from tables be drawn as they are; only the powers of ten of logarithmic axes are mathematics."""
    from matplotlib.ticker import FixedFormatter

    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        named = axis.get_major_formatter()
        if isinstance(named, FixedFormatter):
            named.seq = [literal(str(name).replace(r"\$", "$")) for name in named.seq]
    for text in _texts(figure):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_text(literal(text.get_text().replace(r"\$", "$")))


def _texts(artist: Artist) -> Iterator[Text]:
    """All texts but those of ticks, which their formatter writes: to look at ticks is to make them, which takes longest."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    if isinstance(artist, Text):
        yield artist
    for child in [artist.label] if isinstance(artist, Axis) else artist.get_children():
        yield from _texts(child)


def literal(text: object) -> str:
    """Return text from a table so that matplotlib draws it as it is: two dollars in a name are no formula."""
    return str(text).replace("$", r"\$")


def legend(ax: Axes, **options: Any) -> None:
    """Draw the legend in the house style, if there is anything to name."""
    if ax.get_legend_handles_labels()[0]:
        with house_style():
            ax.legend(**options)


def rendered(figure: Figure, form: str) -> bytes:
    """Return the figure as the bytes of a PNG or SVG file."""
    buffer = io.BytesIO()
    _no_formulas(figure)
    with house_style(), _laid_out(figure, form):
        # No date: the same numbers give the same bytes.
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()


@contextmanager
def _laid_out(figure: Figure, form: str) -> Iterator[None]:
    """Place the axes, and keep them there: `savefig` would draw the whole figure once more to place them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine, canvas = figure.get_layout_engine(), figure.canvas
    if engine is None:
        yield
        return
    # Text is measured as it will be drawn.
    (FigureCanvasSVG if form == "svg" else FigureCanvasAgg)(figure)
    engine.execute(figure)
    figure.set_canvas(canvas)
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def save(figure: Figure, path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write ``path.png`` and ``path.svg``, each whole or not at all; return both paths.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from badac.plots import new_figure, save
    >>> figure, axes = new_figure()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(figure, Path(folder) / "plot")]
    ['plot.png', 'plot.svg']
    """
    written = []
    for form in ("png", "svg"):
        target = Path(f"{os.fspath(path)}.{form}")
        write_whole(target, rendered(figure, form))
        written.append(target)
    return written[0], written[1]

"""How each kind of data is drawn: one rule a kind, in one table, for every figure that shows an object.

    catalogue      named columns with their pulls in sigma, no line through unlike quantities
    light curve    one colour, one marker and one line a band; magnitudes upside down; folded where a period is known
    spectrum       a line over wavelengths with its error band
    counts         bars, what was expected as marks
    grid curve     points with error bars over the class

The names of columns, bands, axes and units are those of the table (`badac.data.Description`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from badac.data.description import Description
from badac.plots.style import LINE_COLOURS, LINE_MARKERS, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

WINDOW_COLOUR = "#F0E442"
_MOST_COLUMNS = 14  # rows of a figure of one column that can be read
_MOST_BARS = 30
_MANY_POINTS = 120  # more are a line with a band rather than points with bars


@dataclass(frozen=True, eq=False)
class Picture:
    """The numbers of one object's picture, of ``m`` points.

    Attributes
    ----------
    x, values : (m,)
        NaN where missing.
    sigma : (m,) or None
    band : (m,) int or None
    expected : sequence of (name, at, mean, spread)
        What the class looks like, for each band.
    label : str
        The class.
    window : (2,) or None
    pull : (m,) or None
    about : Description
    period : float or None
    has_coordinates : bool
        Whether `x` is more than the number of the point.
    """

    x: FloatArray
    values: FloatArray
    sigma: FloatArray | None
    band: npt.NDArray[np.int64] | None
    expected: Sequence[tuple[str, FloatArray, FloatArray, FloatArray]]
    label: str
    window: FloatArray | None
    pull: FloatArray | None
    about: Description
    period: float | None
    has_coordinates: bool

    @property
    def seen(self) -> BoolArray:
        """(m,): which points were measured."""
        return ~np.isnan(self.values)

    def bars(self, rows: BoolArray) -> FloatArray | None:
        """Error bars of some points."""
        return None if self.sigma is None else self.sigma[rows]

    def drawn_window(self) -> tuple[float, float] | None:
        """Where the strangest window is drawn: one of a single point is as wide as the step between points."""
        if self.window is None:
            return None
        low, high = (float(edge) for edge in self.window)
        if high > low:
            return low, high
        step = float(np.nanmax(self.x) - np.nanmin(self.x)) / max(len(self.x) - 1, 1) or 1.0
        return low - 0.4 * step, high + 0.4 * step

    @property
    def x_label(self) -> str:
        axis = str(self.about.axis)
        return axis or ("coordinate" if self.has_coordinates else "point")

    @property
    def y_label(self) -> str:
        return str(self.about.quantity) or "value"


def grid_curve(picture: Picture, ax: Axes) -> None:
    """Points with error bars over the class."""
    with house_style():
        _shade_window(picture, ax)
        for _, at, mean, spread in picture.expected:
            _class_band(ax, at, mean, spread, PALETTE["blue"], f"class {picture.label}")
        seen = picture.seen
        ax.errorbar(
            picture.x[seen],
            picture.values[seen],
            yerr=picture.bars(seen),
            fmt="o",
            color=PALETTE["ink"],
            markersize=2.4,
            elinewidth=0.6,
            label="object",
        )
        _label_axes(picture, ax)


def spectrum(picture: Picture, ax: Axes) -> None:
    """A line over the axis with a band of one standard deviation; few points are drawn as points."""
    if int(picture.seen.sum()) <= _MANY_POINTS:
        grid_curve(picture, ax)
        return
    with house_style():
        _shade_window(picture, ax)
        order = np.argsort(picture.x, kind="stable")
        order = order[np.isfinite(picture.x[order])]
        x, values = picture.x[order], picture.values[order]
        if picture.sigma is not None:
            sigma = np.where(np.isfinite(picture.sigma[order]), picture.sigma[order], np.nan)
            ax.fill_between(
                x, values - sigma, values + sigma, step="mid", color=PALETTE["grey"], alpha=0.35, linewidth=0
            )
        ax.step(x, values, where="mid", color=PALETTE["ink"], linewidth=0.6, label="object")
        for _, at, mean, spread in picture.expected:
            _class_band(ax, at, mean, spread, PALETTE["vermilion"], f"class {picture.label}")
        _label_axes(picture, ax)


def light_curve(picture: Picture, ax: Axes) -> None:
    """One colour, one marker and one line a band, over time or phase."""
    about, x = picture.about, picture.x
    fold = picture.period if picture.period is not None and not about.folded else None
    if fold is not None:
        about, x = about.in_phase(), _phase(x, fold)
    band = np.zeros(len(x), dtype=np.int64) if picture.band is None else picture.band
    present = np.unique(band[picture.seen]).tolist()
    single = picture.band is None
    crowded = int(picture.seen.sum()) > 2 * _MANY_POINTS
    with house_style():
        if fold is None:
            _shade_window(picture, ax)
        else:
            _mark_window(picture, x, ax)
        for place, which in enumerate(present):
            colour = PALETTE["blue"] if single else LINE_COLOURS[which % len(LINE_COLOURS)]
            if place < len(picture.expected):
                _, at, mean, spread = picture.expected[place]
                said = f"class {picture.label}" if single else None
                if fold is None:
                    _class_band(ax, at, mean, spread, colour, said)
                else:  # at one phase the class expects other values in other cycles
                    ax.plot(_phase(at, fold), mean, "_", color=colour, markersize=5, alpha=0.8, label=said)
            rows = picture.seen & (band == which)
            ax.errorbar(
                x[rows],
                picture.values[rows],
                yerr=picture.bars(rows),
                fmt=LINE_MARKERS[0 if single else which % len(LINE_MARKERS)],
                color=PALETTE["ink"] if single else colour,
                markeredgecolor=PALETTE["ink"],
                markeredgewidth=0.3,
                markersize=1.8 if crowded else 3.0,
                elinewidth=0.6,
                label="object" if single else about.band(which),
            )
        if not single:  # the colours of the lines are those of the points
            ax.plot([], [], color=PALETTE["grey"], linewidth=1.2, label=f"class {picture.label}")
        _label_axes(picture, ax, str(about.axis))
        if about.upside_down and not ax.yaxis_inverted():
            ax.invert_yaxis()


def catalogue(picture: Picture, ax: Axes) -> None:
    """Named columns with their pulls in sigma, the value and what was expected beside them."""
    pull = np.zeros(len(picture.values)) if picture.pull is None else np.nan_to_num(picture.pull)
    rows = _strongest(np.abs(pull), picture.seen, _MOST_COLUMNS)
    place = np.arange(len(rows))[::-1]
    strange = np.abs(pull[rows]) > 3.0
    reach = max(4.0, 1.12 * float(np.abs(pull[rows]).max(initial=0.0)))
    with house_style():
        ax.axvspan(-3.0, 3.0, color=PALETTE["grey"], alpha=0.10, linewidth=0)
        ax.axvspan(-1.0, 1.0, color=PALETTE["grey"], alpha=0.14, linewidth=0)
        if picture.window is not None:
            inside = (rows >= picture.window[0]) & (rows <= picture.window[1])
            for one in place[inside]:
                ax.axhspan(one - 0.42, one + 0.42, color=WINDOW_COLOUR, alpha=0.45, linewidth=0)
        colours = [PALETTE["vermilion"] if one else PALETTE["blue"] for one in strange]
        ax.hlines(place, 0.0, pull[rows], colors=colours, linewidth=1.6)
        ax.scatter(pull[rows], place, c=colours, s=14, zorder=3)
        ax.axvline(0.0, color=PALETTE["ink"], linewidth=0.6)
        _, _, mean, _ = picture.expected[0] if picture.expected else ("", 0, np.full(len(pull), np.nan), 0)
        for one, row in zip(place, rows, strict=True):
            ax.text(
                1.02,
                one,
                _beside(picture, int(row), float(np.asarray(mean)[row])),
                transform=ax.get_yaxis_transform(),
                va="center",
                fontsize=6.0,
                color=PALETTE["ink"],
            )
        ax.text(1.02, len(rows) - 0.45, "value  (expected)", transform=ax.get_yaxis_transform(), fontsize=6.0)
        ax.set_yticks(place, [_named(picture.about, int(row)) for row in rows], fontsize=6.5)
        ax.set_ylim(-0.7, len(rows) - 0.3)
        ax.set_xlim(-reach, reach)
        ax.set_xlabel(f"pull from class {picture.label} [sigma]")
        ax.tick_params(axis="y", length=0)
        left_out = int(picture.seen.sum()) - len(rows)
        if left_out > 0:
            ax.set_title(f"the {len(rows)} furthest of {left_out + len(rows)} columns")


def counts(picture: Picture, ax: Axes) -> None:
    """Bars, and what the class expected as marks with one standard deviation."""
    pull = np.zeros(len(picture.values)) if picture.pull is None else np.nan_to_num(picture.pull)
    rows = np.sort(_strongest(np.abs(pull), picture.seen, _MOST_BARS))
    place = np.arange(len(rows))
    with house_style():
        if picture.window is not None and not picture.has_coordinates:
            for one in place[(rows >= picture.window[0]) & (rows <= picture.window[1])]:
                ax.axvspan(one - 0.5, one + 0.5, color=WINDOW_COLOUR, alpha=0.45, linewidth=0)
        ax.bar(place, picture.values[rows], width=0.8, color=PALETTE["sky"], label="object")
        for _, _, mean, spread in picture.expected:
            ax.errorbar(
                place,
                mean[rows],
                yerr=spread[rows],
                fmt="_",
                color=PALETTE["vermilion"],
                markersize=6,
                elinewidth=0.9,
                label=f"class {picture.label}",
            )
        names = [_named(picture.about, int(row)) for row in rows]
        shown = slice(None, None, max(1, len(rows) // 30))
        long = max(map(len, names), default=0) > 3
        ax.set_xticks(place[shown], names[shown], fontsize=6.0, rotation=90 if long else 0)
        ax.set_xlim(-0.6, len(rows) - 0.4)
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel(str(picture.about.quantity) or "counts")
        left_out = int(picture.seen.sum()) - len(rows)
        if left_out > 0:
            ax.set_title(f"the {len(rows)} furthest of {left_out + len(rows)} columns")


LEGENDS: dict[str, dict[str, Any]] = {
    "light curve": {
        "loc": "lower left",
        "bbox_to_anchor": (-0.02, 1.0),
        "ncols": 4,
        "columnspacing": 0.7,
        "handlelength": 1.2,
    }
}
"""Where the legend goes: above the axes where a curve may run anywhere in them; elsewhere where there is room."""

PICTURES: dict[str, Callable[[Picture, Axes], None]] = {
    "catalogue": catalogue,
    "light curve": light_curve,
    "spectrum": spectrum,
    "counts": counts,
    "grid curve": grid_curve,
}
"""What draws an object, by the kind of its data (`badac.data.description.KINDS`)."""


def _class_band(
    ax: Axes, at: FloatArray, mean: FloatArray, spread: FloatArray, colour: str, label: str | None
) -> None:
    order = np.argsort(at, kind="stable")
    order = order[np.isfinite(at[order])]
    at, mean, spread = at[order], mean[order], spread[order]
    for width, shade in ((2.0, 0.12), (1.0, 0.22)):
        ax.fill_between(
            at, mean - width * spread, mean + width * spread, color=colour, alpha=shade, linewidth=0
        )
    ax.plot(at, mean, color=colour, linewidth=1.0, label=label)


def _shade_window(picture: Picture, ax: Axes) -> None:
    window = picture.drawn_window()
    if window is not None:
        ax.axvspan(*window, color=WINDOW_COLOUR, alpha=0.45, linewidth=0, label="strangest window")


def _mark_window(picture: Picture, x: FloatArray, ax: Axes) -> None:
    """Ring the points of the strangest window, which folding spreads over the phases."""
    if picture.window is None:
        return
    inside = picture.seen & (picture.x >= picture.window[0]) & (picture.x <= picture.window[1])
    ax.scatter(x[inside], picture.values[inside], s=40, color=WINDOW_COLOUR, label="strangest window")


def _phase(x: FloatArray, period: float) -> FloatArray:
    return np.asarray((x / period) % 1.0)


def _label_axes(picture: Picture, ax: Axes, x_label: str = "") -> None:
    ax.set_xlabel(x_label or picture.x_label)
    ax.set_ylabel(picture.y_label)


def _strongest(size: FloatArray, seen: BoolArray, most: int) -> npt.NDArray[np.int64]:
    """Numbers of the measured columns, in the order of the table; of many the furthest, furthest first."""
    rows = np.flatnonzero(seen)
    if len(rows) <= most:
        return rows
    return rows[np.argsort(-size[rows], kind="stable")[:most]]


def _named(about: Description, index: int) -> str:
    name = about.feature(index)
    unit = about.units.get(name, "")
    return f"{name} [{unit}]" if unit else name


def _beside(picture: Picture, row: int, expected: float) -> str:
    value = f"{picture.values[row]:.4g}"
    if picture.sigma is not None and picture.sigma[row] > 0:
        value += f" ± {picture.sigma[row]:.2g}"
    return value + (f"  ({expected:.4g})" if np.isfinite(expected) else "")

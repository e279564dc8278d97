"""How the paper's figures are drawn, from our data and results: each function returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import RocCurveDisplay

from badac.plots import CalibrationDisplay, ObjectsDisplay
from badac.plots.style import (
    CLASS_COLOURS,
    LINE_COLOURS,
    LINE_DASHES,
    PAGE,
    PALETTE,
    house_style,
    legend,
    new_figure,
)
from badac.simulate import CompactAnomaly, experiment, wedding_cake_covariance
from badac.simulate.experiments import Setting
from reproduction.algorithms import ALGORITHMS
from reproduction.evidence import EvidenceDisplay
from reproduction.published import TITLES
from reproduction.results import Result, RocCurve
from reproduction.toy import TOY, Toy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEED = 4


def draw_toy(toy: Toy = TOY) -> Figure:
    """The two-class schematic (the paper's figure "Schematic representation of BADAC as a classifier")."""
    figure, (left, *right) = new_figure(1, 3, width=PAGE, height=2.3, width_ratios=(1.6, 1, 1))
    x = np.linspace(0.0, 1.0, 101)
    y = np.linspace(0.0, 1.05, 300)
    posterior = toy.posterior()
    with house_style():
        for kind in (0, 1):
            # Smooth templates through the two points: the toy needs only their values there.
            slope = np.diff(toy.templates.values[kind]) / np.diff(toy.at)
            bend = (0.35, 0.2)[kind] * (x - toy.at[0]) * (x - toy.at[1])
            mean = toy.templates.values[kind, 0] + slope * (x - toy.at[0]) + bend
            spread = np.interp(x, toy.at, toy.templates.sigma[kind])
            left.fill_between(
                x,
                mean - spread,
                mean + spread,
                color=CLASS_COLOURS[kind],
                alpha=0.45,
                linewidth=0,
                label=f"class {kind}",
            )
            left.plot(x, mean, color=CLASS_COLOURS[kind], linewidth=0.8)
        left.errorbar(
            toy.at,
            toy.datum.values[0],
            yerr=toy.datum.sigma[0],
            fmt="^",
            color="black",
            capsize=2,
            label="object",
        )
        left.set(xlabel="x", ylabel="value", ylim=(0.0, 1.05), xlim=(0.0, 1.0))
        top = max(toy.true_value_density(kind, point, y).max() for kind in (0, 1) for point in (0, 1))
        for point, ax in enumerate(right):
            for kind in (0, 1):
                density = toy.true_value_density(kind, point, y)
                ax.fill_betweenx(y, 0.0, density, color=CLASS_COLOURS[kind], alpha=0.45, linewidth=0)
                ax.plot(density, y, color=CLASS_COLOURS[kind], linewidth=1.0)
                ax.annotate(
                    f"area: {posterior[kind]:.0%}",
                    (0.97, 0.90 - 0.10 * kind),
                    xycoords="axes fraction",
                    ha="right",
                    color=(PALETTE["blue"], PALETTE["vermilion"])[kind],
                )
            ax.axhline(toy.datum.values[0, point], color="black", linewidth=0.6, linestyle=(0, (4, 2)))
            ax.set(ylim=(0.0, 1.05), xlim=(0.0, 1.15 * top), xticks=[], xlabel="posterior of the true value")
            ax.set_title(f"point {point + 1}")
    legend(left, loc="lower left", ncols=3, columnspacing=1.0)
    return figure


def draw_one_point() -> Figure:
    """The model of one point: a datum, a training value, and the true value that is marginalised."""
    d, sigma_d, y, sigma_y = 0.62, 0.10, 0.45, 0.07
    truth = np.linspace(0.1, 1.0, 400)
    of_datum, of_curve = (
        np.exp(-0.5 * ((truth - mean) / s) ** 2) / s for mean, s in ((d, sigma_d), (y, sigma_y))
    )
    figure, (left, right) = new_figure(1, 2, height=2.3, sharey=True, width_ratios=(1, 1.15))
    with house_style():
        look = {"capsize": 2, "markersize": 5.0, "linestyle": "none"}
        left.errorbar(
            [0.7], [d], yerr=[sigma_d], marker="^", color=PALETTE["orange"], label="test value d", **look
        )
        left.errorbar(
            [0.3], [y], yerr=[sigma_y], marker="D", color=PALETTE["sky"], label="training value $y_o$", **look
        )
        left.plot([0.3], [0.52], "o", color="black", label="its true value $y_t$", zorder=4)
        left.set(xlim=(0.0, 1.0), ylim=(0.1, 1.0), xticks=[], ylabel="value")
        for density, colour in ((of_datum, "orange"), (of_curve, "sky")):
            right.plot(density, truth, color=PALETTE[colour])
        both = of_datum * of_curve
        right.fill_betweenx(truth, 0.0, both / 8.0, color=PALETTE["grey"], alpha=0.5, linewidth=0)
        right.annotate(
            "area: the match",
            (both.max() / 8.0, truth[both.argmax()]),
            xytext=(6.0, 0.25),
            color=PALETTE["grey"],
            arrowprops={"arrowstyle": "-", "color": PALETTE["grey"], "linewidth": 0.6},
        )
        right.set(xticks=[], xlim=(0.0, 16.0))
        right.set_title("$P(d|y_t)$, $P(y_o|y_t)$, product")
    legend(left, loc="upper left", borderaxespad=0.1, handletextpad=0.4)
    return figure


def draw_examples(setting: Setting) -> Figure:
    """One object of each kind with its error bars."""
    data = experiment(1, setting, n_train=1, n_test=60, contamination=0.5, rng=np.random.default_rng(_SEED))
    names = ("class 0: sine", "class 1: parabola", "step", "bump", "sum of sines")
    figure, panels = new_figure(1, 5, width=PAGE, height=1.9, sharey=True)
    for kind, (ax, name) in enumerate(zip(panels, names, strict=True)):
        row = int(np.flatnonzero(data.test_label == kind)[0])
        anomaly = frozenset({name}) if kind > 1 else frozenset()
        ObjectsDisplay(data.test[row], [name], data.test_truth[[row]], anomaly).plot(
            ax, colours={name: CLASS_COLOURS[kind]} if kind < 2 else {}, with_legend=False
        )
        with house_style():
            ax.set_title(name if kind < 2 else f"anomaly: {name}")
            if kind:
                ax.set_ylabel("")
    return figure


def draw_compact(setting: Setting) -> Figure:
    """A sine with a compact anomaly: the host, the truth and the data."""
    data = experiment(
        2, setting, n_train=1, n_test=60, contamination=0.5, rng=np.random.default_rng(_SEED + 1)
    )
    family = data.recipe.families[2]
    assert isinstance(family, CompactAnomaly)
    rows = np.flatnonzero(data.test_label == 2)
    # One whose bump is in full view, on a sine that looks like one.
    frequency, centre = data.test_parameters[rows, 0], data.test_parameters[rows, 2]
    row = int(rows[np.argmin(np.abs(centre - 0.6) + 0.1 * np.abs(frequency - 6.0))])
    host = family.host.truth(data.test_parameters[[row], :1], data.at)[0]
    figure, ax = new_figure(height=2.4)
    with house_style():
        ax.errorbar(
            data.at,
            data.test.values[row],
            yerr=data.test.sigma[row],
            fmt="D",
            color=PALETTE["ink"],
            markersize=1.8,
            elinewidth=0.5,
            alpha=0.75,
            label="measured",
        )
        ax.plot(
            data.at,
            data.test_truth[row],
            color=PALETTE["sky"],
            linewidth=2.0,
            label="with the anomaly",
            zorder=3,
        )
        ax.plot(
            data.at,
            host,
            color=PALETTE["orange"],
            linewidth=1.6,
            linestyle=(0, (4, 1.5)),
            label="class 0",
            zorder=4,
        )
        ax.set(xlabel="x", ylabel="value")
    legend(ax, loc="best")
    return figure


def draw_evidence(results: Sequence[Result]) -> Figure:
    """Log P0 against log P1, one panel per experiment."""
    figure, panels = _panels(len(results), square=True)
    for number, (ax, result) in enumerate(zip(panels, results, strict=False)):
        assert result.scatter is not None
        display = EvidenceDisplay(result.scatter[:, :2], result.scatter[:, 2].astype(np.int64))
        display.plot(ax, with_legend=number == 0)
        _set_title(ax, result.cell.experiment)
    return figure


def draw_calibration(results: Sequence[Result]) -> Figure:
    """Calibration curves of class 1, one panel per experiment."""
    numbers = sorted({result.cell.experiment for result in results})
    figure, panels = _panels(len(numbers))
    for ax, number in zip(panels, numbers, strict=False):
        curves = {
            ALGORITHMS[result.cell.algorithm].label: result.calibration
            for result in results
            if result.cell.experiment == number
            and result.calibration is not None
            and result.cell.algorithm != "limit"
        }
        CalibrationDisplay(curves).plot(ax, of="class 1", with_legend=False)
        _set_title(ax, number)
    with house_style():
        # Below the panels: inside, it would cover error bars.
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4 if len(panels) > 1 else 2)
    return figure


def draw_roc(results: Sequence[Result]) -> Figure:
    """ROC curves, one panel per experiment."""
    numbers = sorted({result.cell.experiment for result in results})
    figure, panels = _panels(len(numbers))
    for ax, number in zip(panels, numbers, strict=False):
        curves = {
            ALGORITHMS[result.cell.algorithm].label: result.roc
            for result in results
            if result.cell.experiment == number and result.roc is not None
        }
        plot_roc(ax, curves)
        _set_title(ax, number)
    return figure


def plot_roc(ax: Axes, curves: Mapping[str, RocCurve]) -> None:
    """ROC curves by name, with their areas in the legend."""
    with house_style():
        for number, (name, curve) in enumerate(curves.items()):
            display = RocCurveDisplay(fpr=curve.false_positive, tpr=curve.true_positive)
            chance = {"color": PALETTE["grey"], "linewidth": 0.8, "label": "chance, 0.500"}
            display.plot(ax, name=name, plot_chance_level=number == len(curves) - 1, chance_level_kw=chance)
            look = number % len(LINE_COLOURS)
            display.line_.set(color=LINE_COLOURS[look], linestyle=LINE_DASHES[look])
            display.line_.set_label(f"{name}, {curve.auc:.3f}")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
    legend(ax, loc="lower right", title="area under the curve", alignment="left")


def draw_covariance() -> Figure:
    """The wedding cake of Experiment 4, first point at the top left."""
    figure, ax = new_figure(height=2.9)
    with house_style():
        # cividis is made to look alike with and without red-green deficiency.
        image = ax.imshow(
            wedding_cake_covariance(100, 0.3), cmap="cividis", interpolation="nearest", rasterized=True
        )
        bar = figure.colorbar(image, ax=ax, shrink=0.85, label="covariance")
        bar.outline.set_linewidth(0.4)
        ax.set(xlabel="point", ylabel="point")
        ax.xaxis.set_label_position("top")
        ax.xaxis.tick_top()
    return figure


def _panels(n: int, *, square: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure of `n` panels, two to a row, or one column wide for a single panel."""
    if n == 1:
        figure, ax = new_figure(height=3.2 if square else 2.9)
        return figure, [ax]
    rows = (n + 1) // 2
    figure, axes = new_figure(rows, 2, width=PAGE, height=(3.4 if square else 2.9) * rows)
    panels = list(axes.ravel())
    for spare in panels[n:]:
        spare.set_visible(False)
    return figure, panels[:n]


def _set_title(ax: Axes, number: int) -> None:
    with house_style():
        ax.set_title(f"{number}  {TITLES[number]}")

"""The paper's figures, drawn from our data and results.

Each function returns a matplotlib Figure; `all_figures` lists them with captions and descriptions, in the paper's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from badac.paper.algorithms import ALGORITHMS
from badac.paper.published import TITLES
from badac.paper.results import Result
from badac.paper.toy import TOY, Toy
from badac.plots import CalibrationDisplay, CovarianceDisplay, EvidenceDisplay, ObjectsDisplay, RocDisplay
from badac.plots.style import CLASS_COLOURS, PAGE, PALETTE, house_style, legend, new_figure
from badac.simulate import CompactAnomaly, experiment, wedding_cake_covariance
from badac.simulate.experiments import Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEED = 4


@dataclass(frozen=True, eq=False)
class PaperFigure:
    """A figure with its file name, its caption, and a description for those who cannot see it."""

    name: str
    figure: Figure
    caption: str
    description: str


def all_figures(results: Sequence[Result]) -> list[PaperFigure]:
    """Draw every figure that the results allow, those of the first seed."""
    first = [result for result in results if result.cell.seed == 0]
    settings = list(dict.fromkeys(result.cell.setting for result in first))
    out = [
        PaperFigure(
            "toy",
            draw_toy(),
            "Which class do the two points come from? Left: the object and the one-sigma bands of the two class templates. "
            "Middle and right: the unnormalised posterior of the true value at each point, the other point marginalised. "
            f"The areas are the evidences, alike in both panels: class 1 has {TOY.posterior()[1]:.0%}. The first point alone "
            f"would say {TOY.posterior((0,))[1]:.0%}. (The paper prints 65 % in the text and 73 % in the caption, and not "
            "the numbers behind them; templates and object here are ours.)",
            "Three panels: two overlapping bands with two measured points, and two panels of bell curves, of which the "
            "orange one of class 1 is larger.",
        )
    ]
    out.append(
        PaperFigure(
            "one-point",
            draw_one_point(),
            "The model of one point. The true value of the training datum is unknown; the match of a test value is the area "
            "under the product of what the two measurements say of it (grey, scaled).",
            "Left, a test value and a training value with error bars; right, their two bell curves and the product of both.",
        )
    )
    for setting in settings:
        out.append(
            PaperFigure(
                f"examples-{setting}",
                draw_examples(cast(Setting, setting)),
                f"Objects of Experiment 1, setting {setting}: one of each kind with one-sigma error bars, and its true curve. "
                "Only classes 0 and 1 are in the training set.",
                "Five small panels, each with one noisy curve: a sine, a parabola, a step, a bump and a sum of sines.",
            )
        )
    for setting in settings:
        out.append(
            PaperFigure(
                f"compact-{setting}",
                draw_compact(cast(Setting, setting)),
                f"A compact anomaly, setting {setting}: a sine of class 0 (orange), the same with a narrow bump (blue), and "
                "what is measured.",
                "A noisy curve that follows a sine except for a narrow peak.",
            )
        )
    for setting in settings:
        out += _result_figures(setting, [result for result in first if result.cell.setting == setting])
    out.append(
        PaperFigure(
            "covariance",
            draw_covariance(),
            "The wedding-cake covariance of class 0 in Experiment 4, sigma = 0.3: five tiers, each adding 0.1. By the "
            "paper's equation the later points are the more correlated ones; its caption says the earlier.",
            "A matrix of five nested squares that brighten towards the lower right corner, with a bright diagonal.",
        )
    )
    return out


def _result_figures(setting: str, results: Sequence[Result]) -> list[PaperFigure]:
    out = []
    for name in ("badac-exact", "badac"):
        chosen = [
            result for result in results if result.cell.algorithm == name and result.scatter is not None
        ]
        if chosen:
            label = ALGORITHMS[name].label
            out.append(
                PaperFigure(
                    f"evidence-{setting}-{name}",
                    draw_evidence(chosen),
                    f"Log evidence under class 0 and class 1 of the test objects, {label}, setting {setting}. On the dashed "
                    "line both explain an object equally well. Crosses are anomalies; those beyond the axes stand on the edge.",
                    "Scatter plots, one per experiment: two clouds on either side of the line y = x, anomalies lower left.",
                )
            )
    if any(result.calibration is not None and result.cell.algorithm != "limit" for result in results):
        out.append(
            PaperFigure(
                f"calibration-{setting}",
                draw_calibration(results),
                f"Stated probability of class 1 against the fraction that is class 1, setting {setting}, normal objects only; "
                "Poisson bars. On the dashed line the probabilities mean what they say.",
                "Calibration curves, one panel per experiment, one line per algorithm.",
            )
        )
    if any(result.roc is not None for result in results):
        out.append(
            PaperFigure(
                f"roc-{setting}",
                draw_roc(results),
                f"ROC curves for the anomalies, setting {setting}; the legends give the areas under the curves.",
                "ROC curves, one panel per experiment, one line per algorithm.",
            )
        )
    return out


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
        RocDisplay(curves).plot(ax)
        _set_title(ax, number)
    return figure


def draw_covariance() -> Figure:
    """The wedding cake of Experiment 4."""
    display = CovarianceDisplay(wedding_cake_covariance(100, 0.3)).plot()
    assert display.figure_ is not None
    return display.figure_


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

"""The paper's figures, drawn from our data and results: each with its caption, and a description for those who cannot see it.

`all_figures` lists them in the paper's order; how each is drawn is in `reproduction.drawings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from badac.simulate.experiments import Setting
from reproduction.algorithms import ALGORITHMS
from reproduction.drawings import (
    draw_calibration,
    draw_compact,
    draw_covariance,
    draw_evidence,
    draw_examples,
    draw_one_point,
    draw_roc,
    draw_toy,
)
from reproduction.results import Result
from reproduction.toy import TOY

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

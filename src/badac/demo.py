"""The main job on data that the package makes: learn classes from noisy objects, classify new ones, rank the strange.

Two parts: curves with a compact anomaly in one percent of them (Experiment 2 of the paper as printed), and
scikit-learn's handwritten digits with known noise. Each is fitted with the defaults beside a random forest that sees the
values but not their error bars, and ends in a table and a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.estimators import BADACClassifier
from badac.explain import Explanation
from badac.metrics import (
    ClassificationSummary,
    DetectionSummary,
    classification_summary,
    detection_summary,
)
from badac.plots import CalibrationDisplay
from badac.plots.page import Page
from badac.plots.style import house_style, new_figure
from badac.ranking import Ranking
from badac.simulate import experiment, noisy_digits
from badac.writing import write_whole

FloatArray = npt.NDArray[np.float64]

_SHOWN = 6
_TREES = 300


@dataclass(frozen=True, eq=False)
class Part:
    """One data set, judged: what was asked, how well it was answered, and by whom.

    Attributes
    ----------
    name : str
    train, test : Measurements
    label : (n,)
        True classes of the test objects that belong to one.
    probability : dict of (n, k)
        By algorithm, of those objects.
    classification : dict of ClassificationSummary
        By algorithm.
    seconds : float
        Fit and prediction with badac.
    """

    name: str
    train: Measurements
    test: Measurements
    classes: npt.NDArray[Any]
    label: npt.NDArray[Any]
    probability: dict[str, FloatArray]
    classification: dict[str, ClassificationSummary]
    seconds: float


@dataclass(frozen=True, eq=False)
class Demo:
    """Everything that the demonstration found."""

    parts: tuple[Part, ...]
    ranking: Ranking
    is_anomaly: npt.NDArray[np.bool_]
    detection: DetectionSummary
    strangest: Explanation


def run(seed: int = 0, n_curves: int = 3000) -> Demo:
    """Generate the data, learn, classify and rank."""
    rng = np.random.default_rng(seed)
    data = experiment(2, "printed", n_train=n_curves, n_test=n_curves, rng=rng)
    normal = ~data.is_anomaly
    curves, model = _judge(
        "curves", data.train, data.train_label, data.test[normal], data.test_label[normal], seed
    )
    ranking = model.rank(data.test)
    score = model.anomaly_score(data.test)
    digits = noisy_digits(rng=rng)
    half = len(digits.label) * 6 // 10
    numbers, _ = _judge(
        "digits",
        digits.objects[:half],
        digits.label[:half],
        digits.objects[half:],
        digits.label[half:],
        seed,
    )
    return Demo(
        parts=(curves, numbers),
        ranking=ranking,
        is_anomaly=data.is_anomaly,
        detection=detection_summary(data.is_anomaly, score, contamination=0.01),
        strangest=model.explain(data.test[ranking.objects[:_SHOWN]]),
    )


def _judge(
    name: str,
    train: Measurements,
    train_label: npt.NDArray[Any],
    test: Measurements,
    label: npt.NDArray[Any],
    seed: int,
) -> tuple[Part, BADACClassifier]:
    from sklearn.ensemble import RandomForestClassifier

    start = perf_counter()
    model = BADACClassifier(n_jobs=-1, random_state=seed).fit(train, train_label)
    probability = {"badac": model.predict_proba(test)}
    seconds = perf_counter() - start
    forest = RandomForestClassifier(_TREES, n_jobs=-1, random_state=seed).fit(train.values, train_label)
    probability["random forest"] = forest.predict_proba(test.values)
    judged = {who: classification_summary(label, p, model.classes_) for who, p in probability.items()}
    return Part(name, train, test, model.classes_, label, probability, judged, seconds), model


def table(demo: Demo) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the rows of the summary."""
    columns = ("data", "algorithm", "accuracy", "log-loss", "calibration error")
    rows: list[tuple[str, ...]] = [
        (part.name, who, f"{100 * found.accuracy:.2f} %", f"{found.log_loss:.4f}", f"{found.ece:.4f}")
        for part in demo.parts
        for who, found in part.classification.items()
    ]
    return columns, rows


def report(demo: Demo) -> Page:
    """Return the page that shows it."""
    curves, digits = demo.parts
    page = Page("badac: a demonstration")
    page.paragraph(
        "What a noisy object is, or that it is something new: two data sets with an error bar on every number, fitted with "
        "the defaults.",
        kind="lead",
    )
    page.section("What is it?")
    columns, rows = table(demo)
    page.table(
        f"{len(curves.train)} training curves of {curves.train.n_points} points; {len(digits.train)} training images of "
        f"{digits.train.n_points} pixels. The forest sees the values, not their error bars.",
        columns,
        rows,
        ours=[row[1] == "badac" for row in rows],
    )
    page.figure(
        _calibration(demo),
        "Do the probabilities mean what they say? On the dashed line they do.",
        "Calibration curves of badac and a random forest on curves and on digits; badac follows the diagonal.",
    )
    page.section("Is it something new?")
    found = demo.detection
    page.paragraph(
        f"{found.n_anomalies} of {found.n_objects} test curves carry a narrow bump that no training curve has. Among the "
        f"{found.n_flagged} that badac calls strangest, {int(demo.is_anomaly[demo.ranking.objects[: found.n_flagged]].sum())} "
        f"do. MCC {found.mcc:.3f}, AUC {found.auc:.3f}, rank-weighted score {found.rws:.3f}."
    )
    page.figure(
        _strangest(demo.strangest),
        "The strangest curves, each with its error bars, what a known class would have looked like there (blue, with one "
        "and two standard deviations), and the window that is strangest (yellow).",
        "Six noisy curves; in each a bump leaves the band of the expected curve inside the shaded window.",
    )
    page.section("Your own data")
    page.code(
        "import badac\n"
        "train = badac.Measurements(values, sigma)          # (objects, points); NaN = missing\n"
        "model = badac.BADACClassifier().fit(train, label)\n"
        "model.predict_proba(new)                           # a calibrated probability per class\n"
        "model.rank(new)                                    # strangest first\n"
        "model.explain(new[:5]).plot(0)                     # where it is strange"
    )
    return page


def write(demo: Demo, folder: Path) -> Path:
    """Write ``report.html`` into the folder, whole or not at all, and return its path."""
    target = folder / "report.html"
    write_whole(target, report(demo).render())
    return target


def _calibration(demo: Demo) -> Any:
    figure, axes = new_figure(1, 2, width=7.0, height=3.2)
    for ax, part in zip(axes, demo.parts, strict=True):
        is_class = (part.label[:, None] == part.classes).ravel()
        curves = {who: probability.ravel() for who, probability in part.probability.items()}
        CalibrationDisplay.from_predictions(is_class, curves).plot(
            ax, of="a class", with_legend=part is demo.parts[0]
        )
        ax.set_title(part.name)
    return figure


def _strangest(explanation: Explanation) -> Any:
    figure, axes = new_figure(3, 2, width=7.0, height=6.6, sharex=True)
    with house_style():
        for row, ax in enumerate(axes.flat):
            explanation.plot(row, ax)
            if row:
                ax.get_legend().remove()
            ax.set_title(
                f"{row + 1}. {explanation.hypothesis[row]}, {explanation.log_bayes_factor[row]:.0f} nats"
            )
    return figure

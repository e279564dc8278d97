"""The main job on data that the package makes: the very steps of ``badac rank``, twice, and a page that sums them up.

Two parts: curves, one percent of which carry a narrow bump that no training curve has (Experiment 2 of the paper as printed),
and scikit-learn's handwritten digits with known noise, among which there are nines that no training image shows. Each is fitted
as populations, the quickest good choice, beside a random forest that sees the values but not their error bars.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.job import Found, RankOptions, Settings, learn, rank_file, read_training, write_results
from badac.job.folder import output_folder
from badac.job.simulated import Simulated, simulate, write_tables
from badac.metrics import (
    ClassificationSummary,
    DetectionSummary,
    classification_summary,
    detection_summary,
)
from badac.plots import CalibrationDisplay, new_figure
from badac.plots.page import Page
from badac.writing import write_whole

FloatArray = npt.NDArray[np.float64]
Step = Callable[[str], AbstractContextManager[None]]

PARTS = {"curves": "2", "digits": "digits"}
_TREES = 300


@dataclass(frozen=True, eq=False)
class Part:
    """One data set, judged: what was asked, how well it was answered, and by whom.

    Attributes
    ----------
    name : str
    drawn : Simulated
        The tables and the truth.
    found : Found
        What ``badac rank`` found.
    label : (n,)
        True classes of the new objects that belong to a known one.
    probability : dict of (n, k)
        By algorithm, of those objects.
    classification : dict of ClassificationSummary
        By algorithm.
    detection : DetectionSummary
        How well the new ones were found.
    """

    name: str
    drawn: Simulated
    found: Found
    label: npt.NDArray[np.generic]
    probability: dict[str, FloatArray]
    classification: dict[str, ClassificationSummary]
    detection: DetectionSummary


@dataclass(frozen=True)
class DemoOptions:
    """What may be chosen about the demonstration.

    Attributes
    ----------
    seed : int
        Of the generated data.
    n_curves : int
        Training and new curves.
    n_jobs : int, optional
        Threads.
    settings : Settings, optional
        Of the model; by default those that take a minute or two: one kind of class model, few folds.
    n_shown : int
        Objects that each report draws.
    """

    seed: int = 0
    n_curves: int = 3000
    n_jobs: int | None = -1
    settings: Settings | None = None
    n_shown: int = 20


def run(
    folder: Path,
    options: DemoOptions = DemoOptions(),  # noqa: B008
    *,
    overwrite: bool = False,
    step: Step = lambda words: nullcontext(),
) -> tuple[Part, ...]:
    """Generate the tables, learn, classify and rank; the folder holds the tables, the rankings and the reports."""
    with output_folder(folder, overwrite=overwrite) as working:
        parts = tuple(_run_part(name, working / name, options, step) for name in PARTS)
        write_whole(working / "report.html", report(parts).render())
    return parts


def _run_part(name: str, folder: Path, options: DemoOptions, step: Step) -> Part:
    settings = options.settings or Settings(class_model="population", seed=options.seed, folds=2)
    with step(f"Making noisy {name}"):
        drawn = simulate(PARTS[name], size=options.n_curves, seed=options.seed)
        folder.mkdir()
        write_tables(drawn, folder)
    model = learn(read_training(folder / "train.parquet"), settings, n_jobs=options.n_jobs, step=step)
    with step(f"Ranking new {name}"):
        command = f"badac rank {name}/train.parquet {name}/new.parquet --class-model population --folds 2"
        found = rank_file(
            model, folder / "new.parquet", RankOptions(n_shown=options.n_shown, command=command)
        )
        write_results(found, folder)
    with step("Asking a random forest that sees no error bars"):
        return _judge(name, drawn, found, options)


def _judge(name: str, drawn: Simulated, found: Found, options: DemoOptions) -> Part:
    from sklearn.ensemble import RandomForestClassifier

    place = np.argsort(found.ranking.objects)
    normal = ~drawn.is_anomaly
    ours = found.ranking.proba[place].astype(np.float64)[normal]
    forest = RandomForestClassifier(_TREES, n_jobs=options.n_jobs, random_state=options.seed)
    forest.fit(drawn.train.values, drawn.train_label)
    probability = {
        "badac": ours / ours.sum(axis=1, keepdims=True),
        "random forest": forest.predict_proba(drawn.new.values[normal]),
    }
    label = drawn.truth[normal]
    classes = found.model.classes_
    return Part(
        name,
        drawn,
        found,
        label,
        probability,
        {who: classification_summary(label, p, classes) for who, p in probability.items()},
        detection_summary(
            drawn.is_anomaly, found.ranking.score[place], n_flagged=int(drawn.is_anomaly.sum())
        ),
    )


def table(parts: tuple[Part, ...]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the rows of the summary."""
    columns = ("data", "algorithm", "accuracy", "log-loss", "calibration error")
    rows: list[tuple[str, ...]] = [
        (part.name, who, f"{100 * found.accuracy:.2f} %", f"{found.log_loss:.4f}", f"{found.ece:.4f}")
        for part in parts
        for who, found in part.classification.items()
    ]
    return columns, rows


def detection_line(part: Part) -> str:
    """Say in a sentence how well the new ones were found."""
    found = part.detection
    return (
        f"{found.n_anomalies} of {found.n_objects} new {part.name} are of no known class: MCC {found.mcc:.3f}, "
        f"AUC {found.auc:.3f}, rank-weighted score {found.rws:.3f}."
    )


def report(parts: tuple[Part, ...]) -> Page:
    """Return the page that sums it up."""
    curves, digits = parts
    page = Page("badac: a demonstration")
    page.paragraph(
        "What a noisy object is, or that it is something new: two data sets with an error bar on every number.",
        kind="lead",
    )
    page.section("The reports")
    page.paragraph("As badac rank writes them for your own tables:")
    page.links([(f"{part.name}/report.html", f"What is new among the {part.name}?") for part in parts])
    page.section("What is it?")
    columns, rows = table(parts)
    page.table(
        f"{len(curves.drawn.train)} training curves of {curves.drawn.train.n_points} points; {len(digits.drawn.train)} "
        f"training images of {digits.drawn.train.n_points} pixels. The forest sees the values, not their error bars.",
        columns,
        rows,
        ours=[row[1] == "badac" for row in rows],
    )
    page.figure(
        _calibration(parts),
        "Do the probabilities mean what they say? On the dashed line they do.",
        "Calibration curves of badac and a random forest on curves and on digits, beside the diagonal.",
    )
    page.section("Is it something new?")
    for part in parts:
        page.paragraph(detection_line(part))
    page.section("Your own data")
    page.code(
        "badac rank train.csv new.csv        # columns: object, label, flux_g, flux_g_err, ...\n\n"
        "import badac\n"
        "train = badac.Measurements(values, sigma)          # (objects, points); NaN = missing\n"
        "model = badac.BADACClassifier().fit(train, label)\n"
        "model.predict_proba(new)                           # a calibrated probability per class\n"
        "model.rank(new)                                    # strangest first\n"
        "model.explain(new[:5]).plot(0)                     # where it is strange"
    )
    return page


def _calibration(parts: tuple[Part, ...]) -> Any:
    figure, axes = new_figure(1, 2, width=7.0, height=3.2)
    for ax, part in zip(axes, parts, strict=True):
        is_class = (part.label[:, None] == part.found.model.classes_).ravel()
        curves = {who: probability.ravel() for who, probability in part.probability.items()}
        CalibrationDisplay.from_predictions(is_class, curves).plot(
            ax, of="a class", with_legend=part is parts[0]
        )
        ax.set_title(part.name)
    return figure

"""The main job on data that the package makes: the very steps of ``badac rank``, once for each kind of data, and an index page.

    curves         on a common grid, one percent of which carry a narrow bump (Experiment 2 of the paper as printed)
    light_curves   of variable stars in two bands, at times of their own, folded, labels in a table apart; eclipses are new
    catalogue      of stars with Gaia's columns and positions; subdwarfs are new

Each is fitted as ``badac rank`` does it, with its report and its list of discoveries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from badac.data import Preparation
from badac.job import (
    Found,
    RankOptions,
    Settings,
    TableOptions,
    learn,
    rank_file,
    read_training,
    write_results,
)
from badac.job.folder import output_folder
from badac.job.report import headline, strangest_cards
from badac.job.simulated import simulate, write_survey, write_tables
from badac.metrics import ClassificationSummary, DetectionSummary, classification_summary, detection_summary
from badac.plots.page import Page
from badac.simulate.surveys import star_catalogue, variable_stars
from badac.writing import write_whole

Step = Callable[[str], AbstractContextManager[None]]

_DRAWN = 2  # objects of each kind on the first page: one row of it


@dataclass(frozen=True)
class Story:
    """One kind of data in the demonstration.

    Attributes
    ----------
    title, about : str
        What the data are, for the page.
    write : callable
        Writes train.parquet, new.parquet and truth.csv (and labels.csv) into a folder; takes it, a size and a seed.
    size : callable
        Objects in each table, of the size that was asked for.
    table : callable
        What is said about the tables in a folder.
    options : str
        The same, as it is typed.
    """

    title: str
    about: str
    write: Callable[[Path, int, int], None]
    size: Callable[[int], int]
    table: Callable[[Path], TableOptions]
    options: str


@dataclass(frozen=True, eq=False)
class Part:
    """One kind of data, judged.

    Attributes
    ----------
    name : str
    found : Found
        What ``badac rank`` found.
    classification : ClassificationSummary
        How well objects of known classes were told.
    detection : DetectionSummary
        How well the new ones were found.
    listed : int
        New ones in the list of discoveries.
    """

    name: str
    found: Found
    classification: ClassificationSummary
    detection: DetectionSummary
    listed: int


@dataclass(frozen=True)
class DemoOptions:
    """What may be chosen about the demonstration.

    Attributes
    ----------
    seed : int
        Of the generated data. The lists of the catalogue with seeds 0 to 9 hold 22 known stars of 248, within their level
        of a tenth; ten of the 22 are in that of seed 0, which is no example.
    n_curves : int
        Training and new curves; a tenth of it light curves, a half of it stars.
    n_jobs : int, optional
        Threads.
    settings : Settings, optional
        Of the model; by default those that take a minute: one kind of class model for the curves, few folds.
    n_shown : int
        Objects that each report draws at most.
    """

    seed: int = 1
    n_curves: int = 3000
    n_jobs: int | None = -1
    settings: Settings | None = None
    n_shown: int = 20


def run(
    folder: Path,
    options: DemoOptions = DemoOptions(),
    *,
    overwrite: bool = False,
    step: Step = lambda words: nullcontext(),
) -> tuple[Part, ...]:
    """Generate the tables, learn, classify and rank; the folder holds the tables, the rankings and the reports."""
    with output_folder(folder, overwrite=overwrite) as working:
        parts = tuple(_run_part(name, working / name, options, step) for name in STORIES)
        write_whole(working / "report.html", report(parts).render())
    return parts


def _run_part(name: str, folder: Path, options: DemoOptions, step: Step) -> Part:
    story = STORIES[name]
    settings = options.settings or Settings(class_model="population", seed=options.seed, folds=2)
    with step(f"Making {story.title}"):
        folder.mkdir()
        story.write(folder, story.size(options.n_curves), options.seed)
    training = read_training(folder / "train.parquet", story.table(folder))
    model = learn(training, settings, n_jobs=options.n_jobs, step=step)
    with step(f"Ranking new {story.title}"):
        found = rank_file(
            model, folder / "new.parquet", RankOptions(n_shown=options.n_shown, command=typed(name))
        )
        write_results(found, folder, table=folder / "new.parquet")
    return _judge(name, found, folder)


def typed(name: str) -> str:
    """Return the command that does the same."""
    words = (f"badac rank {name}/train.parquet {name}/new.parquet", STORIES[name].options.format(folder=name))
    return " ".join(word for word in (*words, "--class-model population --folds 2") if word)


def _judge(name: str, found: Found, folder: Path) -> Part:
    import pandas

    truth = (
        pandas.read_csv(folder / "truth.csv").set_index("object").loc[found.ranking.ids.astype(str).tolist()]
    )
    odd, label = truth["anomaly"].to_numpy(dtype=bool), truth["label"].to_numpy().astype(str)
    proba = found.ranking.proba.astype(np.float64)
    classes = found.model.classes_.astype(str)
    return Part(
        name,
        found,
        classification_summary(label[~odd], (proba / proba.sum(axis=1, keepdims=True))[~odd], classes),
        detection_summary(odd, found.ranking.score, n_flagged=int(odd.sum())),
        int(odd[: found.n_discoveries].sum()),
    )


def table(parts: Sequence[Part]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the rows of the summary."""
    columns = ("data", "new objects", "accuracy", "strange ones", "AUC", "list")
    rows: list[tuple[str, ...]] = [
        (
            STORIES[part.name].title,
            f"{part.found.n_objects:,}",
            f"{100 * part.classification.accuracy:.1f} %",
            f"{part.detection.n_anomalies:,}",
            f"{part.detection.auc:.3f}",
            f"{part.found.n_discoveries:,} ({part.listed:,} right)",
        )
        for part in parts
    ]
    return columns, rows


def report(parts: Sequence[Part]) -> Page:
    """Return the page that links the reports and sums them up."""
    page = Page("badac: a demonstration")
    page.paragraph(
        "What a noisy object is, or that it is something new: one data set of each kind, with an error bar on every number.",
        kind="lead",
    )
    columns, rows = table(parts)
    page.table(
        f"Accuracy is that of objects of known classes; the list holds what can be told from known objects with at most "
        f"{100 * parts[0].found.fdr:g} % false alarms.",
        columns,
        rows,
    )
    for part in parts:
        story = STORIES[part.name]
        page.section(f"{story.title[:1].upper()}{story.title[1:]}")
        page.paragraph(story.about)
        page.paragraph(headline(part.found))
        page.cards(strangest_cards(part.found, _DRAWN))
        page.links(
            [
                (f"{part.name}/report.html", f"The report: what is new among the {story.title}?"),
                (f"{part.name}/ranking.parquet", "The ranking, strangest first"),
            ]
        )
        page.code(f"{typed(part.name)} -o ranking\nbadac explain ranking --rank 1\nbadac triage ranking")
    page.section("Your own data")
    page.code(
        "badac rank train.csv new.csv -o results            # columns: object, label, flux_g, flux_g_err, ...\n"
        "badac triage results                               # look at them one by one, and say what they are\n\n"
        "import badac\n"
        "train = badac.Measurements(values, sigma)          # (objects, points); NaN = missing\n"
        "model = badac.BADACClassifier().fit(train, label)\n"
        "print(model)                                       # what was learned\n"
        "model.predict_proba(new)                           # a calibrated probability per class\n"
        "model.rank(new)                                    # strangest first\n"
        "model.explain(new[:5]).plot(0)                     # where it is strange"
    )
    return page


def _write_curves(folder: Path, size: int, seed: int) -> None:
    write_tables(simulate("2", size=size, seed=seed), folder)


def _write_light_curves(folder: Path, size: int, seed: int) -> None:
    write_survey(variable_stars(size, size, np.random.default_rng(seed)), folder)


def _write_catalogue(folder: Path, size: int, seed: int) -> None:
    write_survey(star_catalogue(size, size, np.random.default_rng(seed)), folder)


def _plain(folder: Path) -> TableOptions:
    return TableOptions()


def _folded(folder: Path) -> TableOptions:
    prepared = Preparation(period="period", fold=True)
    return TableOptions(labels=str(folder / "labels.csv"), preparation=prepared)


STORIES: dict[str, Story] = {
    "curves": Story(
        "curves on a grid",
        "Two classes of curves at common points; one percent of the new ones carry a narrow bump that no training curve has.",
        _write_curves,
        lambda n: n,
        _plain,
        "",
    ),
    "light_curves": Story(
        "light curves",
        "Variable stars in two bands at times of their own, folded with their periods; labels are in a table apart. New are "
        "eclipses.",
        _write_light_curves,
        lambda n: max(60, n // 10),
        _folded,
        "--labels {folder}/labels.csv --period period --fold",
    ),
    "catalogue": Story(
        "stars of a catalogue",
        "Stars with parallax, magnitude, colour and proper motion, with positions that the report links. New are subdwarfs.",
        _write_catalogue,
        lambda n: max(100, n // 2),
        _plain,
        "",
    ),
}
"""What the demonstration shows, in order; the keys are the names of the folders."""

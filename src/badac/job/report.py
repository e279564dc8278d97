"""The report: one page that says what was found, how sure it is, what to look at first, and how to make it again.

It is put together from the numbers of a `Found` and the model's `Record` alone, so the page made from a stored model is the
page made in one go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from badac.data.positions import Positions, find_positions, sky_links
from badac.explain import Explanation
from badac.job.explaining import period_of
from badac.job.found import Found
from badac.job.record import NoiseFound, Record, versions
from badac.job.story import Story
from badac.plots import (
    CalibrationDisplay,
    ConfusionDisplay,
    DiagnosisDisplay,
    ObjectDisplay,
    PValuesDisplay,
    RankingDisplay,
)
from badac.plots.page import Page

_CHANCE = "On the dashed line, stated probabilities come true as often as they say."
_MOST_ROWS = 30


def report_page(found: Found, *, file: str = "ranking.parquet") -> Page:
    """Return the page; `file` is the name of the ranking beside it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac.job import RankOptions, Settings, learn, rank_file, read_training, report_page
    >>> rng = np.random.default_rng(0)
    >>> g = np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40)
    >>> table = pd.DataFrame({"g": g, "g_err": 0.1, "class": np.repeat(["a", "b"], 20)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "stars.csv"
    ...     table.to_csv(path, index=False)
    ...     model = learn(read_training(path), Settings("template", folds=2, diagnose=False))
    ...     found = rank_file(model, path, RankOptions(n_shown=1))
    >>> type(report_page(found)).__name__
    'Page'
    """
    record = Record.of(found.model)
    page = Page(f"What is new in {found.source}?")
    page.paragraph(headline(found), kind="lead")
    for note in _warnings(found, record):
        page.paragraph(note, kind="note")
    _comparison(page, found)
    _strangest(page, found, file)
    _classes(page, found)
    if record is not None:
        _learned(page, record)
        _noise(page, record)
    _again(page, found, record)
    return page


def headline(found: Found) -> str:
    """Say in two sentences what was found."""
    n = found.n_objects
    likely = found.n_likely
    said = (
        f"{n:,} object{'s' if n != 1 else ''} compared with {len(found.model.classes_)} known class"
        f"{'es' if len(found.model.classes_) > 1 else ''}. {likely:,} {'is' if likely == 1 else 'are'} more probably "
        "something new than any of them"
    )
    return f"{said}{_of_the_list(found)}"


def _of_the_list(found: Found) -> str:
    """What the list promises, or why it does not."""
    if found.comparison is not None and not found.comparison.promise_holds:
        breaks = dict.fromkeys(one.what for one in found.comparison.differences if one.breaks_promise)
        listed = f"; {found.n_discoveries:,} would be" if found.n_discoveries else ". None would be"
        return (
            f"{listed} on a list with {100 * found.fdr:g} % false alarms, but that share cannot be promised: the new objects "
            f"are not like the training's ({', '.join(breaks)})."
        )
    if not found.n_discoveries:
        # The words of an empty list begin with "no list at".
        return f". There is {found.why or f'no list with at most {100 * found.fdr:g} % false alarms.'}"
    bound = found.false_share_bound
    at_most = "" if bound is None else f" (at 90 % confidence, no more than {100 * bound:.0f} % of the list)"
    return (
        f"; {found.n_discoveries:,} can be told from known objects by their p-values, of which at most about "
        f"{found.expected_false_alarms:.1f} are false alarms{at_most}."
    )


def _warnings(found: Found, record: Record | None) -> list[str]:
    """What the reader should know first, each once, whichever table it is about."""
    notes = list(found.notes)
    if record is not None:
        notes = [*record.notes, *notes]
        if record.noise is not None and record.noise.looks_like_variances:
            notes.insert(0, record.noise.advice)
    return list(dict.fromkeys(notes))


def _comparison(page: Page, found: Found) -> None:
    comparison = found.comparison
    if comparison is None:
        return
    page.section("Are the new objects like the training's?")
    if comparison.differences:
        page.table(
            "How they differ. A stated share of false alarms holds for objects like the training's only.",
            ("What", "Training", "New", "A list can keep its promise"),
            [
                [one.what, f"{one.training:.3g}", f"{one.new:.3g}", "no" if one.breaks_promise else "yes"]
                for one in comparison.differences
            ],
        )
        for one in comparison.differences:
            page.paragraph(one.sentence)
    else:
        page.paragraph(str(comparison))
    page.figure(
        PValuesDisplay.from_comparison(comparison).plot().figure_,  # type: ignore[arg-type]
        f"P-values of {len(comparison.pvalue):,} new objects: flat where they are like the training's, with a peak at 0 where "
        "there are anomalies (cut where it is much higher).",
        f"Histogram of p-values; {100 * comparison.known_share:.0f} % of the objects look like known ones.",
    )


def _strangest(page: Page, found: Found, file: str) -> None:
    verdicts = found.ranking.verdicts
    page.section("The strangest objects")
    page.figure(
        RankingDisplay(verdicts["anomaly_proba"], verdicts["pvalue"], found.n_discoveries, found.fdr)
        .plot()
        .figure_,  # type: ignore[arg-type]
        "Anomaly probability and p-value by rank.",
        "Anomaly probability falling with rank on a logarithmic axis, with p-values rising beside it.",
    )
    page.paragraph(_how_to_read(found))
    page.links([(file, f"The whole ranking: {file}")])
    cards = strangest_cards(found)
    if not cards:
        page.paragraph(
            "None of the objects is strange: none is more probably something new than known, and none is stranger than 99 of "
            "100 known objects. So none is drawn; badac explain draws any of them."
        )
        return
    page.paragraph(
        f"{_drawn(found.shown.kind)} Yellow is where the object is strangest. Objects that are not strange are not drawn."
    )
    page.cards(cards)


def strangest_cards(found: Found, most: int | None = None) -> list[Page]:
    """Return a picture of each strange object that was kept whole, strangest first, with what is strange about it."""
    explanation = found.model.explain(found.shown.objects).described(found.shown.about)
    stories = _stories(found, explanation)
    strange = [row for row, (story, _) in enumerate(stories) if story.is_strange or row < found.n_discoveries]
    positions = find_positions(found.shown.carried)
    return [_card(row, found, explanation, stories[row], positions) for row in strange[:most]]


def _how_to_read(found: Found) -> str:
    """The one story of probability, Bayes factor and p-value."""
    prior = found.model.anomaly_prior
    made = (
        "from its rank among known objects that were left out while learning, since the classes do not follow their models"
        if found.model.fitted_.ranks_left_out
        else "from the Bayes factor (how much better an anomaly explains it than the known classes) and the share of new "
        f"objects that was expected beforehand, {100 * prior:g} %"
    )
    return (
        f"The probability that an object is something new is made {made}; the order is by it. The p-value says the same "
        "without any expectation: the share of known objects that look at least as strange. Lists "
        f"of discoveries are made of p-values. In full, the score is {found.model.score_meaning_}"
    )


def _drawn(kind: str) -> str:
    """What the pictures show, by the kind of data."""
    return {
        "catalogue": "Each column with its pull: how far it is from what the nearest class and the other columns predict, in "
        "standard deviations; beside it the value, and in brackets what was expected.",
        "counts": "Each column's counts as bars, and what the nearest class expected as marks.",
        "light curve": "Each with its error bars, one colour a band; the lines are what the nearest known class predicts, with "
        "one and two standard deviations.",
        "spectrum": "Each with its error band; the coloured line is what the nearest known class predicts, with one and two "
        "standard deviations.",
    }.get(
        kind,
        "Each with its error bars; the line is what the nearest known class predicts, with one and two standard deviations.",
    )


def _stories(found: Found, explanation: Explanation) -> list[tuple[Story, str]]:
    """The story of each object that was kept whole, and where it is strangest."""
    top = found.columns(stop=len(found.shown))
    return [
        (
            Story.of(
                found.model,
                {name: column[row] for name, column in top.items()}
                | {
                    "hypothesis": explanation.reason(row),
                    "log_bayes_factor": explanation.log_bayes_factor[row],
                },
            ),
            explanation.where(row),
        )
        for row in range(len(found.shown))
    ]


def _card(
    row: int,
    found: Found,
    explanation: Explanation,
    told: tuple[Story, str],
    positions: Positions | None,
) -> Page:
    story, where = told
    name = str(found.shown.ids[row])
    card = Page(f"{row + 1}. {name}")
    display = ObjectDisplay.from_explanation(explanation, row, period_of(found.shown, row)).plot()
    assert display.figure_ is not None
    words = f"{story.verdict[:1].upper()}{story.verdict[1:]} {story.why(where)}"
    card.figure(display.figure_, words, f"Object {name}. {words}")
    if positions is not None and np.isfinite(positions.ra[row]) and np.isfinite(positions.dec[row]):
        links = sky_links(float(positions.ra[row]), float(positions.dec[row]))
        card.links([(address, f"{name} in {site}") for site, address in links])
    return card


def _classes(page: Page, found: Found) -> None:
    page.section("What the objects are")
    n = found.n_objects
    rows = []
    for (name, count), sure in zip(found.counts.items(), found.sure, strict=True):
        rows.append([name, f"{count:,}", f"{100 * count / n:.1f} %", f"{sure:,}"])
    page.table(
        "Objects by their most probable known class",
        ("Class", "Objects", "Share", "With probability above 0.9"),
        _few(rows),
    )


def _learned(page: Page, record: Record) -> None:
    page.section("What was learned, and how well")
    page.paragraph(
        f"{sum(record.counts.values()):,} labelled objects of {record.source}: {record.recognised}. "
        f"Labels from the column {record.label!r}."
    )
    validated = record.cross_validation
    if validated is None:
        for remark in record.remarks:
            page.paragraph(remark)
        page.table(
            "Training objects of each class",
            ("Class", "Objects"),
            _few([[name, f"{count:,}"] for name, count in record.counts.items()]),
        )
        return
    summary = validated.summary
    confusion = validated.confusion
    page.table(
        f"Cross-validation in {validated.folds} folds: every object is judged by a model that has not seen it. "
        f"Accuracy {100 * summary.accuracy:.2f} %, log-loss {summary.log_loss:.4f}, calibration error {summary.ece:.4f}.",
        ("Class", "Objects", "Recognised", "Right when named"),
        _few(
            [
                [
                    name,
                    f"{count:,}",
                    _share(confusion[number, number], confusion[number].sum()),
                    _share(confusion[number, number], confusion[:, number].sum()),
                ]
                for number, (name, count) in enumerate(record.counts.items())
            ]
        ),
    )
    is_class = (validated.label[:, None] == np.arange(validated.proba.shape[1])).ravel()
    calibration = CalibrationDisplay.from_predictions(is_class, {"cross-validated": validated.proba.ravel()})
    page.figure(
        calibration.plot(of="a class", with_legend=False).figure_,  # type: ignore[arg-type]
        f"Calibration. {_CHANCE}",
        "Calibration curve: stated probability of a class against the fraction that came true.",
    )
    page.figure(
        ConfusionDisplay(confusion, list(record.counts)).plot().figure_,  # type: ignore[arg-type]
        "Confusion matrix: the shade is the share of the row.",
        "Confusion matrix of the cross-validated objects; most lie on the diagonal."
        if summary.accuracy > 0.5
        else "Confusion matrix of the cross-validated objects.",
    )


def _noise(page: Page, record: Record) -> None:
    page.section("Do the error bars hold?")
    if record.noise is None:
        for remark in record.remarks:
            if "noise" in remark:
                page.paragraph(remark)
        return
    _add_noise(page, record.noise)


def _add_noise(page: Page, noise: NoiseFound) -> None:
    page.paragraph(noise.advice)
    page.figure(
        DiagnosisDisplay(noise.edges, noise.density, f"noise: {noise.best}").plot().figure_,  # type: ignore[arg-type]
        "Residuals around each object's own curve, in units of their error bars.",
        f"Histogram of residuals over the Gaussian they should follow. {noise.advice}",
    )
    page.table(
        "Noise models by held-out evidence, against plain Gaussian error bars",
        ("Noise", "Log Bayes factor", "Spread"),
        [
            [name, f"{factor:.1f}", f"{spread:.1f}"]
            for name, factor, spread in zip(noise.families, noise.log_bayes_factor, noise.spread, strict=True)
        ],
    )


def _again(page: Page, found: Found, record: Record | None) -> None:
    page.section("How to make this again")
    if found.command:
        page.code(found.command)
    seed = "" if record is None else f"Seed {record.settings.get('seed')}. "
    listed = ", ".join(f"{name} {number}" for name, number in versions().items())
    page.paragraph(
        f"{seed}{found.source}: {found.recognised}. {found.n_objects:,} objects in {found.seconds:.1f} s "
        f"({found.n_objects / max(found.seconds, 1e-9):,.0f} objects per second). {listed}."
    )
    if record is not None and record.versions != versions():
        listed = ", ".join(f"{name} {number}" for name, number in record.versions.items())
        page.paragraph(f"The model was learned with {listed}.")


def _share(part: Any, whole: Any) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _few(rows: list[list[str]]) -> list[list[str]]:
    """The first rows of a long table; the file has them all."""
    return rows if len(rows) <= _MOST_ROWS else [*rows[:_MOST_ROWS], ["...", *[""] * (len(rows[0]) - 1)]]

"""The report: one page that says what was found, how sure it is, what to look at first, and how to make it again.

It is put together from the numbers of a `Found` and the model's `Record` alone, so the page made from a stored model is the
page made in one go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from badac.explain import Explanation
from badac.job.ranking import Found, write_ranking
from badac.job.record import NoiseFound, Record, versions
from badac.plots import (
    CalibrationDisplay,
    ConfusionDisplay,
    DiagnosisDisplay,
    ObjectDisplay,
    RankingDisplay,
)
from badac.plots.page import Page
from badac.writing import plain, write_whole

_CHANCE = "On the dashed line, stated probabilities come true as often as they say."
_MOST_ROWS = 30


def report_page(found: Found, *, file: str = "ranking.parquet") -> Page:
    """Return the page; `file` is the name of the ranking beside it."""
    record = Record.of(found.model)
    page = Page(f"What is new in {found.source}?")
    page.paragraph(headline(found), kind="lead")
    for note in _warnings(found, record):
        page.paragraph(note, kind="note")
    _strangest(page, found, file)
    _classes(page, found)
    if record is not None:
        _learned(page, record)
        _noise(page, record)
    _again(page, found, record)
    return page


def write_results(found: Found, folder: Path, form: str = "parquet") -> None:
    """Write the ranking, the report and the summary into a folder; `form` is the suffix of the ranking, such as "parquet"."""
    file = f"ranking.{form}"
    write_ranking(found, folder / file)
    write_whole(folder / "report.html", report_page(found, file=file).render())
    write_whole(folder / "summary.json", json.dumps(plain(found.summary()), indent=1, allow_nan=False))


def headline(found: Found) -> str:
    """Say in two sentences what was found."""
    n = found.n_objects
    likely = int((found.ranking.verdicts["anomaly_proba"] > 0.5).sum())
    said = (
        f"{n:,} object{'s' if n != 1 else ''} compared with {len(found.model.classes_)} known class"
        f"{'es' if len(found.model.classes_) > 1 else ''}. {likely:,} {'is' if likely == 1 else 'are'} more probably "
        "something new than any of them"
    )
    if found.n_discoveries:
        return (
            f"{said}; {found.n_discoveries:,} can be told from known objects by their p-values, of which at most about "
            f"{found.expected_false_alarms:.1f} are false alarms."
        )
    finest = float(found.ranking.verdicts["pvalue"].min())
    return (
        f"{said}. No list with at most {100 * found.fdr:g} % false alarms: for that, {int(np.ceil(finest * n / found.fdr)):,} "
        f"objects would have to share the smallest p-value, {finest:.2g}; more labelled objects make it finer."
    )


def _warnings(found: Found, record: Record | None) -> list[str]:
    notes = list(found.notes)
    if record is not None:
        notes = [*record.notes, *notes]
        if record.noise is not None and record.noise.looks_like_variances:
            notes.insert(0, record.noise.advice)
    return notes


def _strangest(page: Page, found: Found, file: str) -> None:
    verdicts = found.ranking.verdicts
    page.section("The strangest objects")
    page.figure(
        RankingDisplay(verdicts["anomaly_proba"], verdicts["pvalue"], found.n_discoveries, found.fdr)
        .plot()
        .figure_,  # type: ignore[arg-type]
        "Anomaly probability and p-value by rank. The p-value is the share of known objects of the same class and noise that "
        "look at least as strange.",
        "Anomaly probability falling with rank on a logarithmic axis, with p-values rising beside it.",
    )
    page.paragraph(f"The score that they are ranked by: {found.model.score_meaning_}")
    page.links([(file, f"The whole ranking: {file}")])
    page.paragraph(
        "Each with its error bars, the known class that fits best (the line, with one and two standard deviations), and the "
        "window that makes it strange (yellow)."
    )
    explanation = found.model.explain(found.shown.objects)
    top = found.columns(stop=len(found.shown))
    cards = []
    for row in range(len(found.shown)):
        card = Page(f"{row + 1}. {found.shown.ids[row]}")
        display = ObjectDisplay.from_explanation(explanation, row)
        words = _why(explanation, row, found, top)
        display.plot(with_legend=row == 0)
        assert display.figure_ is not None
        card.figure(display.figure_, words, f"Object {found.shown.ids[row]} with error bars. {words}")
        cards.append(card)
    page.cards(cards)


def _why(explanation: Explanation, row: int, found: Found, top: Mapping[str, Any]) -> str:
    strange, pvalue = top["anomaly_proba"][row], top["pvalue"][row]
    low, high = explanation.window[row]
    names = found.shown.features
    where = f"between {low:.4g} and {high:.4g}"
    if found.shown.objects.at is None and names:
        first, last = (names[int(np.clip(round(edge), 0, len(names) - 1))] for edge in (low, high))
        where = f"at {first}" if first == last else f"from {first} to {last}"
    return (
        f"Anomaly probability {strange:.3g}, p-value {pvalue:.2g}; nearest class {top['class'][row]} "
        f"({top['class_proba'][row]:.2f} among the known). {explanation.hypothesis[row].capitalize()}; strangest {where} "
        f"(drawn beside class {explanation.label[row]})."
    )


def _classes(page: Page, found: Found) -> None:
    page.section("What the objects are")
    n = found.n_objects
    best, called = found.ranking.label_proba, found.ranking.proba.argmax(axis=1)
    rows = []
    for number, (name, count) in enumerate(found.counts.items()):
        sure = int((best[called == number] > 0.9).sum())
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

"""How good is a model? On labelled objects that it has not seen.

Classes are judged by accuracy, log-loss and calibration error of the objects whose class the model knows; objects of any other
class are anomalies, and the ranking is judged by how high they stand.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data import Catalogue
from badac.data.files import read_frame
from badac.estimators import BADACClassifier
from badac.job.learning import CannotSplit, Settings, Split, cross_validate
from badac.job.ranking import merge
from badac.job.record import CrossValidation, Record, layout_of
from badac.job.seen_before import seen_before
from badac.job.table_options import TableOptions
from badac.job.training import Training, label_column
from badac.metrics import DetectionSummary, detection_summary
from badac.plots import CalibrationDisplay
from badac.verdicts import Verdicts

_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How well labelled objects were judged.

    Attributes
    ----------
    classes : (k,)
    known : CrossValidation
        Probabilities of the objects of known classes; ``folds`` is 0 where they were judged by one model.
    detection : DetectionSummary or None
        How well objects of unknown classes were found; None if there are none.
    unknown : tuple of str
        Their labels.
    """

    classes: npt.NDArray[Any]
    known: CrossValidation
    detection: DetectionSummary | None = None
    unknown: tuple[str, ...] = ()

    @property
    def calibration(self) -> CalibrationDisplay:
        """The figure."""
        is_class = (self.known.label[:, None] == np.arange(len(self.classes))).ravel()
        return CalibrationDisplay.from_predictions(is_class, {"badac": self.known.proba.ravel()})

    def numbers(self) -> dict[str, Any]:
        """Return what was found, as JSON has it."""
        out: dict[str, Any] = {
            "folds": self.known.folds or None,
            "classification": asdict(self.known.summary),
            "classes": [str(name) for name in self.classes.tolist()],
            "confusion": self.known.confusion.tolist(),
        }
        if self.detection is not None:
            out["detection"] = asdict(self.detection) | {"unknown": list(self.unknown)}
        return out

    def lines(self) -> list[str]:
        """Return what was found, in words."""
        found, confusion = self.known.summary, self.known.confusion
        how = f", cross-validated in {self.known.folds} folds" if self.known.folds else ""
        lines = [
            f"{found.n_objects:,} objects of known classes{how}: accuracy {100 * found.accuracy:.2f} %, "
            f"log-loss {found.log_loss:.4f}, calibration error {found.ece:.4f}."
        ]
        width = max(len(str(name)) for name in self.classes.tolist())
        for number, name in enumerate(self.classes.tolist()):
            count = int(confusion[number].sum())
            right = f"{100 * confusion[number, number] / count:.1f} % recognised" if count else "-"
            lines.append(f"  {name!s:<{width}}  {count:>7,}  {right}")
        if self.detection is not None:
            judged = self.detection
            lines.append(
                f"{judged.n_anomalies:,} objects of unknown classes ({', '.join(self.unknown[:5])}) among "
                f"{judged.n_objects:,}: MCC {judged.mcc:.3f}, AUC {judged.auc:.3f}, rank-weighted score {judged.rws:.3f}."
            )
        return lines


def by_cross_validation(training: Training, settings: Settings, *, n_jobs: int | None = None) -> Evaluation:
    """Judge every labelled object by a model that has not seen it."""
    rng = np.random.default_rng(settings.seed)
    classes, code = np.unique(training.labels, return_inverse=True)
    code = code.astype(np.int64)
    try:
        split = Split.of(code, settings.folds, rng)
    except CannotSplit as reason:
        raise ValueError(f"cannot cross-validate: {reason}") from None
    objects = training.catalogue.objects
    return Evaluation(classes, cross_validate(settings.model(n_jobs), objects, training.labels, split, rng))


def on_labelled(
    model: BADACClassifier,
    path: str | os.PathLike[str],
    options: TableOptions = TableOptions(),  # noqa: B008
    *,
    done: Callable[[int], None] = lambda n: None,
    say: Callable[[str], None] = lambda words: None,
) -> Evaluation:
    """Judge a model by a labelled table; labels that it does not know are anomalies.

    Parameters
    ----------
    model : BADACClassifier
    path : path
    options : TableOptions
        What is said about the table.
    done, say : callable
        Told the number of objects judged, and what deserves a word, such as objects that were in the training.
    """
    record, layout = Record.of(model), options.over(layout_of(model))
    text = [name for name in (layout.columns.get("object"),) if name]
    frame = read_frame(path, text=text)
    names = [str(name) for name in frame.columns]
    if options.labels:
        found = layout.read(frame, options.label, read_frame(options.labels, text=text))
    else:
        wanted = options.label or (record.label if record is not None and record.label in names else None)
        found = layout.read(frame, label_column(names, wanted, Path(path).name))
    again = "" if record is None else seen_before(found.ids, record.members)
    for note in (*str(found.losses).splitlines(), again):
        if note and note != "nothing left out":
            say(note)
    return evaluate(model, found, done=done)


def evaluate(
    model: BADACClassifier, found: Catalogue, *, done: Callable[[int], None] = lambda n: None
) -> Evaluation:
    """Judge a model by labelled objects."""
    assert found.label is not None
    parts: list[Verdicts] = []
    for start in range(0, len(found), _ROWS):
        parts.append(model.verdicts(found.objects[start : start + _ROWS]))
        done(len(parts[-1]))
    whole = merge(parts)
    truth = found.label[whole.objects].astype(str)
    names = model.classes_.astype(str)
    order = np.argsort(names, kind="stable")
    place = np.minimum(np.searchsorted(names[order], truth), len(names) - 1)
    code = order[place]
    is_known = names[code] == truth
    if not is_known.any():
        raise ValueError(
            f"no label of the table is a class of the model: got {', '.join(np.unique(truth)[:3].tolist())}; the model knows "
            f"{', '.join(names[:5].tolist())}. Is it the right column (--label)?"
        )
    known = CrossValidation(0, code[is_known].astype(np.int64), whole.proba[is_known])
    if is_known.all():
        return Evaluation(model.classes_, known)
    return Evaluation(
        model.classes_,
        known,
        detection_summary(~is_known, whole.score, n_flagged=int((~is_known).sum())),
        tuple(np.unique(truth[~is_known]).tolist()),
    )

"""How good is a model? On labelled objects that it has not seen.

Classes are judged by accuracy, log-loss and calibration error of the objects whose class the model knows; objects of any other
class are anomalies, the ranking is judged by how high they stand, and the probability of an anomaly by how often it comes
true, with the table's share of anomalies as the prior: that is what the evidence is worth, whatever prior the model has.
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
from badac.metrics import CalibrationCurve, DetectionSummary, calibration_curve, detection_summary
from badac.plots import CalibrationDisplay
from badac.posterior import prior_log_odds, probability
from badac.verdicts import Verdicts

_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class AnomalyCalibration:
    """How often the probability of an anomaly came true, with the true share of anomalies as the prior.

    Attributes
    ----------
    is_anomaly : (n,) bool
    proba : (n,)
        As stated with that prior.
    """

    is_anomaly: npt.NDArray[np.bool_]
    proba: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls, is_anomaly: npt.NDArray[np.bool_], proba: npt.NDArray[np.float64], prior: float
    ) -> AnomalyCalibration:
        """Take probabilities (n,) that were stated with the prior of the model."""
        share = float(is_anomaly.mean())
        with np.errstate(divide="ignore"):
            odds = np.log(proba) - np.log1p(-proba) + prior_log_odds(share) - prior_log_odds(prior)
        return cls(is_anomaly, probability(odds))

    @property
    def curve(self) -> CalibrationCurve:
        """By tenths of the stated probability."""
        return calibration_curve(self.is_anomaly, self.proba)

    def numbers(self) -> dict[str, Any]:
        """Return what was found, as JSON has it."""
        sure, curve = self.proba > 0.5, self.curve
        return {
            "prior": float(self.is_anomaly.mean()),
            "n_above_half": int(sure.sum()),
            "stated_above_half": float(self.proba[sure].mean()) if sure.any() else None,
            "true_above_half": float(self.is_anomaly[sure].mean()) if sure.any() else None,
            "stated": curve.mean_probability.tolist(),
            "observed": curve.observed.tolist(),
            "count": curve.count.tolist(),
        }

    def __str__(self) -> str:
        found = self.numbers()
        if not found["n_above_half"]:
            return f"With their share, {found['prior']:.2g}, as the prior no object is more probably an anomaly than not."
        return (
            f"With their share, {found['prior']:.2g}, as the prior {found['n_above_half']:,} objects are more probably an "
            f"anomaly than not: stated {found['stated_above_half']:.2f} on average, true {found['true_above_half']:.2f}."
        )


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
    anomalies : AnomalyCalibration or None
        How often the probability of an anomaly came true; None without unknown classes or an anomaly class.
    """

    classes: npt.NDArray[Any]
    known: CrossValidation
    detection: DetectionSummary | None = None
    unknown: tuple[str, ...] = ()
    anomalies: AnomalyCalibration | None = None

    @property
    def calibration(self) -> CalibrationDisplay:
        """The figure: the classes' probabilities, and beside them that of an anomaly."""
        is_class = (self.known.label[:, None] == np.arange(len(self.classes))).ravel()
        curve = calibration_curve(is_class, self.known.proba.ravel())
        if self.anomalies is None:
            return CalibrationDisplay({"badac": curve})
        return CalibrationDisplay({"known classes": curve, "anomaly": self.anomalies.curve})

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
        if self.anomalies is not None:
            out["anomaly_proba"] = self.anomalies.numbers()
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
        if self.anomalies is not None:
            lines.append(str(self.anomalies))
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
    options: TableOptions = TableOptions(),
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
    stated = whole.anomaly_proba
    return Evaluation(
        model.classes_,
        known,
        detection_summary(~is_known, whole.score, n_flagged=int((~is_known).sum())),
        tuple(np.unique(truth[~is_known]).tolist()),
        None if stated is None else AnomalyCalibration.of(~is_known, stated, model.fitted_.anomaly_prior),
    )

"""What was learned, how, and how well: the record that travels with a model file.

A model alone cannot say which table it came from or how good it was. The record keeps that as plain values and arrays beside
the model, so that a ranking made a year later still reports it.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data import Layout
from badac.diagnostics import Diagnosis
from badac.estimators import BADACClassifier
from badac.metrics import ClassificationSummary, classification_summary

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ATTRIBUTE = "record_"
_EDGES = np.linspace(-6.0, 6.0, 49)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Probabilities of labelled objects by models that had not seen them.

    Attributes
    ----------
    folds : int
    label : (n,) int
        Row of `classes` that each object belongs to.
    proba : (n, k)
    n_left_out : int
        Labelled objects that were not cross-validated, to save time.
    """

    folds: int
    label: IntArray
    proba: FloatArray
    n_left_out: int = 0

    @property
    def summary(self) -> ClassificationSummary:
        """Accuracy, log-loss and calibration error."""
        return classification_summary(self.label, self.proba, np.arange(self.proba.shape[1]))

    @property
    def confusion(self) -> IntArray:
        """(k, k): how many objects of each class (row) were called what (column)."""
        k = self.proba.shape[1]
        cell = self.label * k + self.proba.argmax(axis=1)
        return np.bincount(cell, minlength=k * k).reshape(k, k)


@dataclass(frozen=True, eq=False)
class NoiseFound:
    """What the diagnosis of the noise said, in numbers small enough to keep.

    Attributes
    ----------
    families : tuple of str, best first
    log_bayes_factor, spread : (F,)
    best : str
    advice : str
    error_bar_factor : float
        NaN where noise could not be told from the variety of the classes.
    edges, density : (b + 1,), (b,)
        Histogram of the pulls.
    looks_like_variances : bool
    """

    families: tuple[str, ...]
    log_bayes_factor: FloatArray
    spread: FloatArray
    best: str
    advice: str
    error_bar_factor: float
    edges: FloatArray
    density: FloatArray
    looks_like_variances: bool = False

    @classmethod
    def of(cls, found: Diagnosis, looks_like_variances: bool = False, hint: str = "") -> NoiseFound:
        table = found.columns()
        pulls = np.clip(found.pulls, _EDGES[0], _EDGES[-1])
        return cls(
            families=tuple(table["noise"].tolist()),
            log_bayes_factor=table["log_bayes_factor"],
            spread=table["spread"],
            best=found.best,
            advice=hint or found.advice,
            error_bar_factor=found.error_bar_factor,
            edges=_EDGES,
            density=np.histogram(pulls, _EDGES, density=True)[0],
            looks_like_variances=looks_like_variances,
        )

    def numbers(self) -> dict[str, Any]:
        """Return what was found, as JSON has it."""
        return {
            "best": self.best,
            "advice": self.advice,
            "error_bar_factor": self.error_bar_factor,
            "looks_like_variances": self.looks_like_variances,
            "families": [
                {"noise": name, "log_bayes_factor": float(factor), "spread": float(spread)}
                for name, factor, spread in zip(
                    self.families, self.log_bayes_factor, self.spread, strict=True
                )
            ],
        }

    def lines(self) -> list[str]:
        """Return what was found, in words."""
        table = zip(self.families, self.log_bayes_factor, self.spread, strict=True)
        return [
            "noise        log Bayes factor against gaussian",
            *(
                f"{name:<12} {factor:>12.1f} +- {spread:.1f}{'  <-' if name == self.best else ''}"
                for name, factor, spread in table
            ),
            *(
                [f"error bars x {self.error_bar_factor:.2f} would match the scatter of the noise"]
                if np.isfinite(self.error_bar_factor)
                else []
            ),
            self.advice,
        ]


@dataclass(frozen=True, eq=False)
class Record:
    """Where a model came from and how well it does.

    Attributes
    ----------
    layout : Layout
        How to read new tables.
    source, label, recognised : str
        The training file, its column of labels, and how it was understood.
    counts : dict
        Objects of each class.
    notes : tuple of str
        What the user should know about the table.
    settings : dict
        What was asked for: class model, noise, prior of the anomaly, seed.
    seconds : float
        Time to learn the classes.
    versions : dict
    cross_validation : CrossValidation or None
    noise : NoiseFound or None
    remarks : tuple of str
        Why one of the two above is missing.
    members : (n,) uint64
        Hashes of the names of the training objects, sorted (`badac.job.seen_before`); empty if they had none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac.job import Record, Settings, learn, read_training
    >>> rng = np.random.default_rng(0)
    >>> g = np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40)
    >>> table = pd.DataFrame({"g": g, "g_err": 0.1, "class": np.repeat(["a", "b"], 20)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_csv(Path(folder) / "stars.csv", index=False)
    ...     training = read_training(Path(folder) / "stars.csv")
    >>> Record.of(learn(training, Settings("template", folds=2, diagnose=False))).counts
    {'a': 20, 'b': 20}
    """

    layout: Layout
    source: str
    label: str
    recognised: str
    counts: dict[str, int]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    seconds: float
    versions: dict[str, str]
    cross_validation: CrossValidation | None = None
    noise: NoiseFound | None = None
    remarks: tuple[str, ...] = field(default=())
    members: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))

    def attach(self, model: BADACClassifier) -> None:
        """Keep the record with the model; `badac.save` writes it along."""
        setattr(model, _ATTRIBUTE, asdict(self))

    def numbers(self) -> dict[str, Any]:
        """Return what a script wants to know, as JSON has it."""
        validated = self.cross_validation
        return {
            "source": self.source,
            "label": self.label,
            "recognised": self.recognised,
            "classes": self.counts,
            "settings": self.settings,
            "seconds": round(self.seconds, 3),
            "notes": [*self.notes, *self.remarks],
            "cross_validation": None
            if validated is None
            else {"folds": validated.folds, **asdict(validated.summary)},
            "noise": None if self.noise is None else self.noise.numbers(),
        }

    def lines(self) -> list[str]:
        """Return how well it does, in words."""
        lines = list(self.remarks)
        if self.cross_validation is not None:
            found = self.cross_validation.summary
            lines.append(
                f"Cross-validated on {found.n_objects:,} objects: accuracy {100 * found.accuracy:.2f} %, log-loss "
                f"{found.log_loss:.4f}, calibration error {found.ece:.4f}."
            )
        if self.noise is not None:
            lines.append(f"Noise: {self.noise.advice}")
        return lines

    @classmethod
    def of(cls, model: BADACClassifier) -> Record | None:
        """Return the record of a model, or None if it was not made by this job."""
        kept: Mapping[str, Any] | None = getattr(model, _ATTRIBUTE, None)
        if kept is None:
            return None
        parts: dict[str, Any] = {
            "layout": Layout,
            "cross_validation": CrossValidation,
            "noise": NoiseFound,
        }
        return cls(
            **{
                name: parts[name](**value) if name in parts and value is not None else value
                for name, value in kept.items()
            }
        )


def layout_of(model: BADACClassifier) -> Layout:
    """Return how tables are laid out for a model: as its training was."""
    kept = getattr(model, "layout_", None)
    if kept is not None:
        return Layout.from_dict(kept)
    record = Record.of(model)
    return Layout() if record is None else record.layout


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    out = {"python": platform.python_version()}
    for package in ("badac", "numpy", "scipy", "scikit-learn"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            continue
    return out

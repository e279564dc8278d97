"""Learn the classes of a labelled table, and find out how far to trust them.

Three steps, each optional but the first: fit; cross-validate, so that the report's accuracy and calibration are those of
objects that the model had not seen; diagnose the noise, whose advice is the first thing to act on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from badac.data import Layout, Measurements
from badac.data.catalogue import without_notes
from badac.diagnostics import diagnose
from badac.diagnostics.diagnose import scatter
from badac.estimators import BADACClassifier
from badac.job.record import CrossValidation, NoiseFound, Record, versions
from badac.job.seen_before import hashed_names
from badac.job.training import Training

IntArray = npt.NDArray[np.int64]
Step = Callable[[str], AbstractContextManager[None]]
"""Called with the name of a step that begins; a context manager that ends with it."""

# A sample is enough to tell how good a model or an error bar is.
_MOST_VALIDATED, _MOST_DIAGNOSED = 20_000, 1500
# Error bars are worth a second look if the scatter is off by more than this factor ...
_SUSPICIOUS = 1.3
# ... and are variances if their square roots are right within this one.
_RIGHT = 1.2


@dataclass(frozen=True)
class Settings:
    """What may be chosen about the model; the defaults are right for most tables.

    Attributes
    ----------
    class_model, noise : str
        As in `badac.BADACClassifier`.
    anomaly_prior : float
        Share of new objects that belong to no known class.
    seed : int
    folds : int
        Of the cross-validation; 0 for none.
    diagnose : bool
        Whether to diagnose the noise.

    Examples
    --------
    >>> from badac.job import Settings
    >>> Settings(class_model="population", folds=0).model().class_model
    'population'
    """

    class_model: str = "auto"
    noise: str = "checked"
    anomaly_prior: float = 0.01
    seed: int = 0
    folds: int = 3
    diagnose: bool = True

    def model(self, n_jobs: int | None = None) -> BADACClassifier:
        """Return an unfitted classifier."""
        return BADACClassifier(
            class_model=self.class_model,
            noise=self.noise,
            anomaly_prior=self.anomaly_prior,
            random_state=self.seed,
            n_jobs=n_jobs,
        )


def learn(
    training: Training,
    settings: Settings = Settings(),
    *,
    n_jobs: int | None = None,
    step: Step = lambda words: nullcontext(),
) -> BADACClassifier:
    """Fit, cross-validate and diagnose; the findings are in the model's `Record`.

    Parameters
    ----------
    training : Training
    settings : Settings
    n_jobs : int, optional
        Threads.
    step : callable
        Shows what is under way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac.job import Settings, learn, read_training
    >>> rng = np.random.default_rng(0)
    >>> g = np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40)
    >>> table = pd.DataFrame({"g": g, "g_err": 0.1, "class": np.repeat(["a", "b"], 20)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_csv(Path(folder) / "stars.csv", index=False)
    ...     training = read_training(Path(folder) / "stars.csv")
    >>> model = learn(training, Settings("template", folds=2, diagnose=False))
    >>> model.classes_
    array(['a', 'b'], dtype='<U1')
    """
    objects, labels = training.catalogue.objects, training.labels
    rng = np.random.default_rng(settings.seed)
    remarks: list[str] = []
    start = perf_counter()
    with step(f"Learning {len(training.counts)} classes from {len(labels):,} objects"):
        model = settings.model(n_jobs).fit(without_notes(training.catalogue), labels)
    seconds = perf_counter() - start
    code = np.searchsorted(model.classes_, labels).astype(np.int64)
    validated, noise = None, None
    try:
        split = Split.of(code, settings.folds, rng)
    except CannotSplit as reason:
        remarks.append(f"Not cross-validated: {reason}")
    else:
        with step(f"Cross-validating, {split.folds} folds"):
            validated = cross_validate(settings.model(n_jobs), objects, labels, split, rng)
    if not objects.has_errors:
        remarks.append("No diagnosis of the noise: the table has no errors.")
    elif settings.diagnose:
        try:
            with step("Diagnosing the noise"):
                noise = check_noise(objects, labels, rng)
        except ValueError as error:
            remarks.append(f"No diagnosis of the noise: {error}")
    else:
        remarks.append("The noise was not diagnosed (--no-diagnose).")
    Record(
        layout=Layout.from_dict(model.layout_),
        source=training.source,
        label=training.label,
        recognised=training.catalogue.recognised,
        counts={str(name): count for name, count in training.counts.items()},
        notes=tuple(training.notes),
        settings=asdict(settings),
        seconds=seconds,
        versions=versions(),
        cross_validation=validated,
        noise=noise,
        remarks=tuple(remarks),
        members=hashed_names(training.catalogue.ids),
    ).attach(model)
    return model


class CannotSplit(ValueError):
    """Why labelled objects cannot be cross-validated."""


@dataclass(frozen=True, eq=False)
class Split:
    """Which of ``n`` labelled objects to cross-validate, and in how many folds.

    Attributes
    ----------
    code : (n,) int
        Class of each object.
    rows : (r,) int
        Objects that are cross-validated.
    folds : int
        Every class has a member in each.
    """

    code: IntArray
    rows: IntArray
    folds: int

    @classmethod
    def of(cls, code: IntArray, folds: int, rng: np.random.Generator) -> Split:
        """Take all objects, or a sample of many; raise `CannotSplit` where no class would be judged fairly."""
        counts = np.bincount(code)
        if folds < 2:
            raise CannotSplit("it was not asked for (--folds 0).")
        if counts.size < 2:
            raise CannotSplit("there is one class only.")
        if counts.min() < 2:
            raise CannotSplit(f"a class has one object only ({(counts < 2).sum()} such classes).")
        rows = np.arange(len(code))
        if len(rows) > _MOST_VALIDATED:
            # Every class keeps two members, whatever the draw.
            must = np.concatenate([np.flatnonzero(code == number)[:2] for number in range(counts.size)])
            rest = np.setdiff1d(rows, must)
            rows = np.sort(
                np.concatenate([must, rng.choice(rest, _MOST_VALIDATED - len(must), replace=False)])
            )
        return cls(code, rows, int(min(folds, np.bincount(code[rows]).min())))

    def parts(self, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield places among `rows` to learn from and to judge; classes are spread evenly over the folds."""
        code = self.code[self.rows]
        fold = np.empty(len(code), dtype=np.int64)
        for number in np.unique(code):
            members = rng.permutation(np.flatnonzero(code == number))
            fold[members] = np.arange(len(members)) % self.folds
        for number in range(self.folds):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def cross_validate(
    model: BADACClassifier,
    objects: Measurements,
    labels: npt.NDArray[np.generic],
    split: Split,
    rng: np.random.Generator,
) -> CrossValidation:
    """Return probabilities of the objects in ``split.rows`` by models learned without their fold."""
    code, rows = split.code, split.rows
    proba = np.empty((len(rows), int(code.max()) + 1))
    for inside, outside in split.parts(rng):
        model.fit(objects[rows[inside]], labels[rows[inside]])
        proba[outside] = model.predict_proba(objects[rows[outside]])
    return CrossValidation(split.folds, code[rows], proba, len(code) - len(rows))


def check_noise(
    objects: Measurements, labels: npt.NDArray[np.generic], rng: np.random.Generator
) -> NoiseFound:
    """Diagnose the noise of a sample of labelled objects; error bars that are really variances are told."""
    if len(objects) > _MOST_DIAGNOSED:
        rows = np.sort(rng.choice(len(objects), _MOST_DIAGNOSED, replace=False))
        objects, labels = objects[rows], labels[rows]
    found = diagnose(objects, labels, np.random.default_rng(rng.integers(2**31)))
    if _off(found.error_bar_factor) > np.log(_SUSPICIOUS):
        rooted = objects.with_sigma(np.sqrt(objects.sigma))
        factor = scatter(rooted, labels, np.random.default_rng(rng.integers(2**31))).factor
        if factor is not None and _off(factor) < np.log(_RIGHT):
            return NoiseFound.of(
                found,
                looks_like_variances=True,
                hint=(
                    f"The error columns look like variances: the scatter is {found.error_bar_factor:.2f} times the error bars, "
                    f"and {factor:.2f} times their square roots. Run again with --errors variance."
                ),
            )
    return NoiseFound.of(found)


def _off(factor: float) -> float:
    """How far the error bars are from the scatter, as the size of a logarithm; NaN where it cannot be told."""
    return abs(float(np.log(factor)))

"""Simulated tables: what a user would have, and beside it the truth that nobody has.

    train.parquet   object, label, x000, x000_err, ...
    new.parquet     object,        x000, x000_err, ...   one percent of them strange
    truth.csv       object, label, anomaly               of the new ones

Use them to try the commands, or to see what a given noise does to them, before trusting real data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data import Measurements, write_table
from badac.simulate import experiment, noisy_digits
from badac.simulate.surveys import Survey, spectra, star_catalogue, variable_stars

KINDS = ("1", "2", "3", "4", "digits")
"""The paper's experiments, and scikit-learn's digits seen through noise."""

SURVEYS: dict[str, Callable[[int, int, np.random.Generator], Survey]] = {
    "stars": star_catalogue,
    "variables": variable_stars,
    "spectra": spectra,
}
"""Tables as surveys have them: a catalogue, light curves with labels apart, spectra with inverse variances."""

_NEVER_SEEN = 9


@dataclass(frozen=True, eq=False)
class Simulated:
    """Labelled objects, new ones, and what the new ones really are.

    Attributes
    ----------
    train, new : Measurements
    train_label : (n,)
    truth : (t,)
        Class of each new object.
    is_anomaly : (t,) bool
        Whether it belongs to a class that the training lacks.
    """

    train: Measurements
    train_label: npt.NDArray[Any]
    new: Measurements
    truth: npt.NDArray[Any]
    is_anomaly: npt.NDArray[np.bool_]


def simulate(kind: str, *, setting: str = "printed", size: int = 3000, seed: int = 0) -> Simulated:
    """Draw tables of a kind of `KINDS`; the digits come without the nine, which is what is new among the others."""
    rng = np.random.default_rng(seed)
    if kind == "digits":
        digits = noisy_digits(rng=rng)
        half = len(digits.label) // 2
        known = np.flatnonzero(digits.label[:half] != _NEVER_SEEN)
        rest = np.arange(half, len(digits.label))
        nines = rest[digits.label[rest] == _NEVER_SEEN]
        # A tenth of them, so that the new is rare, as it is in life.
        rest = np.setdiff1d(rest, nines[len(nines) // 10 :])
        return Simulated(
            digits.objects[known],
            digits.label[known],
            digits.objects[rest],
            digits.label[rest],
            digits.label[rest] == _NEVER_SEEN,
        )
    if kind not in KINDS:
        raise ValueError(f"what to simulate is one of {', '.join(KINDS)}: got {kind!r}.")
    drawn = experiment(int(kind), setting, n_train=size, n_test=size, rng=rng)  # type: ignore[arg-type]
    return Simulated(drawn.train, drawn.train_label, drawn.test, drawn.test_label, drawn.is_anomaly)


def to_frame(objects: Measurements, prefix: str, label: npt.NDArray[Any] | None = None) -> Any:
    """Return a wide table as a DataFrame: object, label, and each value beside its error."""
    import pandas

    digits = len(str(max(len(objects) - 1, 1)))
    columns: dict[str, Any] = {"object": [f"{prefix}{row:0{digits}d}" for row in range(len(objects))]}
    if label is not None:
        columns["label"] = label
    for point in range(objects.n_points):
        columns[f"x{point:03d}"] = objects.values[:, point]
        if objects.has_errors:
            columns[f"x{point:03d}_err"] = np.where(
                objects.observed[:, point], objects.sigma[:, point], np.nan
            )
    return pandas.DataFrame(columns)


def write_tables(drawn: Simulated, folder: Path, form: str = "parquet") -> None:
    """Write the three files; `form` is the suffix of the tables, such as "parquet"."""
    new = to_frame(drawn.new, "new-")
    for name, frame in (("train", to_frame(drawn.train, "known-", drawn.train_label)), ("new", new)):
        write_table({column: frame[column].to_numpy() for column in frame}, folder / f"{name}.{form}")
    truth = new[["object"]].assign(label=drawn.truth, anomaly=drawn.is_anomaly)
    truth.to_csv(folder / "truth.csv", index=False)


def write_survey(made: Survey, folder: Path, form: str = "parquet") -> None:
    """Write the tables of a survey, and labels.csv where the labels are apart; `form` as in `write_tables`."""
    for name, frame in (("train", made.train), ("new", made.new)):
        if form == "parquet":
            frame.to_parquet(folder / f"{name}.parquet", index=False)
        else:
            write_table({column: frame[column].to_numpy() for column in frame}, folder / f"{name}.{form}")
    made.truth.to_csv(folder / "truth.csv", index=False)
    if made.labels is not None:
        made.labels.to_csv(folder / "labels.csv", index=False)

"""Everything registered, ready to be put under the laws: inside an estimator, with objects that it can be asked about.

A class that is made without arguments is under the laws as soon as it is registered. The others are made here, by a line each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import norm

import badac.store  # noqa: F401  registers everything that there is
from badac import BADACClassifier, Measurements, registry
from badac.anomalies import Deviations, Seen
from badac.classes import GaussianProcess, IrregularPopulation, LinearModel, Parametric
from badac.noise import (
    Binomial,
    Correlated,
    Gaussian,
    Marginal,
    Numeric,
    Outliers,
    PerClass,
    Student,
    Widths,
    needs_sigma,
)
from badac.nuisance import Calibration, Shift
from badac.registry import Entry

KINDS = ("class_model", "noise", "anomaly", "hypothesis", "nuisance")
N, M, TRIALS = 16, 8, 40
AT = np.linspace(0.0, 1.0, M)
LABEL = np.arange(N) % 2


@dataclass(frozen=True)
class World:
    """How the objects come: in which unit, the points in which order, as values or as counts.

    What a model knows of the unit or of the single points is made for the world that it lives in.
    """

    unit: float = 1.0
    order: tuple[int, ...] = tuple(range(M))
    counted: bool = False
    gaps: bool = True

    def objects(self, seed: int, n: int = N) -> Measurements:
        """Curves of two classes, class 0 in the even rows."""
        rng = np.random.default_rng(seed)
        slope = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None] * rng.normal(1.0, 0.2, (n, 1))
        truth = 0.5 + slope * (AT - 0.3)
        if self.counted:
            rate = np.clip(0.4 * (truth + 1.0), 0.02, 0.98)
            return Measurements(rng.binomial(TRIALS, rate).astype(float), at=AT).points(list(self.order))
        sigma = rng.uniform(0.1, 0.3, (n, M))
        values = truth + sigma * rng.standard_normal((n, M))
        if self.gaps:
            values[1, 2] = values[4, 7] = np.nan
        return Measurements(self.unit * values, self.unit * sigma, at=AT).points(list(self.order))

    def covariance(self, m: int) -> np.ndarray:
        """(m, m), of correlated noise at the first points."""
        at = AT[list(self.order)][:m]
        return 0.02 * self.unit**2 * np.exp(-5.0 * np.abs(np.subtract.outer(at, at)))


def line(theta: Any, at: Any) -> Any:
    level, slope = theta
    return level + slope * (at - 0.3)


def rate(theta: Any, at: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-line(theta, np.minimum(at, 1.0))))


def shapes(at: Any) -> Any:
    return np.stack([np.ones_like(at), at - 0.3], axis=-1)


def logistic(value: Any, truth: Any, sigma: Any) -> Any:
    x = np.abs(value - truth) / sigma
    return -x - 2.0 * np.log1p(np.exp(-x)) - np.log(sigma)


FUNCTIONS = (line, rate, shapes, logistic)


def _parametric(world: World, m: int) -> Parametric:
    prior = [norm(0.5 * world.unit, world.unit), norm(0.0, 2.0 * world.unit)]
    return Parametric(rate if world.counted else line, prior, n_prior=256, n_refined=128)


MADE: dict[str, Callable[[World, int], Any]] = {
    "Binomial": lambda world, m: Binomial(TRIALS),
    "Calibration": lambda world, m: Calibration(0.1, 0.1 * world.unit),
    "Correlated": lambda world, m: Correlated(world.covariance(m)),
    "GaussianProcess": lambda world, m: GaussianProcess(n_knots=8),
    "IrregularPopulation": lambda world, m: IrregularPopulation(n_knots=8),
    "LinearModel": lambda world, m: LinearModel(shapes, [0.0, 0.0], [2.0 * world.unit, 2.0 * world.unit]),
    "Marginal": lambda world, m: Marginal((Gaussian(1.0), Gaussian(1.5))),
    "Numeric": lambda world, m: Numeric(logistic, reach=20.0, steps=3),
    "Outliers": lambda world, m: Outliers(0.1, 4.0),
    "Parametric": _parametric,
    "PerClass": lambda world, m: PerClass((Gaussian(1.0), Gaussian(1.2))),
    "Seen": lambda world, m: Seen(world.objects(7, 6)),
    "Shift": lambda world, m: Shift(0.1, n_nodes=8),
    "Student": lambda world, m: Student(4.0),
    "Widths": lambda world, m: Widths([0.7, 0.3], [0.8, 2.5]),
}
"""For a world and a number of points: those that need arguments, would have to learn theirs, or take long without."""


def made(entry: Entry, world: World, m: int = M) -> Any:
    """Return one of the registered class."""
    if entry.part in MADE:
        return MADE[entry.part](world, m)
    try:
        return entry.cls()
    except TypeError as error:
        raise AssertionError(
            f"{entry.part} is registered and needs arguments: add it to MADE in tests/laws/registered_cases.py, so that the "
            "laws are tested with it."
        ) from error


def registered(*kinds: str) -> dict[str, Entry]:
    """Return badac's own classes of some kinds, by their names."""
    return {entry.part: entry for kind in kinds for entry in registry.entries(kind) if entry.ours}


CASES = registered(*KINDS)


def home(name: str, **changes: Any) -> World:
    """Return the world that a registered class is at home in."""
    entry = CASES[name]
    counted = entry.kind == "noise" and not needs_sigma(made(entry, World()))
    # The flat density of a given height compares raw evidences, which need the same points.
    return World(counted=counted, gaps=name != "Contamination", **changes)


def estimator(name: str, world: World) -> BADACClassifier:
    """Return an estimator that has the registered class inside, and else what is simplest."""
    entry = CASES[name]
    one = made(entry, world)
    settings: dict[str, Any] = {"class_model": "template", "anomaly": "evidence", "random_state": 0}
    if entry.kind == "hypothesis":
        settings |= {"class_model": "population", "anomaly": Deviations((one,), (1.0,))}
    elif entry.kind == "noise":
        settings |= {"class_model": "instances", "noise": one}
    else:
        settings[entry.kind] = one
    return BADACClassifier(**settings)


def answers(model: BADACClassifier, new: Measurements) -> tuple[np.ndarray, ...]:
    """Log evidence (n, k), probabilities (n, k) and anomaly score (n,)."""
    return model.log_evidence(new), model.predict_proba(new), model.anomaly_score(new)


@cache
def at_home(name: str) -> tuple[BADACClassifier, Measurements, tuple[np.ndarray, ...]]:
    """A fitted estimator, new objects, and what it says of them."""
    world = home(name)
    model = estimator(name, world).fit(world.objects(0), LABEL)
    new = world.objects(1, 6)
    return model, new, answers(model, new)

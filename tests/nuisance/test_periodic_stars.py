"""Periodic classes at points of their own: mean and factors periodic, the phase of each star a nuisance."""

from __future__ import annotations

import numpy as np

from badac import BADACClassifier, Measurements
from badac.classes import IrregularPopulation
from badac.data import concatenate, fold
from badac.noise import Gaussian
from badac.nuisance import Shift


def sawteeth(n: int, sign: float, rng: np.random.Generator) -> Measurements:
    """Rising or falling sawteeth, each with its own period and its maximum at any phase, folded at the brightest point."""
    time, period = np.sort(rng.uniform(0, 100, (n, 12)), axis=1), rng.uniform(0.4, 0.8, n)
    x = 2 * np.pi * (time / period[:, None] + rng.random((n, 1)))
    seen = np.sin(x) + sign * 0.5 * np.sin(2 * x) + 0.15 * rng.standard_normal(x.shape)
    return fold(Measurements(seen, 0.15, at=time), period, epoch=time[np.arange(n), seen.argmax(axis=1)])


def losses(model: BADACClassifier, seed: int) -> tuple[float, float]:
    """Accuracy and log-loss of new stars."""
    rng = np.random.default_rng(seed)
    training = concatenate([sawteeth(20, 1.0, rng), sawteeth(20, -1.0, rng)])
    new, truth = concatenate([sawteeth(100, 1.0, rng), sawteeth(100, -1.0, rng)]), np.repeat([0, 1], 100)
    proba = model.fit(training, np.repeat([0, 1], 20)).predict_proba(new)
    return float((proba.argmax(axis=1) == truth).mean()), float(-np.log(proba[np.arange(200), truth]).mean())


def test_the_phase_of_a_star_is_integrated_out() -> None:
    shifted = BADACClassifier(
        IrregularPopulation(kernel="periodic"), nuisance=Shift(0.1), anomaly="evidence", random_state=0
    )
    plain = BADACClassifier(IrregularPopulation(kernel="periodic"), anomaly="evidence", random_state=0)
    accuracy, loss = losses(shifted, 1)
    assert accuracy > 0.97
    assert loss < 0.5 * losses(plain, 1)[1]


def test_a_periodic_class_does_not_know_where_phase_begins() -> None:
    rng = np.random.default_rng(3)
    members = sawteeth(30, 1.0, rng)
    assert members.at is not None
    other = members.replaced(members.values, members.sigma)._changed(at=(members.at + 0.37) % 1.0)
    found = [
        IrregularPopulation(kernel="periodic", rank=1)
        .fit(each, Gaussian(), np.random.default_rng(0))
        .log_evidence(each)
        for each in (members, other)
    ]
    # Knots stay where they are, so the smoothness prior is met at other places: a few tenths of a nat in about ten.
    assert np.abs(found[0] - found[1]).mean() < 1.0

"""Members left out of their class are as surprising as new objects, however many they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from badac import Measurements
from badac.classes import ClassModel, GaussianProcess, IrregularPopulation, Population
from badac.noise import Gaussian

SIGMA = 0.1
FREQUENCIES = np.linspace(-4.0, 14.0, 901)


def bent(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Sines of random frequency, at random times, and the log density (n,) of each under the truth."""
    at = rng.random((n, 20))
    values = np.sin(rng.normal(5.0, 2.0, (n, 1)) * at) + SIGMA * rng.standard_normal(at.shape)
    log_weight = norm.logpdf(FREQUENCIES, 5.0, 2.0) + np.log(FREQUENCIES[1] - FREQUENCIES[0])
    truth = [
        logsumexp(log_weight + norm.logpdf(row, np.sin(np.outer(FREQUENCIES, t)), SIGMA).sum(axis=1))
        for row, t in zip(values, at, strict=True)
    ]
    return Measurements(values, SIGMA, at=at), np.array(truth)


def wavy(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """A mean with one factor: a Gaussian process; and the log density (n,) of each under it."""
    at = rng.random((n, 12))
    loaded = 0.3 * np.cos(4.0 * at)
    values = np.sin(5.0 * at) + loaded * rng.standard_normal((n, 1)) + SIGMA * rng.standard_normal(at.shape)
    truth = [
        multivariate_normal(np.sin(5.0 * t), np.outer(shape, shape) + SIGMA**2 * np.eye(12)).logpdf(row)
        for row, t, shape in zip(values, at, loaded, strict=True)
    ]
    return Measurements(values, SIGMA, at=at), np.array(truth)


def gap_in_errors(model: ClassModel, draw: object, n: int) -> float:
    """Mean left-out evidence of n members less that of new objects, in units of its standard error.

    Both less the log density under the truth, which takes out how lucky the objects are; what is left is independent from
    object to object.
    """
    rng = np.random.default_rng(1)
    (members, of_members), (new, of_new) = draw(n, rng), draw(600, rng)  # type: ignore[operator]
    fitted = model.fit(members, Gaussian(), np.random.default_rng(0))
    known, unknown = fitted.leave_one_out() - of_members, fitted.log_evidence(new) - of_new
    error = np.hypot(known.std() / np.sqrt(len(known)), unknown.std() / np.sqrt(len(unknown)))
    return float((known.mean() - unknown.mean()) / error)


@pytest.mark.slow
@pytest.mark.parametrize("n", [350, 450, 600])
def test_left_out_members_of_a_bent_class_are_like_new_objects(n: int) -> None:
    assert abs(gap_in_errors(IrregularPopulation(n_knots=10), bent, n)) < 3.0


@pytest.mark.slow
@pytest.mark.parametrize("n", [350, 450, 600])
def test_left_out_members_of_a_process_are_like_new_objects(n: int) -> None:
    assert abs(gap_in_errors(GaussianProcess(rank=6, n_knots=20), wavy, n)) < 3.0


def test_left_out_evidence_is_that_of_new_objects_in_many_columns() -> None:
    """A class learned from a part of its members lacks some nats in 200 columns, which are put back."""

    def lacking(seed: int) -> float:
        rng = np.random.default_rng(seed)
        mean, factors = rng.standard_normal(200), rng.standard_normal((200, 2))

        def draw(n: int) -> Measurements:
            truth = mean + rng.standard_normal((n, 2)) @ factors.T + 0.5 * rng.standard_normal((n, 200))
            return Measurements(truth + 0.3 * rng.standard_normal(truth.shape), 0.3)

        model = Population(shape="gaussian").fit(draw(40), Gaussian(), rng)
        return float(np.mean(model.log_evidence(draw(1000))) - np.mean(model.leave_one_out()))

    # The mean of 40 members of 200 points scatters by sqrt(100 / 40) nats: 0.65 over six draws; the parts alone lack 1.6.
    assert abs(np.mean([lacking(seed) for seed in range(6)])) < 1.0

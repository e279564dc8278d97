"""Mixtures of widths, and the one that stands in for noise of which only draws are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from badac import BADACClassifier, Measurements, Stream
from badac.noise import Correlated, Gaussian, Marginal, Outliers, PerClass, Poisson, Student, Widths
from badac.noise.widths import stand_in

RNG = np.random.default_rng(2)
LIKE = Measurements(RNG.normal(0, 3, (40, 10)), RNG.uniform(0.1, 0.5, (40, 10)))


@dataclass(frozen=True)
class Own:
    """Noise of which only draws are known: of a scipy distribution of standard deviation one, times sigma."""

    distribution: object

    def log_match(self, objects: Measurements, curves: Measurements) -> np.ndarray:
        raise AssertionError("a stand-in is found by draws")

    def draw(self, truth: np.ndarray, like: Measurements, rng: np.random.Generator) -> np.ndarray:
        return truth + like.sigma * self.distribution.rvs(size=truth.shape, random_state=rng)


@pytest.mark.parametrize(
    ("distribution", "tolerance"),
    [
        (stats.norm(), 0.05),
        (stats.laplace(scale=np.sqrt(0.5)), 0.15),
        (stats.t(4), 0.15),
        (stats.norm(0, 3), 0.05),
    ],
)
def test_the_stand_in_has_the_density_of_the_draws(distribution: object, tolerance: float) -> None:
    found = stand_in(Own(distribution), LIKE)
    assert isinstance(found, Widths)
    spread = distribution.std()
    x = spread * np.linspace(-4, 4, 81)
    log_share, width = found.gaussian_scales()
    density = logsumexp(log_share + stats.norm.logpdf(x[:, None], 0, width), axis=1)
    # 20,000 draws: some twenty lie beyond four standard deviations of the heaviest, which tells the density to a fifth.
    assert np.abs(density - distribution.logpdf(x)).max() < 3 * tolerance
    assert np.abs(density - distribution.logpdf(x)).mean() < tolerance


def test_noise_of_a_known_form_stands_for_itself() -> None:
    for noise in (Gaussian(2.0), Outliers(0.1, 4.0), Student(3.0), Correlated(np.eye(10)), Poisson()):
        assert stand_in(noise, LIKE) is noise


def test_where_widths_say_nothing_the_class_learns_what_there_is() -> None:
    distribution = stats.norm()
    assert stand_in(Own(distribution), Measurements(LIKE.values)) == Gaussian()
    together = 4.0 * np.ones((10, 10)) + 0.1 * np.eye(10)
    grid = Marginal((Gaussian(), Correlated(together)))
    assert stand_in(grid, LIKE) == Gaussian()


def test_shares_and_widths_are_checked() -> None:
    for shares, widths in (
        ([0.5, 0.4], [1, 2]),
        ([1.0], [1, 2]),
        ([1.0], [0.0]),
        ([], []),
        ([-0.5, 1.5], [1, 2]),
    ):
        with pytest.raises(ValueError, match="must sum to one"):
            Widths(shares, widths)


def test_widths_are_outliers_by_another_name() -> None:
    objects, curves = LIKE[:5], LIKE[5:12]
    same, other = Widths([0.8, 0.2], [1.0, 5.0]), Outliers(0.2, 5.0)
    np.testing.assert_allclose(same.log_match(objects, curves), other.log_match(objects, curves))
    np.testing.assert_allclose(same.log_mixture(objects, curves), other.log_mixture(objects, curves))
    truth = curves.values
    np.testing.assert_allclose(same.log_given_truth(objects, truth), other.log_given_truth(objects, truth))
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    np.testing.assert_array_equal(same.draw(LIKE.values, LIKE, rng), other.draw(LIKE.values, LIKE, again))


@pytest.mark.parametrize(
    "noise",
    [
        Marginal((Gaussian(2.0), Gaussian(3.0))),
        PerClass((Outliers(0.1, 4.0), Gaussian()), other=Outliers(0.05, 4.0)),
        Correlated(0.05 * np.ones((12, 12))),
    ],
    ids=["marginal", "per class", "correlated"],
)
def test_anomalies_and_streams_have_the_noise_too(noise: object) -> None:
    rng = np.random.default_rng(6)
    label = np.arange(60) % 2
    values = label[:, None] + 0.3 * rng.standard_normal((60, 1)) + 0.2 * rng.standard_normal((60, 12))
    train = Measurements(values, 0.2, at=np.arange(12.0))
    model = BADACClassifier(noise=noise, random_state=0).fit(train, label)
    strange = Measurements(np.vstack([values[:2], 5 * np.sin(np.arange(12))]), 0.2, at=np.arange(12.0))
    score = model.anomaly_score(strange)
    assert score[2] > 0 > score[:2].max()
    assert Stream(model).process(strange).shape == (3,)

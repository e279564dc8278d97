import numpy as np
import pytest
from scipy.stats import norm

from badac.checks import check_class_model
from badac.classes.template import Template
from badac.data.measurements import Measurements
from badac.noise import Gaussian
from badac.training import TrainingScales


def noisy(n: int, seed: int, spread: float = 0.0) -> Measurements:
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.1, 0.5, (n, 6))
    truth = np.arange(6.0) + spread * rng.standard_normal((n, 6))
    return Measurements(truth + sigma * rng.standard_normal((n, 6)), sigma)


def fit(members: Measurements, sigma_star: float | None = None) -> Template:
    return Template(sigma_star).fit(members, Gaussian(), np.random.default_rng(0))


def test_the_papers_template() -> None:
    members = noisy(20, seed=1)
    found = fit(members, 0.0)
    weight = 1.0 / members.sigma**2
    np.testing.assert_allclose(found.error, weight.sum(axis=0) ** -0.5, rtol=1e-6)
    np.testing.assert_allclose(
        found.mean, (weight * members.values).sum(axis=0) / weight.sum(axis=0), rtol=1e-6
    )
    objects = noisy(3, seed=2)
    expected = norm(found.mean, np.hypot(objects.sigma, found.error)).logpdf(objects.values).sum(axis=1)
    np.testing.assert_allclose(found.log_evidence(objects), expected, rtol=1e-6)


def test_left_out_evidence_is_that_of_a_refit() -> None:
    members = noisy(8, seed=3)
    found = fit(members, 0.4)
    refit = fit(members[1:], 0.4)
    assert found.leave_one_out()[0] == pytest.approx(refit.log_evidence(members[0])[0], rel=1e-9)


def left_out_by_refits(members: Measurements, scales: TrainingScales) -> np.ndarray:
    """The definition: every member under the template of the others, learned anew."""
    rows, rng = np.arange(len(members)), np.random.default_rng(0)
    return np.array(
        [
            Template().fit(members[rows != one], Gaussian(), rng, scales).log_evidence(members[one])[0]
            for one in rows
        ]
    )


@pytest.mark.parametrize("n", [6, 25, 80])
def test_left_out_members_do_not_count_in_a_learned_spread(n: int) -> None:
    members, scales = noisy(n, seed=3, spread=0.7), TrainingScales.of(noisy(200, seed=4, spread=1.5))
    found = Template().fit(members, Gaussian(), np.random.default_rng(0), scales).leave_one_out()
    again = left_out_by_refits(members, scales)
    # A spread that is not left out is too good by 1.5 m / n nats. One by one, what differs is the scale of the class's own
    # members, which few of them tell anew; of many, one step leaves a third of that at most.
    assert found.mean() == pytest.approx(again.mean(), abs=0.2 if n == 6 else 0.5 * 6 / n)


def test_few_members_that_agree_at_a_point_by_chance_do_not_decide() -> None:
    """Held-out evidence of classes of five is little more than a nat below what the true spread would give."""
    lost = []
    for seed in range(20):
        members, new = noisy(5, seed=seed, spread=0.7), noisy(200, seed=100 + seed, spread=0.7)
        scales = TrainingScales.of(noisy(200, seed=200, spread=1.5))
        found = Template().fit(members, Gaussian(), np.random.default_rng(0), scales).log_evidence(new)
        true = norm(np.arange(6.0), np.hypot(new.sigma, 0.7)).logpdf(new.values).sum(axis=1)
        lost.append(float(np.mean(true - found)))
    # Known variance, mean of five: 0.5 * 6 * log(6 / 5) = 0.55 nats. The spreads of six points have 24 degrees of freedom.
    assert np.mean(lost) < 1.2


def test_learns_the_spread_that_errors_do_not_explain() -> None:
    n = 1000
    found = fit(noisy(n, seed=4, spread=0.7))
    # Five standard errors of a variance of 0.49 seen through noise of up to 0.25.
    np.testing.assert_allclose(found.width**2, 0.49, atol=5 * np.sqrt(2 / n) * 0.74)
    assert fit(noisy(n, seed=5)).width.max() < 0.15


def test_laws_of_a_class_model() -> None:
    check_class_model(Template(), noisy(12, seed=6), noisy(4, seed=7), Gaussian(), np.random.default_rng(0))


def test_gaps_and_single_members() -> None:
    members = noisy(5, seed=8)
    values = members.values.copy()
    values[:, 0] = np.nan
    values[1:, 1] = np.nan
    scales = TrainingScales.of(noisy(50, seed=9))
    found = Template().fit(Measurements(values, members.sigma), Gaussian(), np.random.default_rng(0), scales)
    assert found.mean[0] == pytest.approx(scales.centre[0])
    assert np.isfinite(found.leave_one_out()).all()
    assert np.isfinite(found.log_evidence(noisy(3, seed=10))).all()
    alone = fit(members[:1])
    assert alone.leave_one_out().tolist() == [-np.inf]
    assert np.isfinite(alone.log_evidence(noisy(3, seed=11))).all()

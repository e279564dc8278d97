import numpy as np
import pytest

from badac.checks import check_class_model
from badac.classes.population.population import Population
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.likelihood import project
from badac.noise import Gaussian
from badac.training import TrainingScales
from populations import gaussian, sines


def fit(members: Measurements, scales: TrainingScales | None = None, **parameters) -> Population:
    return Population(**parameters).fit(members, Gaussian(), np.random.default_rng(0), scales)


@pytest.mark.parametrize("n", [12, 60, 450])
def test_laws_of_a_class_model(n: int) -> None:
    members, objects = sines(n, seed=1, m=8), sines(4, seed=2, m=8)
    # Iterated fits agree to rounding times the number of steps.
    check_class_model(Population(), members, objects, Gaussian(), np.random.default_rng(0), tolerance=1e-5)


def test_a_gaussian_population_is_learned_to_the_limit() -> None:
    n = 1500
    members, mean, factors, psi = gaussian(n, seed=3)
    objects = gaussian(1000, seed=4)[0]
    found = fit(members)
    best = project(objects, mean, factors, psi + 1e-9).gaussian_log_evidence()
    loss = float((best - found.log_evidence(objects)).mean())
    # 15 means, 30 factors, 15 psi: half a parameter over n nats each if all were free; three times that for the scatter.
    assert loss < 3 * 60 / (2 * n)
    assert found.plan.shape.kind == "gaussian"


def test_a_bent_population_needs_its_shape() -> None:
    members, objects = sines(1500, seed=5), sines(500, seed=6)
    bent, straight = fit(members), fit(members, shape="gaussian")
    assert bent.log_evidence(objects).mean() > straight.log_evidence(objects).mean() + 1.0


def test_classifies_near_the_limit_of_the_true_model() -> None:
    rng = np.random.default_rng(7)
    lines, *truth = gaussian(1200, seed=8, m=24)
    waves = sines(1200, seed=9)
    objects = [sines(500, seed=10), gaussian(500, seed=11, m=24)[0]]
    models = [fit(waves), fit(lines)]
    frequency = rng.normal(5.0, 2.0, 4000)
    curves = np.sin(frequency[:, None] * np.linspace(0.0, 1.0, 24))
    right = limit = 0
    for label, part in enumerate(objects):
        ours = np.stack([model.log_evidence(part) for model in models], axis=1)
        right += int((ours.argmax(axis=1) == label).sum())
        weight = 1.0 / part.sigma**2
        squares = (weight * part.values**2).sum(axis=1)[:, None] - 2 * (weight * part.values) @ curves.T
        squares = squares + weight @ (curves**2).T
        wave = -0.5 * squares.min(axis=1) + np.log(
            np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True))).mean(axis=1)
        )
        wave = wave - 0.5 * np.log(2 * np.pi * part.sigma**2).sum(axis=1)
        line = project(part, truth[0], truth[1], truth[2] + 1e-9).gaussian_log_evidence()
        limit += int((np.stack([wave, line], axis=1).argmax(axis=1) == label).sum())
    # Paired on 1,000 objects, 5 errors more or less are chance.
    assert right >= limit - 8


def test_left_out_evidence_is_that_of_refits() -> None:
    members = sines(16, seed=12, m=8)
    found = fit(members)
    refits = np.array(
        [
            fit(members[np.arange(16) != row], rank=found.plan.rank).log_evidence(members[row])[0]
            for row in range(16)
        ]
    )
    # Five-fold against one at a time: the classes are learned from 13 instead of 15 members.
    assert np.corrcoef(found.leave_one_out(), refits)[0, 1] > 0.8
    assert abs(np.median(found.leave_one_out() - refits)) < 2.0


def test_first_order_left_out_evidence_predicts_new_members() -> None:
    members, objects = sines(800, seed=13), sines(800, seed=14)
    found = fit(members)
    new, left_out = found.log_evidence(objects), found.leave_one_out()
    error = np.hypot(new.std(), left_out.std()) / np.sqrt(800)
    assert abs(new.mean() - left_out.mean()) < 4 * error
    assert left_out.mean() < found.log_evidence(members).mean()


EDGES = {
    "one member": (1, {}),
    "two members": (2, {}),
    "three members": (3, {}),
    "more points than members": (10, {"m": 60}),
    "half missing": (40, {"missing": 0.5}),
    "nearly all missing": (40, {"missing": 0.95}),
}


@pytest.mark.parametrize("name", EDGES)
def test_small_and_gappy_classes(name: str) -> None:
    n, options = EDGES[name]
    members, objects = gaussian(n, seed=15, **options)[0], gaussian(5, seed=16, **options)[0]
    scales = TrainingScales.of(gaussian(200, seed=17, **options)[0])
    found = fit(members, scales)
    assert np.isfinite(found.log_evidence(objects)).all()
    assert not np.isnan(found.leave_one_out()).any()
    # The class still knows its own members from a curve ten scales away.
    far = Measurements(objects.values + 10 * scales.scale, objects.sigma)
    some = objects.observed.sum(axis=1) > 0
    assert (found.log_evidence(objects)[some] > found.log_evidence(far)[some]).all()


def test_members_that_share_no_point() -> None:
    whole = gaussian(30, seed=18, m=10)[0]
    values = whole.values.copy()
    values[:15, :5] = np.nan
    values[15:, 5:] = np.nan
    found = fit(Measurements(values, whole.sigma))
    both, *_ = gaussian(5, seed=19, m=10)
    assert np.isfinite(found.log_evidence(both)).all()
    assert np.isfinite(found.reconstruct(both).values).all()


def test_a_point_that_nobody_observed_takes_the_surroundings() -> None:
    whole = gaussian(30, seed=20)[0]
    values = whole.values.copy()
    values[:, 2] = np.nan
    scales = TrainingScales.of(whole)
    found = fit(Measurements(values, whole.sigma), scales)
    # Smoothness may let the neighbours have a say.
    assert found.mean[2] == pytest.approx(scales.centre[2], abs=0.2 * scales.scale[2])
    assert found.psi[2] == pytest.approx(scales.scale[2] ** 2, rel=0.1)


def test_hopeless_members_do_not_hide_the_good_ones() -> None:
    good, mean, _, _ = gaussian(100, seed=21)
    hopeless = gaussian(100, seed=22, sigma=50.0)[0]
    both = Measurements(np.vstack([good.values, hopeless.values]), np.vstack([good.sigma, hopeless.sigma]))
    objects = gaussian(200, seed=23)[0]
    alone, among = fit(good).log_evidence(objects).mean(), fit(both).log_evidence(objects).mean()
    assert among > alone - 1.0
    assert np.abs(fit(both).mean - mean).max() < 1.0


def test_no_variability() -> None:
    rng = np.random.default_rng(24)
    members = Measurements(2.0 + 0.1 * rng.standard_normal((200, 8)), 0.1)
    found = fit(members)
    assert found.plan.rank == 0
    assert found.psi.max() < 0.1 * 0.1**2


def test_exact_values_that_repeat_do_not_become_a_delta_function() -> None:
    rng = np.random.default_rng(25)
    values = rng.standard_normal((50, 4))
    values[:, 2] = 7.0
    scales = TrainingScales(np.zeros(4), np.ones(4), -3.0, 8.0)
    found = fit(Measurements(values), scales)
    assert found.psi[2] > 0.05
    assert np.isfinite(found.log_evidence(Measurements(rng.standard_normal((3, 4))))).all()


def test_reconstruction_is_nearer_to_the_truth_than_the_data() -> None:
    rng = np.random.default_rng(26)
    members, mean, factors, _ = gaussian(800, seed=27)
    truth = mean + rng.standard_normal((300, 2)) @ factors.T
    objects = Measurements(truth + 0.3 * rng.standard_normal(truth.shape), 0.3)
    found = fit(members).reconstruct(objects)
    error = found.values - truth
    assert np.sqrt((error**2).mean()) < 0.5 * 0.3
    # Its own error bars are right: the mean square of 300 objects in 2 dimensions to a tenth.
    assert np.mean((error / found.sigma) ** 2) == pytest.approx(1.0, abs=0.25)


def test_the_summary_is_there_for_the_anomalies() -> None:
    found = fit(gaussian(100, seed=28)[0])
    assert isinstance(found.factor, Factor)
    assert found.mean.shape == found.psi.shape == (15,)
    assert found.factors.shape == (15, max(found.plan.rank, 1))


@pytest.mark.parametrize("own", [False, True])
def test_correlated_errors_are_not_learned_as_factors(own: bool) -> None:
    rng = np.random.default_rng(29)
    _, mean, factors, _ = gaussian(1, seed=30, m=12)
    covariance = 0.05 * np.eye(12) + 0.3 * np.exp(
        -np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / 4.0
    )

    def draw(n: int) -> Measurements:
        truth = mean + rng.standard_normal((n, 2)) @ factors.T
        values = truth + rng.multivariate_normal(np.zeros(12), covariance, n)
        return Measurements(
            values, covariance=np.broadcast_to(covariance, (n, 12, 12)) if own else covariance
        )

    members, objects = draw(800), draw(500)
    found = fit(members)
    best = project(objects, mean, factors, np.full(12, 1e-9)).gaussian_log_evidence()
    # 12 means, 24 factors: half a parameter over n nats each; five times that for the scatter and the choice of rank.
    assert float((best - found.log_evidence(objects)).mean()) < 5 * 36 / (2 * 800)
    assert found.leave_one_out().mean() == pytest.approx(best.mean(), abs=5 * best.std() / np.sqrt(500))


def test_a_population_that_only_describes_is_the_same_but_for_left_out_members() -> None:
    rng = np.random.default_rng(8)
    members = Measurements(
        rng.standard_normal((60, 1)) * np.ones(6) + 0.2 * rng.standard_normal((60, 6)), 0.2
    )
    scales = TrainingScales.of(members)
    whole = Population(shape="gaussian").fit(members, Gaussian(), np.random.default_rng(0), scales)
    bare = Population(shape="gaussian").described(members, Gaussian(), np.random.default_rng(0), scales)
    np.testing.assert_array_equal(whole.factor.factors, bare.factor.factors)
    np.testing.assert_array_equal(whole.reconstruct(members).values, bare.reconstruct(members).values)
    assert bare.member_evidence is None

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from badac import BADACClassifier, load, save
from badac.calibration.agreement import Choice, agree, best_losses
from badac.checks import check_class_model
from badac.classes import Auto, DeconvolvedMixture, Population
from badac.classes.deconvolved import MOST_COLUMNS, coordinates
from badac.classes.report import Candidate
from badac.data.measurements import Measurements
from badac.latent.component_sizes import weigh_sizes
from badac.latent.factor import Factor
from badac.noise import Gaussian, Outliers, Poisson
from badac.training import TrainingScales, TrainingSet


def ring(n: int, seed: int, *, radius: float = 1.0, sigma: float = 0.2) -> Measurements:
    """A ring in two columns, of errors that differ from object to object."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    truth = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    errors = sigma * rng.uniform(0.3, 1.7, (n, 2))
    return Measurements(truth + errors * rng.standard_normal((n, 2)), errors)


def fit(members: Measurements) -> DeconvolvedMixture:
    return DeconvolvedMixture().fit(members, Gaussian(), np.random.default_rng(0))


def ring_log_density(objects: Measurements) -> np.ndarray:
    """The truth, by a sum over the ring."""
    angle = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    truth = np.column_stack([np.cos(angle), np.sin(angle)])
    parts = norm.logpdf(objects.values[:, None], truth, objects.sigma[:, None]).sum(axis=2)
    return np.logaddexp.reduce(parts, axis=1) - np.log(len(angle))


def test_a_ring_is_found_through_its_noise() -> None:
    found, new = fit(ring(600, seed=1)), ring(1000, seed=2)
    loss = ring_log_density(new) - found.log_evidence(new)
    gaussian = ring_log_density(new) - Population(shape="gaussian").fit(
        ring(600, seed=1), Gaussian(), np.random.default_rng(0)
    ).log_evidence(new)
    # Eight Gaussians of five numbers each, told by 600 members: 40 / (2 * 600) nats, and as much for the corners.
    assert loss.mean() < 0.08
    assert loss.mean() < 0.2 * gaussian.mean()
    assert found.sizes is not None and found.sizes.components[found.sizes.weights.argmax()] >= 4


def test_left_out_evidence_is_that_of_new_objects() -> None:
    for n in (60, 400, 1600):
        found, new = fit(ring(n, seed=3)), ring(4000, seed=4)
        own, other = found.leave_one_out(), found.log_evidence(new)
        error = np.hypot(own.std() / np.sqrt(n), other.std() / np.sqrt(len(other)))
        # A third less members in small classes: a little too humble, never too sure.
        assert own.mean() < other.mean() + 3.0 * error
        assert own.mean() > other.mean() - 3.0 * error - 25.0 / n


def test_the_evidence_is_the_mixture_convolved_with_the_noise() -> None:
    found, new = fit(ring(200, seed=5)), ring(5, seed=6)
    density, factor = found.density, found.factor
    assert density is not None
    for place in range(5):
        noise = np.diag(new.sigma[place] ** 2 + factor.psi)
        parts = [
            weight
            * multivariate_normal.pdf(
                new.values[place],
                factor.mean + factor.factors @ centre,
                factor.factors @ spread @ factor.factors.T + noise,
            )
            for weight, centre, spread in zip(
                density.weights, density.means, density.covariances, strict=True
            )
        ]
        np.testing.assert_allclose(found.log_evidence(new[place])[0], np.log(sum(parts)), rtol=1e-8)


def test_gaps_and_covariances_of_each_object() -> None:
    members = ring(300, seed=7)
    values = members.values.copy()
    values[::5, 1] = np.nan
    gaps = fit(Measurements(values, members.sigma))
    one = Measurements([[0.3, np.nan]], 0.1)
    # The other column, integrated numerically.
    grid = np.linspace(-4.0, 4.0, 801)
    both = Measurements(np.column_stack([np.full(801, 0.3), grid]), np.tile([0.1, 1e-6], (801, 1)))
    integral = np.trapezoid(np.exp(gaps.log_evidence(both)), grid)
    np.testing.assert_allclose(gaps.log_evidence(one)[0], np.log(integral), atol=1e-3)
    covariance = np.array([np.diag(row**2) for row in members.sigma])
    full = fit(Measurements(members.values, covariance=covariance))
    new = ring(50, seed=8)
    np.testing.assert_allclose(full.log_evidence(new), fit(members).log_evidence(new), atol=0.02)


@pytest.mark.parametrize("scale", [1e3, 1e-3])
def test_units_do_not_matter(scale: float) -> None:
    members, new = ring(100, seed=9), ring(20, seed=10)
    other = fit(Measurements(members.values * scale, members.sigma * scale))
    moved = other.log_evidence(Measurements(new.values * scale, new.sigma * scale))
    np.testing.assert_allclose(moved + 2.0 * np.log(scale), fit(members).log_evidence(new), atol=1e-5)


def test_laws_of_a_class_model() -> None:
    members, objects = ring(60, seed=11), ring(4, seed=12)
    check_class_model(
        DeconvolvedMixture(), members, objects, Gaussian(), np.random.default_rng(0), tolerance=1e-5
    )


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_few_members(n: int) -> None:
    found = fit(ring(n, seed=13))
    assert np.isfinite(found.log_evidence(ring(5, seed=14))).all()
    assert found.leave_one_out().shape == (n,)
    assert np.isfinite(found.leave_one_out()).all() == (n > 1)


def test_many_columns_are_refused_in_words() -> None:
    wide = Measurements(np.zeros((40, 31)) + np.arange(40)[:, None], 0.1)
    with pytest.raises(ValueError, match=r'up to 30 columns: got 31.*"population"'):
        fit(wide)


def test_noise_of_other_kinds() -> None:
    rng = np.random.default_rng(15)
    bad = ring(200, seed=16)
    wrecked = bad.values + 8.0 * bad.sigma * rng.standard_normal(bad.shape) * (rng.random(bad.shape) < 0.1)
    found = DeconvolvedMixture().fit(Measurements(wrecked, bad.sigma), Outliers(0.1, 8.0), rng)
    new = ring(500, seed=17)
    assert (ring_log_density(new) - found.log_evidence(new)).mean() < 0.4
    counts = Measurements(rng.poisson(rng.choice([3.0, 30.0], (150, 1)), (150, 3)).astype(float))
    counted = DeconvolvedMixture().fit(counts, Poisson(), rng)
    # A probability: the counts of one column, the others missing, add up to one.
    every = np.full((200, 3), np.nan)
    every[:, 0] = np.arange(200)
    np.testing.assert_allclose(np.exp(counted.log_evidence(Measurements(every))).sum(), 1.0, atol=0.02)


def test_auto_takes_it_for_shapes_and_says_so(tmp_path) -> None:  # type: ignore[no-untyped-def]
    inner, outer = ring(150, seed=18, radius=0.5), ring(150, seed=19)
    objects = Measurements(np.vstack([inner.values, outer.values]), np.vstack([inner.sigma, outer.sigma]))
    label = np.repeat([0, 1], 150)
    model = BADACClassifier(random_state=0).fit(objects, label)
    assert model.class_report_ is not None and set(model.class_report_.chosen().values()) == {"mixture"}
    assert "mixture" in str(model.class_report_)
    new = ring(50, seed=20)
    assert np.isfinite(model.anomaly_score(new)).all()
    save(model, tmp_path / "model.badac")
    np.testing.assert_array_equal(load(tmp_path / "model.badac").predict_proba(new), model.predict_proba(new))


def test_full_rank_is_for_few_columns_only() -> None:
    rng = np.random.default_rng(21)
    wide = Measurements(rng.standard_normal((80, MOST_COLUMNS + 1)), 0.1)
    names = {row.name for row in Auto().fit(wide, Gaussian(), rng).report}
    assert "mixture" not in names
    few = Auto().fit(wide.points(slice(0, MOST_COLUMNS)), Gaussian(), rng)
    assert "mixture" in {row.name for row in few.report}
    assert [name for name, _ in few.alternatives] == ["population", "mixture"]


def test_classes_agree_on_what_tells_them_apart() -> None:
    members = [ring(200, seed=22, radius=0.5), ring(200, seed=23)]
    objects = Measurements(
        np.vstack([one.values for one in members]), np.vstack([one.sigma for one in members])
    )
    label = np.repeat([0, 1], 200)
    rng = np.random.default_rng(0)
    training = TrainingSet(objects, label, np.arange(2), Gaussian(), TrainingScales.of(objects), rng)
    rows = (
        Candidate("population", 0.0, 0.0, 0.0, True, "chosen: as a trial"),
        Candidate("mixture", 0.0, 0.0, 0.0, False, "not"),
    )
    gaussian = Population(shape="gaussian")
    choices = []
    for one in members:
        fitted = {"population": gaussian.fit(one, Gaussian(), rng), "mixture": fit(one)}
        choices.append(Choice(fitted["population"], rows, fitted))
    found = agree(choices, training, np.log([0.5, 0.5]))
    assert [one.name for one in found] == ["mixture", "mixture"]
    assert "tells left-out objects better" in found[0].report[0].why
    alone = [Choice(one.model, one.report, {}) for one in choices]
    assert agree(alone, training, np.log([0.5, 0.5])) == alone


def test_losses_are_those_of_the_best_exponent() -> None:
    rng = np.random.default_rng(24)
    label = rng.integers(2, size=2000)
    honest = np.where(np.arange(2) == label[:, None], rng.normal(1.0, 1.5, (2000, 1)), 0.0)
    loss = best_losses(honest, label, np.log([0.5, 0.5])).mean()
    assert best_losses(5.0 * honest, label, np.log([0.5, 0.5])).mean() < loss + 0.005


def test_sizes_are_weighed_by_members_held_out() -> None:
    rng = np.random.default_rng(25)
    one = Measurements(rng.standard_normal((300, 2)), 0.1)
    latent = Factor(np.zeros(2), np.eye(2), np.full(2, 1e-6)).project(one)
    sizes, mixture, held_out = weigh_sizes(latent, rng, most=32)
    assert sizes.weights[sizes.components <= 2].sum() > 0.5
    np.testing.assert_allclose(mixture.weights.sum(), 1.0)
    assert held_out.shape == (300,)


def test_coordinates_are_those_of_the_class() -> None:
    rng = np.random.default_rng(26)
    turn = np.array([[2.0, 0.0], [1.5, 0.3]])
    truth = rng.standard_normal((4000, 2)) @ turn.T + [5.0, -3.0]
    members = Measurements(truth + 0.5 * rng.standard_normal(truth.shape), 0.5)
    factor = coordinates(members, TrainingScales.of(members))
    np.testing.assert_allclose(factor.factors @ factor.factors.T, turn @ turn.T, atol=0.3)
    np.testing.assert_allclose(factor.mean, [5.0, -3.0], atol=0.15)

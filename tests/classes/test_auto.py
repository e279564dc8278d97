import numpy as np

from badac.checks import check_class_model
from badac.classes.auto import Auto, affordable, compare, left_out_of_template, some_members
from badac.classes.population.population import Population
from badac.classes.template import Template
from badac.data.measurements import Measurements
from badac.noise import Correlated, Gaussian, Poisson
from badac.training import TrainingScales
from populations import gaussian, sines


def fit(members: Measurements) -> Auto:
    return Auto().fit(members, Gaussian(), np.random.default_rng(0))


def test_the_population_for_a_bent_noisy_class() -> None:
    found = fit(sines(200, seed=1))
    assert isinstance(found.chosen, Population)
    assert [row.chosen for row in found.report] == [True, False, False]
    assert {row.name for row in found.report} == {"population", "template", "instances"}
    assert found.report[0].why.startswith("chosen")


def test_answers_are_those_of_the_chosen_model() -> None:
    members, objects = sines(100, seed=2), sines(5, seed=3)
    found = fit(members)
    np.testing.assert_array_equal(found.log_evidence(objects), found.chosen.log_evidence(objects))
    np.testing.assert_array_equal(found.leave_one_out(), found.chosen.leave_one_out())


def test_another_model_must_be_clearly_better() -> None:
    rng = np.random.default_rng(4)
    population = rng.normal(0.0, 1.0, 100)
    noise = rng.normal(0.0, 1.0, 100)
    noise -= noise.mean()
    chance = compare({"population": population, "template": population + noise + 0.1})
    assert chance[0].name == "population"
    small = compare({"population": population, "template": population + 0.1 * noise + 0.3})
    assert small[0].name == "population", "sure, but too small to matter"
    clear = compare({"population": population, "template": population + noise + 0.8})
    assert clear[0].name == "template"
    assert clear[1].why.startswith("left-out members lose")


def test_one_member_far_off_does_not_choose() -> None:
    population = np.zeros(100)
    population[0] = -1e6
    other = np.full(100, -0.5)
    assert compare({"population": population, "template": other})[0].name == "population"


def test_counts_are_compared_like_anything_else() -> None:
    rng = np.random.default_rng(5)
    rate = np.exp(rng.normal(1.0, 1.0, (60, 1)) * np.linspace(-1.0, 1.0, 12))
    counts = Measurements(rng.poisson(rate).astype(float))
    found = Auto().fit(counts, Poisson(), np.random.default_rng(0))
    assert isinstance(found.chosen, Population)
    assert {row.name for row in found.report} == {"population", "template", "instances"}


def test_an_only_member() -> None:
    found = fit(gaussian(1, seed=6)[0])
    assert isinstance(found.chosen, Population | Template)
    assert np.isfinite(found.log_evidence(gaussian(3, seed=7)[0])).all()


def test_trying_the_instances_is_bounded() -> None:
    many = Measurements(np.zeros((100_000, 1)), 1.0)
    assert len(some_members(many, np.random.default_rng(0))) == 30
    assert len(some_members(many[:100], np.random.default_rng(0))) == 100


def test_laws_of_a_class_model() -> None:
    members, objects = sines(40, seed=8, m=8), sines(4, seed=9, m=8)
    check_class_model(Auto(), members, objects, Gaussian(), np.random.default_rng(0), tolerance=1e-5)


def test_values_whose_squares_overflow_are_a_population() -> None:
    members = sines(60, seed=8)
    found = fit(Measurements(1e200 * members.values, 1e200 * members.sigma))
    assert isinstance(found.chosen, Population)
    assert found.chosen.unit > 1e199
    assert "units" in found.report[0].why


def test_a_template_of_some_members_is_compared_in_a_large_class() -> None:
    members = gaussian(4500, seed=9)[0]
    scales, compared = TrainingScales.of(members), np.array([0, 17, 4499])
    of_some = left_out_of_template(members, compared, Gaussian(), np.random.default_rng(0), scales)
    of_all = Template().fit(members, Gaussian(), np.random.default_rng(0), scales).leave_one_out()[compared]
    # Mean and width of 2,250 members are right to 1/67 and 1/47 of themselves; an object has ten or so points.
    np.testing.assert_allclose(of_some, of_all, atol=members.n_points * 0.1)


def test_instances_are_not_tried_where_every_pair_has_a_covariance_of_its_own() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((150, 4))
    scales = Correlated(0.2 * np.ones((4, 4)))
    own = Measurements(values, rng.uniform(0.2, 0.4, values.shape))
    assert not affordable(own, scales)
    assert affordable(own[:100], scales)
    assert affordable(own, Gaussian())
    assert affordable(Measurements(values, 0.3), scales)
    report = Auto().fit(own, scales, rng).report
    assert {one.name for one in report} == {"population", "template", "mixture"}


def test_exact_members_are_no_reason_to_refuse() -> None:
    members = sines(40, 0)
    exact = members.with_sigma(np.zeros(members.shape))
    some = members.with_sigma(np.where(np.arange(members.n_points) == 3, 0.0, members.sigma))
    for objects in (exact, some):
        found = fit(objects)
        assert "instances" not in [candidate.name for candidate in found.report]
        assert np.isfinite(found.log_evidence(objects)).all()

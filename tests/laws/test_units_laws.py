"""Laws of units: whoever measures in other units gets the same answers, however large or small the numbers become."""

from functools import cache

import numpy as np
import pytest

from badac import BADACClassifier, Measurements, Stream

N, M = 60, 12


def curves(seed: int, gaps: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = np.arange(N) % 2
    values = 1.5 * label[:, None] + 0.3 * rng.standard_normal((N, 1)) * np.linspace(0, 1, M)
    values += 0.3 * rng.standard_normal((N, M))
    return np.where(rng.random((N, M)) < gaps, np.nan, values), label


def measured(values: np.ndarray, factor: float) -> Measurements:
    return Measurements(values * factor, 0.3 * factor)


@cache
def answers(factor: float, **settings: object) -> tuple[np.ndarray, ...]:
    values, label = curves(0)
    objects, new = measured(values, factor), measured(curves(1)[0], factor)
    model = BADACClassifier(random_state=0, **settings).fit(objects, label)
    expected = model.explain(new[:3]).expected / factor
    return model.predict_proba(new), model.anomaly_score(new), model.log_evidence(new), expected


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"class_model": "instances"},
        {"class_model": "template", "anomaly": "tophat"},
        {"noise": "outliers"},
    ],
    ids=str,
)
@pytest.mark.parametrize("power", [-900, -332, 332])
def test_answers_do_not_depend_on_the_unit(settings: dict[str, str], power: int) -> None:
    proba, score, evidence, expected = answers(1.0, **settings)
    other = answers(2.0**power, **settings)
    # A logarithm of other numbers is rounded otherwise, and what is learned by iteration stops a little elsewhere.
    np.testing.assert_allclose(other[0], proba, atol=1e-9)
    np.testing.assert_allclose(other[1], score, atol=1e-6)
    np.testing.assert_allclose(other[3], expected, rtol=1e-6)
    count = np.isfinite(curves(1)[0]).sum(axis=1)[:, None]
    np.testing.assert_allclose(other[2], evidence - count * power * np.log(2.0), rtol=1e-9)


def test_powers_of_two_beyond_the_usual_change_no_bit() -> None:
    small, large = answers(2.0**-332), answers(2.0**332)
    np.testing.assert_array_equal(small[0], large[0])
    np.testing.assert_array_equal(small[1], large[1])


@pytest.mark.parametrize("class_model", ["population", "subclasses", "gp"])
def test_every_class_model_takes_extreme_units(class_model: str) -> None:
    values, label = curves(0)
    for factor in (1e-200, 1e200):
        objects = measured(values, factor)
        model = BADACClassifier(class_model=class_model, random_state=0).fit(objects, label)
        np.testing.assert_allclose(model.predict_proba(objects).sum(axis=1), 1.0, rtol=1e-12)
        assert np.isfinite(model.anomaly_score(objects)).all()
        assert model.score(objects, label) > 0.9


@cache
def without_gaps(class_model: str) -> BADACClassifier:
    values, label = curves(0, gaps=0.0)
    return BADACClassifier(class_model=class_model, random_state=0).fit(measured(values, 1.0), label)


@pytest.mark.parametrize("class_model", ["auto", "instances", "template"])
@pytest.mark.parametrize("far", [1e3, 1e170, 1e300])
def test_an_absurd_value_is_strange_and_nothing_else(class_model: str, far: float) -> None:
    model = without_gaps(class_model)
    new = curves(1, gaps=0.0)[0][:3]
    new[0, 4] = far
    new[1] = -far
    objects = Measurements(new, 0.3)
    assert np.array_equal(model.anomaly_proba(objects).round(2), [1.0, 1.0, 0.0])
    np.testing.assert_allclose(model.predict_proba(objects).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("far", [1e3, 1e170, 1e300])
def test_an_absurd_value_among_the_members_spoils_nothing(far: float) -> None:
    values, label = curves(0, gaps=0.0)
    broken = values.copy()
    broken[5, 2] = far
    learned = BADACClassifier(random_state=0).fit(Measurements(broken, 0.3), label)
    assert learned.score(measured(values, 1.0), label) > 0.9


def test_new_members_in_other_units_are_learned_with_the_old_ones() -> None:
    values, label = curves(0)
    model = BADACClassifier(random_state=0).fit(measured(values, 1e-200), label)
    before = model.units_
    model.partial_fit(measured(values[:2], 1e-200), label[:2])
    np.testing.assert_array_equal(model.units_, before)
    model.partial_fit(measured(np.tile(values, (2, 1)), 1.0), np.tile(label, 2))
    assert np.isfinite(model.predict_proba(measured(values, 1.0))).all()


def test_a_stream_in_extreme_units_finds_the_same_classes() -> None:
    values, label = curves(0, gaps=0.0)
    new = np.concatenate([curves(1, gaps=0.0)[0][:10], 3 * np.sin(np.arange(M)) + 0.1 * values[:5]])
    found = []
    for factor in (1.0, 2.0**500):
        known = BADACClassifier(random_state=0) if factor != 1.0 else without_gaps("auto")
        stream = Stream(known if factor == 1.0 else known.fit(measured(values, factor), label))
        found.append((stream.process(measured(new, factor)), stream.curve(2) / factor))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-9)

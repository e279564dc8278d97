"""New objects that are not like the training's: what is said, and that only the promise of a list is refused."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier, Measurements
from badac.comparison import Difference, ListWarning
from badac.comparison.checks import _are_shifted, _scatter_otherwise

X = np.linspace(0.0, 1.0, 20)


def curves(n: int, seed: int, sigma: float = 0.2) -> tuple[Measurements, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    truth = np.sin((3.0 + 3.0 * label[:, None]) * X) + 0.3 * rng.standard_normal((n, 1))
    return Measurements(truth + sigma * rng.standard_normal((n, 20)), sigma, at=X), label


def changed(objects: Measurements, values: np.ndarray | None = None, factor: float = 1.0) -> Measurements:
    return Measurements(objects.values if values is None else values, factor * objects.sigma, at=X)


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    return BADACClassifier(random_state=0).fit(*curves(600, 1)).prepare_pvalues()


@pytest.fixture(scope="module")
def new() -> Measurements:
    return curves(500, 2)[0]


def test_objects_like_the_training_are_called_so(model: BADACClassifier, new: Measurements) -> None:
    found = model.compare(new)
    assert found.promise_holds and found.why == "" and not found.differences
    assert found.known_share > 0.85
    assert found.error_scale == pytest.approx(1.0, abs=0.1)
    edges, density = found.histogram()
    assert edges.shape == (21,) and density @ np.diff(edges) == pytest.approx(1.0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_wrong_error_bars_are_found_beside_one_curve_per_member(factor: float) -> None:
    """Each member is explained best by itself: all have the same slope by a factor, and bounds from them tell nothing."""
    members = BADACClassifier("instances", random_state=0).fit(*curves(300, 3)).prepare_pvalues()
    found = members.compare(changed(curves(500, 4)[0], factor=factor))
    # Below a factor of 1.15 nothing is said of error bars; the factor itself need not be known better.
    assert found.error_scale == pytest.approx(1.0 / factor, rel=0.15)


@pytest.mark.parametrize("by_class", [True, False])
def test_unequal_error_bars_in_other_proportions_are_no_other_scatter(by_class: bool) -> None:
    """Classes, or two instruments within them, whose error bars differ: 55 % are the precise ones, then 45 %."""

    def measured(n: int, seed: int, precise: float) -> tuple[Measurements, np.ndarray]:
        rng = np.random.default_rng(seed)
        label = (rng.random(n) > precise).astype(int) if by_class else rng.integers(2, size=n)
        sigma = np.where(label if by_class else rng.random(n) > precise, 0.6, 0.2)[:, None]
        truth = np.sin((3.0 + 3.0 * label[:, None]) * X) + 0.1 * rng.standard_normal((n, 1))
        return Measurements(
            truth + sigma * rng.standard_normal((n, 20)), sigma * np.ones((n, 20)), at=X
        ), label

    model = BADACClassifier("population", random_state=0).fit(*measured(600, 5, 0.55)).prepare_pvalues()
    found = model.compare(measured(1000, 6, 0.45)[0])
    assert found.promise_holds and not found.differences


@pytest.mark.parametrize(("factor", "kind"), [(0.5, "too small"), (2.0, "too large")])
def test_wrong_error_bars_in_the_new_objects_alone_are_said(
    model: BADACClassifier, new: Measurements, factor: float, kind: str
) -> None:
    found = model.compare(changed(new, factor=factor))
    assert kind in found.why and not found.promise_holds
    # One cause, one row: noise levels, scatter and p-values are as they should be with the factor.
    assert [one.what for one in found.differences] == ["error bars"]
    # The factor is learned from the bulk, and offered.
    assert found.error_scale == pytest.approx(1.0 / factor, rel=0.15)
    mended = changed(new, factor=factor * found.error_scale)
    assert model.compare(mended).promise_holds


def test_a_list_without_its_promise_is_still_a_list(model: BADACClassifier, new: Measurements) -> None:
    halved = changed(new, factor=0.5)
    with pytest.warns(ListWarning, match="error bars of the new objects are too small"):
        listed = model.rank(halved, fdr=0.1)
    assert len(listed) > 0 and listed.false_share_bound == 1.0
    assert listed.expected_false_alarms is not None and np.isnan(listed.expected_false_alarms)
    assert "no promise" in repr(listed)
    np.testing.assert_array_equal(model.rank(halved).objects[: len(listed)][:1], listed.objects[:1])


def test_shifts_scales_gaps_and_noise_are_said(model: BADACClassifier, new: Measurements) -> None:
    shifted = new.values.copy()
    shifted[:, 7] += 1.0
    assert "column 7" in model.compare(changed(new, shifted)).why
    assert not model.compare(changed(new, 3.0 * new.values)).promise_holds
    lacking = new.values.copy()
    lacking[:, 4] = np.nan
    gaps = model.compare(changed(new, lacking))
    assert [one.what for one in gaps.differences] == ["gaps"] and gaps.promise_holds
    noisy = model.compare(curves(500, 3, sigma=1.0)[0])
    assert "noise levels" in [one.what for one in noisy.differences]
    # Honest error bars, however large: nothing is said of them, nor of the scatter that they explain.
    assert {"error bars", "values"}.isdisjoint(one.what for one in noisy.differences)


def test_differences_are_plain_numbers_for_json() -> None:
    one = Difference("gaps", np.float32(0.5), np.float64(0.25), "words", np.bool_(True))
    assert json.dumps([one.training, one.new, one.breaks_promise]) == "[0.5, 0.25, true]"


def test_one_cause_is_said_alone_with_its_size(model: BADACClassifier, new: Measurements) -> None:
    """Units and zero point: noise levels, columns and p-values follow from them and are not said beside them."""
    scaled = model.compare(Measurements(1.3 * new.values, 1.3 * new.sigma, at=X))
    assert [one.what for one in scaled.differences] == ["values"] and "multiply both by" in scaled.why
    assert scaled.differences[0].new == pytest.approx(1.3, rel=0.05)
    shifted = model.compare(changed(new, new.values + 0.8))
    assert [one.what for one in shifted.differences] == ["values"] and "all alike" in shifted.why
    assert shifted.differences[0].new == pytest.approx(0.8, abs=0.1)
    assert not shifted.promise_holds and shifted.error_scale == 1.0


def test_rounded_values_are_called_so(model: BADACClassifier, new: Measurements) -> None:
    found = model.compare(changed(new, np.round(new.values)))
    assert "are rounded" in found.why and "column 0 takes" in found.why
    assert "scatter" not in found.why and len(found.why) < 400
    assert model.compare(changed(new, np.round(new.values, 2))).promise_holds


def test_most_objects_strange_is_said(model: BADACClassifier) -> None:
    rng = np.random.default_rng(4)
    strange = np.sin(25.0 * X) + rng.standard_normal((200, 1)) + 0.2 * rng.standard_normal((200, 20))
    found = model.compare(Measurements(strange, 0.2, at=X))
    assert found.known_share < 0.1 and not found.promise_holds
    assert found.why.startswith("Only") and "column" not in found.why


def test_a_list_says_what_to_expect(model: BADACClassifier, new: Measurements) -> None:
    values = new.values.copy()
    values[:12] += 1.2 * np.sin(25.0 * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed = model.rank(changed(new, values), fdr=0.1)
    assert set(range(12)) <= set(listed.objects.tolist()) and len(listed) <= 18
    assert listed.why == ""
    assert listed.expected_false_alarms is not None and listed.expected_false_alarms <= 0.1 * len(listed)
    assert listed.false_share_bound is not None and 0.0 <= listed.false_share_bound < 0.5


def test_an_empty_list_says_why(model: BADACClassifier) -> None:
    with pytest.warns(ListWarning, match="as strange as the strangest"):
        listed = model.rank(curves(300, 12)[0], fdr=0.01)
    assert len(listed) == 0 and "no list at 0.01" in listed.why


def test_objects_that_somebody_has_looked_at(model: BADACClassifier, new: Measurements) -> None:
    values = new.values.copy()
    values[:30] += 1.2 * np.sin(25.0 * X)
    table = changed(new, values)
    first = model.rank(table, fdr=0.1)
    assert set(range(30)) <= set(first.objects.tolist())
    # Half of a new kind turn out to be known: the other half is no discovery any more.
    with pytest.warns(ListWarning):
        again = model.rank(table, fdr=0.1, verdicts=dict.fromkeys(range(20), "known"))
    assert not set(again.objects.tolist()) & set(range(30))
    found = model.rank(table, fdr=0.1, verdicts={0: "anomaly", 1: "anomaly"})
    assert set(range(2, 30)) <= set(found.objects.tolist()) and not {0, 1} & set(found.objects.tolist())
    with pytest.raises(ValueError, match='must be "known" or "anomaly": got \'odd\''):
        model.rank(table, verdicts={0: "odd"})
    with pytest.raises(ValueError, match="rows of the 500 objects"):
        model.rank(table, verdicts={500: "known"})


def test_what_is_said_of_a_column_says_its_name() -> None:
    rng = np.random.default_rng(11)
    names = ["u_g", "g_r", "r_i"]

    def colours(n: int, shift: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
        label = rng.choice(["QSO", "STAR"], n)
        values = rng.normal(np.where(label == "QSO", 0.0, 2.0)[:, None], 0.3, (n, 3)) + np.array(
            [0, shift, 0]
        )
        table = {name: values[:, k] for k, name in enumerate(names)}
        return pd.DataFrame(table | {f"e_{name}": np.full(n, 0.1) for name in names}), label

    table, label = colours(200)
    found = (
        BADACClassifier(class_model="template", random_state=0)
        .fit(table, label)
        .compare(colours(100, 0.5)[0])
    )
    assert "g_r by" in found.why and "column" not in found.why


def test_right_error_bars_are_not_called_too_small_where_classes_have_few_members() -> None:
    # Twenty members of twelve free directions: the classes explain them far better than new ones.
    def rough(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
        rng = np.random.default_rng(seed)
        at, label = np.linspace(0.0, 1.0, 30), np.arange(n) % 3
        waves = np.cos(np.pi * np.outer(np.arange(1, 13), at)) / np.arange(1, 13)[:, None]
        truth = np.sin(3.0 * (label[:, None] + 1) * at) + 0.5 * rng.standard_normal((n, 12)) @ waves
        return Measurements(truth + 0.1 * rng.standard_normal((n, 30)), 0.1, at=at), label

    model = BADACClassifier("population", random_state=0).fit(*rough(60, 700))
    found = model.compare(rough(200, 701)[0])
    assert found.error_scale == 1.0 and "error bars" not in [one.what for one in found.differences]


def test_samples_with_a_gap_around_their_median_are_not_called_shifted() -> None:
    # Two humps: the median of 40 is on one side or the other, and a median's Gaussian error (0.3 spreads) is far too small.
    rng = np.random.default_rng(7)
    told = {"shift": 0, "scatter": 0}
    for _ in range(300):
        first, second = (rng.choice([-1.0, 1.0], n) + 0.1 * rng.standard_normal(n) for n in (40, 300))
        told["shift"] += _are_shifted(first, second)
        told["scatter"] += _scatter_otherwise(first, second, 1.0)
        assert _are_shifted(first, second + 2.5)
    one_hump, wider = rng.standard_normal(40), 3.0 * rng.standard_normal(300)
    assert _scatter_otherwise(one_hump, wider, 1.0)
    assert not _scatter_otherwise(one_hump, wider, 3.0)
    # Four standard errors, two samples of 300 each: 0.02 false ones are expected of each kind.
    assert told == {"shift": 0, "scatter": 0}

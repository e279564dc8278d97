"""Many objects judged some at a time: as each on its own, with what was found kept, and the right object named."""

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.judge.in_parts import arrays_found, found_in_parts
from badac.judge.judgement import Judgement


@pytest.fixture(scope="module")
def fitted() -> tuple[BADACClassifier, Measurements]:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 150)
    x = np.linspace(0.0, 1.0, 8)

    def curves(label: np.ndarray) -> Measurements:
        slope = np.where(label == 1, 1.0, -1.0) + 0.2 * rng.standard_normal(len(label))
        return Measurements(slope[:, None] * x + 0.1 * rng.standard_normal((len(label), 8)), 0.1, at=x)

    model = BADACClassifier(random_state=0).fit(curves(label), label)
    model.prepare_pvalues()
    return model, curves(rng.integers(2, size=5000))


NAMES = ("score", "anomaly_proba", "proba", "pvalue", "extrapolated")


def test_parts_say_what_the_walk_of_all_says(fitted: tuple[BADACClassifier, Measurements]) -> None:
    model, objects = fitted
    whole = model.fitted_.judge(objects)
    in_parts = model.fitted_.judge(objects)
    found = found_in_parts(in_parts, NAMES)
    assert found is not None
    for name in NAMES:
        np.testing.assert_allclose(found[name], getattr(whole, name), rtol=1e-9, atol=1e-12)
    kept = arrays_found(in_parts)
    assert kept["evidence"].shape == (5000, 2)
    np.testing.assert_allclose(kept["evidence"], whole.evidence, rtol=1e-11)


def test_threads_change_no_bit(fitted: tuple[BADACClassifier, Measurements]) -> None:
    model, objects = fitted
    one, two = (model.fitted_.judge(objects, n_threads=threads).verdicts(NAMES) for threads in (1, 2))
    for name in NAMES:
        np.testing.assert_array_equal(one[name], two[name])


def test_what_is_known_already_is_not_found_again(fitted: tuple[BADACClassifier, Measurements]) -> None:
    model, objects = fitted
    walk = model.fitted_.judge(objects)
    moved = walk.evidence + np.array([0.0, 50.0])
    vars(walk)["evidence"] = moved
    found = walk.verdicts(("proba",))["proba"]
    assert (found[:, 1] > 0.99).mean() > 0.9
    assert vars(walk)["evidence"] is moved


def test_few_objects_are_one_part(fitted: tuple[BADACClassifier, Measurements]) -> None:
    model, objects = fitted
    assert found_in_parts(model.fitted_.judge(objects[:2048]), NAMES) is None


def test_an_object_of_a_later_part_is_named_by_its_number_among_all(
    fitted: tuple[BADACClassifier, Measurements],
) -> None:
    model, objects = fitted
    walk = Judgement(model.fitted_, objects)
    broken = walk.evidence.copy()
    broken[4321] = np.nan
    vars(walk)["evidence"] = broken
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="of object 4321 is not a number"):
        walk.verdicts(("proba",))

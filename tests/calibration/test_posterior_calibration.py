import numpy as np
import pytest
from scipy.special import softmax

from badac import Measurements
from badac.calibration.coarsening import Coarsening, relative_noise
from badac.calibration.missingness import Missingness
from badac.calibration.posterior import MayTell, PosteriorCalibration, learn_calibration
from badac.calibration.stacking.base_models import learn_each
from badac.classes import Instances, Template, TrainingScales
from badac.noise import Gaussian
from badac.training import TrainingSet


def gappy(rng: np.random.Generator) -> Measurements:
    values = rng.standard_normal((6, 4))
    values[rng.random((6, 4)) < 0.3] = np.nan
    return Measurements(values, rng.uniform(0.1, 0.5, (6, 4)))


def test_unchanged_leaves_the_evidence_as_it_is() -> None:
    rng = np.random.default_rng(0)
    evidence = rng.standard_normal((6, 2))
    np.testing.assert_array_equal(
        PosteriorCalibration.unchanged().apply(gappy(rng), evidence, np.ones(4)), evidence
    )


def test_tempered_evidence_and_gaps_add_up() -> None:
    rng = np.random.default_rng(1)
    objects, evidence, scale = gappy(rng), rng.standard_normal((6, 2)), np.array([1.0, 2.0, 0.5, 1.0])
    coarsening = Coarsening(0.4, 0.4, 0.1, slope=0.6, level=-1.0)
    share = rng.uniform(0.2, 0.8, (2, 4))
    told = PosteriorCalibration(coarsening, Missingness(share, 0.7, 0.7, 0.1), None).apply(
        objects, evidence, scale
    )
    here = objects.observed[:, None, :]
    gaps = 0.7 * np.where(here, np.log(share), np.log(1.0 - share)).sum(axis=2)
    tempered = coarsening.apply(evidence, relative_noise(objects, scale))
    np.testing.assert_allclose(told, tempered + gaps, rtol=1e-12)
    # Without error bars there is no noise level, and one exponent for all.
    exact = Measurements(objects.values)
    told = PosteriorCalibration(coarsening, Missingness.ignored(), None).apply(exact, evidence, scale)
    np.testing.assert_array_equal(told, 0.4 * evidence)


def straying(rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Members stray at single points, which a Gaussian class does not know."""
    label = np.repeat([0, 1], 60)
    return Measurements(0.4 * label[:, None] + rng.standard_t(2, (120, 5)), 0.1), label


def training(seed: int) -> TrainingSet:
    objects, label = straying(np.random.default_rng(2))
    scales = TrainingScales.of(objects)
    return TrainingSet(objects, label, np.arange(2), Gaussian(), scales, np.random.default_rng(seed))


def test_exact_instances_stay_as_they_are_and_wrong_models_do_not() -> None:
    for kind, exact in ((Instances(), True), (Template(), False)):
        every = training(3)
        models = learn_each([kind] * 2, every)
        learned = learn_calibration(every, models, np.log([0.5, 0.5]))
        assert (learned.coarsening.exponent == 1.0) == exact
        # One class alone has nothing to be confused with.
        alone = learn_calibration(every.take(every.label == 0), models[:1], np.zeros(1))
        assert alone.coarsening.exponent == 1.0


def test_a_stack_changes_nothing_that_is_drawn_later() -> None:
    models = learn_each([Template()] * 2, training(3))
    later, learned = [], []
    for stack in (False, True):
        every = training(4)
        found = learn_calibration(every, models, np.log([0.5, 0.5]), MayTell(stack=stack))
        learned.append(found.ensemble is not None)
        later.append(every.rng.random())
    assert learned == [False, True]
    assert later[0] == later[1]


def test_the_share_that_no_class_explains_is_that_of_all_classes_together() -> None:
    """So far from certain are five classes of which one explains an object by a hundred nats more than the others."""
    coarsening = Coarsening(1.0, 1.0, np.inf, contaminated=0.002)
    calibration = PosteriorCalibration(coarsening, Missingness.ignored(), None)
    joint = calibration.apply(
        Measurements(np.zeros((1, 1))), np.array([[0.0, -100.0, -100.0, -100.0, -100.0]]), np.ones(1)
    )
    share = 1.0 - softmax(joint, axis=1)[0, 0]
    (line,) = calibration.lines(5)
    assert share == pytest.approx(4 * 0.002, rel=0.01)  # the best class has a fifth of the 0.01 itself
    assert "a share of 0.01 that no class may explain" in line

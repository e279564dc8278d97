import numpy as np

from badac import BADACClassifier, Measurements
from badac.calibration.stacking.gate import Gate
from badac.classes.model import learned_again
from badac.classes.population.population import Population
from badac.data.measurements import Measurements as Objects
from badac.noise import Gaussian
from badac.training import TrainingScales, TrainingSet
from populations import gaussian


def told_by_trees(n: int, seed: int) -> tuple[Objects, np.ndarray]:
    """Two classes of nearly the same mean and covariance in 12 columns, told apart by stripes in one of them."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1.0, 1.0, (n, 12))
    label = (np.cos(9.0 * values[:, 0]) > 0).astype(np.int64)
    return Objects(values, 0.05), label


def training(objects: Objects, label: np.ndarray) -> TrainingSet:
    classes = np.arange(label.max() + 1)
    return TrainingSet(
        objects, label, classes, Gaussian(), TrainingScales.of(objects), np.random.default_rng(0)
    )


def test_the_gate_opens_where_trees_tell_more() -> None:
    objects, label = told_by_trees(800, seed=1)
    nothing = np.zeros((800, 2))
    gate = Gate.of(training(objects, label), nothing, 0.02)
    assert gate is not None and gate.trees_tell_more()


def test_the_gate_stays_shut_where_the_models_are_right() -> None:
    rng = np.random.default_rng(2)
    label = rng.integers(2, size=800)
    objects = Objects(label[:, None] + rng.standard_normal((800, 5)), 0.01)
    # The truth: two unit Gaussians a distance of one apart in every column.
    exact = -0.5 * np.stack(
        [(objects.values**2).sum(axis=1), ((objects.values - 1.0) ** 2).sum(axis=1)], axis=1
    )
    gate = Gate.of(training(objects, label), exact, 0.02)
    assert gate is not None and not gate.trees_tell_more()
    few = training(objects, label).take(np.arange(30))
    assert Gate.of(few, exact[:30], 0.02) is None


def test_a_stack_by_invitation_leaves_the_score_to_the_class_models() -> None:
    objects, label = told_by_trees(400, seed=3)
    new, truth = told_by_trees(400, seed=4)
    model = BADACClassifier(random_state=0).fit(objects, label)
    assert model.ensemble_ is not None and model.ensemble_.in_posterior
    loss = -np.log(model.predict_proba(new)[np.arange(400), truth]).mean()
    assert loss < 0.9 * np.log(2.0)
    assert model.fitted_.ranks_left_out == model.ensemble_.ranks


def test_a_class_learned_again_is_that_of_a_fit() -> None:
    members, new = gaussian(300, seed=5)[0], gaussian(200, seed=6)[0]
    rng, scales = np.random.default_rng(0), TrainingScales.of(members)
    whole = Population().fit(members, Gaussian(), rng, scales)
    rest = members[np.arange(300) % 5 > 0]
    again = learned_again(whole, rest, Gaussian(), rng, scales)
    fitted = Population().fit(rest, Gaussian(), rng, scales)
    gap = again.log_evidence(new) - fitted.log_evidence(new)
    # Choices of 240 members against those of 300: less than the error of learning from either, some 40 numbers / 240.
    assert abs(gap.mean()) < 0.2
    assert isinstance(new, Measurements)

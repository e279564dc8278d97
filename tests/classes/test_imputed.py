import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.classes.imputed import Imputed
from badac.classes.instances import Instances
from badac.noise import Gaussian
from badac.training import TrainingScales


def with_gaps(n: int, seed: int) -> Measurements:
    rng = np.random.default_rng(seed)
    values = rng.normal([0.0, 1.0, -1.0], 0.5, (n, 3))
    values[rng.random((n, 3)) < 0.3] = np.nan
    values[:, 0] = np.where(np.isnan(values).all(axis=1), 0.0, values[:, 0])
    return Measurements(values, 0.3)


def fitted(n_draws: int, members: Measurements) -> Imputed:
    return Imputed(n_draws).fit(members, Gaussian(), np.random.default_rng(1), TrainingScales.of(members))


def test_agrees_with_the_closed_form_in_the_mean() -> None:
    # Objects like the members: far from all of them a few draws decide, and their spread understates the error.
    members, objects = with_gaps(12, 0), with_gaps(20, 2)
    exact = Instances().fit(members, Gaussian(), np.random.default_rng(1), TrainingScales.of(members))
    sampled = fitted(400, members)
    for ours, each, closed in (
        (
            sampled.log_evidence(objects),
            [one.log_evidence(objects) for one in sampled.completed],
            exact.log_evidence(objects),
        ),
        (
            sampled.leave_one_out(),
            [one.leave_one_out() for one in sampled.completed],
            exact.leave_one_out(),
        ),
    ):
        # Standard error of the mean over 400 draws, relative to the mean itself.
        relative = np.exp(np.array(each) - ours)
        error = relative.std(axis=0) / np.sqrt(len(each))
        assert np.all(np.abs(np.exp(closed - ours) - 1.0) < 5.0 * error + 1e-9)


def test_without_gaps_nothing_is_drawn() -> None:
    members = Measurements(np.random.default_rng(3).normal(0, 1, (8, 3)), 0.2)
    exact = Instances().fit(members, Gaussian(), np.random.default_rng(1))
    assert len(fitted(50, members).completed) == 1
    np.testing.assert_allclose(fitted(50, members).log_evidence(members), exact.log_evidence(members))


def test_as_a_class_model_of_the_estimator() -> None:
    members = with_gaps(40, 4)
    label = np.repeat([0, 1], 20)
    shifted = Measurements(members.values + 3.0 * label[:, None], members.sigma)
    model = BADACClassifier(class_model=Imputed(10), anomaly="tophat", random_state=0).fit(shifted, label)
    assert model.score(shifted, label) > 0.9


@pytest.mark.parametrize("n_draws", [0, 2.5])
def test_refuses(n_draws: float) -> None:
    with pytest.raises(ValueError, match="n_draws"):
        Imputed(n_draws).fit(with_gaps(5, 5), Gaussian(), np.random.default_rng(0))  # type: ignore[arg-type]

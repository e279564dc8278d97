"""Every algorithm answers in the agreed form, and better than chance on an easy experiment."""

import numpy as np
import pytest

from badac import Measurements
from badac.metrics import detection_summary
from badac.simulate import experiment
from reproduction.algorithms import ALGORITHMS
from reproduction.density import choose_bandwidth, fit_kernel_densities


@pytest.fixture(scope="module")
def data():
    return experiment(
        1, "released", n_train=400, n_test=500, contamination=0.06, rng=np.random.default_rng(0)
    )


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:numba", "ignore::UserWarning:pyod")
def test_an_answer_is_finite_and_informative(name, data):
    algorithm = ALGORITHMS[name]
    if not algorithm.installed:
        pytest.skip(f"{algorithm.needs} is not installed")
    answer = algorithm.run(data, 0, 20)
    assert answer.score is not None or answer.probabilities is not None
    assert answer.score_seconds >= 0.0
    if answer.score is not None:
        assert np.isfinite(answer.score).all()
        # 30 anomalies: an AUC at random is 0.5 +- 0.05. ECOD looks at one point at a time, and none is strange by itself.
        assert detection_summary(data.is_anomaly, answer.score, contamination=0.06).auc > (
            0.3 if name == "ecod" else 0.65
        )
    if answer.probabilities is not None:
        np.testing.assert_allclose(answer.probabilities.sum(axis=1), 1.0, atol=1e-9)
        right = answer.probabilities.argmax(axis=1) == data.test_label
        assert right[~data.is_anomaly].mean() > 0.9


def test_the_probabilities_of_the_default_are_those_of_the_estimator(data):
    from badac import BADACClassifier

    answer = ALGORITHMS["badac"].run(data, 0, 20)
    model = BADACClassifier(random_state=0).fit(data.train, data.train_label)
    np.testing.assert_allclose(answer.probabilities, model.predict_proba(data.test), atol=1e-12)
    np.testing.assert_allclose(answer.score, model.anomaly_score(data.test), rtol=1e-9)


def test_the_exact_answer_is_the_estimators(data):
    from badac import BADACClassifier

    answer = ALGORITHMS["badac-exact"].run(data, 0, 20)
    model = BADACClassifier(class_model="instances", anomaly="evidence").fit(data.train, data.train_label)
    np.testing.assert_allclose(answer.score, model.anomaly_score(data.test), rtol=1e-12)
    np.testing.assert_allclose(answer.probabilities, model.predict_proba(data.test), atol=1e-12)


def test_the_paper_s_settings_of_the_peers():
    from reproduction import algorithms

    assert algorithms._lof(0).contamination == 0.01
    assert algorithms._lof(0).novelty is True
    assert algorithms._iforest(3).contamination == 0.01
    assert algorithms._iforest(3).random_state == 3


def test_the_bandwidth_follows_the_density():
    rng = np.random.default_rng(1)
    narrow, wide = rng.standard_normal((300, 2)), 10.0 * rng.standard_normal((300, 2))
    assert 5.0 < choose_bandwidth(wide, rng) / choose_bandwidth(narrow, rng) < 20.0
    assert choose_bandwidth(narrow[:2], rng) == 1.0


def test_kernel_densities_integrate_to_one():
    rng = np.random.default_rng(2)
    fitted = fit_kernel_densities(rng.standard_normal((60, 1)), np.repeat([0, 1], 30), rng)
    axis = np.linspace(-10.0, 10.0, 2001)
    density = np.exp(fitted.log_evidence(axis[:, None]))
    np.testing.assert_allclose(np.trapezoid(density, axis, axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.exp(fitted.log_prior), 0.5)


@pytest.mark.slow
def test_kernel_densities_are_exact_in_many_dimensions():
    """scikit-learn's tree loses hundreds of nats here if it has more than one leaf."""
    from badac.noise import Gaussian

    data = experiment(1, "released", n_train=6000, n_test=20, rng=np.random.default_rng(0))
    fitted = fit_kernel_densities(data.train.values, data.train_label, np.random.default_rng(0))
    ours = fitted.log_evidence(data.test.values)
    for kind in (0, 1):
        members = Measurements(data.train.values[data.train_label == kind], fitted.bandwidth[kind])
        exact = Gaussian().log_match(Measurements(data.test.values, 0.0), members)
        expected = np.logaddexp.reduce(exact, axis=1) - np.log(len(members))
        np.testing.assert_allclose(ours[:, kind], expected, rtol=1e-9)

"""Objects with points of their own: the hypotheses against dense Gaussians, what explains them, and gaps."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from badac import BADACClassifier
from badac.anomalies import AtPoints, Bump, Deviations, SmoothDeviation, SomethingElse
from badac.data import Measurements
from badac.estimators.classifier import TrainingSupportWarning
from badac.latent.basis import coordinates
from badac.latent.correlation import correlation
from badac.metrics import detection_summary

P = 20


def curves(
    label: np.ndarray, strange: np.ndarray, rng: np.random.Generator
) -> tuple[Measurements, np.ndarray]:
    """Two classes of light curves at 12 to 20 random times; strange ones have a bump at the place returned."""
    n = len(label)
    at = np.sort(rng.uniform(0, 10, (n, P)), axis=1)
    at[np.arange(P) >= rng.integers(12, P + 1, n)[:, None]] = np.nan
    size, place = rng.normal(1.0, 0.2, (n, 1)), rng.uniform(3, 7, n)
    truth = size * np.where(label[:, None], np.sin(at), 2 * np.exp(-0.5 * (at - 4) ** 2))
    truth = truth + np.where(strange[:, None], 2.0 * np.exp(-((at - place[:, None]) ** 2)), 0.0)
    sigma = np.broadcast_to(rng.uniform(0.05, 0.2, (n, 1)), at.shape)
    values = truth + sigma * rng.standard_normal(at.shape)
    missing = np.isnan(at)
    return Measurements(np.where(missing, np.nan, values), np.where(missing, np.inf, sigma), at=at), place


@pytest.fixture(scope="module")
def fitted() -> tuple[BADACClassifier, Measurements, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    label = np.arange(80) % 2
    training, _ = curves(label, np.zeros(80, dtype=bool), rng)
    model = BADACClassifier(class_model="gp", random_state=0).fit(training, label)
    strange = np.arange(80) < 20
    objects, place = curves(label, strange, rng)
    return model, objects, strange, place


def at_points(model: BADACClassifier) -> tuple[Deviations, AtPoints]:
    anomaly = model.anomaly_model_
    assert isinstance(anomaly, Deviations) and anomaly.points is not None
    return anomaly, anomaly.points


def test_every_hypothesis_is_its_dense_gaussian(
    fitted: tuple[BADACClassifier, Measurements, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The definitions sum over all classes and widths; leaving out hopeless ones loses less than a hundredth of a nat.
    monkeypatch.setattr("badac.anomalies.hypothesis._HOPELESS", np.inf)
    model, objects, _, _ = fitted
    anomaly, known_classes = at_points(model)
    some = objects[[0, 30, 31]]
    found = anomaly.by_hypothesis(some)
    for row in range(3):
        points = some.observed[row]
        at, values, sigma = coordinates(some)[row, points], some.values[row, points], some.sigma[row, points]
        x = (at - known_classes.lower) / known_classes.span
        near = {length: np.exp(-0.5 * ((x[:, None] - x) / length) ** 2) for length in (0.05, 0.15, 0.3, 0.4)}
        noise, typical = np.diag(sigma**2), 1.0 / np.mean(sigma**-2)
        known, smooth, bumped = [], [], []
        places, widths = Bump().places(known_classes.scales)
        for one, class_prior in zip(known_classes.classes, known_classes.log_prior, strict=True):
            for width, share in zip(one.widths, one.log_shares, strict=True):
                process = one.at_width(width)
                shapes = process.basis(at)
                mean = one.curve.origin + shapes @ one.curve.coefficients
                wide = shapes @ process.factors
                kernel, _ = correlation(process.kernel, at[:, None] - at, process.length, process.period)
                full = process.bands[0, 0] * kernel + wide @ wide.T + process.psi[0] * np.eye(len(at)) + noise
                prior = class_prior + share
                known.append(prior + multivariate_normal(mean, full).logpdf(values))
                smooth += [
                    prior
                    - np.log(2)
                    + multivariate_normal(mean, full + typical * near[length]).logpdf(values)
                    for length in (0.05, 0.3)
                ]
                told = []
                for place, reach in zip(places, widths, strict=True):
                    bump = np.exp(-(((x - place) / reach) ** 2))
                    bump[bump <= 1e-2] = 0.0
                    if bump.max() > 0.5:
                        precision = bump @ np.linalg.solve(full, bump)
                        height = 25.0 / precision
                        told.append(
                            multivariate_normal(mean, full + height * np.outer(bump, bump)).logpdf(values)
                        )
                bumped.append(prior + logsumexp(told) - np.log(len(told)))
        variance = known_classes.scales.variance
        visible = variance + 4 * typical
        other = [
            multivariate_normal(
                np.full(len(at), known_classes.level[0]),
                visible * (1 + 0.49 * near[length]) + noise + 1e-6 * variance * np.eye(len(at)),
            ).logpdf(values)
            for length in (0.05, 0.15, 0.4)
        ]
        expected = {
            SomethingElse: logsumexp(other) - np.log(3) - logsumexp(known),
            Bump: logsumexp(bumped) - logsumexp(known),
            SmoothDeviation: logsumexp(smooth) - logsumexp(known),
        }
        # Random curves are cosines whose covariance is the kernel's to 4e-4 (tests/anomalies/test_curves_at_points.py).
        loose = {Bump: 1e-6, SomethingElse: 1e-2, SmoothDeviation: 1e-2}
        for column, hypothesis in enumerate(anomaly.hypotheses):
            kind = type(hypothesis)
            assert found[row, column] == pytest.approx(expected[kind], rel=1e-6, abs=loose[kind])


def test_strange_curves_come_first_and_the_window_holds_the_place(
    fitted: tuple[BADACClassifier, Measurements, np.ndarray, np.ndarray],
) -> None:
    model, objects, strange, place = fitted
    assert detection_summary(strange, model.anomaly_score(objects), contamination=0.25).auc > 0.9
    explanation = model.explain(objects)
    inside = (explanation.window[:, 0] <= place) & (place <= explanation.window[:, 1])
    assert inside[strange].mean() > 0.7
    # Points that were not observed say nothing; the others pull as N(0, 1) where nothing is strange.
    np.testing.assert_array_equal(np.isnan(explanation.pull), ~objects.observed)
    np.testing.assert_array_equal(np.isnan(explanation.expected), ~objects.observed)
    normal = explanation.pull[~strange][objects.observed[~strange]]
    assert normal.std() == pytest.approx(1.0, abs=0.15)
    label = model.training_label_[explanation.member]
    np.testing.assert_array_equal(label, explanation.label)


def test_an_object_without_points_has_the_prior_odds(
    fitted: tuple[BADACClassifier, Measurements, np.ndarray, np.ndarray],
) -> None:
    model, _, _, _ = fitted
    nothing = Measurements(np.full((1, P), np.nan), np.full((1, P), np.inf), at=np.full((1, P), np.nan))
    assert model.anomaly_proba(nothing)[0] == pytest.approx(model.anomaly_prior, rel=1e-9)


def test_pvalues_and_the_plot_work_there_too(
    fitted: tuple[BADACClassifier, Measurements, np.ndarray, np.ndarray],
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    model, objects, strange, _ = fitted
    axes = model.explain(objects[:2]).plot(1)
    assert len(axes.lines[0].get_xdata()) == objects.observed[1].sum()
    plt.close("all")
    pvalue = model.anomaly_pvalue(objects)
    assert pvalue[strange].mean() < 0.2
    # The mean of 60 uniform numbers is known to 0.04; the kept-back objects are few, too: another 0.06.
    assert 0.3 < pvalue[~strange].mean() < 0.7


@pytest.mark.parametrize("spoil", ["class without a point", "times far out"])
def test_curves_without_a_point_or_far_outside_have_finite_odds(spoil: str) -> None:
    rng = np.random.default_rng(0)
    at = np.sort(rng.uniform(0, 10, (20, 6)), axis=1)
    values = np.sin(at) + 0.1 * rng.standard_normal(at.shape)
    label = np.arange(20) % 2
    gone = (label == 1)[:, None] & (spoil == "class without a point")
    training = Measurements(np.where(gone, np.nan, values), 0.1, at=at)
    model = BADACClassifier(random_state=0).fit(training, label)
    new = Measurements(values, 0.1, at=1e200 * at if spoil == "times far out" else at)
    said = (
        pytest.warns(TrainingSupportWarning, match="no point between")
        if spoil == "times far out"
        else nullcontext()
    )
    with said:
        np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0, rtol=1e-12)
        assert np.isfinite(model.anomaly_score(new)).all()


def test_curves_without_any_point_are_refused_in_training() -> None:
    at = np.sort(np.random.default_rng(0).uniform(0, 10, (20, 6)), axis=1)
    nothing = Measurements(np.full(at.shape, np.nan), 0.1, at=at)
    with pytest.raises(ValueError, match="nothing could be learned"):
        BADACClassifier(random_state=0).fit(nothing, np.arange(20) % 2)

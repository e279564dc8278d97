"""An explanation names the points, the window, the class and the curve."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.data import Axis, Description
from badac.explain import Explanation

AT = np.linspace(10.0, 20.0, 50)


def curves(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    label = np.arange(n) % 2
    slope = rng.normal(0.0, 0.3, (n, 1))
    return np.where(label[:, None] == 0, np.sin(AT), 2.0 + 0.1 * AT) + slope * (AT - 15.0) / 5.0, label


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    rng = np.random.default_rng(0)
    truth, label = curves(300, rng)
    objects = Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2, at=AT)
    return BADACClassifier(random_state=0).fit(objects, label)


@pytest.fixture(scope="module")
def strange() -> Measurements:
    rng = np.random.default_rng(1)
    truth, _ = curves(40, rng)
    truth += 2.0 * np.exp(-(((AT - 13.0) / 0.3) ** 2))
    return Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2, at=AT)


@pytest.fixture(scope="module")
def explained(model: BADACClassifier, strange: Measurements) -> Explanation:
    return model.explain(strange)


def test_the_window_holds_the_bump_in_the_units_of_the_coordinates(explained: Explanation) -> None:
    inside = (explained.window[:, 0] <= 13.0) & (explained.window[:, 1] >= 13.0)
    assert inside.mean() > 0.9
    assert (np.diff(explained.window, axis=1) < 5.0).mean() > 0.9
    assert (explained.window_log_bayes_factor > 5.0).all()
    assert (explained.hypothesis == "bump").mean() > 0.8


def test_the_strangest_point_is_in_the_bump(explained: Explanation) -> None:
    worst = AT[np.abs(explained.pull).argmax(axis=1)]
    assert (np.abs(worst - 13.0) < 0.6).all()
    np.testing.assert_array_equal(
        explained.contribution.argmax(axis=1), np.abs(explained.pull).argmax(axis=1)
    )


def test_the_class_and_a_curve_of_it_are_named(explained: Explanation, model: BADACClassifier) -> None:
    np.testing.assert_array_equal(explained.label, np.arange(40) % 2)
    np.testing.assert_array_equal(model.training_label_[explained.member], explained.label)


def test_what_it_should_have_looked_like_leaves_the_bump_out(explained: Explanation) -> None:
    truth, _ = curves(40, np.random.default_rng(1))
    deviation = (explained.expected - truth) / explained.expected_sigma
    # Standardised errors of a calibrated prediction: their mean square is 1, times what psi adds to the band.
    assert 0.2 < np.mean(deviation**2) < 2.0
    peak = np.argmin(np.abs(AT - 13.0))
    assert np.abs(deviation[:, peak]).max() < 5.0


def test_pulls_of_normal_objects_are_standard_normal(model: BADACClassifier) -> None:
    rng = np.random.default_rng(2)
    truth, _ = curves(200, rng)
    normal = model.explain(Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2, at=AT))
    # 10,000 nearly independent pulls: standard error of the mean square 0.014, plus a few percent for what was learned.
    assert np.mean(normal.pull**2) == pytest.approx(1.0, abs=0.1)
    assert (normal.hypothesis == "nothing strange").mean() > 0.9


def test_missing_points_say_nothing(model: BADACClassifier, strange: Measurements) -> None:
    values = strange.values.copy()
    values[:, 25:] = np.nan
    found = model.explain(Measurements(values, 0.2, at=AT))
    assert np.isnan(found.pull[:, 25:]).all() and np.isfinite(found.pull[:, :25]).all()
    assert (found.window[:, 0] < AT[25]).all()
    assert (found.expected_sigma[:, 45:].mean(axis=1) > found.expected_sigma[:, :20].mean(axis=1)).all()


def test_any_anomaly_model_can_be_explained(strange: Measurements) -> None:
    rng = np.random.default_rng(0)
    truth, label = curves(100, rng)
    objects = Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2, at=AT)
    found = BADACClassifier(anomaly="tophat", random_state=0).fit(objects, label).explain(strange[:3])
    assert len(found) == 3
    assert "nearest_class" in str(found) and "between" in str(found)


def test_features_without_an_order_have_windows_of_one_point() -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_normal((200, 6)) * [1.0, 5.0, 0.1, 3.0, 10.0, 2.0]
    model = BADACClassifier(random_state=0).fit(Measurements(values, 0.01), np.arange(200) % 2)
    one = np.zeros((1, 6))
    one[0, 2] = 1.0
    found = model.explain(Measurements(one, 0.01))
    np.testing.assert_array_equal(found.window, [[2.0, 2.0]])


def test_the_plot_shows_object_band_and_window(explained: Explanation) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = explained.plot(3)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {
        "strangest window",
        "class 1",
        "object",
    }
    left, right = ax.patches[0].get_x(), ax.patches[0].get_x() + ax.patches[0].get_width()
    assert (left, right) == pytest.approx(tuple(explained.window[3]))
    plt.close(ax.figure)


def test_nothing_is_strange_about_an_object_without_points(model: BADACClassifier) -> None:
    nothing = Measurements(np.full((2, AT.size), np.nan), 0.1, at=AT)
    found = model.explain(nothing)
    assert set(found.hypothesis) == {"nothing strange"}
    np.testing.assert_allclose(found.log_bayes_factor, 0.0, atol=1e-9)


def test_an_explanation_prints_as_a_table_with_the_names_of_the_data(explained: Explanation) -> None:
    named = explained.described(Description("spectrum", Axis("wavelength", "nm")))
    first = str(named).splitlines()[1]
    assert "between wavelength 12." in first and "nm" in first and "sigma)" in first
    assert str(named).endswith("... 20 more")
    assert named._repr_html_().startswith("<table>")


def test_an_explanation_names_the_band() -> None:
    rng = np.random.default_rng(6)

    def curves_of(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at, band = np.sort(rng.uniform(0.0, 1.0, (n, 24)), axis=1), np.tile([0, 1], (n, 12))
        return np.sin(6.0 * at) + band + 0.05 * rng.standard_normal((n, 24)), at, band

    values, at, band = curves_of(60)
    model = BADACClassifier(random_state=0).fit(
        Measurements(values, 0.05, at=at, band=band), np.arange(60) % 2
    )
    values, at, band = curves_of(1)
    values[0, 10:16] += np.where(band[0, 10:16] == 1, 1.0, 0.0)
    found = model.explain(Measurements(values, 0.05, at=at, band=band))
    about = Description("light curve", Axis("phase"), bands=("g", "r"))
    assert found.described(about).where(0).endswith("in band r")


def test_counts_are_expected_as_counts() -> None:
    rng = np.random.default_rng(7)
    rate = np.where(np.arange(120)[:, None] % 2, 20.0, 40.0) * np.linspace(0.5, 1.5, 6)
    counts = Measurements(rng.poisson(rate).astype(np.float64))
    model = BADACClassifier(noise="poisson", random_state=0).fit(counts, np.arange(120) % 2)
    found = model.explain(Measurements(rng.poisson(rate[:40]).astype(np.float64)))
    # 40 objects of 6 counts of mean 30: the mean of the ratio is known to 30**-0.5 / 240**0.5 = 0.012, and biased by
    # some percent where the object's own counts pull the expectation.
    assert np.mean(found.expected / rate[:40]) == pytest.approx(1.0, abs=0.06)
    assert (found.expected_sigma > 0).all()


def test_blocks_and_threads_change_nothing(model: BADACClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the company of other objects: what is most alike is the best match, however it is looked for."""
    rng = np.random.default_rng(8)
    values, _ = curves(300, rng)
    values[::5] += 2.0 * (rng.random((len(values[::5]), 1)) < 0.5)
    values[3, :4] = np.nan
    objects = Measurements(values, 0.1, at=model.training_.at)
    whole = model.explain(objects)
    monkeypatch.setattr("badac.anomalies.on_a_grid._OBJECTS_PER_BLOCK", 7)
    blocks = [model.explain(objects), model.set_params(n_jobs=2).explain(objects)]
    model.set_params(n_jobs=None)
    alone = [model.explain(objects[row]) for row in range(0, 300, 29)]
    names = ("pull", "window", "window_log_bayes_factor", "expected", "expected_sigma", "member", "label")
    for name in names:
        one, two = (getattr(each, name) for each in blocks)
        np.testing.assert_array_equal(one, two, err_msg=name)
        found = np.concatenate([getattr(each, name) for each in alone])
        expected = getattr(whole, name)
        # Matrix products round by the number of rows.
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found, expected[::29], rtol=1e-9, atol=1e-9, err_msg=name)
    for row in range(0, 300, 29):
        own = np.flatnonzero(model.training_label_ == whole.label[row])
        members = model.training_[own]
        variance = 0.1**2 + members.sigma**2
        match = -0.5 * np.nansum((values[row] - members.values) ** 2 / variance + np.log(variance), axis=1)
        assert whole.member[row] == own[match.argmax()]

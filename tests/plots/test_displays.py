"""Each Display holds the numbers that it draws."""

import numpy as np
import pytest
from matplotlib import pyplot

from badac import Measurements
from badac.metrics import calibration_curve
from badac.plots import (
    CalibrationDisplay,
    ClassBand,
    ConfusionDisplay,
    DiagnosisDisplay,
    ObjectDisplay,
    ObjectsDisplay,
    RankingDisplay,
)
from badac.plots.style import rendered


def test_objects_are_drawn_with_their_bars_and_without_their_gaps():
    objects = Measurements([[1.0, np.nan, 3.0], [0.0, 1.0, 2.0]], sigma=0.5, at=[0.0, 0.5, 1.0])
    display = ObjectsDisplay(objects, ["star", "stranger"], anomalies={"stranger"}).plot()
    points = display.ax_.containers[0].lines[0]
    assert points.get_xdata().tolist() == [0.0, 1.0]
    assert points.get_ydata().tolist() == [1.0, 3.0]
    bars = display.ax_.containers[0].lines[2][0].get_segments()
    assert [segment[:, 1].tolist() for segment in bars] == [[0.5, 1.5], [2.5, 3.5]]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["star", "stranger"]


def test_objects_without_coordinates_or_errors():
    display = ObjectsDisplay(Measurements([[1.0, 2.0]]), ["a"], truth=np.zeros((1, 2))).plot(
        with_legend=False
    )
    assert display.ax_.get_xlabel() == "point"
    assert display.ax_.get_legend() is None
    assert display.ax_.lines[0].get_ydata().tolist() == [0.0, 0.0]


def test_calibration_shows_the_curve_of_the_metrics():
    rng = np.random.default_rng(1)
    probability = rng.random(2000)
    truth = rng.random(2000) < probability
    display = CalibrationDisplay.from_predictions(truth, {"model": probability})
    curve = calibration_curve(truth, probability)
    np.testing.assert_array_equal(display.curves["model"].observed, curve.observed)
    ax = display.plot(of="class 1").ax_
    line = ax.lines[1]  # the first is the diagonal
    np.testing.assert_allclose(line.get_ydata(), curve.observed)
    assert line.get_label() == ax.get_legend().get_texts()[0].get_text() == "model"
    assert ax.get_xlabel() == "stated probability of class 1"


def test_calibration_leaves_out_bins_of_few_objects_and_bars_stay_in_range():
    probability = np.r_[np.full(50, 0.05), np.full(2, 0.55), np.full(50, 0.95)]
    truth = probability > 0.5
    ax = CalibrationDisplay.from_predictions(truth, {"model": probability}).plot(fewest=5).ax_
    drawn = ax.lines[1].get_xdata()
    assert np.isfinite(drawn).tolist() == [True, False, True]  # a gap, since nothing was measured in between
    for segment in ax.containers[0].lines[2][0].get_segments():
        ends = np.asarray(segment).ravel()[1::2]  # the gap has none
        assert np.all(np.isnan(ends) | ((ends >= 0.0) & (ends <= 1.0)))


def test_calibration_without_a_legend_or_a_bin_to_draw():
    display = CalibrationDisplay.from_predictions([0, 1], {"model": [0.2, 0.9]})
    assert display.plot(with_legend=False).ax_.get_legend() is None
    assert CalibrationDisplay({}).plot().ax_.get_legend() is None
    assert pyplot.get_fignums() == []  # scikit-learn imports pyplot; nothing is registered there


def test_confusion_shades_by_share_and_writes_counts_and_names():
    display = ConfusionDisplay(np.array([[1000, 0, 0], [0, 1, 1], [0, 0, 0]]), ["a", "b", "c"]).plot()
    assert display.shares.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), display.shares)
    assert [text.get_text() for text in display.ax_.texts] == ["1,000", "", "", "", "1", "1", "", "", ""]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["a", "b", "c"]
    many = ConfusionDisplay(np.eye(30, dtype=np.int64), [f"class {i}" for i in range(30)]).plot()
    assert len(many.ax_.texts) == 0  # too many for numbers


def test_ranking_marks_how_far_the_list_reaches():
    display = RankingDisplay(np.linspace(1, 0, 5000), np.linspace(0, 1, 5000), n_discoveries=7).plot()
    assert display.ax_.get_xscale() == "log"
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["anomaly probability", "p-value", "7 at 10 % false alarms"]


def test_diagnosis_is_a_density():
    display = DiagnosisDisplay.from_pulls(np.array([-9.0, 0.0, 0.1, 9.0])).plot()
    assert np.sum(display.density * np.diff(display.edges)) == pytest.approx(1.0)
    assert display.density[0] > 0 and display.density[-1] > 0  # what lies beyond is put at the edge


def test_an_object_with_its_class_and_window():
    one = Measurements([[1.0, np.nan, 3.0]], sigma=0.5)
    band = ClassBand(np.arange(3.0), np.ones(3), np.full(3, 0.1))
    display = ObjectDisplay(one, "quiet", [("", band)], np.array([2.0, 2.0])).plot()
    names = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert names == {"strangest window", "class quiet", "object"}
    window = display.ax_.patches[0]
    assert window.get_x() < 2.0 < window.get_x() + window.get_width()  # a window of one point has a width
    assert rendered(display.figure_, "png").startswith(b"\x89PNG")

"""Each Display holds the numbers that it draws."""

import numpy as np
import pytest

from badac import Measurements
from badac.metrics import calibration_curve
from badac.plots import (
    CalibrationDisplay,
    ClassBand,
    ConfusionDisplay,
    CovarianceDisplay,
    DiagnosisDisplay,
    EvidenceDisplay,
    ObjectDisplay,
    ObjectsDisplay,
    RankingDisplay,
    RocDisplay,
    new_figure,
)
from badac.plots.roc import RocCurve
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


def test_evidence_keeps_far_objects_on_the_edge():
    rng = np.random.default_rng(0)
    evidence = rng.normal(size=(40, 2))
    evidence[0] = -np.inf
    label = np.repeat([0, 1], 20)
    label[0] = -1
    ax = EvidenceDisplay(evidence, label).plot().ax_
    crosses = ax.collections[2].get_offsets()
    assert crosses.tolist() == [[ax.get_xlim()[0], ax.get_ylim()[0]]]
    assert sum(len(collection.get_offsets()) for collection in ax.collections) == 40


@pytest.mark.parametrize("evidence", [np.zeros((3, 2)), np.full((3, 2), -np.inf), np.zeros((0, 2))])
def test_evidence_of_no_spread_is_drawn(evidence):
    display = EvidenceDisplay(evidence, np.zeros(len(evidence), dtype=np.int64)).plot()
    assert rendered(display.figure_, "png").startswith(b"\x89PNG")


def test_calibration_shows_the_curve_of_the_metrics():
    rng = np.random.default_rng(1)
    probability = rng.random(2000)
    truth = rng.random(2000) < probability
    display = CalibrationDisplay.from_predictions(truth, {"model": probability})
    curve = calibration_curve(truth, probability)
    np.testing.assert_array_equal(display.curves["model"].observed, curve.observed)
    ax = display.plot(of="class 1").ax_
    line = ax.containers[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), curve.observed)
    assert ax.get_xlabel() == "stated probability of class 1"


def test_calibration_leaves_out_bins_of_few_objects_and_bars_stay_in_range():
    probability = np.r_[np.full(50, 0.05), np.full(2, 0.55), np.full(50, 0.95)]
    truth = probability > 0.5
    ax = CalibrationDisplay.from_predictions(truth, {"model": probability}).plot(fewest=5).ax_
    drawn = ax.containers[0].lines[0].get_xdata()
    assert np.isfinite(drawn).tolist() == [True, False, True]  # a gap, since nothing was measured in between
    for segment in ax.containers[0].lines[2][0].get_segments():
        ends = np.asarray(segment).ravel()[1::2]  # the gap has none
        assert np.all(np.isnan(ends) | ((ends >= 0.0) & (ends <= 1.0)))


def test_roc_is_that_of_scikit_learn_and_allows_infinite_scores():
    truth, score = [1, 0, 1, 0, 0], [np.inf, 2.0, 3.0, -np.inf, 3.0]
    curve = RocCurve.of(truth, score)
    # Of six pairs, five are in the right order and one (3.0 against 3.0) is a tie.
    assert curve.auc == pytest.approx(5.5 / 6)
    display = RocDisplay.from_scores(truth, {"model": score})
    figure, axes = new_figure(1, 2)
    display.plot(axes[0])
    assert axes[0].get_legend().get_texts()[0].get_text() == "model, 0.917"
    assert display.plot(axes[1], log_from=1e-3).ax_.get_xscale() == "log"
    assert display.figure_ is figure


def test_covariance_is_drawn_as_it_is():
    matrix = np.array([[1.0, 0.5], [0.5, 2.0]])
    display = CovarianceDisplay(matrix).plot()
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), matrix)


def test_confusion_counts_and_names():
    display = ConfusionDisplay.from_predictions(["a", "b", "b", "c"], ["a", "b", "c", "c"]).plot()
    assert display.counts.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    assert display.shares[1].tolist() == [0.0, 0.5, 0.5]
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
    low, high = display._drawn_window(np.arange(3.0))
    assert low < 2.0 < high  # a window of one point has a width
    assert rendered(display.figure_, "png").startswith(b"\x89PNG")

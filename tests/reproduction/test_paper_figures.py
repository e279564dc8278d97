"""The figures that only the paper has: evidence under two classes, and ROC curves."""

import numpy as np
import pytest

from badac.plots import new_figure
from badac.plots.style import rendered
from reproduction.drawings import plot_roc
from reproduction.evidence import EvidenceDisplay
from reproduction.results import RocCurve


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


def test_roc_is_that_of_scikit_learn_and_allows_infinite_scores():
    truth, score = [1, 0, 1, 0, 0], [np.inf, 2.0, 3.0, -np.inf, 3.0]
    curve = RocCurve.of(truth, score)
    # Of six pairs, five are in the right order and one (3.0 against 3.0) is a tie.
    assert curve.auc == pytest.approx(5.5 / 6)
    ax = new_figure()[1]
    plot_roc(ax, {"model": curve, "another": curve})
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["model, 0.917", "another, 0.917", "chance, 0.500"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.true_positive)

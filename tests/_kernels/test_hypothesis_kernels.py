"""The kernels of the anomaly hypotheses: what they make of odd input."""

import numpy as np
import pytest
from kernel_cases import TABLE

from badac import _kernels
from badac._kernels import hypotheses
from badac._kernels.stretches import Stretches


def test_what_an_object_cannot_show() -> None:
    through, shapes = TABLE["bump_ratios"].make(13, 30, 4, 2).values()
    ratio = _kernels.bump_ratios(through, shapes)
    # The object without its second half shows no bump there; the empty shape is no bump at all.
    assert np.isnan(ratio[0, :, 16:30]).all()
    assert np.isnan(ratio[:, :, 31]).all()
    assert np.isfinite(ratio[1:, :, :30]).all()


def test_an_object_without_points_shows_no_bump() -> None:
    through = hypotheses.Filtering(
        points=hypotheses.GridPoints(
            np.full((1, 3), np.nan), np.full((1, 3), np.inf), np.zeros(3), np.zeros(3), np.zeros(1, np.int64)
        ),
        factors=np.ones((3, 1)),
        precision=np.zeros((1, 1)),
        shift=np.zeros((1, 1)),
        which=np.zeros((1, 1), dtype=np.int64),
        component_precision=np.ones((1, 1)),
        component_shift=np.zeros((1, 1)),
    )
    assert np.isnan(_kernels.bump_ratios(through, Stretches.each_point(3))).all()
    assert _kernels.bump_average(through, np.zeros((1, 1)), Stretches.each_point(3), 0.9) == 0.0


def test_a_strong_bump_does_not_overflow() -> None:
    ratio = np.array([[100.0, 1.0, np.nan]])
    found = hypotheses.log_mean_exp_squares(ratio, 1.0)
    assert found[0] == pytest.approx(5000.0 - np.log(2.0), abs=1e-9)

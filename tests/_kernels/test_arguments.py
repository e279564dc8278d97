"""What the kernels of pairs refuse, and in which words: every backend sees its arguments through one door, `Pairs`."""

from __future__ import annotations

import numpy as np
import pytest

from badac._kernels import Pairs, pair_logsumexp

ONES = {"d": np.ones((2, 3)), "d_sigma": np.ones((2, 3)), "y": np.ones((4, 3)), "y_sigma": np.ones((4, 3))}
BROKEN = {"y": np.ones((4, 3)), "y_sigma": np.ones((4, 3))}
BROKEN["y"][2, 1] = np.nan
BROKEN["y_sigma"][3, 0] = np.inf


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d": np.ones(3)}, r"`d` must be a matrix with at least one point, one row each: got shape \(3,\)"),
        ({"d": np.ones((2, 0))}, r"`d` must be a matrix with at least one point"),
        ({"y": np.ones((4, 2))}, "`y` must have as many points as `d`: got 2, and 3 in `d`"),
        ({"y": np.ones((0, 3))}, "`y` must hold at least one curve"),
        ({"y": BROKEN["y"]}, "`y` must be finite: got nan at curve 2, point 1"),
        ({"y_sigma": BROKEN["y_sigma"]}, "`y_sigma` must be finite: got inf at curve 3, point 0"),
        ({"d_sigma": np.ones((3, 3))}, r"`d_sigma` must have the shape of its values, \(2, 3\), or one row"),
        ({"y_sigma": np.ones((2, 3))}, r"`y_sigma` must have the shape of its values, \(4, 3\), or one row"),
        ({"extra_variance": -1.0}, "`extra_variance` must be finite and >= 0: got -1.0"),
        (
            {"extra_variance": np.ones(2)},
            r"`extra_variance` must be a number or one per point, shape \(3,\): got \(2,\)",
        ),
        (
            {"log_weights": np.zeros(3)},
            r"`log_weights` must have one entry per curve, shape \(4,\): got \(3,\)",
        ),
        ({"log_weights": [0, np.nan, 0, 0]}, "`log_weights` must be finite or -inf: got nan at curve 1"),
        ({"log_weights": [0, 0, np.inf, 0]}, "`log_weights` must be finite or -inf: got inf at curve 2"),
        (
            {"skip": np.zeros(3, dtype=int)},
            r"`skip` must have one entry per object, shape \(2,\): got \(3,\)",
        ),
        ({"skip": [0, 4]}, "`skip` must name a curve, 0 to 3, or be -1: got 4 at object 1"),
    ],
)
def test_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pairs_of(**{**ONES, **changes})


def pairs_of(*, log_weights: object = None, skip: object = None, **arrays: object) -> Pairs:
    return Pairs.of(**arrays).weighed(log_weights, skip)


def test_one_row_of_sigma_may_be_a_vector() -> None:
    wide = pair_logsumexp(Pairs.of(**ONES))
    shared = pair_logsumexp(Pairs.of(**{**ONES, "d_sigma": np.ones(3)}))
    np.testing.assert_array_equal(shared, wide)
    shared = pair_logsumexp(Pairs.of(**{**ONES, "y_sigma": np.ones(3)}))
    np.testing.assert_allclose(shared, wide, rtol=1e-14)


def test_finite_check_looks_at_every_row() -> None:
    """It goes in chunks: the last row of the last one counts too."""
    y = np.zeros((9000, 1))
    y[8999] = np.inf
    with pytest.raises(ValueError, match="got inf at curve 8999, point 0"):
        Pairs.of(np.zeros((1, 1)), np.ones((1, 1)), y, np.ones((1, 1)))

"""What the kernels take, checked once and in one form.

The compiled core reads raw memory and its NumPy twin would broadcast whatever fits, so both see their arguments through
these checks: float64, C-contiguous, shapes that agree. Nothing is changed in place; what already has that form is not copied.
Shapes: ``n`` objects, ``k`` curves, ``m`` points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROWS_PER_CHECK = 4096  # keeps the temporary masks small whatever the number of curves


@dataclass(frozen=True, eq=False)
class Pairs:
    """Objects and curves, ready for a kernel.

    Attributes
    ----------
    d, d_sigma : (n, m) and (n, m) or (1, m)
        The objects; a point with a NaN value or an infinite sigma is missing.
    y, y_sigma : (k, m) and (k, m) or (1, m)
        The curves; both finite.
    extra_variance : (m,)
    log_weights : (k,) or None
        Log weights of the curves; None for ``-log k`` each.
    skip : (n,) or None
        The curve that each object leaves out, -1 for none.
    """

    d: FloatArray
    d_sigma: FloatArray
    y: FloatArray
    y_sigma: FloatArray
    extra_variance: FloatArray
    log_weights: FloatArray | None = None
    skip: IntArray | None = None

    @classmethod
    def of(
        cls,
        d: npt.ArrayLike,
        d_sigma: npt.ArrayLike,
        y: npt.ArrayLike,
        y_sigma: npt.ArrayLike,
        extra_variance: npt.ArrayLike = 0.0,
    ) -> Pairs:
        """Check and bring into form; curves of equal weight, none left out."""
        values, curves = _matrix("d", d), _matrix("y", y)
        if curves.shape[1] != values.shape[1]:
            raise ValueError(
                f"`y` must have as many points as `d`: got {curves.shape[1]}, and {values.shape[1]} in `d`. "
                "Put objects and curves on the same points."
            )
        if curves.shape[0] == 0:
            raise ValueError("`y` must hold at least one curve: got none. Give the class a member.")
        _require_finite("y", curves)
        sigma, curve_sigma = _sigma("d_sigma", d_sigma, values), _sigma("y_sigma", y_sigma, curves)
        _require_finite("y_sigma", curve_sigma)
        return cls(values, sigma, curves, curve_sigma, _extra(extra_variance, values.shape[1]))

    def weighed(self, log_weights: npt.ArrayLike | None, skip: npt.ArrayLike | None) -> Pairs:
        """Return the same pairs with log weights (k,) of the curves, and the curve (n,) that each object leaves out."""
        n, k = self.d.shape[0], self.y.shape[0]
        return replace(self, log_weights=_weights(log_weights, k), skip=_skip(skip, n, k))


def _weights(log_weights: npt.ArrayLike | None, n_curves: int) -> FloatArray | None:
    """Log weights of the curves as (k,) float64; -inf is a curve that does not count, NaN and +inf are errors."""
    if log_weights is None:
        return None
    weights = np.ascontiguousarray(log_weights, dtype=np.float64)
    if weights.shape != (n_curves,):
        raise ValueError(
            f"`log_weights` must have one entry per curve, shape ({n_curves},): got {weights.shape}."
        )
    bad = np.flatnonzero(np.isnan(weights) | (weights == np.inf))
    if bad.size:
        raise ValueError(
            f"`log_weights` must be finite or -inf: got {weights[bad[0]]} at curve {bad[0]}. Pass logs of weights."
        )
    return weights


def _skip(skip: npt.ArrayLike | None, n_objects: int, n_curves: int) -> IntArray | None:
    """The curve each object leaves out as (n,) int64, -1 for none."""
    if skip is None:
        return None
    indices = np.ascontiguousarray(skip, dtype=np.int64)
    if indices.shape != (n_objects,):
        raise ValueError(f"`skip` must have one entry per object, shape ({n_objects},): got {indices.shape}.")
    bad = np.flatnonzero((indices < -1) | (indices >= n_curves))
    if bad.size:
        raise ValueError(
            f"`skip` must name a curve, 0 to {n_curves - 1}, or be -1: got {indices[bad[0]]} at object {bad[0]}."
        )
    return indices


def checked_threads(n_threads: int) -> int:
    """Return the number of threads, at least one."""
    if n_threads < 1:
        raise ValueError(f"`n_threads` must be at least 1: got {n_threads}.")
    return int(n_threads)


def _matrix(name: str, array: npt.ArrayLike) -> FloatArray:
    out = np.ascontiguousarray(array, dtype=np.float64)
    if out.ndim != 2 or out.shape[1] == 0:
        raise ValueError(
            f"`{name}` must be a matrix with at least one point, one row each: got shape {out.shape}."
        )
    return out


def _sigma(name: str, array: npt.ArrayLike, values: FloatArray) -> FloatArray:
    out = np.ascontiguousarray(array, dtype=np.float64)
    if out.ndim == 1:
        out = out[np.newaxis]
    if out.shape not in (values.shape, (1, values.shape[1])):
        raise ValueError(
            f"`{name}` must have the shape of its values, {values.shape}, or one row for all of them: got {out.shape}."
        )
    return out


def _extra(array: npt.ArrayLike, n_points: int) -> FloatArray:
    out = np.asarray(array, dtype=np.float64)
    if out.shape not in ((), (n_points,)):
        raise ValueError(
            f"`extra_variance` must be a number or one per point, shape ({n_points},): got {out.shape}."
        )
    if not np.all(np.isfinite(out) & (out >= 0)):
        raise ValueError(f"`extra_variance` must be finite and >= 0: got {out.min()} to {out.max()}.")
    return np.ascontiguousarray(np.broadcast_to(out, (n_points,)))


def _require_finite(name: str, array: FloatArray) -> None:
    for first in range(0, array.shape[0], _ROWS_PER_CHECK):
        finite = np.isfinite(array[first : first + _ROWS_PER_CHECK])
        if not finite.all():
            row, point = np.argwhere(~finite)[0]
            raise ValueError(
                f"`{name}` must be finite: got {array[first + row, point]} at curve {first + row}, point {point}. "
                "Fill a curve's missing points before it is matched."
            )

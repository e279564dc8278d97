"""What is worth a look, as far as looks have told: a logistic regression around the static ranking.

    logit P(worth | object) = a + b q + w . x + v . k ,        (a, b, w, v) ~ independent normals around (a_0, b_0, 0, 0)

``q`` is the normal quantile of the object's rank, ``x`` its place and what the model's classes say of it, ``k`` its likeness
to a hundred landmarks: Nystrom features of a Gaussian kernel over ``x`` (Williams & Seeger 2001), so that a look also tells of
what lies near it and is on no straight line in ``x``. With nothing said the order is that of the static ranking. The weights
are those of highest posterior probability, a pure function of what was said; the log odds of all objects are one product of an
(n, f) table with f numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from scipy.stats import norm, rankdata

from badac._kernels.eigen import eigh
from badac.triage.positions import Positions

FloatArray = npt.NDArray[np.float64]

# Log odds of interest at the middle of the ranking, and how they grow with the rank's normal quantile: 5 % at the middle, a
# half for the first of fifty. Chosen on seed 100 of benchmarks/triage_sets.py.
MIDDLE, SLOPE = -3.0, 1.5
# Prior standard deviations of what looks may change: the intercept, the slope, each column's weight, and the kernel's function.
# The first three were chosen with the two above; the last, and the kernel's length, on seeds 200 and 201, where 1.5 and 3 find
# half an object less in 100 looks.
_SPREADS = (2.0, 1.0, 0.6, 2.0)
_LENGTH = 0.45  # of the kernel, times the root of the number of columns: typical objects are root of two apart in each
_LANDMARKS = 100  # 60 find half an object less
_LEAST_SHARE = 1e-4  # of the largest eigenvalue of the landmarks' kernel, that another must have
_BLOCK = 4096  # block size
_STEPS, _TOLERANCE = 25, 1e-9  # of Newton's method


@dataclass(frozen=True, eq=False)
class Tendency:
    """The table that interest is learned on.

    Attributes
    ----------
    ranked : (n,)
        Normal quantile of each object's rank.
    columns : (n, f)
        All others, in single precision: there may be 10^5 objects.
    spread : (2 + f,)
        Prior standard deviations of the weights.
    """

    ranked: FloatArray
    columns: npt.NDArray[np.float32]
    spread: FloatArray

    @classmethod
    def of(cls, positions: Positions, proba: FloatArray, score: FloatArray) -> Tendency:
        """Make it of the objects' places, class probabilities (n, k) and static scores (n,)."""
        shrunk = np.clip(positions.place / (1.0 + positions.variance), -5.0, 5.0)
        # What the classes say of each other, in units of three nats, as the places are in spreads.
        logs = np.log(np.clip(proba, 1e-3, 1.0))
        plain = np.hstack([shrunk, (logs - logs.mean(axis=1, keepdims=True)) / 3.0])
        alike = _likeness(plain, _landmarks(score))
        spread = np.concatenate(
            [
                _SPREADS[:2],
                np.full(plain.shape[1], _SPREADS[2]),
                np.full(alike.shape[1], _SPREADS[3]),
            ]
        )
        ranked = np.asarray(norm.ppf(rankdata(score) / (len(score) + 1.0)))
        return cls(ranked, np.hstack([plain, alike]).astype(np.float32), spread)

    @property
    def prior(self) -> FloatArray:
        """(2 + f,): weights before anything is said, those of the static ranking."""
        return np.concatenate([[MIDDLE, SLOPE], np.zeros(self.columns.shape[1])])

    def learn(self, rows: npt.NDArray[np.int64], wanted: FloatArray) -> FloatArray:
        """Return the weights of highest posterior probability (2 + f,), objects (r,) being worth a look or not (r,)."""
        if not len(rows):
            return self.prior
        x = np.column_stack([np.ones(len(rows)), self.ranked[rows], self.columns[rows]])
        precision, start = self.spread**-2, self.prior
        weights = start.copy()
        best = _log_posterior(x @ weights, wanted, weights - start, precision)
        for _ in range(_STEPS):
            p = expit(x @ weights)
            gradient = x.T @ (wanted - p) - precision * (weights - start)
            curvature = (x.T * (p * (1.0 - p))) @ x + np.diag(precision)
            step = cho_solve(cho_factor(curvature), gradient)
            if gradient @ step < _TOLERANCE:
                break
            for _ in range(_STEPS):  # half as far, until it is no step back
                found = _log_posterior(x @ (weights + step), wanted, weights + step - start, precision)
                if found >= best:
                    break
                step = 0.5 * step
            weights, best = weights + step, found
        return np.asarray(weights)

    def log_odds(self, weights: FloatArray, rows: slice | int = slice(None)) -> FloatArray:
        """Return (n,), or of some rows: log odds of being worth a look."""
        learned = self.columns[rows] @ weights[2:].astype(np.float32)
        return np.asarray(weights[0] + weights[1] * self.ranked[rows] + learned, dtype=np.float64)


def _log_posterior(logit: FloatArray, wanted: FloatArray, away: FloatArray, precision: FloatArray) -> float:
    likelihood = wanted * logit - np.logaddexp(0.0, logit)
    return float(likelihood.sum() - 0.5 * (precision * away**2).sum())


def _landmarks(score: FloatArray) -> npt.NDArray[np.int64]:
    """Rows of the strangest objects, and of others evenly spaced in the table."""
    n = len(score)
    strange = np.argsort(-score, kind="stable")[: _LANDMARKS // 2]
    others = np.linspace(0, n - 1, min(n, _LANDMARKS - len(strange))).astype(np.int64)
    return np.unique(np.concatenate([strange, others]))


def _likeness(x: FloatArray, landmarks: npt.NDArray[np.int64]) -> FloatArray:
    """Features (n, g) whose products are the kernel between objects, as the landmarks (m,) tell it."""
    at, length = x[landmarks], _LENGTH * np.sqrt(x.shape[1])
    values, vectors = eigh(_kernel(at, at, length))
    kept = values > _LEAST_SHARE * values[-1]
    # Eigenvectors have no sign of their own; the regression does not mind.
    onto = vectors[:, kept] / np.sqrt(values[kept])
    out = np.empty((len(x), onto.shape[1]))
    for start in range(0, len(x), _BLOCK):
        out[start : start + _BLOCK] = _kernel(x[start : start + _BLOCK], at, length) @ onto
    return out


def _kernel(a: FloatArray, b: FloatArray, length: float) -> FloatArray:
    apart = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * a @ b.T
    return np.asarray(np.exp(-0.5 * np.maximum(apart, 0.0) / length**2))

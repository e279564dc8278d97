"""The tail of a score beyond the objects that were seen: a generalised Pareto distribution with its uncertainty.

    P(s > t | s > u) = (1 + shape (t - u) / scale)^(-1 / shape),      exp(-(t - u) / scale) where shape = 0

Whatever distribution the scores of known objects have, their excesses over a high threshold ``u`` tend to this family
(Pickands 1975; Balkema & de Haan 1974). Shape and scale are not known from a few hundred excesses: every pair on a grid keeps
the weight that the excesses give it (posterior, with a prior on the shape), and the chance of an excess is averaged over them.
The average is heavier than the best fit, as it must be if p-values beyond the last object seen are to be right on
average; the spread over the pairs is how little is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Log odds of known objects fall like an exponential or somewhat slower: rare members make the tail heavier, nothing bounds it.
# Chosen with benchmarks/lists.py on seeds from 100 on.
_SHAPES = np.linspace(-0.2, 1.0, 25)
_PRIOR_MEAN, _PRIOR_SPREAD = 0.1, 0.2
# Scales in units of the mean excess; a grid fine and wide enough for 20 excesses and for 1,000.
_SCALES = np.exp(np.linspace(-1.6, 1.2, 57))
_FEWEST = 8


@dataclass(frozen=True, eq=False)
class ParetoTail:
    """What is known of the excesses of a score over a threshold.

    Attributes
    ----------
    start : float
        The threshold.
    shape, scale, weight : (g,)
        Pairs that the excesses leave possible, and their probabilities.
    """

    start: float
    shape: FloatArray
    scale: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, excess: FloatArray, start: float) -> ParetoTail:
        """Learn from the excesses (k,) over the threshold `start`; few or equal ones say little, and a broad tail remains."""
        excess = excess[excess > 0]
        mean = float(excess.mean()) if excess.size else 1.0
        shape, scale = (grid.ravel() for grid in np.meshgrid(_SHAPES, mean * _SCALES, indexing="ij"))
        log_weight = -0.5 * ((shape - _PRIOR_MEAN) / _PRIOR_SPREAD) ** 2
        if excess.size >= _FEWEST:
            inside = _log_survival(excess[:, None], shape, scale)
            # The density is the survival function with one more power, over the scale.
            density = (1.0 + shape) * inside - np.log(scale)
            log_weight = log_weight + density.sum(axis=0)
        weight = np.exp(log_weight - log_weight.max())
        kept = weight > 1e-6
        return cls(start, shape[kept], scale[kept], weight[kept] / weight[kept].sum())

    def survival(self, score: FloatArray) -> FloatArray:
        """Return (n,): the chance of an excess at least as large, of those over the threshold; 1 below it."""
        return self.survivals(score) @ self.weight

    def survivals(self, score: FloatArray) -> FloatArray:
        """Return (n, g): the same under each pair of shape and scale."""
        excess = np.maximum(score - self.start, 0.0)
        return np.exp(_log_survival(excess[:, None], self.shape, self.scale))


def _log_survival(excess: FloatArray, shape: FloatArray, scale: FloatArray) -> FloatArray:
    """Log of the survival function of excesses (n, 1) under pairs (g,) -> (n, g); -inf beyond a bounded tail's end."""
    flat = np.abs(shape) < 1e-9
    safe = np.where(flat, 1.0, shape)
    # In place: every new object beyond the pool comes here with each of some hundred pairs.
    out = safe * excess / scale
    out += 1.0
    np.maximum(out, 0.0, out=out)
    with np.errstate(divide="ignore"):
        np.log(out, out=out)
    out /= -safe
    out[:, flat] = -excess / scale[flat]
    return out

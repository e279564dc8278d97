"""The weights of the stack: how much each base model's log evidence counts, learned from objects that none of them had seen.

    log P(class | d) = sum_o w_o(level) soften(log P_o(d | class)) + bias_class + log P(class) + constant

    soften(e) = -c log(1 + (best - e) / c),     best = the largest e of the object under the same base model

A model that is sure that an object is impossible is sure of its own tails only; softened, a hundred nats of that count for a
few. ``P_o`` is the evidence under the base model ``o``. Weights (positive) are linear between three
noise levels, since what a model gets wrong drowns in the noise of a noisier object. Biases are the same at every level: the
error bars of an object are not a clue to its class, even where they differ between the classes of the training set. All are
learned by the log-loss of left-out objects (stacking: Wolpert 1992; of densities: Yao et al. 2018), with weak priors: equal
weights that change little with the noise, no biases. It generalises the exponent of `badac.calibration.coarsening`: one base
model, not softened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from badac._kernels import stacked_losses
from badac.calibration.coarsening import FloatArray, IntArray
from badac.latent.mixture import logsumexp_rows
from badac.registry import registered

# Nats behind the best class beyond which softening leaves nothing to tell.
_FARTHEST = 1e4
# Tried in turn; the largest hardly softens, the smallest counts a hundred nats as five.
_SOFTNESS = (1.0, 3.0, 8.0, 20.0)
_KNOTS = 3
# Of the loss: a millionth is a thousandth of what tells two kinds of softness apart. Weights of one half of the objects, which
# begin at those of all and only tell what these are worth, need less.
_SETTLED, _SETTLED_HALF = 1e-6, 2e-5
# Rows, copies counted, that tell one softness from the next: their losses differ by some hundredths of a nat.
_TO_CHOOSE_SOFTNESS_WITH = 1500
# Sum of the weights that is expected beforehand, and the precisions of the priors.
_EXPECTED, _KNOWN_WEIGHT, _KNOWN_CHANGE, _KNOWN_BIAS = 0.3, 0.1, 1.0, 4.0


@registered("part", holds={"weights": "(o, q)", "knots": "(q,) sorted", "softness": "> 0"})
@dataclass(frozen=True, eq=False)
class Stacking:
    """How base outputs are added up.

    Attributes
    ----------
    weights : (o, q)
        Of each base model at each knot.
    bias : (k,)
    knots : (q,)
        Noise levels, rising; beyond them the weights stay as they are.
    softness : float
        ``c``.
    """

    weights: FloatArray
    bias: FloatArray
    knots: FloatArray
    softness: float

    def apply(self, log_evidences: FloatArray, noise: FloatArray) -> FloatArray:
        """Return (n, k), to be used in place of the log evidence, from base outputs (n, o, k) at noise levels (n,)."""
        place = hats(noise, self.knots)
        return np.asarray(
            np.einsum("nok,no->nk", soften(log_evidences, self.softness), place @ self.weights.T) + self.bias
        )


def soften(log_evidences: FloatArray, softness: float) -> FloatArray:
    """Log evidence (..., k) relative to the best class, its far end bent; all zero where no class explains the object."""
    best = np.max(log_evidences, axis=-1, keepdims=True)
    behind = np.minimum(np.where(np.isneginf(best), 0.0, best) - log_evidences, _FARTHEST)
    behind = np.where(np.isneginf(best), 0.0, behind)
    return np.asarray(-softness * np.log1p(behind / softness))


def hats(noise: FloatArray, knots: FloatArray) -> FloatArray:
    """Return (n, q): the share of each knot at each noise level, for linear interpolation."""
    if len(knots) == 1:
        return np.ones((len(noise), 1))
    return np.column_stack([np.interp(noise, knots, unit) for unit in np.eye(len(knots))])


def learn_stacking(
    log_evidences: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    noise: FloatArray,
    n_objects: int,
    *,
    like: Stacking | None = None,
) -> Stacking:
    """Learn weights, biases and softness; the softness from some of the objects, if they are many.

    Parameters
    ----------
    log_evidences : (n, o, k)
        Of objects under base models that had not seen them; of copies of an object at several noise levels too.
    label : (n,)
        Index of each object's class.
    log_prior : (k,)
        With which the labels were drawn.
    noise : (n,)
        Noise levels.
    n_objects : int
        Number of different objects: copies of one are not worth more than one.
    like : Stacking, optional
        What was learned from objects like these: its softness is taken, its weights are where the search begins.
    """
    lower, upper = np.quantile(noise, [0.02, 0.98])
    knots = np.linspace(lower, upper, _KNOTS) if upper > lower else np.array([lower])
    place = hats(noise, knots)
    if like is not None:
        softness, start = like.softness, (_at_knots(like, len(knots)), like.bias)
    else:
        softness, start = _choose_softness(log_evidences, label, log_prior, place, n_objects)
    soft = soften(log_evidences, softness)
    # What is like these weights only says what they are worth: to some thousandths of a nat.
    settled = _SETTLED if like is None else _SETTLED_HALF
    _, weights, bias = _weigh(soft, label, log_prior, place, n_objects, start, settled)
    return Stacking(weights, bias, knots, softness)


def _choose_softness(
    log_evidences: FloatArray, label: IntArray, log_prior: FloatArray, place: FloatArray, n_objects: int
) -> tuple[float, tuple[FloatArray, FloatArray]]:
    """Return the softness with the least loss of some of the rows, with its weights and biases."""
    some = np.arange(0, len(label), max(len(label) // _TO_CHOOSE_SOFTNESS_WITH, 1))
    outputs, own, at = log_evidences[some], label[some], place[some]
    count = max(round(n_objects * len(some) / len(label)), 1)
    tried: list[tuple[float, float, FloatArray, FloatArray]] = []
    start: tuple[FloatArray, FloatArray] | None = None
    for each in _SOFTNESS:
        value, weights, bias = _weigh(soften(outputs, each), own, log_prior, at, count, start)
        tried.append((value, each, weights, bias))
        # The weights of the next softness are not far from these.
        start = (weights, bias)
    _, best, weights, bias = min(tried, key=lambda row: row[0])
    return best, (weights, bias)


def _at_knots(like: Stacking, count: int) -> FloatArray:
    """Return weights (o, q) to begin with, for so many knots."""
    return like.weights if like.weights.shape[1] == count else np.repeat(like.weights[:, :1], count, axis=1)


def log_losses(joint: FloatArray, label: IntArray) -> FloatArray:
    """Return (n,): minus the log posterior of each object's own class, from log evidence plus log prior (n, k)."""
    return np.asarray(logsumexp_rows(joint) - joint[np.arange(len(label)), label])


def _weigh(
    soft: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    place: FloatArray,
    n_objects: int,
    start: tuple[FloatArray, FloatArray] | None,
    settled: float = _SETTLED,
) -> tuple[float, FloatArray, FloatArray]:
    """Least penalised log-loss, with the weights (o, q) and biases (k,) that reach it, from those to start with."""
    n, count, classes = soft.shape
    knots = place.shape[1]
    share = n_objects / n
    expected = np.full((count, knots), np.log(_EXPECTED / count))

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        log_weights, bias = _parts(vector, count, knots)
        weights = np.exp(log_weights)
        found = stacked_losses(soft, place @ weights.T, bias + log_prior, label)
        away, change = log_weights - expected, np.diff(log_weights, axis=1)
        value = share * float(found.loss.sum()) + 0.5 * float(
            _KNOWN_WEIGHT * (away**2).sum()
            + _KNOWN_CHANGE * (change**2).sum()
            + _KNOWN_BIAS * (bias**2).sum()
        )
        by_weight = weights * (share * (found.by_output.T @ place)) + _KNOWN_WEIGHT * away
        by_weight[:, 1:] += _KNOWN_CHANGE * change
        by_weight[:, :-1] -= _KNOWN_CHANGE * change
        by_bias = share * found.slope.sum(axis=0) + _KNOWN_BIAS * bias
        return value, np.concatenate([by_weight.ravel(), by_bias])

    weights, bias = (np.exp(expected), np.zeros(classes)) if start is None else start
    vector = np.concatenate([np.log(weights).ravel(), bias])
    found = minimize(loss, vector, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": settled})
    log_weights, bias = _parts(found.x, count, knots)
    return float(found.fun), np.exp(log_weights), bias


def _parts(vector: FloatArray, count: int, knots: int) -> tuple[FloatArray, FloatArray]:
    return vector[: count * knots].reshape(count, knots), vector[count * knots :]

"""Rows of log terms: the definition in slow and clear NumPy.

    row_log_sums        log sum_k exp(t_nk)
    stacked_losses      l_n = log sum_k exp(j_nk) - j_n,label(n) ,     j_nk = sum_o w_no e_nok + b_k

Shapes: ``n`` objects, ``k`` classes or other terms, ``o`` outputs that are weighed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads


class Losses(NamedTuple):
    """The log-loss of every object, and how it changes.

    Attributes
    ----------
    loss : (n,)
    slope : (n, k)
        By the bias of each class: its share less one of the object's own.
    by_output : (n, o)
        By the weight of each output.
    """

    loss: FloatArray
    slope: FloatArray
    by_output: FloatArray


def row_log_sums(terms: FloatArray, *, n_threads: int = 1) -> FloatArray:
    """Log of the sum of exponentials of each row (n, k) -> (n,); -inf where all are, NaN where one is."""
    checked_threads(n_threads)
    top = terms.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(safe + np.log(np.exp(terms - safe[:, None]).sum(axis=1)))


def stacked_losses(
    outputs: FloatArray, weights: FloatArray, bias: FloatArray, label: IntArray, *, n_threads: int = 1
) -> Losses:
    """Losses of objects with outputs (n, o, k) and weights (n, o), biases (k,) and labels (n,), all finite."""
    checked_threads(n_threads)
    rows = np.arange(len(label))
    joint = (weights[:, None, :] @ outputs)[:, 0] + bias
    best = joint.max(axis=1, keepdims=True)
    slope = np.exp(joint - best)
    total = slope.sum(axis=1, keepdims=True)
    slope /= total
    loss = (best + np.log(total))[:, 0] - joint[rows, label]
    slope[rows, label] -= 1.0
    return Losses(loss, slope, (outputs @ slope[:, :, None])[:, :, 0])

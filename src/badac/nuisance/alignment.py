"""Training curves aligned by class, and what is not known of their alignment.

    y_i(t) = template(t - s_i) + scatter + noise,    s_i ~ the prior of the shifts

Template, scatter and shifts are found in turn: each curve's shift is its posterior mean over the prior, with its standard
deviation ``e_i``; the template is learned from the curves moved back. The alignment is not perfect, and its error moves all
points of a curve together: an x-error of ``e_i`` that is wholly correlated, which is to first order a covariance along the
slope of the curve (the paper's section on zero points),

    C_i = diag sigma_i^2 + e_i^2 y'(t) y'(t)'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.classes.model import FloatArray, refuse_own_points
from badac.classes.moving import move_objects
from badac.classes.template import Template
from badac.data.measurements import Measurements
from badac.noise.model import Noise
from badac.training import TrainingScales

_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Alignment:
    """Aligned curves.

    Attributes
    ----------
    members : Measurements
        (k, m), with the covariance of each curve's alignment; missing beyond the ends.
    shift, error : (k,)
        By how much each curve was late, and the standard deviation of that.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian
    >>> from badac.nuisance import align
    >>> x = np.linspace(0, 1, 40)
    >>> moved = Measurements([np.sin(6 * x), np.sin(6 * (x - 0.05)), np.sin(6 * (x + 0.05))], 0.05, at=x)
    >>> found = align(moved, Gaussian(), np.linspace(-0.1, 0.1, 21), np.zeros(21))
    >>> found.shift.shape
    (3,)
    """

    members: Measurements
    shift: FloatArray
    error: FloatArray


def align(members: Measurements, noise: Noise, nodes: FloatArray, log_weights: FloatArray) -> Alignment:
    """Align the members of a class.

    Parameters
    ----------
    members : Measurements
        (k, m), with coordinates `at` in increasing order and with independent errors.
    noise : Noise
    nodes, log_weights : (s,)
        Possible shifts and their log prior probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian
    >>> from badac.nuisance import align
    >>> x = np.linspace(0, 1, 40)
    >>> moved = Measurements([np.sin(6 * x), np.sin(6 * (x - 0.05)), np.sin(6 * (x + 0.05))], 0.05, at=x)
    >>> found = align(moved, Gaussian(), np.linspace(-0.1, 0.1, 21), np.zeros(21))
    >>> bool(found.shift[1] > found.shift[0] > found.shift[2])
    True
    """
    refuse_own_points(members, "an alignment")
    at = members.at
    if at is None or not (np.diff(at) > 0).all():
        raise ValueError("an alignment needs coordinates `at` in increasing order.")
    if members.covariance is not None:
        raise ValueError("an alignment takes members with independent errors: got a `covariance`.")
    scales = TrainingScales.of(members)
    rng = np.random.default_rng(0)
    moved = members
    shift, error = np.zeros(members.n_objects), np.zeros(members.n_objects)
    for _ in range(_ROUNDS):
        template = Template().fit(moved, noise, rng, scales)
        terms = np.column_stack([template.moved(at, float(node)).log_evidence(members) for node in nodes])
        terms += log_weights
        weight = np.exp(terms - terms.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        shift = weight @ nodes
        error = np.sqrt(np.maximum(weight @ nodes**2 - shift**2, 0.0))
        # Between two nodes nothing is known, however sure the sum is.
        error = np.hypot(error, (nodes[1] - nodes[0]) / np.sqrt(12.0) if len(nodes) > 1 else 0.0)
        # A common shift of all of them is no shift of any.
        shift -= shift.mean()
        moved = move_objects(members, at, -shift)
    template = Template().fit(moved, noise, rng, scales)
    return Alignment(with_error(moved, template, at, error), shift, error)


def with_error(members: Measurements, template: Template, at: FloatArray, error: FloatArray) -> Measurements:
    """Return the aligned members with the covariance (k, m, m) that an x-error (k,) gives them along the template's slope."""
    assert template.mean is not None and template.width is not None
    steps = np.gradient(template.mean, at)
    along = error[:, None] * steps
    # A missing point needs some variance, and any will do.
    variance = np.where(members.observed, members.sigma, template.width) ** 2
    covariance = along[:, :, None] * along[:, None, :] + variance[:, :, None] * np.eye(len(at))
    return members.replaced(members.values, covariance=covariance)

"""The Bayes limit: how well could anyone tell the two classes apart who knows how the objects were made?

    P(class | d) = P(d | class) / sum_k P(d | k) ,   P(d | class) = integral over the class's true parameters and noise

The reported error bars are taken as given for both classes. Where they are drawn alike for both (the released setting)
no classifier has a higher expected accuracy or a lower expected log-loss. In the printed setting the noise level itself
names the class, 0.3 or 0.5: whoever reads it off the error bars, or off the scatter of a hundred points, is right every
time. This limit leaves that clue aside, as the paper does, and says how far the curves alone go. Use it to see what is
left to gain, and the evidences as the truth that a class model's are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.data.measurements import Measurements
from badac.simulate.curves import Curves, Parabola, Sine
from badac.simulate.distributions import Distribution, FloatArray, Normal
from badac.simulate.experiments import BadPoints, Experiment, Recipe, WeddingCake
from badac.simulate.noise import wedding_cake_tiers
from reproduction.limits.linear import linear_log_evidence, linear_log_evidence_with_bad_points
from reproduction.limits.mixture import MixtureDensity
from reproduction.limits.sine import sine_log_evidence, sine_log_evidence_with_bad_points


@dataclass(frozen=True)
class BayesLimit:
    """Accuracy (a fraction) and log-loss (nats) of the true model, with their Monte-Carlo standard errors."""

    accuracy: float
    accuracy_error: float
    log_loss: float
    log_loss_error: float
    n_objects: int


def bayes_limit(data: Experiment) -> BayesLimit:
    """What the true generating model achieves on the normal objects of an experiment's test set.

    Parameters
    ----------
    data : Experiment
        Simulated with `experiment` or `draw_experiment`.

    Returns
    -------
    BayesLimit
        Its errors are those of finitely many test objects.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import experiment
    >>> from reproduction.limits import bayes_limit
    >>> data = experiment(1, "released", n_train=1, n_test=200, rng=np.random.default_rng(3))
    >>> bayes_limit(data).accuracy > 0.95
    True
    """
    rows = np.flatnonzero(~data.is_anomaly)
    if rows.size == 0:
        raise ValueError(
            "the test set holds anomalies only: the limit needs normal objects (contamination < 1)."
        )
    evidence = generating_log_evidence(data.test[rows], data.recipe)
    log_posterior = evidence - np.logaddexp.reduce(evidence, axis=1, keepdims=True)
    label = data.test_label[rows]
    right = evidence.argmax(axis=1) == label
    loss = -log_posterior[np.arange(rows.size), label]
    return BayesLimit(
        accuracy=float(right.mean()),
        accuracy_error=float(right.std() / np.sqrt(rows.size)),
        log_loss=float(loss.mean()),
        log_loss_error=float(loss.std() / np.sqrt(rows.size)),
        n_objects=int(rows.size),
    )


def generating_log_evidence(objects: Measurements, recipe: Recipe) -> FloatArray:
    """Log evidence of each object under each class, from the model that made them.

    Parameters
    ----------
    objects : Measurements
        With positive sigma, shared coordinates `at` and nothing missing, as the simulators make them.
    recipe : Recipe
        Whose inliers are sines and parabolas with normal parameters, with any of its kinds of noise.

    Returns
    -------
    (n, k)
        Column ``k``: ``log P(d | class k)``. Exact to rounding, except for parabolas with bad points: there below
        0.001 nats for every object whose posterior is not certain to eight digits.
    """
    if objects.at is None or objects.at.ndim != 1 or not objects.complete or not np.all(objects.sigma > 0.0):
        raise ValueError(
            "the generating model needs objects as simulated: shared coordinates `at`, positive sigma, no missing "
            f"points. Got {objects!r}, `at` of shape {None if objects.at is None else objects.at.shape}."
        )
    columns = [_class_log_evidence(objects, kind, recipe) for kind in range(len(recipe.inliers))]
    return np.column_stack(columns)


def _class_log_evidence(objects: Measurements, kind: int, recipe: Recipe) -> FloatArray:
    family, noise = recipe.inliers[kind], recipe.noise
    values, sigma, at = objects.values, objects.sigma, objects.at
    assert at is not None
    bad = MixtureDensity(noise.share, noise.factor) if isinstance(noise, BadPoints) else None
    tiers = None
    if isinstance(noise, WeddingCake) and noise.kind == kind:
        tiers = wedding_cake_tiers(at.size, noise.steps, noise.height)
    if isinstance(family, Sine):
        frequency = _as_normal(family.frequency, family)
        if bad is not None:
            return sine_log_evidence_with_bad_points(values, sigma, at, frequency, bad)
        return sine_log_evidence(values, sigma, at, frequency, tiers)
    if isinstance(family, Parabola):
        parts = (family.quadratic, family.linear, family.constant)
        prior = [_as_normal(part, family) for part in parts]
        residual = values - family.basis(at) @ [part.mean for part in prior]
        basis = family.basis(at) * [part.sd for part in prior]
        if bad is not None:
            return linear_log_evidence_with_bad_points(residual, sigma, basis, bad)
        return linear_log_evidence(residual, sigma, basis if tiers is None else np.hstack([basis, tiers]))
    raise ValueError(f"the evidence is known for Sine and Parabola: got {family!r}.")


def _as_normal(distribution: Distribution, family: Curves) -> Normal:
    if not isinstance(distribution, Normal):
        raise ValueError(f"the evidence needs normal parameters: got {distribution!r} in {family!r}.")
    return distribution

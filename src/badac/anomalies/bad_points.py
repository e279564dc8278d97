"""Isolated outlying points are bad points, not strangeness: do the known classes themselves show them?

With Gaussian noise an anomaly hypothesis may put a bump on any point that is far off. Where the training objects have such
points too, the error bars do not hold for a share of the points, and a class with bad points is the better explanation
(`badac.noise.Outliers`). Whether they do is asked of the members' residuals ``t`` under their own class, in units of noise and
psi: one Gaussian of any width, or two,

    gain = mean log [ (1 - share) N(t ; 0 , s1^2) + share N(t ; 0 , s2^2) ] - mean log N(t ; 0 , s^2) .

Only points with an order can tell: a feature without neighbours that is far off may be what the class is like.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from badac.anomalies.model import FloatArray, Known
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.gaussian_approximation import is_plain
from badac.latent.likelihood import weigh
from badac.noise import Noise, Outliers, noise_of_class
from badac.noise_learning import learn_noise

_MEMBERS = 300
_STEPS = 60
_BINS = 1000  # the gain differs from that of all residuals by less than 1e-4 nats per point
# Nats per point. A curve of a hundred points that hides two of these for every class would be a case for a noise model.
_CLEAR = 0.02


def learned_bad_points(
    known: Known, classes: tuple[ClassSummary, ...], rng: np.random.Generator
) -> Noise | None:
    """Return noise with a share of bad points, learned from the members; None where plain error bars do.

    Parameters
    ----------
    known : Known
        Under any noise; only plain Gaussian noise without covariances is doubted.
    classes : tuple of ClassSummary
        Under that noise.
    rng : numpy.random.Generator
    """
    training = known.training
    plain = all(is_plain(noise_of_class(known.noise, index)) for index in range(len(classes)))
    if not plain or training.covariance is not None or not training.has_errors:
        return None
    left = []
    for index, summary in enumerate(classes):
        rows = np.flatnonzero(known.label == index)[:_MEMBERS]
        left.append(residuals(ObjectsUnderClass(training[rows], summary)))
    if two_widths_gain(np.concatenate(left)) < _CLEAR:
        return None
    return learn_noise(Outliers(), training, known.label, rng)


def residuals(under: ObjectsUnderClass) -> FloatArray:
    """Return (observed points of all objects,): residuals under the class, in units of noise and psi."""
    factor = under.summary.factor
    weight, residual = weigh(under.gaussian[0], factor.mean, factor.psi)
    left = (residual - under.latent.posterior[0] @ factor.factors.T) * np.sqrt(weight)
    return np.asarray(left[weight > 0])


def two_widths_gain(residual: FloatArray) -> float:
    """Return the gain in nats per point if residuals (p,) are of two widths and not of one, by EM."""
    squared, count = _binned(np.asarray(residual**2))
    n = float(count.sum())
    variance = max(float(count @ squared) / n, 1e-300) if squared.size else 1.0
    share, widths = 0.1, np.array([0.5, 5.0]) * variance
    for _ in range(_STEPS if squared.size else 0):
        slope, odds = 0.5 / widths[0] - 0.5 / widths[1], np.log(share) - np.log1p(-share)
        before = share, widths
        bad = expit(slope * squared + (odds + 0.5 * np.log(widths[0] / widths[1])))
        share = float(np.clip(count @ bad / n, 1e-6, 1.0 - 1e-6))
        weight = count * np.stack([1.0 - bad, bad])
        widths = np.maximum((weight @ squared) / np.maximum(weight.sum(axis=1), 1e-6), 1e-12 * variance)
    if not squared.size:
        return 0.0
    share, widths = before
    log_good = np.log1p(-share) - 0.5 * (squared / widths[0] + np.log(widths[0]))
    log_bad = np.log(share) - 0.5 * (squared / widths[1] + np.log(widths[1]))
    total = np.logaddexp(log_good, log_bad)
    return float(count @ total / n + 0.5 * (1.0 + np.log(variance)))


def _binned(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and counts (b,) of neighbours among numbers (p,); the largest, which tell of bad points, stay alone.

    Some ten thousand residuals say no more of two widths than a thousand means of them, and every step of the EM asks all.
    """
    ordered = np.sort(numbers)
    size = max(1, len(ordered) // _BINS)
    bulk = max(0, len(ordered) - _BINS) // size * size
    means = ordered[:bulk].reshape(-1, size).mean(axis=1)
    count = np.concatenate([np.full(len(means), float(size)), np.ones(len(ordered) - bulk)])
    return np.concatenate([means, ordered[bulk:]]), count

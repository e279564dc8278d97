"""Neighbouring points lend each other strength, if the members say so.

Where the points have an order (times, wavelengths), the mean and the factors of a class are usually smooth, and their
estimates, one point at a time, are not. Each column ``c`` (m,) is replaced by the minimiser of

    |c_s - c|^2 + penalty * (noise / n) / |c|^2 * |second differences of c_s|^2

so that a factor that stands well above its own estimation error hardly moves and a weak one is smoothed most (a Whittaker
smoother whose strength is the Wiener ratio). The penalty is chosen by the evidence of members that were held out, and none
at all is among the choices: features without an order keep their own values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dpbsv

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.factor import Factor

# None, then by factors of ten; falling evidence ends the search.
PENALTIES = (0.0, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5)


def smoothed(factor: Factor, noise: FloatArray, count: float, penalty: float) -> Factor:
    """Return the factor model with smooth mean and factors.

    Parameters
    ----------
    factor : Factor
    noise : (m,)
        Typical noise variance of the members.
    count : float
        Their number.
    penalty : float
        0 changes nothing.
    """
    m = factor.mean.size
    if penalty == 0.0 or m < 5:
        return factor
    # Principal axes: each column then has an amplitude of its own.
    unit = np.sqrt(noise + factor.psi)
    turn = np.linalg.svd(factor.factors / unit[:, None], full_matrices=False)[2].T
    columns = np.column_stack([factor.mean, factor.factors @ turn])
    error = float(np.mean(noise + factor.psi)) / count
    # The mean is known as well as a factor is; its amplitude is what varies along the points.
    amplitude = np.mean(columns**2, axis=0)
    amplitude[0] = np.var(factor.mean)
    for index, power in enumerate(amplitude):
        columns[:, index] = whittaker(columns[:, index], penalty * error / max(power, 1e-300))
    return Factor(columns[:, 0], columns[:, 1:], factor.psi)


def whittaker(column: FloatArray, penalty: float) -> FloatArray:
    """Minimise ``|s - column|^2 + penalty |second differences of s|^2`` (m,)."""
    bands = min(penalty, 1e8) * _second_differences(column.size)
    bands[2] += 1.0
    # LAPACK itself: what SciPy checks of bands and column takes four times as long as to solve them.
    return np.asarray(dpbsv(bands, column)[1])


@lru_cache(maxsize=8)
def _second_differences(m: int) -> FloatArray:
    """Return the bands (3, m), upper form, of the second-difference penalty D'D."""
    main = np.full(m, 6.0)
    main[[0, -1]], main[[1, -2]] = 1.0, 5.0
    first = np.full(m, -4.0)
    first[[1, -1]] = -2.0
    return np.stack([np.ones(m), first, main])


def choose_penalty(factor: Factor, noise: FloatArray, count: float, held_out: Measurements) -> float:
    """Return the penalty under which the held-out members have the largest Gaussian evidence."""
    best, best_evidence = 0.0, -np.inf
    for penalty in PENALTIES:
        tried = smoothed(factor, noise, count, penalty)
        latent = tried.project(held_out)
        evidence = float(latent.gaussian_log_evidence().sum())
        if evidence > best_evidence:
            best, best_evidence = penalty, evidence
        elif evidence < best_evidence - 10.0:
            break
    return best

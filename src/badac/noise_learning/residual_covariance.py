"""Residual covariance: correlated errors, what neighbouring points have in common beyond the smooth curves of the class.

Take the residuals ``e = d - mean`` of the members, remove the smooth functions ``B`` (``R = I - B B'``) and divide by each
point's width ``w = sqrt(psi + sigma^2)``. Independent errors give ``S = cov(R e / w)`` close to ``R``; correlated ones do not.
With fewer members than it would take to know ``S`` well it is drawn towards independence (Ledoit & Wolf 2004):

    C = diag(w) [I + share (S - R)] diag(w) ,     share = 1 - (p^2 / n) / |S - R|^2

with ``p`` rough dimensions and ``n`` members: 0 if ``S`` is no farther from independence than chance. What is added to the
error bars are the directions of ``S`` above the largest eigenvalue that chance gives it, ``(1 + sqrt(p / n))^2`` (Marchenko &
Pastur 1967).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac._kernels.eigen import eigh
from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.noise import Gaussian
from badac.noise_learning.comparison import is_promising
from badac.noise_learning.noise_em import fit_factor_and_noise, mean_variance
from badac.training import TrainingScales

_LOG_2PI = float(np.log(2.0 * np.pi))
_FOLDS, _FOLDS_FIRST = 10, 3


@dataclass(frozen=True, eq=False)
class CorrelatedResiduals:
    """A factor model with correlated residuals.

    Attributes
    ----------
    factor : Factor
        Held to smooth functions.
    correlation : (m, m)
        Of the residuals in units of their widths, ``I + share (S - R)``.
    share : float
        How much of the measured covariance is believed; 0 if it is chance.
    """

    factor: Factor
    correlation: FloatArray
    share: float

    def log_evidence(self, objects: Measurements) -> FloatArray:
        """Return (n,): log P(object) with a Gaussian density of the latent positions; a missing point counts as average."""
        observed = objects.observed
        width = np.where(
            observed, np.sqrt(self.factor.psi + np.where(observed, objects.sigma, 1.0) ** 2), 1.0
        )
        residual = np.where(observed, (objects.values - self.factor.mean) / width, 0.0)
        white = np.linalg.inv(np.linalg.cholesky(self.correlation))
        half_log_det = -np.log(np.diagonal(white)).sum()
        residual = residual @ white.T
        loadings = np.einsum(
            "jk,nkr->njr", white, np.where(observed, 1.0 / width, 0.0)[..., None] * self.factor.factors
        )
        precision = np.einsum("njr,njs->nrs", loadings, loadings) + np.eye(self.factor.rank)
        root = np.linalg.cholesky(precision)
        shift = np.linalg.solve(root, np.einsum("njr,nj->nr", loadings, residual)[..., None])[..., 0]
        quadratic = (residual**2).sum(axis=1) - (shift**2).sum(axis=1)
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + 2.0 * half_log_det
        points = observed.sum(axis=1)
        return np.asarray(
            -0.5 * (quadratic + log_det + points * _LOG_2PI)
            - np.where(observed, np.log(width), 0.0).sum(axis=1)
        )


def fit_correlated_residuals(members: Measurements, factor: Factor, basis: FloatArray) -> CorrelatedResiduals:
    """Measure the correlation of the rough residuals of the members (k, m) of a class."""
    scaled, rough = _residuals(members, factor, basis)
    n, m = scaled.shape
    covariance = scaled.T @ scaled / n
    excess = covariance - rough
    # How far from independence chance alone takes the sample covariance of p dimensions.
    p = m - basis.shape[1]
    chance = p * (p + 1.0) / n
    distance = float((excess**2).sum())
    share = max(0.0, 1.0 - chance / distance) if distance > 0 else 0.0
    return CorrelatedResiduals(factor, np.eye(m) + share * excess, share)


def correlated_gain(
    members: Measurements, rank: int, basis: FloatArray, scales: TrainingScales, rng: np.random.Generator
) -> FloatArray:
    """Return (k,): gain of each member when it is held out and the residuals of the others are taken as correlated.

    A covariance has many numbers to be learned, so the members are held out a tenth at a time, not half and half. Where the
    first ones gain nothing the others are not asked, and nobody gains.
    """
    fold = rng.permutation(members.n_objects) % _FOLDS
    gain = np.empty(members.n_objects)
    for which in range(_FOLDS):
        if which == _FOLDS_FIRST and not is_promising(gain[fold < which], _FOLDS_FIRST / _FOLDS):
            return np.zeros_like(gain)
        known, unknown = members[fold != which], members[fold == which]
        gaussian = fit_factor_and_noise(known, Gaussian(), scales, rng, basis=basis, rank=rank)
        correlated = fit_correlated_residuals(known, gaussian.factor, basis)
        gain[fold == which] = correlated.log_evidence(unknown) - gaussian.log_evidence(unknown)
    return gain


def added_covariance(members: Measurements, factor: Factor, basis: FloatArray) -> FloatArray:
    """Return (m, m): the covariance that correlated errors add, of the directions in which it stands above chance."""
    scaled = _residuals(members, factor, basis)[0]
    n, m = scaled.shape
    values, vectors = eigh(scaled.T @ scaled / n)
    edge = (1.0 + np.sqrt((m - basis.shape[1]) / n)) ** 2
    excess = np.where(values > edge, values - 1.0, 0.0)
    width = np.sqrt(factor.psi + mean_variance(members))
    directions = width[:, None] * vectors * np.sqrt(excess)
    return np.asarray(directions @ directions.T)


def _residuals(members: Measurements, factor: Factor, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rough residuals (k, m) in units of their widths, and the projection R (m, m)."""
    observed = members.observed
    residual = np.where(observed, members.values - factor.mean, 0.0)
    width = np.sqrt(factor.psi + mean_variance(members))
    # In units of the width, the smooth functions to remove are those divided by it.
    smooth = np.linalg.qr(basis / width[:, None])[0]
    rough = np.eye(len(width)) - smooth @ smooth.T
    return (residual / width) @ rough, rough

"""EM of noise and class together: a factor model of the class and the open parameters of the noise.

    y = mean + factors z + eps + noise,     noise of the family asked for

What the members have in common varies along few directions and goes to ``factors``; what is left at each point is compared
with its error bar. EM (Dempster, Laird & Rubin 1977; of factor models, Rubin & Thayer 1982; of Student-t noise, Liu & Rubin
1995) alternates between the widths of the points, the parameters of the noise and the factor model, one conditional
maximisation after the other (ECM; Meng & Rubin 1993), so real variability within the class is not taken for noise and bad
points are not taken for variability. The noise model itself knows its first guess and its M-step
(`badac.noise.model.LearnableWidths`). Where points have an order, ``factors`` may be held to smooth functions of it, so
that what is rough and still common to neighbours has to be noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from badac.classes.model import FloatArray
from badac.classes.population.rank import choose_rank
from badac.data.measurements import Measurements
from badac.latent.factor import Factor, all_statistics, maximise
from badac.latent.gaussian_approximation import (
    GaussianApproximation,
    gaussian_approximation,
    latent_likelihood,
    with_noise_scale,
)
from badac.latent.moments import Spectrum
from badac.noise import Gaussian, Noise, ScaleMixture, is_open
from badac.noise.model import LearnableWidths, Residuals
from badac.training import TrainingScales

_ROUNDS = 30
_EM_STEPS = 5
_SETTLED = 0.002
_SCALE_RANGE = (0.2, 5.0)
_WIDEST = 10.0


@dataclass(frozen=True, eq=False)
class FactorWithNoise:
    """A class's factor model and the noise of its members."""

    factor: Factor
    noise: Noise

    def for_others(self, members: Measurements) -> FactorWithNoise:
        """Return the model as it stands for objects other than the members (k, m) that it was learned from.

        Mean and factors are uncertain by a share of (1 + factors) / k of the scatter, and as much of it, which they took from
        these members, is missing in psi where that is not zero.
        """
        share = (1.0 + self.n_factors) / max(members.n_objects, 1)
        psi = self.factor.psi
        unknown = share * (psi + mean_variance(with_noise_scale(members, self.noise)))
        return replace(self, factor=self.factor.widened(unknown + np.minimum(psi, unknown)))

    @property
    def n_factors(self) -> int:
        """Number of factors that are not zero: a model of none keeps one of zeros."""
        return int(np.count_nonzero(self.factor.factors.any(axis=0)))

    def log_evidence(self, objects: Measurements) -> FloatArray:
        """Return (n,): log P(object) with a Gaussian density of the latent positions."""
        return latent_likelihood(objects, self.factor, self.noise).gaussian_log_evidence()


def fit_factor_and_noise(
    members: Measurements,
    noise: Noise,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    basis: FloatArray | None = None,
    rank: int | None = None,
) -> FactorWithNoise:
    """Learn a factor model together with the open parameters of the noise.

    Parameters
    ----------
    members : Measurements
        (k, m), of one class.
    noise : Noise
        A mixture of Gaussian widths; what is None in it is learned, by EM if it knows the steps
        (`badac.noise.model.LearnableWidths`). A factor on all error bars is learned by the evidence of held-out members.
    scales : TrainingScales
    rng : numpy.random.Generator
    basis : (m, K), optional
        Orthonormal functions of the points that the factors are held to.
    rank : int, optional
        Number of factors under Gaussian noise; by held-out evidence if not given.

    Returns
    -------
    FactorWithNoise
    """
    if not isinstance(noise, LearnableWidths):
        return _fit_one_width(members, noise, scales, rng, basis, rank)
    return fit_from(members, noise, Start(rank=rank), scales, rng, basis)


@dataclass(frozen=True)
class Start:
    """Where an EM of noise and class begins.

    Attributes
    ----------
    noise : Noise or None
        What other members taught; None for the family's own first guess.
    rank : int or None
        Number of factors to begin with; None to ask for it.
    settled : bool
        Whether it was chosen under noise of several widths, and stays; otherwise it is chosen again when the first are known.
    factor : Factor or None
        The class as it is known already, with so many factors; None to make it of the members' moments.
    """

    noise: Noise | None = None
    rank: int | None = None
    settled: bool = False
    factor: Factor | None = None


def fit_from(
    members: Measurements,
    noise: Noise,
    start: Start,
    scales: TrainingScales,
    rng: np.random.Generator,
    basis: FloatArray | None = None,
) -> FactorWithNoise:
    """As `fit_factor_and_noise`, for noise whose parameters an EM finds, from a start."""
    assert isinstance(noise, LearnableWidths)
    current: Any = noise.initial() if start.noise is None else start.noise
    rank, factor = start.rank, start.factor
    if rank is None or factor is None:
        gaussian = _wide(members, current)
        rank = choose_rank(gaussian, scales, rng, once=True)[0] if rank is None else rank
        factor = Spectrum.of(gaussian, scales, max(rank, 1)).factor(rank)
    factor = held(factor, basis)
    near = start.settled and start.factor is not None
    squared: FloatArray | None = None
    for step in range(_ROUNDS):
        sites = gaussian_approximation(members, factor, current, details=True, start=squared)
        better = noise.improved(current, _residuals(members, sites, factor))
        if step == 1 and not near:
            # The first rank was chosen as if all points were bad.
            rank = rank if start.settled else choose_rank(sites.objects, scales, rng)[0]
            factor = held(Spectrum.of(sites.objects, scales, max(rank, 1)).factor(rank), basis)
            sites = gaussian_approximation(members, factor, current, details=True)
        factor = _step(members, sites, factor, current, scales, basis)
        change, current, squared = current.distance(better), better, sites.squared
        if change < _SETTLED and (near or step > 2):
            break
    return FactorWithNoise(factor, current)


def _residuals(members: Measurements, sites: GaussianApproximation, factor: Factor) -> Residuals:
    """What the points tell of the noise under the factor model."""
    assert sites.responsibility is not None and sites.squared is not None
    observed = members.observed
    sigma = np.where(observed, members.sigma, 1.0)
    return Residuals(observed, sigma, sites.squared, sites.responsibility, factor.psi)


def held(factor: Factor, basis: FloatArray | None) -> Factor:
    """Return the factor model with its factors held to the basis."""
    if basis is None:
        return factor
    return Factor(factor.mean, basis @ (basis.T @ factor.factors), factor.psi)


def iterate(
    members: Measurements, factor: Factor, scales: TrainingScales, basis: FloatArray | None, steps: int
) -> Factor:
    """EM steps of the factor model, each held to the basis."""
    for _ in range(steps):
        factor = held(maximise(all_statistics(members, factor), factor, scales), basis)
    return factor


def fit_factor(
    members: Measurements, spectrum: Spectrum, rank: int, basis: FloatArray | None = None
) -> Factor:
    """Return the factor model of members (k, m) under plain error bars, from their spectrum."""
    factor = held(spectrum.factor(rank), basis)
    return iterate(members, factor, spectrum.scales, basis, _EM_STEPS)


def _step(
    members: Measurements,
    sites: GaussianApproximation,
    factor: Factor,
    noise: ScaleMixture,
    scales: TrainingScales,
    basis: FloatArray | None,
) -> Factor:
    """One EM step of the factor model, with the widths of the points summed over and not averaged for psi.

    A point that may be good or bad is not a point of the mean width: taken for one, it would hide variability (psi).
    """
    assert sites.responsibility is not None and sites.squared is not None
    sigma = np.where(members.observed, members.sigma, 1.0)
    weight, squares, misfit = (np.zeros(members.n_points) for _ in range(3))
    for which, scale in enumerate(noise.gaussian_scales()[1]):
        precision = 1.0 / (factor.psi + (scale * sigma) ** 2)
        share = sites.responsibility[..., which]
        weight += (share * precision).sum(axis=0)
        squares += (share * precision**2).sum(axis=0)
        misfit += (share * precision**2 * sites.squared).sum(axis=0)
    sums = all_statistics(sites.objects, factor)
    return held(
        maximise(replace(sums, weight=weight, weight_squared=squares, misfit=misfit), factor, scales), basis
    )


def _wide(members: Measurements, noise: ScaleMixture) -> Measurements:
    """Members with the error bars that the mean variance of the noise asks for."""
    log_share, scale = noise.gaussian_scales()
    wide = float(np.sqrt(np.exp(log_share) @ np.minimum(scale, _WIDEST) ** 2))
    return Measurements._trusted(members.values, wide * members.sigma, at=members.at)


def _fit_one_width(
    members: Measurements,
    noise: Noise,
    scales: TrainingScales,
    rng: np.random.Generator,
    basis: FloatArray | None,
    rank: int | None,
) -> FactorWithNoise:
    """Gaussian noise; a factor on the error bars, if it is open, by the evidence of the members.

    Where all error bars are alike, a factor above one cannot be told from variability at each point (``psi``): then the
    evidence is flat, and the smallest change is taken.
    """
    if not isinstance(noise, ScaleMixture):
        raise TypeError(f"noise of {type(noise).__name__} has no parameters that are learned from residuals.")
    chosen = choose_rank(members, scales, rng)[0] if rank is None else rank

    def fitted(known: Measurements, scale: float) -> FactorWithNoise:
        scaled = with_noise_scale(known, Gaussian(scale))
        spectrum = Spectrum.of(scaled, scales, max(chosen, 1))
        return FactorWithNoise(fit_factor(scaled, spectrum, chosen, basis), Gaussian(scale))

    if not is_open(noise):
        return fitted(members, float(noise.gaussian_scales()[1][0]))
    half = rng.permutation(members.n_objects) % 2 == 0
    halves = [(members[half], members[~half])]
    if rank is None:
        # Each half asks the other, unless families are only being compared at a number of factors that is given.
        halves.append((members[~half], members[half]))

    def evidence(scale: float) -> FloatArray:
        return np.concatenate([fitted(known, scale).log_evidence(unknown) for known, unknown in halves])

    found = minimize_scalar(
        lambda log_scale: -float(evidence(float(np.exp(log_scale))).mean()),
        bounds=np.log(_SCALE_RANGE),
        method="bounded",
        options={"xatol": 0.03},
    )
    scale = float(np.exp(found.x))
    gain = evidence(scale) - evidence(1.0)
    decided = gain.sum() > 2.0 + 2.0 * float(gain.std()) * np.sqrt(len(gain))
    return fitted(members, scale if decided else 1.0)


def mean_variance(members: Measurements) -> FloatArray:
    """Mean of the squared error bars (m,) of each point; 0 where it is always missing."""
    observed = members.observed
    return np.asarray(
        (np.where(observed, members.sigma, 0.0) ** 2).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    )


def orthonormal_polynomials(at: FloatArray, count: int) -> FloatArray:
    """Return (m, count): polynomials of the coordinate, orthonormal over the points."""
    span = float(at.max() - at.min())
    x = 2.0 * (at - at.min()) / (span if span > 0 else 1.0) - 1.0
    columns = np.polynomial.legendre.legvander(x, count - 1)
    return np.asarray(np.linalg.qr(columns)[0])

"""Class and noise told apart: a factor model of the class and the open parameters of the noise, learned together.

    y = mean + factors z + eps + noise,     noise of the family asked for

What the members have in common varies along few directions and goes to ``factors``; what is left at each point is compared
with its error bar. EM alternates between the widths of the points, the parameters of the noise and the factor model, so real
variability within the class is not taken for noise and bad points are not taken for variability. Where points have an
order, ``factors`` may be held to smooth functions of it, so that what is rough and still common to neighbours has to be
noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from badac.noise import Gaussian, Noise, Outliers, ScaleMixture, Student
from badac.noise.scales import log_density
from badac.training import TrainingScales

_ROUNDS = 30
_EM_STEPS = 5
_SETTLED = 0.002
_FIRST_SHARE, _FIRST_WIDTH = 0.1, 3.0
_FIRST_DF = 4.0
_DF_RANGE = (1.5, 100.0)
_WIDTH_RANGE = (1.0, 1000.0)
_POINTS = 4_000
_SCALE_RANGE = (0.2, 5.0)
_WIDEST = 10.0


@dataclass(frozen=True, eq=False)
class Within:
    """A class's factor model and the noise of its members."""

    factor: Factor
    noise: Noise

    def log_evidence(self, objects: Measurements) -> FloatArray:
        """Return (n,): log P(object) with a Gaussian density of the latent positions."""
        return latent_likelihood(objects, self.factor, self.noise).gaussian_log_evidence()


def learn_within(
    members: Measurements,
    noise: Noise,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    basis: FloatArray | None = None,
    rank: int | None = None,
) -> Within:
    """Learn a factor model together with the open parameters of the noise.

    Parameters
    ----------
    members : Measurements
        (k, m), of one class.
    noise : Noise
        `Gaussian`, `Outliers` or `Student`; what is None is learned.
    scales : TrainingScales
    rng : numpy.random.Generator
    basis : (m, K), optional
        Orthonormal functions of the points that the factors are held to.
    rank : int, optional
        Number of factors under Gaussian noise; by held-out evidence if not given.

    Returns
    -------
    Within
    """
    if isinstance(noise, Gaussian):
        return _learn_scale(members, noise, scales, rng, basis, rank)
    current = _first_guess(noise)
    gaussian = _start(members, current)
    rank = choose_rank(gaussian, scales, rng)[0]
    factor = held(Spectrum.of(gaussian, scales, max(rank, 1)).factor(rank), basis)
    for step in range(_ROUNDS):
        sites = gaussian_approximation(members, factor, current, constants=False, details=True)
        assert sites.responsibility is not None and sites.squared is not None
        better = _improve(noise, current, members, factor, sites.responsibility, sites.squared)
        if step == 1:
            # The first rank was chosen as if all points were bad.
            rank = choose_rank(sites.objects, scales, rng)[0]
            factor = held(Spectrum.of(sites.objects, scales, max(rank, 1)).factor(rank), basis)
            sites = gaussian_approximation(members, factor, current, constants=False, details=True)
        factor = _step(members, sites, factor, current, scales, basis)
        change, current = _change(current, better), better
        if step > 2 and change < _SETTLED:
            break
    return Within(factor, current)


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


def _step(
    members: Measurements,
    sites: GaussianApproximation,
    factor: Factor,
    noise: Noise,
    scales: TrainingScales,
    basis: FloatArray | None,
) -> Factor:
    """One EM step of the factor model, with the widths of the points summed over and not averaged for psi.

    A point that may be good or bad is not a point of the mean width: taken for one, it would hide variability (psi).
    """
    assert sites.responsibility is not None and sites.squared is not None and isinstance(noise, ScaleMixture)
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


def _start(members: Measurements, noise: Noise) -> Measurements:
    assert isinstance(noise, ScaleMixture)
    log_share, scale = noise.gaussian_scales()
    wide = float(np.sqrt(np.exp(log_share) @ np.minimum(scale, _WIDEST) ** 2))
    return Measurements._trusted(members.values, wide * members.sigma, at=members.at)


def _first_guess(noise: Noise) -> Noise:
    if isinstance(noise, Outliers):
        return Outliers(
            _FIRST_SHARE if noise.share is None else noise.share,
            _FIRST_WIDTH if noise.width is None else noise.width,
        )
    if isinstance(noise, Student):
        return Student(_FIRST_DF if noise.df is None else noise.df, noise.n_widths)
    raise TypeError(f"noise of {type(noise).__name__} has no parameters that are learned from residuals.")


def _improve(
    asked: Noise,
    current: Noise,
    members: Measurements,
    factor: Factor,
    responsibility: FloatArray,
    squared: FloatArray,
) -> Noise:
    """M-step of the noise: parameters that the widths and residuals of all points ask for."""
    observed = members.observed
    sigma = np.where(observed, members.sigma, 1.0)
    if isinstance(asked, Outliers) and isinstance(current, Outliers):
        bad = responsibility[..., 1]
        share, width = asked.share, asked.width
        if share is None:
            share = float(np.clip(bad.sum() / max(observed.sum(), 1), 1e-6, 0.999))
        if width is None:
            width = _bad_width(
                bad[observed],
                squared[observed],
                sigma[observed],
                np.broadcast_to(factor.psi, sigma.shape)[observed],
            )
        return Outliers(share, width)
    if isinstance(asked, Student) and isinstance(current, Student):
        if asked.df is not None or not observed.any():
            return current
        # Every so many points: enough to know one number.
        pick = slice(None, None, 1 + int(observed.sum()) // _POINTS)
        residual, bars = np.sqrt(squared[observed])[pick], sigma[observed][pick]
        extra = np.broadcast_to(factor.psi, sigma.shape)[observed][pick]

        def loss(log_df: float) -> float:
            scales = Student(float(np.exp(log_df)), current.n_widths).gaussian_scales()
            return -float(log_density(residual, bars, *scales, extra).mean())

        found = minimize_scalar(loss, bounds=np.log(_DF_RANGE), method="bounded", options={"xatol": 0.02})
        return Student(float(np.exp(found.x)), current.n_widths)
    return current


def _bad_width(bad: FloatArray, squared: FloatArray, sigma: FloatArray, psi: FloatArray) -> float:
    """Width of the bad points by their likelihood, each weighted by how bad it is."""

    def loss(log_width: float) -> float:
        variance = psi + (np.exp(log_width) * sigma) ** 2
        return float((bad * (squared / variance + np.log(variance))).sum())

    found = minimize_scalar(loss, bounds=np.log(_WIDTH_RANGE), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def _change(before: Noise, after: Noise) -> float:
    if isinstance(before, Outliers) and isinstance(after, Outliers):
        assert before.share and after.share and before.width and after.width
        return max(abs(after.share / before.share - 1), abs(after.width / before.width - 1))
    if isinstance(before, Student) and isinstance(after, Student):
        assert before.df and after.df
        return float(abs(np.log(after.df / before.df)))
    return 0.0


def _learn_scale(
    members: Measurements,
    noise: Gaussian,
    scales: TrainingScales,
    rng: np.random.Generator,
    basis: FloatArray | None,
    rank: int | None,
) -> Within:
    """Gaussian noise; a factor on the error bars, if it is open, by the evidence of the members.

    Where all error bars are alike, a factor above one cannot be told from variability at each point (``psi``): then the
    evidence is flat, and the smallest change is taken.
    """
    chosen = choose_rank(members, scales, rng)[0] if rank is None else rank

    def fitted(known: Measurements, scale: float) -> Within:
        scaled = with_noise_scale(known, Gaussian(scale))
        factor = held(Spectrum.of(scaled, scales, max(chosen, 1)).factor(chosen), basis)
        return Within(iterate(scaled, factor, scales, basis, _EM_STEPS), Gaussian(scale))

    if noise.scale is not None:
        return fitted(members, noise.scale)
    half = rng.permutation(members.n_objects) % 2 == 0
    known, unknown = members[half], members[~half]

    def loss(log_scale: float) -> float:
        return -float(fitted(known, float(np.exp(log_scale))).log_evidence(unknown).mean())

    found = minimize_scalar(loss, bounds=np.log(_SCALE_RANGE), method="bounded", options={"xatol": 0.03})
    scale = float(np.exp(found.x))
    gain = fitted(known, scale).log_evidence(unknown) - fitted(known, 1.0).log_evidence(unknown)
    decided = gain.sum() > 2.0 + 2.0 * float(gain.std()) * np.sqrt(len(gain))
    return fitted(members, scale if decided else 1.0)


def orthonormal_polynomials(at: FloatArray, count: int) -> FloatArray:
    """Return (m, count): polynomials of the coordinate, orthonormal over the points."""
    span = float(at.max() - at.min())
    x = 2.0 * (at - at.min()) / (span if span > 0 else 1.0) - 1.0
    columns = np.polynomial.legendre.legvander(x, count - 1)
    return np.asarray(np.linalg.qr(columns)[0])

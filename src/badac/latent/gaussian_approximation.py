"""Noise of several widths seen through a factor model: each point becomes a Gaussian one with the width it seems to have.

Under `badac.noise.model.ScaleMixture` noise a point is ``d = mean + factors z + eps``, ``eps ~ N(0, psi + (s sigma)^2)``, with
a factor ``s`` unknown for each point. Given the latent position ``z`` the points are independent, so

    P(d | z) = prod_j sum_s a_s N(d_j ; mean_j + factors_j z , v_js) ,      v_js = psi_j + (s sigma_j)^2

is exact and cheap; only the integral over ``z`` needs help. Alternate between the responsibilities ``q_js`` of the widths and
the posterior of ``z`` (variational EM). Then each point acts as a Gaussian one of precision ``w_j = sum_s q_js / v_js``
around the same value, and what a Gaussian likelihood misses is put back as a constant per object
(`badac.latent.importance_correction`).

Everything downstream (mixtures over the latent space, leave-one-out) works on Gaussian objects as before. Against brute
force in one and two dimensions the log evidence is right to a few hundredths of a nat (the tests say how many).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac._kernels import widths_log_likelihood, widths_posterior
from badac._kernels.widths import WidePoints, responsibilities
from badac.data.measurements import Measurements
from badac.latent.count_likelihood import PlainCounts, linked_block, linked_log_likelihood
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.importance_correction import DRAWS, LogLikelihood, importance_correction
from badac.latent.likelihood import LatentLikelihood, blocks
from badac.latent.mixture import Mixture
from badac.noise.gaussian import with_one_width
from badac.noise.kinds import NoiseKind, kind_of, name_of
from badac.noise.model import LinkedNoise, Noise, ScaleMixture, needs_sigma
from badac.noise.widths import check_sigma_only
from badac.threads import in_order, over_blocks
from badac.training import FloatArray, TrainingScales

# At most so many alternations; an object stops when its position moves by less. tests/latent/test_gaussian_approximation.py
# says what error is left.
_STEPS = 15
_SETTLED = 2e-3
_STEPS_FROM_NEAR = 3  # of an EM that asks again: what is left is found in its next round
# So many counts leave a position next to Gaussian, and the posterior mean is enough: log-loss of the cells of
# `benchmarks/default.py`, seeds 510 to 515, the same models asked by one position and by sixteen, differs by -.0003 +- .0003
# with all counts, .0000 +- .0002 at 20 %, +.0009 +- .0008 at 5 % and .0000 +- .0001 at 2 %.
_MANY_COUNTS = 100


@dataclass(frozen=True, eq=False)
class GaussianApproximation:
    """Objects as Gaussian ones.

    Attributes
    ----------
    objects : Measurements
        (n, m): the same values with the sigma that each point seems to have.
    log_constant : (n,)
        To be added to the log evidence of `objects`; 0 if no density was given.
    latent : LatentLikelihood or None
        Of `objects`, if the constants were asked for.
    responsibility : (n, m, S) or None
        Of each width for each point, if it was asked for; 0 where missing.
    squared : (n, m) or None
        Expected squared residual of each point, for noise of several widths.
    """

    objects: Measurements
    log_constant: FloatArray
    latent: LatentLikelihood | None = None
    responsibility: FloatArray | None = None
    squared: FloatArray | None = None


def is_plain(noise: Noise) -> bool:
    """Whether a Gaussian population may take the objects' errors as they are, but for a factor on all of them.

    A covariance that the noise adds is learned with the factors, or given to the objects before (`with_covariance_of`).
    """
    return kind_of(noise) in (NoiseKind.GAUSSIAN, NoiseKind.COVARIANCE)


def link_scales(members: Measurements, noise: object, scales: TrainingScales) -> TrainingScales:
    """Return what the training objects say of each point, in the space that the population is learned in.

    Counts are learned in the space of their link, of which the class's own members tell.
    """
    return TrainingScales.of(noise.first_guess(members)) if isinstance(noise, LinkedNoise) else scales


def with_noise_scale(objects: Measurements, noise: Noise | None) -> Measurements:
    """Return the objects with the error bars that a Gaussian noise scales them to.

    A covariance that all members of a class share (`badac.noise.Correlated`) needs nothing here: the factors learn it as
    a part of what the members of the class have in common.
    """
    if noise is None or kind_of(noise) is not NoiseKind.GAUSSIAN:
        return objects
    return with_one_width(objects, noise)


def usual_draws(noise: object, n_points: int) -> int:
    """Return by how many positions of an object of so many points the constants are found: one of many counts."""
    return 1 if isinstance(noise, LinkedNoise) and n_points >= _MANY_COUNTS else DRAWS


def latent_likelihood(
    objects: Measurements,
    factor: Factor,
    noise: Noise | None,
    density: LatentDensity | None = None,
    *,
    draws: int | None = None,
    n_threads: int = 1,
) -> LatentLikelihood:
    """Return the latent likelihoods of objects under any noise, for their evidence under a density of the positions.

    Under noise that is not Gaussian they are those of the Gaussian objects that stand for them, with a constant that makes
    the evidence under `density`, by default ``N(0, I)``, right (`gaussian_approximation`), by so many `draws`, or as many as
    usual (`usual_draws`).

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, latent_likelihood
    >>> from badac.noise import Gaussian, Student
    >>> factor = Factor(np.zeros(3), np.ones((3, 1)), np.full(3, 0.01))
    >>> d = Measurements([[1.0, 1.0, 5.0]], 0.1)
    >>> plain, robust = (latent_likelihood(d, factor, noise).position[0, 0] for noise in (Gaussian(), Student(2.0)))
    >>> bool(robust < plain)  # the far point counts less
    True
    """
    if noise is None or is_plain(noise):
        return factor.project(with_noise_scale(objects, noise), n_threads=n_threads)
    density = Mixture.standard(factor.rank) if density is None else density
    found = gaussian_approximation(objects, factor, noise, density=density, draws=draws, n_threads=n_threads)
    latent = found.latent
    assert latent is not None
    return LatentLikelihood(latent.precision, latent.shift, latent.offset - 2.0 * found.log_constant)


def gaussian_approximation(
    objects: Measurements,
    factor: Factor,
    noise: Noise,
    *,
    density: LatentDensity | None = None,
    draws: int | None = None,
    details: bool = False,
    start: FloatArray | None = None,
    n_threads: int = 1,
) -> GaussianApproximation:
    """Find the Gaussian objects that stand for objects under noise of several widths.

    Parameters
    ----------
    objects : Measurements
        (n, m)
    factor : Factor
        The population: mean (m,), factors (m, r), psi (m,).
    noise : Noise
        A `ScaleMixture`, or a `LinkedNoise` (counts): then the Gaussian objects are in the space of the link.
    density : LatentDensity, optional
        Of the latent positions, under which the constants make the evidence right. Without it there are none: learning does
        without.
    draws : int, optional
        Positions of each object by which the constants are found; `usual_draws` if not given.
    details : bool
        Whether responsibilities are returned.
    start : (n, m), optional
        ``squared`` of the same objects under a factor model and noise near these: fewer alternations are needed from there.
    """
    if objects.covariance is not None and needs_sigma(noise):
        check_sigma_only(noise, objects)
    draws = usual_draws(noise, objects.n_points) if draws is None else draws
    if isinstance(noise, LinkedNoise):
        PlainCounts.of(objects, noise)  # checks them, before any thread asks
        counted, to_learn = noise, density is None
        parts = in_order(
            lambda some: linked_block(objects, factor, counted, some, to_learn=to_learn),
            blocks(objects),
            n_threads,
        )
        values, sigma = (np.concatenate(each) for each in zip(*parts, strict=True))
        found = Measurements._trusted(values, sigma, at=objects.at)
        return GaussianApproximation(
            found, *_constants(objects, found, factor, noise, density, draws, n_threads)
        )
    if not isinstance(noise, ScaleMixture):
        raise ValueError(
            f"{name_of(noise)} is known by its matches alone, and a Gaussian population cannot be integrated over it: "
            'class_model="instances" takes it as it is.'
        )
    log_share, scale = noise.gaussian_scales()
    points = _points(objects, factor, log_share, scale)
    steps = _STEPS if start is None else _STEPS_FROM_NEAR
    weight, squared = widths_posterior(
        points, start, max_steps=steps, tolerance=_SETTLED, n_threads=n_threads
    )
    found = Measurements._trusted(objects.values, _seeming_sigma(weight, factor.psi), at=objects.at)
    constants = _constants(objects, found, factor, noise, density, draws, n_threads)
    responsibility = None
    if details:
        responsibility = responsibilities(squared, objects.sigma, factor.psi, log_share, scale)
    return GaussianApproximation(found, *constants, responsibility, squared)


def _seeming_sigma(weight: FloatArray, psi: FloatArray) -> FloatArray:
    """Sigma (n, m) that with psi (m,) makes points of this precision (n, m); infinite where they are missing.

    `weight` is written over.
    """
    missing = None if weight.size and weight.min() > 0 else weight <= 0
    if missing is not None:
        weight[missing] = 1.0
    sigma = np.divide(1.0, weight, out=weight)
    sigma -= psi
    np.maximum(sigma, 0.0, out=sigma)
    np.sqrt(sigma, out=sigma)
    if missing is not None:
        sigma[missing] = np.inf
    return sigma


def _constants(
    objects: Measurements,
    gaussian: Measurements,
    factor: Factor,
    noise: Noise,
    density: LatentDensity | None,
    draws: int,
    n_threads: int,
) -> tuple[FloatArray, LatentLikelihood | None]:
    """What the evidence (n,) of the Gaussian objects under the density misses, and their likelihoods; 0 and None without."""
    out = np.zeros(objects.n_objects)
    if density is None:
        return out, None
    under, latent = density.proposal(), factor.project(gaussian, n_threads=n_threads)

    def work(rows: slice, n_threads: int) -> None:
        exact = _likelihood(objects, rows, factor, noise, n_threads)
        out[rows] = importance_correction(latent[rows], under, exact, draws=draws, n_threads=n_threads)

    over_blocks(work, blocks(objects), n_threads)
    return out, latent


def _likelihood(
    objects: Measurements, rows: slice, factor: Factor, noise: Noise, n_threads: int
) -> LogLikelihood:
    """Exact log likelihood (n, K) of some of the objects at latent positions (n, K, r)."""
    if isinstance(noise, LinkedNoise):
        return linked_log_likelihood(objects, factor, noise, rows, n_threads=n_threads)
    assert isinstance(noise, ScaleMixture)
    points = _points(objects[rows], factor, *noise.gaussian_scales())
    return lambda positions: widths_log_likelihood(points, positions, n_threads=n_threads)


def _points(objects: Measurements, factor: Factor, log_share: FloatArray, scale: FloatArray) -> WidePoints:
    """Points as the kernels take them, with the widths that have a share at all."""
    used, residual = log_share > -np.inf, objects.values - factor.mean
    return WidePoints(residual, objects.sigma, factor.factors, factor.psi, log_share[used], scale[used])

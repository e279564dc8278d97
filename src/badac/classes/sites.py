"""Noise of several widths seen through a factor model: each point becomes a Gaussian one with the width it seems to have.

Under `badac.noise.model.ScaleMixture` noise a point is ``d = mean + factors z + eps``, ``eps ~ N(0, psi + (s sigma)^2)``, with
a factor ``s`` unknown for each point. Given the latent position ``z`` the points are independent, so

    P(d | z) = prod_j sum_s a_s N(d_j ; mean_j + factors_j z , v_js) ,      v_js = psi_j + (s sigma_j)^2

is exact and cheap; only the integral over ``z`` needs help. Alternate between the responsibilities ``q_js`` of the widths and
the posterior of ``z`` (variational EM). Then each point acts as a Gaussian one of precision ``w_j = sum_s q_js / v_js`` around
the same value, and what a Gaussian likelihood misses is put back as a constant per object, by importance sampling over a
few fixed points ``z_k`` of the Gaussian posterior:

    log_constant = log mean_k  P(d | z_k) / prod_j N(d_j ; mean_j + factors_j z_k , 1 / w_j)

Everything downstream (mixtures over the latent space, leave-one-out) works on Gaussian objects as before. Against brute
force in one and two dimensions the log evidence is right to a few hundredths of a nat (the tests say how many).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, qmc

from badac._kernels.latent import unpack
from badac.classes.factor import Factor, expectation_maximisation
from badac.classes.latent import Latent, blocks, products, project
from badac.classes.links import linked_block
from badac.classes.model import FloatArray, Surroundings
from badac.classes.rank import Spectrum, choose_rank
from badac.data.measurements import Measurements
from badac.noise.gaussian import Gaussian
from badac.noise.model import LinkedNoise, Noise, ScaleMixture

_LOG_2PI = float(np.log(2.0 * np.pi))
_STEPS = 15
_SAMPLES = 16
_SETTLED = 1e-3
_ROUNDS = 4
_WIDEST_START = 10.0


@dataclass(frozen=True, eq=False)
class Sites:
    """Objects as Gaussian ones.

    Attributes
    ----------
    objects : Measurements
        (n, m): the same values with the sigma that each point seems to have.
    log_constant : (n,)
        To be added to the log evidence of `objects`.
    responsibility : (n, m, S) or None
        Of each width for each point, if it was asked for; 0 where missing.
    squared : (n, m) or None
        Expected squared residual of each point.
    """

    objects: Measurements
    log_constant: FloatArray
    responsibility: FloatArray | None = None
    squared: FloatArray | None = None


def has_widths(noise: object) -> bool:
    """Whether the noise has several widths, so that a Gaussian population cannot take the errors as they are."""
    return isinstance(noise, ScaleMixture) and len(noise.gaussian_scales()[1]) > 1


def is_plain(noise: object) -> bool:
    """Whether a Gaussian population may take the objects' errors as they are, but for a factor on all of them."""
    return not has_widths(noise) and not isinstance(noise, LinkedNoise)


def link_surroundings(members: Measurements, noise: object, around: Surroundings) -> Surroundings:
    """Return what the training objects say of each point, in the space that the population is learned in.

    Counts are learned in the space of their link, of which the class's own members tell.
    """
    return Surroundings.of(noise.first_guess(members)) if isinstance(noise, LinkedNoise) else around


def believed(objects: Measurements, noise: Noise | None) -> Measurements:
    """Return the objects with the error bars that a Gaussian noise believes in.

    A covariance that all members of a class share (`badac.noise.Correlated`) needs nothing here: the factors learn it as
    a part of what the members of the class have in common.
    """
    return noise.scaled(objects) if isinstance(noise, Gaussian) else objects


def see(objects: Measurements, factor: Factor, noise: Noise | None) -> Latent:
    """Return the latent likelihoods of objects under any noise with Gaussian widths."""
    if noise is None or is_plain(noise):
        return project(believed(objects, noise), factor.mean, factor.factors, factor.psi)
    sites = gaussian_sites(objects, factor, noise)
    latent = project(sites.objects, factor.mean, factor.factors, factor.psi)
    return Latent(latent.precision, latent.shift, latent.offset - 2.0 * sites.log_constant)


def as_gaussian(
    members: Measurements,
    noise: Noise,
    around: Surroundings,
    rng: np.random.Generator,
    *,
    rank: int | None = None,
) -> Measurements:
    """Return the members as Gaussian ones, the factor model and the widths found together.

    Parameters
    ----------
    members : Measurements
        (k, m)
    noise : Noise
        With all parameters known.
    around : Surroundings
    rng : numpy.random.Generator
    rank : int, optional
        Number of factors; by held-out evidence if not given.
    """
    if is_plain(noise):
        return believed(members, noise)
    found = start(members, noise, around, rng, rank=rank)
    for _ in range(_ROUNDS):
        found = found.improved(members, noise, around)
    return found.members


@dataclass(frozen=True, eq=False)
class Round:
    """A factor model, and the members as Gaussian ones that it was learned from."""

    factor: Factor
    members: Measurements

    def improved(self, members: Measurements, noise: Noise, around: Surroundings) -> Round:
        """Find the widths under this factor model, and the factor model of these widths."""
        gaussian = gaussian_sites(members, self.factor, noise, constants=False).objects
        return Round(expectation_maximisation(gaussian, self.factor, around, max_steps=3), gaussian)


def start(
    members: Measurements,
    noise: Noise,
    around: Surroundings,
    rng: np.random.Generator,
    *,
    rank: int | None = None,
) -> Round:
    """Start as if every point had the root mean square of the widths, then with the first widths choose the rank."""
    if isinstance(noise, LinkedNoise):
        gaussian = noise.first_guess(members)
    else:
        assert isinstance(noise, ScaleMixture)
        log_share, scale = noise.gaussian_scales()
        # Of a heavy tail only what a wrecked point shows: the widest widths are rarer than one in a hundred.
        wide = np.sqrt(np.exp(log_share) @ np.minimum(scale, _WIDEST_START) ** 2)
        gaussian = Measurements._trusted(members.values, members.sigma * wide, at=members.at)
    for _ in range(2):
        chosen = choose_rank(gaussian, around, rng)[0] if rank is None else rank
        factor = Spectrum.of(gaussian, around, max(chosen, 1)).factor(chosen)
        gaussian = gaussian_sites(members, factor, noise, constants=False).objects
    return Round(expectation_maximisation(gaussian, factor, around, max_steps=3), gaussian)


def gaussian_sites(
    objects: Measurements,
    factor: Factor,
    noise: Noise,
    *,
    constants: bool = True,
    details: bool = False,
) -> Sites:
    """Find the Gaussian objects that stand for objects under noise of several widths.

    Parameters
    ----------
    objects : Measurements
        (n, m)
    factor : Factor
        The population: mean (m,), factors (m, r), psi (m,).
    noise : Noise
        A `ScaleMixture`, or a `LinkedNoise` (counts): then the Gaussian objects are in the space of the link.
    constants : bool
        Whether the log constants are needed; learning does without.
    details : bool
        Whether responsibilities and squared residuals are returned.
    """
    if isinstance(noise, LinkedNoise):
        return _linked_sites(objects, factor, noise, constants)
    assert isinstance(noise, ScaleMixture)
    log_share, scale = noise.gaussian_scales()
    used = log_share > -np.inf
    parts = [
        _sites_of_block(objects[block], factor, log_share[used], scale[used], constants, details)
        for block in blocks(objects)
    ]
    sigma = np.concatenate([part[0] for part in parts]) if parts else np.empty(objects.shape)
    found = Measurements._trusted(objects.values, sigma, at=objects.at)
    constant = np.concatenate([part[1] for part in parts]) if parts else np.empty(0)
    if not details:
        return Sites(found, constant)
    responsibility = np.zeros((*objects.shape, len(scale)))
    responsibility[..., used] = np.concatenate([part[2] for part in parts])
    return Sites(found, constant, responsibility, np.concatenate([part[3] for part in parts]))


def _linked_sites(objects: Measurements, factor: Factor, noise: LinkedNoise, constants: bool) -> Sites:
    points = standard_points(factor.rank) if constants else None
    parts = [linked_block(objects[block], factor, noise, points) for block in blocks(objects)]
    values, sigma, constant = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Sites(Measurements._trusted(values, sigma, at=objects.at), constant)


def _sites_of_block(
    objects: Measurements,
    factor: Factor,
    log_share: FloatArray,
    scale: FloatArray,
    constants: bool,
    details: bool,
) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]:
    observed = objects.observed
    residual = np.where(observed, objects.values - factor.mean, 0.0)
    sigma = np.where(observed, objects.sigma, 1.0)
    # (S, n, m): widths first, so that the sums over them are sums of whole arrays.
    variance = factor.psi + (scale[:, None, None] * sigma) ** 2
    height = log_share[:, None, None] - 0.5 * np.log(variance)
    outer = products(factor.factors)
    twice = np.where(np.equal(*np.triu_indices(factor.rank)), 1.0, 2.0)
    # At first z is anywhere in the population: its spread at each point forgives what it may explain.
    squared = residual**2 / (1.0 + (factor.factors**2).sum(axis=1) / (factor.psi + sigma**2))
    n, rank = len(residual), factor.rank
    weight = np.zeros_like(residual)
    position = np.zeros((n, rank))
    covariance = np.tile(np.eye(rank), (n, 1, 1))
    responsibility = np.empty_like(variance)
    rows, columns = np.triu_indices(rank)
    # Each object goes on until it has settled, whatever the others in its block do.
    active = np.arange(n)
    for _ in range(_STEPS):
        part = height[:, active] - 0.5 * squared[active] / variance[:, active]
        part -= part.max(axis=0)
        np.exp(part, out=part)
        part /= part.sum(axis=0)
        responsibility[:, active] = part
        weighed = np.where(observed[active], (part / variance[:, active]).sum(axis=0), 0.0)
        inverse = np.linalg.inv(unpack(weighed @ outer) + np.eye(rank))
        moved = (inverse @ ((weighed * residual[active]) @ factor.factors)[..., None])[..., 0]
        spread = (inverse[:, rows, columns] * twice) @ outer.T
        squared[active] = (residual[active] - moved @ factor.factors.T) ** 2 + spread
        settled = np.abs(moved - position[active]).max(axis=1, initial=0.0) < _SETTLED
        weight[active], position[active], covariance[active] = weighed, moved, inverse
        active = active[~settled]
        if not active.size:
            break
    constant = np.zeros(len(residual))
    if constants:
        constant = _log_constant(residual, observed, weight, height, variance, position, covariance, factor)
    effective = np.sqrt(np.maximum(1.0 / np.where(observed, weight, 1.0) - factor.psi, 0.0))
    effective = np.where(observed, effective, np.inf)
    if not details:
        return effective, constant, None, None
    return (
        effective,
        constant,
        np.moveaxis(responsibility * observed, 0, -1),
        np.where(observed, squared, 0.0),
    )


def _log_constant(
    residual: FloatArray,
    observed: npt.NDArray[np.bool_],
    weight: FloatArray,
    height: FloatArray,
    variance: FloatArray,
    position: FloatArray,
    covariance: FloatArray,
    factor: Factor,
) -> FloatArray:
    """Return (n,): log of the mean ratio of exact to Gaussian likelihood over the Gaussian posterior of z."""
    root = np.linalg.cholesky(covariance)
    with np.errstate(divide="ignore"):
        gaussian_height = np.where(observed, 0.5 * np.log(weight), 0.0)
    ratios = []
    for step in standard_points(factor.rank):
        z = position + root @ step
        left = (residual - z @ factor.factors.T) ** 2
        parts = height - 0.5 * left / variance
        top = parts.max(axis=0)
        exact = top + np.log(np.exp(parts - top).sum(axis=0))
        gaussian = gaussian_height - 0.5 * left * weight
        ratios.append(np.where(observed, exact - gaussian, 0.0).sum(axis=1))
    stacked = np.stack(ratios)
    top = stacked.max(axis=0)
    return np.asarray(top + np.log(np.exp(stacked - top).mean(axis=0)))


def standard_points(rank: int, count: int = _SAMPLES) -> FloatArray:
    """Return (count, rank): points that stand for N(0, I), the same every time, in pairs of opposite sign."""
    half = qmc.Sobol(rank, scramble=True, rng=np.random.default_rng(0)).random(count // 2)
    points = norm.ppf(np.clip(half, 1e-6, 1 - 1e-6))
    both = np.concatenate([points, -points])
    # Scaled so that the variance along every axis is one.
    return np.asarray(both / np.sqrt((both**2).mean(axis=0)))

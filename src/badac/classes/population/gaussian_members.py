"""Members as a population can be learned from: with Gaussian, independent errors.

Under noise that is not Gaussian (`as_gaussian`) the widths of the points (or the working values of counts,
`badac.latent.gaussian_approximation`) and the factor model are found in turn. The width that a point seems to have depends on
the factor model it was found with: what a missing factor would explain looks like bad points, is widened away, and is never
missed again. So the search begins with more factors than are wanted, from moments in which every point has the root mean
square of its widths (noisy, but without that bias), and the number of factors is chosen by the exact evidence of held-out
members, each with the widths it has under the factor model that is asked.

Correlated errors (`common_axes`) are independent in the axes ``U`` of the members' mean covariance, each point in units of its
scale ``s``, ``x = U' (y / s)``, and everything that is learned one point at a time holds there as it stands. What was
learned turns back: ``mean = s U mean'``, ``factors = s U factors'``. Of the variance that the factors leave, the part that all
axes have becomes ``psi = s^2 psi'``, since only that looks the same in all axes; what single axes have beyond it are factors
of their own. Covariances that differ between members keep their own variances along the common axes. Where points are missing
there are no common axes: the errors then count as independent while the class is learned, and as they are when an object is
asked about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from badac._kernels.eigen import eigh
from badac.classes.model import FloatArray
from badac.classes.population.rank import MAX_RANK, PATIENCE, choose_rank
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.gaussian_approximation import (
    gaussian_approximation,
    is_plain,
    latent_likelihood,
    with_noise_scale,
)
from badac.latent.moments import Spectrum
from badac.latent.shape import is_better
from badac.noise.model import LinkedNoise, Noise, ScaleMixture
from badac.training import TrainingScales

# Of widths and factors in turn, with EM steps between; of all members of a large class the last ones, which begin near the end.
_ROUNDS = 4
_LAST_ROUNDS = 1
_STEPS = 3
_MORE = 3  # factors than seem needed: bad points must not explain away those that are missing
_TO_BEGIN_WITH = 2400  # members, as many as the shape is chosen with
_WIDEST_START = 10.0  # times sigma: beyond, a width is rarer than one in a hundred


def as_gaussian(
    members: Measurements,
    noise: Noise,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    rank: int | None = None,
) -> tuple[Measurements, int]:
    """Return the members as Gaussian ones, and how many factors they need at least; 0 if that is still open.

    Parameters
    ----------
    members : Measurements
        (k, m)
    noise : Noise
        With all parameters known.
    scales : TrainingScales
    rng : numpy.random.Generator
    rank : int, optional
        Number of factors; by held-out evidence if not given.
    """
    if is_plain(noise):
        return with_noise_scale(members, noise), 0
    some = members
    if members.n_objects > _TO_BEGIN_WITH:
        some = members[np.sort(rng.choice(members.n_objects, _TO_BEGIN_WITH, replace=False))]
    if rank is None:
        factor, rank = choose_factors(some, noise, scales, rng)
    else:
        factor = begin(some, noise, scales, rank)
    squared = None
    if some is not members:
        factor, squared = _alternate(members, factor, noise, scales, _LAST_ROUNDS)
    return gaussian_approximation(members, factor, noise, start=squared).objects, rank


def choose_factors(
    members: Measurements, noise: Noise, scales: TrainingScales, rng: np.random.Generator
) -> tuple[Factor, int]:
    """Return a factor model with some factors more than needed, and how many are needed by held-out evidence."""
    n = members.n_objects
    held = rng.permutation(n) % 3 == 0 if n >= 6 else np.zeros(n, dtype=bool)
    known, unknown = members[~held], members[held]
    most = min(MAX_RANK, members.n_points - 1, known.n_objects // 3)
    # Only where to stop looking: the number of factors is chosen below.
    found = choose_rank(at_first(known, noise), scales, rng, once=True)[0]
    if most < 1 or not unknown.n_objects:
        return begin(members, noise, scales, found), found
    factor = begin(known, noise, scales, min(found + _MORE, most))
    directions = principal_directions(factor, typical_width(known, factor))
    chosen, best = 0, np.empty(0)
    for rank in range(factor.rank + 1):
        kept = factor.factors @ directions[:, : max(rank, 1)] * (rank > 0)
        evidence = latent_likelihood(
            unknown, Factor(factor.mean, kept, factor.psi), noise
        ).gaussian_log_evidence()
        if is_better(evidence, best):
            chosen, best = rank, evidence
        elif rank - chosen >= PATIENCE:
            break
    generous = max(min(chosen + 2, factor.rank), 1)
    factor = Factor(factor.mean, factor.factors @ directions[:, :generous], factor.psi)
    return alternate(members, factor, noise, scales, 1), chosen


def begin(members: Measurements, noise: Noise, scales: TrainingScales, rank: int) -> Factor:
    """Return a factor model of the given rank, from moments and a few rounds."""
    factor = Spectrum.of(at_first(members, noise), scales, rank).factor(rank)
    return alternate(members, factor, noise, scales, _ROUNDS)


def alternate(
    members: Measurements, factor: Factor, noise: Noise, scales: TrainingScales, rounds: int
) -> Factor:
    """Find the widths under the factor model and the factor model of these widths, in turn."""
    return _alternate(members, factor, noise, scales, rounds)[0]


def _alternate(
    members: Measurements, factor: Factor, noise: Noise, scales: TrainingScales, rounds: int
) -> tuple[Factor, FloatArray | None]:
    """As `alternate`, with the squared residuals (k, m) of the last round, where the next one may begin."""
    squared: FloatArray | None = None
    for _ in range(rounds):
        found = gaussian_approximation(members, factor, noise, start=squared)
        factor = expectation_maximisation(found.objects, factor, scales, max_steps=_STEPS)
        squared = found.squared
    return factor, squared


def at_first(members: Measurements, noise: Noise) -> Measurements:
    """Return the members as Gaussian ones before anything is known of them."""
    if isinstance(noise, LinkedNoise):
        return noise.first_guess(members)
    assert isinstance(noise, ScaleMixture)
    log_share, scale = noise.gaussian_scales()
    # Of a heavy tail only what a wrecked point shows: the widest widths are rarer than one in a hundred.
    wide = float(np.sqrt(np.exp(log_share) @ np.minimum(scale, _WIDEST_START) ** 2))
    return Measurements._trusted(members.values, members.sigma * wide, at=members.at)


def principal_directions(factor: Factor, width: FloatArray) -> FloatArray:
    """Return (r, r): a rotation of the latent space that orders the factors by size, points in units of their width (m,)."""
    return np.asarray(np.linalg.svd(factor.factors / width[:, None], full_matrices=False)[2].T)


def typical_width(members: Measurements, factor: Factor) -> FloatArray:
    """Return (m,): error bar and intra-class variability of the points together."""
    observed = members.observed
    precision = np.divide(1.0, factor.psi + members.sigma**2, out=np.zeros(members.shape), where=observed)
    mean = precision.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return np.asarray(1.0 / np.sqrt(np.where(mean > 0, mean, 1.0)))


_MOST_FACTORS = 12  # by cost: what more axes have beyond the common part stays in psi


@dataclass(frozen=True, eq=False)
class Axes:
    """Directions (m, m), one a column, in which errors are independent, and the scale (m,) of the points."""

    directions: FloatArray
    scale: FloatArray

    def turn(self, members: Measurements) -> Measurements:
        """Return the members along the axes, with independent errors."""
        values = (members.values / self.scale) @ self.directions
        covariance = members.covariance
        assert covariance is not None
        white = covariance / np.outer(self.scale, self.scale)
        variance = np.einsum("ja,...jk,ka->...a", self.directions, white, self.directions, optimize=True)
        return Measurements(values, np.sqrt(np.maximum(variance, 0.0)))

    def turn_scales(self, scales: TrainingScales) -> TrainingScales:
        centre = (scales.centre / self.scale) @ self.directions
        return replace(scales, centre=centre, scale=np.ones_like(self.scale), pooled=None)

    def turn_back(self, factor: Factor, density: LatentDensity) -> tuple[Factor, LatentDensity]:
        """Return what was learned along the axes, at the points."""
        back = self.scale[:, None] * self.directions
        common = float(np.median(factor.psi))
        more = np.maximum(factor.psi - common, 0.0)
        # A tenth more or less along an axis is not worth a factor.
        axes = np.argsort(-more)[:_MOST_FACTORS]
        axes = axes[more[axes] > 0.1 * common]
        extra = back[:, axes] * np.sqrt(more[axes])
        turned = Factor(back @ factor.mean, np.hstack([back @ factor.factors, extra]), common * self.scale**2)
        return turned, density.with_gaussian_dimensions(axes.size)


def common_axes(members: Measurements, scales: TrainingScales) -> Axes | None:
    """Axes of the members' mean covariance; None if their errors are independent or points are missing."""
    if members.covariance is None or not members.complete:
        return None
    covariance = members.covariance if members.covariance.ndim == 2 else members.covariance.mean(axis=0)
    return Axes(eigh(covariance / np.outer(scales.scale, scales.scale))[1], scales.scale)

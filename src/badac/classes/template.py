"""One curve for a class: the paper's template, its section on speed.

    mean = error^2 sum_i y_i / (sigma_i^2 + sigma_*^2),    error^2 = 1 / sum_i 1 / (sigma_i^2 + sigma_*^2)
    P(d | class) = prod_j N(d_j ; mean_j , sigma_dj^2 + error_j^2 + sigma_*j^2)

the inverse-variance mean with its own error, and the intra-class spread ``sigma_*`` that the paper adds for classes whose
members truly differ, learned at each point from what the members' errors do not explain. The simplest and fastest class model:
right when members differ by noise alone, or independently at each point. It is the rank-0 end of the population
(`badac.classes.population.population`) and the ``h = 1`` end of its bandwidths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import digamma, polygamma

from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.classes.moving import move_columns, nearest
from badac.classes.population.gaussian_members import as_gaussian
from badac.classes.population.rank import repeated
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.factor import Factor, shrinkage, with_prior_member
from badac.latent.gain_offset import GainOffset, curve_log_evidence
from badac.latent.gaussian_approximation import is_plain, latent_likelihood
from badac.latent.likelihood import log_determinant
from badac.latent.moments import population_variance, seen_clearly
from badac.noise.kinds import LATENT_NOISE, NoiseKind, with_covariance_of
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

# Members: of more, what leaving one out does to the spread is told well enough by one step.
_ONE_BY_ONE = 12


@registered(
    "class_model",
    "template",
    holds={"member_evidence": "may be -inf", "mean": "(m,)", "error": "(m,) >= 0", "width": "(m,) >= 0"},
)
@dataclass(frozen=True, eq=False)
class Template:
    """A class as one curve with an error band.

    Parameters
    ----------
    sigma_star : float, optional
        Intra-class standard deviation, the same at every point; learned at each point if not given. 0 is the paper's
        plain template.

    Attributes
    ----------
    mean, error, width : (m,)
        After `fit`: the template, its standard error and the intra-class standard deviation.
    member_evidence : (k,)
        Log evidence of each member under the template of the others, a learned sigma_* being that of the others too.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Template
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> members = Measurements(np.linspace(0, 1, 5) + 0.1 * rng.standard_normal((50, 5)), 0.1)
    >>> bool(np.allclose(Template().fit(members, Gaussian(), rng).mean, np.linspace(0, 1, 5), atol=0.06))
    True
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = LATENT_NOISE

    sigma_star: float | None = None
    mean: FloatArray | None = None
    error: FloatArray | None = None
    width: FloatArray | None = None
    member_evidence: FloatArray | None = None
    noise: Noise | None = None

    # New objects are compared with the class point by point: their coordinates must be those of the members.
    by_column: ClassVar[bool] = True

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        refuse_own_points(members, "Template")
        check_noise_taken(self, noise, members)
        # There are no factors here to learn what neighbours have in common: a covariance is used as it is.
        members = with_covariance_of(noise, members)
        scales = seen_clearly(TrainingScales.of(members) if scales is None else scales, members)
        gaussian = as_gaussian(members, noise, scales, rng, rank=0)[0]
        observed = gaussian.observed
        variance = np.where(observed, gaussian.sigma, 0.0) ** 2
        values = np.where(observed, gaussian.values, 0.0)
        if self.sigma_star is None:
            spread, own = spread_within(values, variance, observed, scales)
            spread = spread + repeated(gaussian, scales)
        else:
            spread, own = np.full(members.n_points, float(self.sigma_star) ** 2), np.zeros(members.n_points)
        # Exact members without any spread: as in a population, a hair's breadth keeps the density finite.
        spread = np.maximum(spread, 1e-12 * scales.scale**2)
        weight = observed / (variance + spread)
        mean, error = combine(weight.sum(axis=0), (weight * values).sum(axis=0), scales)
        left_mean, left_error = combine(
            weight.sum(axis=0) - weight, (weight * values).sum(axis=0) - weight * values, scales
        )
        left_spread = spread
        if self.sigma_star is None:
            few = members.n_objects <= _ONE_BY_ONE
            left_spread = (
                left_out_spread(values, variance, observed, scales)
                if few
                else left_out_spread_of_many(observed * (values - mean), weight, spread, own)
            )
        total = np.where(observed, variance + left_spread + left_error**2, np.inf)
        residual = np.where(observed, gaussian.values - left_mean, 0.0)
        precision = 1.0 / total
        evidence = -0.5 * ((precision * residual**2).sum(axis=1) + log_determinant(precision))
        factor = Factor(mean, np.zeros((members.n_points, 1)), spread + error**2)
        if members.covariance is not None:
            # The left-out mean as above, the object's own correlated errors as they are.
            evidence = -0.5 * factor.project(gaussian).offset
        elif not is_plain(noise):
            # The members' true noise, with what leaving one out costs a Gaussian member of the width that it seems to have.
            kept_in = -0.5 * factor.project(gaussian).offset
            evidence = -0.5 * latent_likelihood(members, factor, noise).offset + evidence - kept_in
        return replace(
            self,
            mean=mean,
            error=error,
            width=np.sqrt(spread),
            member_evidence=evidence if members.n_objects > 1 else np.array([-np.inf]),
            noise=noise,
        )

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.mean is not None and self.error is not None and self.width is not None, "fit first"
        factor = Factor(self.mean, np.zeros((self.mean.size, 1)), self.error**2 + self.width**2)
        objects = with_covariance_of(self.noise, objects)
        return np.asarray(-0.5 * latent_likelihood(objects, factor, self.noise, n_threads=n_threads).offset)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        del n_threads
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def moved(self, at: FloatArray, by: float) -> Self:
        if by == 0:
            return self
        assert self.mean is not None and self.error is not None and self.width is not None, "fit first"
        moved, missing = move_columns(self.mean[:, None], at, by)
        width = np.hypot(nearest(self.width, at, by), missing)
        return replace(self, mean=moved[:, 0], error=nearest(self.error, at, by), width=width)

    def columns(self) -> tuple[FloatArray, FloatArray]:
        assert self.mean is not None and self.width is not None, "fit first"
        return self.mean[:, None], self.width**2

    def calibrated_log_evidence(
        self, objects: Measurements, widths: GainOffset, *, n_threads: int = 1
    ) -> FloatArray:
        assert self.mean is not None and self.error is not None and self.width is not None, "fit first"
        objects = with_covariance_of(self.noise, objects)
        psi = self.error**2 + self.width**2
        return curve_log_evidence(objects, self.mean, psi, self.noise, widths, n_threads=n_threads)


def spread_within(
    values: FloatArray, variance: FloatArray, observed: BoolArray, scales: TrainingScales
) -> tuple[FloatArray, FloatArray]:
    """Variance (m,) within the class, from values (n, m) with noise variances (n, m), and how far (m,) a point tells it itself.

    Few members tell the spread of one point badly, and a point where they agree by chance would decide everything. The
    variances of the points, noise included and in units of all training objects', are moderated (Smyth 2004): their logarithms,
    whose bias and variance with n - 1 degrees of freedom are known, are drawn to their mean by how little they scatter beyond
    chance.
    """
    count = observed.sum(axis=0)
    spread = population_variance(values, variance, observed, scales)
    noise = (observed * variance).sum(axis=0) / np.maximum(count, 1)
    seen, unit = count > 1, scales.scale**2
    half = 0.5 * (count[seen] - 1)
    # A mean was learned from the same members: n / (n - 1).
    total = (spread + noise)[seen] * count[seen] / (2.0 * half)
    log_share = np.log(total / unit[seen]) - (digamma(half) - np.log(half))
    centre, kept = shrinkage(log_share, polygamma(1, half))
    moderated = np.exp(centre + kept * (log_share - centre)) * unit[seen]
    spread[seen] = np.maximum(moderated - noise[seen], 1e-3 * spread[seen])
    own = np.ones_like(spread)
    own[seen] = kept
    return with_prior_member(spread, count, scales), own


def left_out_spread(
    values: FloatArray, variance: FloatArray, observed: BoolArray, scales: TrainingScales
) -> FloatArray:
    """Variance (n, m) within the class as all members but one have it: each left out in turn, the definition."""
    n = len(values)
    left = np.empty(values.shape)
    for one in range(n):
        others = np.arange(n) != one
        left[one] = spread_within(values[others], variance[others], observed[others], scales)[0]
    return left


def left_out_spread_of_many(
    residual: FloatArray, weight: FloatArray, spread: FloatArray, own: FloatArray
) -> FloatArray:
    """The same (n, m) from residuals (n, m) from the mean of all, one Fisher step away from the spread (m,) of all.

    The spread is where the members' scores ``w^2 r^2 - w`` cancel, ``w = 1 / (variance + spread)``; the score of one is taken
    away, its residual enlarged by its share of the mean (leverage), as far as the point's own data tell the spread (`own`).
    """
    share = weight / np.maximum(weight.sum(axis=0), 1e-300)
    score = weight**2 * residual**2 / np.maximum(1.0 - share, 1e-3) - weight
    information = np.maximum((weight**2).sum(axis=0) - weight**2, 1e-300)
    return np.asarray(np.maximum(spread - own * score / information, 0.05 * spread))


def combine(
    weight: FloatArray, weighted_sum: FloatArray, scales: TrainingScales
) -> tuple[FloatArray, FloatArray]:
    """Inverse-variance mean and its error from sums of weights (..., m); all training objects where nobody measured."""
    # What is left of a sum after its only term left is rounding.
    seen = weight > 1e-9 * np.max(weight, initial=1e-300)
    safe = np.where(seen, weight, 1.0)
    mean = np.where(seen, weighted_sum / safe, scales.centre)
    return mean, np.where(seen, np.sqrt(1.0 / safe), scales.scale)

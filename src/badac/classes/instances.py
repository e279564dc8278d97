"""Exact BADAC: every member of the class is a curve, and the prior on the true values is flat.

    log P(d | class) = logsumexp_i sum_j log N(d_j ; y_ij , sigma_dj^2 + sigma_ij^2 + sigma_*^2) - log n

(paper eq. 7 and A-bhmfinalm in closed form). It makes no assumption about the population, so it needs members dense enough
that some curve is near every object; it counts the members' noise twice (in their scatter and in their width).
``sigma_*`` is the paper's intra-class standard deviation: 0 when errors are given, learned by leave-one-out evidence when
there are none, since exact curves have no width of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar

from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.classes.moving import move_objects
from badac.data.measurements import Measurements
from badac.data.validation import is_number
from badac.latent.gain_offset import GainOffset, curves_log_evidence
from badac.noise.gaussian import with_one_width
from badac.noise.kinds import ANY_NOISE, NoiseKind, kind_of
from badac.noise.matches import log_mixture
from badac.noise.model import Noise, needs_sigma
from badac.registry import registered
from badac.training import TrainingScales, point_moments

_MEMBERS_TO_LEARN_FROM = 500  # by cost: one width is all that they have to tell


@registered("class_model", "instances")
@dataclass(frozen=True, eq=False)
class Instances:
    """The paper's class model: the members themselves, with a flat prior.

    Parameters
    ----------
    sigma_star : float or "learn", optional
        Intra-class standard deviation added to every curve. By default 0 for members with errors; without errors, or with
        "learn", a multiple of each point's spread, chosen by leave-one-out evidence.

    Attributes
    ----------
    curves : Measurements
        (k, m), after `fit`: the members with gaps filled by the class's own mean and spread at the point, sigma_star
        included in sigma.
    width : (m,)
        After `fit`: sigma_star at each point.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Instances
    >>> from badac.noise import Gaussian
    >>> members = Measurements([[0.0, 1.0], [0.1, 0.9]], 0.1)
    >>> model = Instances().fit(members, Gaussian(), np.random.default_rng(0))
    >>> near, far = model.log_evidence(Measurements([[0.0, 1.0], [1.0, 0.0]], 0.1))
    >>> bool(near > far)
    True
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = ANY_NOISE

    sigma_star: float | str | None = None
    curves: Measurements | None = None
    noise: Noise | None = None
    width: FloatArray | None = None
    own: Measurements | None = None

    # New objects are compared with the class point by point: their coordinates must be those of the members.
    by_column: ClassVar[bool] = True
    # The paper's equation: its evidence is not tempered by what left-out members ask for.
    exact: ClassVar[bool] = True

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        refuse_own_points(members, "Instances")
        check_noise_taken(self, noise, members)
        star = self.sigma_star
        if star not in (None, "learn") and not (is_number(star) and 0 <= float(star) < np.inf):
            raise ValueError(
                f"`sigma_star` of Instances must be a standard deviation >= 0, 'learn' or None: got {star!r}."
            )
        scales = TrainingScales.of(members) if scales is None else scales
        filled = fill_gaps(members, scales)
        learn = self.sigma_star == "learn" or (
            self.sigma_star is None and not members.has_errors and needs_sigma(noise)
        )
        if learn:
            width = learn_width(members, filled, noise, rng, scales)
        else:
            width = np.full(members.n_points, 0.0 if self.sigma_star is None else float(self.sigma_star))
        # The gaps stay in `own`: a member that is left out is an object like any other, and its gaps drop out.
        return replace(self, curves=widen(filled, width), noise=noise, width=width, own=members)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.noise is not None and self.curves is not None, "fit first"
        return log_mixture(self.noise, objects, self.curves, n_threads=n_threads)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.noise is not None and self.curves is not None and self.own is not None, "fit first"
        return leave_one_out(self.own, self.curves, self.noise, n_threads=n_threads)

    def moved(self, at: FloatArray, by: float) -> Self:
        """Move every curve; beyond the ends it is a gap, which the class fills with its own mean and spread."""
        if by == 0:
            return self
        assert self.curves is not None, "fit first"
        moved = move_objects(self.curves, at, by)
        return replace(self, curves=fill_gaps(moved, TrainingScales.of(self.curves)))

    def columns(self) -> tuple[FloatArray, FloatArray]:
        assert self.curves is not None, "fit first"
        mean = self.curves.values.mean(axis=0)
        return mean[:, None], (self.curves.sigma**2).mean(axis=0)

    def calibrated_log_evidence(
        self, objects: Measurements, widths: GainOffset, *, n_threads: int = 1
    ) -> FloatArray | None:
        assert self.noise is not None and self.curves is not None, "fit first"
        if kind_of(self.noise) is not NoiseKind.GAUSSIAN:
            return None
        scaled, curves = (with_one_width(side, self.noise) for side in (objects, self.curves))
        if scaled.covariance is not None or curves.covariance is not None:
            return None
        return curves_log_evidence(scaled, curves, widths, n_threads=n_threads)


def leave_one_out(
    members: Measurements, curves: Measurements, noise: Noise, *, n_threads: int = 1
) -> FloatArray:
    """Return (k,): the log evidence of each member under the curves of the others; -inf for an only member."""
    k = members.n_objects
    if k == 1:
        return np.array([-np.inf])
    return log_mixture(
        noise,
        members,
        curves,
        log_weights=np.full(k, -np.log(k - 1.0)),
        skip=np.arange(k),
        n_threads=n_threads,
    )


def widen(curves: Measurements, width: FloatArray) -> Measurements:
    """Add the intra-class variance to every curve's errors."""
    if not width.any():
        return curves
    curves.refuse_counts()
    if curves.covariance is not None:
        return curves.replaced(curves.values, covariance=curves.covariance + np.diag(width**2))
    return curves._changed(sigma=np.hypot(curves.sigma, width))


def fill_gaps(members: Measurements, scales: TrainingScales) -> Measurements:
    """Give a member at its missing points the class's own mean and spread there.

    Dropping the point instead would give the curve a bonus over complete ones: it would be forgiven every mismatch. Where
    no member of the class observed the point, all training objects stand in, alike for every class.
    """
    if members.complete:
        return members
    observed = members.observed
    count = observed.sum(axis=0)
    safe = np.maximum(count, 1)
    mean = np.where(count > 0, np.nansum(members.values, axis=0) / safe, scales.centre)
    scatter = np.nansum((members.values - mean) ** 2, axis=0) / np.maximum(count - 1, 1)
    noise_variance = np.where(observed, members.sigma, 0.0) ** 2
    intrinsic = np.maximum(scatter - noise_variance.sum(axis=0) / safe, 0.0)
    # The mean itself is known to its standard error; with one observation only, all training objects give the spread.
    spread = np.sqrt(np.where(count > 1, intrinsic + np.maximum(scatter, 0.0) / safe, scales.scale**2))
    spread = np.where(spread > 0, spread, scales.scale * 1e-3)
    if members.counted:
        # Beside the mean of the counts stands the mean of their exposures.
        exposure = np.divide(1.0, members.sigma)
        each = np.where(count > 0, exposure.sum(axis=0) / safe, exposure.sum() / max(int(count.sum()), 1))
        spread = np.divide(1.0, each, out=np.full(each.shape, np.inf), where=each > 0)
    values = np.where(observed, members.values, mean)
    if members.covariance is not None:
        full = np.broadcast_to(members.covariance, (*members.shape, members.n_points)).copy()
        for row in range(members.n_objects):
            gap = np.flatnonzero(~observed[row])
            full[row, gap, :] = 0.0
            full[row, :, gap] = 0.0
            full[row, gap, gap] = spread[gap] ** 2
        return members.replaced(values, covariance=full)
    return members._changed(values=values, sigma=np.where(observed, members.sigma, spread))


def learn_width(
    members: Measurements,
    filled: Measurements,
    noise: Noise,
    rng: np.random.Generator,
    scales: TrainingScales,
) -> FloatArray:
    """Choose sigma_* = h x spread of the point, with h by the leave-one-out evidence of (at most 500) members."""
    _, spread, _ = point_moments(members)
    # A point at which all members agree has no spread of its own: a tenth of what all objects show there.
    spread = np.where(spread > 1e-6 * scales.scale, spread, 0.1 * scales.scale)
    k = members.n_objects
    if k < 2:
        return spread
    picked = np.arange(k)
    if k > _MEMBERS_TO_LEARN_FROM:
        picked = np.sort(rng.choice(k, _MEMBERS_TO_LEARN_FROM, replace=False))
    objects, curves = members[picked], filled[picked]

    def loss(log_h: float) -> float:
        width = np.exp(log_h) * spread
        evidence = leave_one_out(objects, widen(curves, width), noise)
        # Members far from all others must not decide the width alone: nor may exact twins, at -inf or +inf.
        return -float(np.clip(evidence, -1e6, 1e6).sum())

    found = minimize_scalar(
        loss, bounds=(np.log(1e-3), np.log(3.0)), method="bounded", options={"xatol": 0.05}
    )
    # Fewer members were compared than there are: the width that suits k members is narrower by the usual rate.
    shrink = (len(picked) / k) ** (1.0 / (4.0 + min(members.n_points, 10)))
    return np.asarray(np.exp(found.x) * shrink * spread)

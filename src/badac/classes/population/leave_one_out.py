"""Leave-one-out evidence of a population's members, without learning the population once per member.

A small class is learned again without each of five parts of its members, the choices (rank, smoothness, shape) kept. In a
large one a member moves the class so little that the first order is enough: its own share leaves the components'
weights, means and covariances, and its pull on mean and factors (its leverage in each point's regression) is taken out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from badac._kernels import latent_left_out, latent_step
from badac._kernels.latent import GROUP, triangle, unpack
from badac.classes.model import FloatArray
from badac.classes.population.gross_outliers import without
from badac.classes.population.plan import Plan
from badac.classes.population.tails import Tails
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.factor import Factor
from badac.latent.kernel_density import KernelDensity
from badac.latent.likelihood import LatentLikelihood, blocks, products, project, weighted_residuals
from badac.latent.mixture import SHARE, Mixture, logsumexp_rows
from badac.training import TrainingScales

_FOLDS = 5
_SMALL = 400
_TO_WEIGH_WITH = 1000

Learn = Callable[
    [Measurements, TrainingScales, Plan, np.random.Generator], tuple[Factor, Mixture | KernelDensity]
]


def leave_out_evidence(
    members: Measurements,
    scales: TrainingScales,
    plan: Plan,
    factor: Factor,
    density: Mixture | KernelDensity,
    rng: np.random.Generator,
    learn: Learn,
    *,
    refit: bool = False,
    outliers: BoolArray | None = None,
    widest: TrainingScales | None = None,
) -> tuple[FloatArray, Tails]:
    """Evidence of each member under the class learned from others, and the widths that this evidence asks for.

    `refit` learns the class again without each part of the members, however large it is. Values that are `wild`
    (`badac.classes.population.gross_outliers`) are not learned from, but asked about; the widths are then those of `widest`.

    Returns
    -------
    evidence : (k,)
        -inf for an only member.
    tails : Tails
    """
    n = members.n_objects
    if n == 1:
        return np.array([-np.inf]), Tails.none(members.n_points)
    every = Tails.all(scales if widest is None else widest)
    trusted = without(members, outliers)
    if n > _SMALL and not refit:
        some = (
            members[np.sort(rng.choice(n, _TO_WEIGH_WITH, replace=False))] if n > _TO_WEIGH_WITH else members
        )
        tails = every.screened().weighted(every.screened().log_evidence_by_width(some, factor, density))
        if len(tails.weights) > 1 or outliers is not None:
            by_width = every.log_evidence_by_width(some, factor, density)
            tails = every.weighted(by_width, keep_widest=outliers is not None)
        latent = project(members, factor.mean, factor.factors, factor.psi)
        if isinstance(density, Mixture):
            own = without_own_share(latent, density)
        else:
            own = without_own_curve(latent, density)
        if len(tails.weights) > 1:
            wider = Tails(tails.variances[1:], tails.weights[1:])
            widths = np.column_stack([own, wider.log_evidence_by_width(members, factor, density)])
            own = tails.combine(widths)
        if outliers is not None:
            latent = project(trusted, factor.mean, factor.factors, factor.psi)
        return np.asarray(own - leverage_loss(trusted, factor, latent)), tails
    widths = np.empty((n, len(every.weights)))
    fold = rng.permutation(n) % min(_FOLDS, n)
    for which in range(int(fold.max()) + 1):
        refitted, shape = learn(trusted[fold != which], scales, plan, rng)
        widths[fold == which] = every.log_evidence_by_width(members[fold == which], refitted, shape)
    tails = every.weighted(widths, keep_widest=outliers is not None)
    kept = np.isin(every.variances[:, 0], tails.variances[:, 0])
    return tails.combine(widths[:, kept]), tails


def without_own_curve(latent: LatentLikelihood, density: KernelDensity) -> FloatArray:
    """Evidence (n,) of members with each one's own curve left out; all are curves unless there are thousands."""
    if len(density.positions) != len(latent):
        return density.log_evidence(latent)
    widths = density.log_evidence_by_bandwidth(latent, skip=np.arange(len(latent), dtype=np.int64))
    with np.errstate(divide="ignore"):
        return logsumexp_rows(widths + np.log(density.weights))


def without_own_share(latent: LatentLikelihood, density: Mixture) -> FloatArray:
    """Evidence (n,) of members under the mixture with each member's own share of the components removed.

    To first order in the share ``R / N`` of a member in a component: its weight loses ``R``, its mean moves away by
    ``R (m - v) / N``, its covariance by ``R (D - T) / N`` with ``D`` the member's expected scatter.
    """
    n = len(latent)
    components = density.components()
    near = np.ones((-(-n // GROUP), len(density)), dtype=np.bool_)
    count = latent_step(latent.precision, latent.shift, components, near, threshold=SHARE)[1][0]
    left = latent_left_out(
        latent.precision, latent.shift, components, density.means, np.maximum(count, 1e-12)
    )
    return np.asarray(left + np.log(n / (n - 1.0)) - 0.5 * latent.offset)


def leverage_loss(members: Measurements, factor: Factor, latent: LatentLikelihood) -> FloatArray:
    """Evidence (n,) that each member owes to its own part in the estimates of mean and factors.

    In the regression of point ``j`` on ``(1, z)`` member ``i`` has the leverage ``l_ij``; left out, its residual there
    grows by ``1 / (1 - l_ij)``.
    """
    if members.covariance is not None:
        return np.zeros(len(latent))
    r = latent.rank + 1
    normal = np.zeros((members.n_points, r * (r + 1) // 2))
    augmented = np.ones((len(latent), r))
    for block in blocks(members):
        augmented[block, 1:] = latent[block].position
        weight = weighted_residuals(members[block], factor.mean, factor.psi)[0]
        normal += weight.T @ products(augmented[block])
    scale = np.maximum(normal[:, :1, None], 1e-300)
    inverse = np.linalg.inv(unpack(normal) + 1e-6 * scale * np.eye(r))
    rows, columns = triangle(r)
    folded = inverse[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)
    out = np.empty(len(latent))
    for block in blocks(members):
        weight, scaled, _ = weighted_residuals(members[block], factor.mean, factor.psi)
        left = scaled - weight * (augmented[block, 1:] @ factor.factors.T)
        leverages = np.clip(weight * (products(augmented[block]) @ folded.T), 0.0, 0.7)
        growth = 1.0 / (1.0 - leverages) ** 2 - 1.0
        growth = np.divide(growth, weight, out=growth, where=weight > 0)
        out[block] = 0.5 * np.einsum("ij,ij,ij->i", left, left, growth)
    return out

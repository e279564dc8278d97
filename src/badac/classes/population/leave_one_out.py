"""Leave-one-out evidence of a population's members, without learning the population once per member.

A small class is learned again without each of five parts of its members, the choices (rank, smoothness, shape) kept; of three
parts, where they are many (`badac.classes.population.rank.parts_of`). What was learned from a share ``f`` of n members lacks
``a / (f n)`` nats of what there is to learn of an object that it has not seen, and has as many too much of one that it has
learned from (Akaike 1973). So of members that it had not seen the class of all n members would say

    left out + (1 - f) / (1 + f) (learned from - left out)

with the median over the members of what stands in the second brackets. In hundreds of columns the parts alone say some nats too
few, and a posterior that is calibrated by them is less sure than it could be.

In a large class a member moves it so little that the first order is enough: its own share leaves the components'
weights, means and covariances (`badac.latent.density.LatentDensity.leave_one_out`), and its leverage in each point's regression
on mean and factors is taken out (Cook & Weisberg 1982).
"""

from __future__ import annotations

import numpy as np

from badac._kernels import leverage_losses
from badac.classes.model import FloatArray
from badac.classes.population.gross_outliers import without
from badac.classes.population.learn import Learned, learn
from badac.classes.population.rank import parts_of
from badac.classes.population.tails import Tails
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.factor import Factor
from badac.latent.likelihood import LatentLikelihood
from badac.training import TrainingScales

# Members up to which the class is learned again without each of its parts; above, a member's part in it is below one in
# 400, and first order is enough (tests/classes/test_population.py compares it with new objects).
_SMALL = 400
_TO_WEIGH_WITH = 1000  # members: they tell a share of one in a hundred to a third of itself


def leave_one_out(
    members: Measurements,
    learned: Learned,
    rng: np.random.Generator,
    *,
    refit: bool = False,
    outliers: BoolArray | None = None,
    widest: TrainingScales | None = None,
) -> tuple[FloatArray, Tails]:
    """Evidence of each member under the class learned from others, and the widths that this evidence asks for.

    Parameters
    ----------
    members : Measurements
        (k, m)
    learned : Learned
        From all of them.
    rng : numpy.random.Generator
    refit : bool
        Learn the class again without each part of the members, however large it is, and take what the parts say: members that
        stand for counts were found with all of them, and their evidence is too good as it is.
    outliers : (k, m) bool, optional
        Gross outliers (`badac.classes.population.gross_outliers`): not learned from, but asked about.
    widest : TrainingScales, optional
        With the gross outliers included, for the widths; those of `learned` if not given.

    Returns
    -------
    evidence : (k,)
        -inf for an only member.
    tails : Tails
    """
    n = members.n_objects
    if n == 1:
        return np.array([-np.inf]), Tails.none(members.n_points)
    every = Tails.all(learned.scales if widest is None else widest)
    if n > _SMALL and not refit:
        return _to_first_order(members, learned, every, rng, outliers)
    trusted = without(members, outliers)
    # Of counts a part less makes up for what stands for them being found with all (cells of `benchmarks/default.py`, seeds 500
    # to 509: log-loss -.021 +- .013 at 2 %, +.000 +- .003 at 5 %, +.000 +- .001 at 20 %).
    fold = rng.permutation(n) % parts_of(members, few=refit)
    parts = [fold == which for which in range(int(fold.max()) + 1)]
    without_part = [
        learn(trusted[~held], learned.scales, learned.plan, rng, like=learned.density) for held in parts
    ]

    def ask(tails: Tails) -> FloatArray:
        out = np.empty((n, len(tails.weights)))
        for held, rest in zip(parts, without_part, strict=True):
            out[held] = tails.log_evidence_by_width(members[held], rest.factor, rest.density)
        return out

    tails, evidence = every.left_out(ask, keep_widest=outliers is not None, keep_first=not refit)
    left_out = tails.combine(evidence)
    if refit:
        return left_out, tails
    share = 1.0 - 1.0 / len(parts)
    seen = _with_wider(
        learned.density.leave_one_out(learned.factor.project(members)), tails, members, learned
    )
    lacking = max(float(np.median(seen - left_out)), 0.0)
    return left_out + (1.0 - share) / (1.0 + share) * lacking, tails


def _with_wider(own: FloatArray, tails: Tails, members: Measurements, learned: Learned) -> FloatArray:
    """Evidence (k,) of members under all widths, from that under none."""
    if len(tails.weights) == 1:
        return own
    wider = Tails(tails.variances[1:], tails.weights[1:])
    return tails.combine(
        np.column_stack([own, wider.log_evidence_by_width(members, learned.factor, learned.density)])
    )


def _to_first_order(
    members: Measurements,
    learned: Learned,
    every: Tails,
    rng: np.random.Generator,
    outliers: BoolArray | None,
) -> tuple[FloatArray, Tails]:
    """As `leave_one_out`, of a large class: own share out of the density, own leverage out of mean and factors."""
    n, factor, density = members.n_objects, learned.factor, learned.density
    some = members[np.sort(rng.choice(n, _TO_WEIGH_WITH, replace=False))] if n > _TO_WEIGH_WITH else members
    tails = every.screened().weighted(every.screened().log_evidence_by_width(some, factor, density))
    if len(tails.weights) > 1 or outliers is not None:
        by_width = every.log_evidence_by_width(some, factor, density)
        tails = every.weighted(by_width, keep_widest=outliers is not None)
    latent = factor.project(members)
    own = _with_wider(density.leave_one_out(latent), tails, members, learned)
    trusted = without(members, outliers)
    if outliers is not None:
        latent = factor.project(trusted)
    return np.asarray(own - leverage_loss(trusted, factor, latent)), tails


def leverage_loss(members: Measurements, factor: Factor, latent: LatentLikelihood) -> FloatArray:
    """Evidence (n,) that each member owes to its own part in the estimates of mean and factors.

    In the regression of point ``j`` on ``(1, z)`` member ``i`` has the leverage ``l_ij``; left out, its residual there
    grows by ``1 / (1 - l_ij)``.
    """
    if members.covariance is not None:
        return np.zeros(len(latent))
    return leverage_losses(
        members.values, members.sigma, factor.mean, factor.psi, factor.factors, latent.position
    )

"""The compiled core as a backend: the same numbers as the definitions, much faster.

Threads do not change a bit of any kernel, and all of them hear Ctrl-C. Twin: the functions of `NUMPY`. Tolerances: where each
kind of kernel is (`compiled_pairs`, `compiled_latent` and others).

The environment variable ``BADAC_SIMD`` (``baseline``, ``avx2``, ``avx512``) forces an instruction set, for tests.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels import compiled_counts as counts
from badac._kernels import compiled_factor as factor
from badac._kernels import compiled_groups as groups
from badac._kernels import compiled_hypotheses as hypotheses
from badac._kernels import compiled_latent as latent
from badac._kernels import compiled_low_rank as low_rank
from badac._kernels import compiled_pairs as pairs
from badac._kernels import compiled_points as points
from badac._kernels import compiled_rows as rows
from badac._kernels import compiled_single as single
from badac._kernels import compiled_trees as trees
from badac._kernels import compiled_widths as widths
from badac._kernels.arguments import FloatArray
from badac._kernels.backends import Backend
from badac._kernels.compiled_calls import how
from badac._kernels.moments import WeightedMoments
from badac._kernels.pointwise import PointMixtures


def levels() -> list[str]:
    """Instruction sets that this build has and this machine can run, best first."""
    return [str(name) for name in _core.levels()]


def multiply_add_ns() -> float:
    """Nanoseconds per double of a vector multiply-add on one thread: the machine's arithmetic limit, measured."""
    return float(_core.multiply_add_ns(how(1)["level"]))


def pointwise_logsumexp(
    values: FloatArray, variance: FloatArray, mixtures: PointMixtures, *, n_threads: int = 1
) -> FloatArray:
    out = np.empty(len(values))
    own, y, u, log_weights = map(np.ascontiguousarray, (variance, *mixtures))
    _core.pointwise_logsumexp(out, np.ascontiguousarray(values), own, y, u, log_weights, **how(n_threads))
    return out


def population_variance(
    values: FloatArray,
    variance: FloatArray,
    least: FloatArray,
    steps: int,
    *,
    n_threads: int = 1,
) -> FloatArray:
    out = np.empty(values.shape[1])
    arrays = map(np.ascontiguousarray, (values, variance, least))
    _core.population_variance(out, *arrays, steps=steps, **how(n_threads, 12.0 * steps * values.size))
    return out


def weighted_moments(
    values: FloatArray, sigma: FloatArray, spread: FloatArray, *, n_threads: int = 1
) -> WeightedMoments:
    n, m = values.shape
    found = WeightedMoments(np.empty(m), np.empty(m), np.empty(m), np.empty((m, m)), np.empty((m, m)))
    arrays = map(np.ascontiguousarray, (values, sigma, spread))
    _core.weighted_moments(*found, *arrays, **how(n_threads, n * m * (m + 16.0)))
    return found


COMPILED = Backend(
    name="compiled",
    pair_log_match=pairs.pair_log_match,
    pair_logsumexp=pairs.pair_logsumexp,
    pair_best=pairs.pair_best,
    mixture_logsumexp=pairs.mixture_logsumexp,
    latent_log_match=latent.latent_log_match,
    latent_log_evidence=latent.latent_log_evidence,
    latent_responsible=latent.latent_responsible,
    latent_moments=latent.latent_moments,
    latent_posterior=latent.latent_posterior,
    latent_step=latent.latent_step,
    latent_improved=latent.latent_improved,
    latent_left_out=latent.latent_left_out,
    latent_draws=widths.latent_draws,
    weigh_points=latent.weigh_points,
    factor_project=factor.factor_project,
    factor_sums=factor.factor_sums,
    row_products=factor.row_products,
    leverage_losses=factor.leverage_losses,
    grouped_points=points.grouped_points,
    points_likelihood=points.points_likelihood,
    shifted_evidence=points.shifted_evidence,
    curve_rows=low_rank.curve_rows,
    cosine_rows=low_rank.cosine_rows,
    bump_rows=low_rank.bump_rows,
    low_rank_offset=low_rank.low_rank_offset,
    low_rank_filtered=low_rank.low_rank_filtered,
    low_rank_gain=low_rank.low_rank_gain,
    pointwise_logsumexp=pointwise_logsumexp,
    curves_log_sums=single.curves_log_sums,
    points_log_sums=single.points_log_sums,
    latent_without=hypotheses.latent_without,
    curve_log_evidence=hypotheses.curve_log_evidence,
    bump_ratios=hypotheses.bump_ratios,
    bump_average=hypotheses.bump_average,
    widths_log_likelihood=widths.widths_log_likelihood,
    widths_posterior=widths.widths_posterior,
    poisson_log_likelihood=counts.poisson_log_likelihood,
    poisson_posterior=counts.poisson_posterior,
    population_variance=population_variance,
    weighted_moments=weighted_moments,
    k_means=groups.k_means,
    spread_out=groups.spread_out,
    grow_trees=trees.grow_trees,
    walk_trees=trees.walk_trees,
    row_log_sums=rows.row_log_sums,
    stacked_losses=rows.stacked_losses,
)

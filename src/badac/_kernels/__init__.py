"""Arrays in, arrays out: the kernels, and the one place that chooses who computes them.

A `Backend` holds every kernel. `NUMPY` is the definition, slow and clear; `COMPILED` is the core, None where it was not built
or where the environment variable ``BADAC_KERNELS`` is ``reference``. ``badac._kernels.backend`` is the one in use: the core,
else the definition. `using` puts another in its place for a while. The functions here call the kernel of the same name of
that backend; what each computes is told where it is defined (`pairs`, `mixture`, `latent`, `factor`, `points`, `low_rank`,
`pointwise`, `single`, `hypotheses`, `widths`, `draws`, `counts`, `spread`, `moments`, `groups`, `trees`,
`rows`). All take `n_threads`, and no result depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from badac._kernels import counts as _counts
from badac._kernels import draws as _draws
from badac._kernels import factor as _factor
from badac._kernels import groups as _groups
from badac._kernels import hypotheses as _hypotheses
from badac._kernels import latent as _latent
from badac._kernels import low_rank as _low_rank
from badac._kernels import mixture as _mixture
from badac._kernels import moments as _moments
from badac._kernels import pairs as _pairs
from badac._kernels import points as _points
from badac._kernels import pointwise as _pointwise
from badac._kernels import rows as _rows
from badac._kernels import shape_rows as _shape_rows
from badac._kernels import single as _single
from badac._kernels import spread as _spread
from badac._kernels import trees as _trees
from badac._kernels import widths as _widths
from badac._kernels.arguments import FloatArray, IntArray, Pairs
from badac._kernels.backends import NUMPY, Backend

__all__ = [
    "COMPILED",
    "NUMPY",
    "Backend",
    "FloatArray",
    "IntArray",
    "Pairs",
    "backend",
    "bump_average",
    "bump_ratios",
    "bump_rows",
    "cosine_rows",
    "curve_log_evidence",
    "curve_rows",
    "curves_log_sums",
    "factor_project",
    "factor_sums",
    "grouped_points",
    "grow_trees",
    "k_means",
    "latent_draws",
    "latent_improved",
    "latent_left_out",
    "latent_log_evidence",
    "latent_log_match",
    "latent_moments",
    "latent_posterior",
    "latent_responsible",
    "latent_step",
    "latent_without",
    "leverage_losses",
    "low_rank_filtered",
    "low_rank_gain",
    "low_rank_offset",
    "mixture_logsumexp",
    "pair_best",
    "pair_log_match",
    "pair_logsumexp",
    "points_likelihood",
    "points_log_sums",
    "pointwise_logsumexp",
    "poisson_log_likelihood",
    "poisson_posterior",
    "population_variance",
    "row_log_sums",
    "row_products",
    "shifted_evidence",
    "spread_out",
    "stacked_losses",
    "using",
    "walk_trees",
    "weigh_points",
    "weighted_moments",
    "widths_log_likelihood",
    "widths_posterior",
]


def _compiled_if_wanted() -> Backend | None:
    choice = os.environ.get("BADAC_KERNELS", "compiled")
    if choice not in ("compiled", "reference"):
        raise ValueError(
            f"BADAC_KERNELS must be 'compiled' or 'reference': got {choice!r}. Unset it for the default."
        )
    if choice == "reference":
        return None
    try:
        from badac._kernels import _core  # noqa: F401
    except ImportError:
        return None
    # Outside of the clause: a fault of ours must not look like a core that was not built.
    from badac._kernels.compiled import COMPILED

    return COMPILED


COMPILED = _compiled_if_wanted()
backend = NUMPY if COMPILED is None else COMPILED


@contextmanager
def using(other: Backend) -> Iterator[Backend]:
    """Let another backend compute, on all threads of this process, until the block ends."""
    global backend
    before, backend = backend, other
    try:
        yield other
    finally:
        backend = before


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _dispatched(definition: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the kernel of this name of whichever backend is in use, as it is defined."""
    name = definition.__name__

    @wraps(definition)
    def kernel(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        found: Callable[_P, _R] = getattr(backend, name)
        return found(*args, **kwargs)

    return kernel


pair_log_match = _dispatched(_pairs.pair_log_match)
pair_logsumexp = _dispatched(_pairs.pair_logsumexp)
pair_best = _dispatched(_pairs.pair_best)
mixture_logsumexp = _dispatched(_mixture.mixture_logsumexp)
latent_log_match = _dispatched(_latent.latent_log_match)
latent_log_evidence = _dispatched(_latent.latent_log_evidence)
latent_responsible = _dispatched(_latent.latent_responsible)
latent_moments = _dispatched(_latent.latent_moments)
latent_posterior = _dispatched(_latent.latent_posterior)
latent_step = _dispatched(_latent.latent_step)
latent_improved = _dispatched(_latent.latent_improved)
latent_left_out = _dispatched(_latent.latent_left_out)
latent_draws = _dispatched(_draws.latent_draws)
weigh_points = _dispatched(_latent.weigh_points)
factor_project = _dispatched(_factor.factor_project)
factor_sums = _dispatched(_factor.factor_sums)
row_products = _dispatched(_factor.row_products)
leverage_losses = _dispatched(_factor.leverage_losses)
grouped_points = _dispatched(_points.grouped_points)
points_likelihood = _dispatched(_points.points_likelihood)
shifted_evidence = _dispatched(_points.shifted_evidence)
curve_rows = _dispatched(_low_rank.curve_rows)
cosine_rows = _dispatched(_shape_rows.cosine_rows)
bump_rows = _dispatched(_shape_rows.bump_rows)
low_rank_offset = _dispatched(_low_rank.low_rank_offset)
low_rank_filtered = _dispatched(_low_rank.low_rank_filtered)
low_rank_gain = _dispatched(_low_rank.low_rank_gain)
pointwise_logsumexp = _dispatched(_pointwise.pointwise_logsumexp)
curves_log_sums = _dispatched(_single.curves_log_sums)
points_log_sums = _dispatched(_single.points_log_sums)
latent_without = _dispatched(_hypotheses.latent_without)
curve_log_evidence = _dispatched(_hypotheses.curve_log_evidence)
bump_ratios = _dispatched(_hypotheses.bump_ratios)
bump_average = _dispatched(_hypotheses.bump_average)
widths_log_likelihood = _dispatched(_widths.widths_log_likelihood)
widths_posterior = _dispatched(_widths.widths_posterior)
poisson_log_likelihood = _dispatched(_counts.poisson_log_likelihood)
poisson_posterior = _dispatched(_counts.poisson_posterior)
population_variance = _dispatched(_spread.population_variance)
k_means = _dispatched(_groups.k_means)
spread_out = _dispatched(_groups.spread_out)
weighted_moments = _dispatched(_moments.weighted_moments)
grow_trees = _dispatched(_trees.grow_trees)
walk_trees = _dispatched(_trees.walk_trees)
row_log_sums = _dispatched(_rows.row_log_sums)
stacked_losses = _dispatched(_rows.stacked_losses)

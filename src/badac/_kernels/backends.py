"""A backend: one implementation of every kernel.

`Backend` names the kernels, their signatures and their definitions. `NUMPY` holds nothing but the definitions; every other
backend is held to them by the table in ``tests/_kernels/kernel_cases.py``. A backend that is faster at some kernels, or only
watches them, names these:

    MINE = Backend("mine", weigh_points=my_weigh_points)
    with badac._kernels.using(MINE):
        BADACClassifier().fit(X, y)

Every kernel takes `n_threads`, and no result depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from badac._kernels import (
    counts,
    draws,
    factor,
    groups,
    hypotheses,
    latent,
    low_rank,
    mixture,
    moments,
    pairs,
    points,
    pointwise,
    rows,
    shape_rows,
    single,
    spread,
    trees,
    widths,
)
from badac._kernels.arguments import FloatArray, IntArray, Pairs
from badac._kernels.counts import CountedPoints, LaplaceSteps, Quadrature
from badac._kernels.factor import Likelihoods, PosteriorSums
from badac._kernels.groups import Groups
from badac._kernels.hypotheses import Features, Filtering, GridPoints, Layout, Sizes
from badac._kernels.latent import Components, Gaussians, Near, Sums
from badac._kernels.low_rank import Columns, LowRankPoints
from badac._kernels.moments import WeightedMoments
from badac._kernels.points import Curves, GroupedPoints
from badac._kernels.pointwise import PointMixtures
from badac._kernels.rows import Losses
from badac._kernels.single import ClassCurves, ClassMixtures
from badac._kernels.stretches import Stretches
from badac._kernels.trees import BoolArray, Growth, Nodes, SingleArray
from badac._kernels.widths import WidePoints


class OfPairs(Protocol):
    def __call__(self, pairs: Pairs, *, n_threads: int = 1) -> FloatArray: ...


class BestOfPairs(Protocol):
    def __call__(self, pairs: Pairs, *, n_threads: int = 1) -> IntArray: ...


class OfWidePairs(Protocol):
    def __call__(
        self, pairs: Pairs, log_share: FloatArray, scale: FloatArray, *, n_threads: int = 1
    ) -> FloatArray: ...


class OfComponents(Protocol):
    def __call__(
        self, precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
    ) -> FloatArray: ...


class Responsible(Protocol):
    def __call__(
        self,
        precision: FloatArray,
        shift: FloatArray,
        components: Components,
        count: int,
        *,
        n_threads: int = 1,
    ) -> tuple[FloatArray, IntArray, FloatArray]: ...


class LatentMoments(Protocol):
    def __call__(
        self, precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray]: ...


class Posterior(Protocol):
    def __call__(
        self,
        precision: FloatArray,
        shift: FloatArray,
        component_precision: FloatArray,
        component_shift: FloatArray,
        *,
        n_threads: int = 1,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...


class Step(Protocol):
    def __call__(
        self,
        precision: FloatArray,
        shift: FloatArray,
        components: Components,
        near: Near,
        *,
        n_threads: int = 1,
    ) -> tuple[FloatArray, Sums]: ...


class Improved(Protocol):
    def __call__(
        self, mixture: Gaussians, sums: Sums, *, pooling: float, n_threads: int = 1
    ) -> tuple[Gaussians, Components]: ...


class LeftOut(Protocol):
    def __call__(
        self,
        precision: FloatArray,
        shift: FloatArray,
        components: Components,
        means: FloatArray,
        count: FloatArray,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class WeighPoints(Protocol):
    def __call__(
        self, values: FloatArray, sigma: FloatArray, mean: FloatArray, psi: FloatArray, *, n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...


class FactorProject(Protocol):
    def __call__(
        self,
        values: FloatArray,
        sigma: FloatArray,
        mean: FloatArray,
        psi: FloatArray,
        factors: FloatArray,
        *,
        out: Likelihoods | None = None,
        n_threads: int = 1,
    ) -> Likelihoods: ...


class RowProducts(Protocol):
    def __call__(self, left: FloatArray, right: FloatArray, *, n_threads: int = 1) -> FloatArray: ...


class FactorSums(Protocol):
    def __call__(
        self,
        values: FloatArray,
        sigma: FloatArray,
        mean: FloatArray,
        psi: FloatArray,
        factors: FloatArray,
        *,
        n_threads: int = 1,
    ) -> PosteriorSums: ...


class LeverageLosses(Protocol):
    def __call__(
        self,
        values: FloatArray,
        sigma: FloatArray,
        mean: FloatArray,
        psi: FloatArray,
        factors: FloatArray,
        position: FloatArray,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class GroupPoints(Protocol):
    def __call__(
        self,
        values: FloatArray,
        sigma: FloatArray,
        at: FloatArray,
        band: IntArray | None,
        n_bands: int,
        *,
        n_threads: int = 1,
    ) -> GroupedPoints: ...


class PointsLikelihood(Protocol):
    def __call__(
        self, points: GroupedPoints, curves: Curves, widths: FloatArray, *, n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...


class ShiftedEvidence(Protocol):
    def __call__(
        self, points: GroupedPoints, curves: Curves, shifts: FloatArray, unit: float, *, n_threads: int = 1
    ) -> FloatArray: ...


class CurveRows(Protocol):
    def __call__(
        self, at: FloatArray, band: IntArray, curves: Curves, *, n_threads: int = 1
    ) -> FloatArray: ...


class LowRankOffset(Protocol):
    def __call__(self, points: LowRankPoints, *, n_threads: int = 1) -> FloatArray: ...


class LowRankFiltered(Protocol):
    def __call__(
        self, points: LowRankPoints, added: Columns, *, n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray]: ...


class LowRankGain(Protocol):
    def __call__(
        self,
        points: LowRankPoints,
        added: Columns,
        sizes: FloatArray,
        common: float = 1.0,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class PointwiseLogsumexp(Protocol):
    def __call__(
        self, values: FloatArray, variance: FloatArray, mixtures: PointMixtures, *, n_threads: int = 1
    ) -> FloatArray: ...


class CurvesLogSums(Protocol):
    def __call__(
        self, values: FloatArray, variance: FloatArray, curves: ClassCurves, *, n_threads: int = 1
    ) -> FloatArray: ...


class PointsLogSums(Protocol):
    def __call__(
        self, values: FloatArray, variance: FloatArray, mixtures: ClassMixtures, *, n_threads: int = 1
    ) -> FloatArray: ...


class Without(Protocol):
    def __call__(
        self,
        sums: FloatArray,
        shift: FloatArray,
        offset: FloatArray,
        amplitude: FloatArray,
        layout: Layout,
        *,
        n_threads: int = 1,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...


class CurveLogEvidence(Protocol):
    def __call__(
        self,
        points: GridPoints,
        features: Features,
        sizes: Sizes,
        components: Components | None,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class BumpRatios(Protocol):
    def __call__(self, through: Filtering, shapes: Stretches, *, n_threads: int = 1) -> FloatArray: ...


class BumpAverage(Protocol):
    def __call__(
        self,
        through: Filtering,
        log_share: FloatArray,
        shapes: Stretches,
        shrink: float,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class RowLogSums(Protocol):
    def __call__(self, terms: FloatArray, *, n_threads: int = 1) -> FloatArray: ...


class StackedLosses(Protocol):
    def __call__(
        self,
        outputs: FloatArray,
        weights: FloatArray,
        bias: FloatArray,
        label: IntArray,
        *,
        n_threads: int = 1,
    ) -> Losses: ...


class WidthsLikelihood(Protocol):
    def __call__(self, points: WidePoints, positions: FloatArray, *, n_threads: int = 1) -> FloatArray: ...


class LatentDraws(Protocol):
    def __call__(
        self,
        precision: FloatArray,
        shift: FloatArray,
        components: Components,
        responsibility: FloatArray,
        points: FloatArray,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class WidthsPosterior(Protocol):
    def __call__(
        self,
        points: WidePoints,
        start: FloatArray | None = None,
        *,
        max_steps: int,
        tolerance: float,
        n_threads: int = 1,
    ) -> tuple[FloatArray, FloatArray]: ...


class PoissonLikelihood(Protocol):
    def __call__(
        self, points: CountedPoints, positions: FloatArray, quadrature: Quadrature, *, n_threads: int = 1
    ) -> FloatArray: ...


class PoissonPosterior(Protocol):
    def __call__(
        self, points: CountedPoints, steps: LaplaceSteps, *, n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...


class PopulationVariance(Protocol):
    def __call__(
        self,
        values: FloatArray,
        variance: FloatArray,
        least: FloatArray,
        steps: int,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class OfWeights(Protocol):
    def __call__(
        self, values: FloatArray, sigma: FloatArray, spread: FloatArray, *, n_threads: int = 1
    ) -> WeightedMoments: ...


class KMeans(Protocol):
    def __call__(
        self, places: FloatArray, few: FloatArray, centres: FloatArray, steps: int, *, n_threads: int = 1
    ) -> Groups: ...


class SpreadOut(Protocol):
    def __call__(
        self, places: FloatArray, first: int, drawn: FloatArray, *, n_threads: int = 1
    ) -> IntArray: ...


class GrowTrees(Protocol):
    def __call__(self, growth: Growth, *, n_threads: int = 1) -> Nodes: ...


class CosineRows(Protocol):
    def __call__(self, angle: FloatArray, count: int, *, n_threads: int = 1) -> FloatArray: ...


class BumpRows(Protocol):
    def __call__(
        self,
        where: FloatArray,
        places: FloatArray,
        widths: FloatArray,
        farthest: float,
        *,
        n_threads: int = 1,
    ) -> FloatArray: ...


class WalkTrees(Protocol):
    def __call__(
        self, seen: SingleArray, nodes: Nodes, asked: BoolArray | None, *, n_threads: int = 1
    ) -> FloatArray: ...


@dataclass(frozen=True)
class Backend:
    """Every kernel by its name: the definition, unless another is given.

    Attributes
    ----------
    name : str
    pair_log_match, ..., stacked_losses
        What each computes is told by its definition, the default.
    """

    name: str
    pair_log_match: OfPairs = pairs.pair_log_match
    pair_logsumexp: OfPairs = pairs.pair_logsumexp
    pair_best: BestOfPairs = pairs.pair_best
    mixture_logsumexp: OfWidePairs = mixture.mixture_logsumexp
    latent_log_match: OfComponents = latent.latent_log_match
    latent_log_evidence: OfComponents = latent.latent_log_evidence
    latent_responsible: Responsible = latent.latent_responsible
    latent_moments: LatentMoments = latent.latent_moments
    latent_posterior: Posterior = latent.latent_posterior
    latent_step: Step = latent.latent_step
    latent_improved: Improved = latent.latent_improved
    latent_left_out: LeftOut = latent.latent_left_out
    weigh_points: WeighPoints = latent.weigh_points
    factor_project: FactorProject = factor.factor_project
    factor_sums: FactorSums = factor.factor_sums
    row_products: RowProducts = factor.row_products
    leverage_losses: LeverageLosses = factor.leverage_losses
    grouped_points: GroupPoints = points.grouped_points
    points_likelihood: PointsLikelihood = points.points_likelihood
    shifted_evidence: ShiftedEvidence = points.shifted_evidence
    curve_rows: CurveRows = low_rank.curve_rows
    cosine_rows: CosineRows = shape_rows.cosine_rows
    bump_rows: BumpRows = shape_rows.bump_rows
    low_rank_offset: LowRankOffset = low_rank.low_rank_offset
    low_rank_filtered: LowRankFiltered = low_rank.low_rank_filtered
    low_rank_gain: LowRankGain = low_rank.low_rank_gain
    pointwise_logsumexp: PointwiseLogsumexp = pointwise.pointwise_logsumexp
    curves_log_sums: CurvesLogSums = single.curves_log_sums
    points_log_sums: PointsLogSums = single.points_log_sums
    latent_without: Without = hypotheses.latent_without
    curve_log_evidence: CurveLogEvidence = hypotheses.curve_log_evidence
    bump_ratios: BumpRatios = hypotheses.bump_ratios
    bump_average: BumpAverage = hypotheses.bump_average
    latent_draws: LatentDraws = draws.latent_draws
    widths_log_likelihood: WidthsLikelihood = widths.widths_log_likelihood
    widths_posterior: WidthsPosterior = widths.widths_posterior
    poisson_log_likelihood: PoissonLikelihood = counts.poisson_log_likelihood
    poisson_posterior: PoissonPosterior = counts.poisson_posterior
    population_variance: PopulationVariance = spread.population_variance
    weighted_moments: OfWeights = moments.weighted_moments
    k_means: KMeans = groups.k_means
    spread_out: SpreadOut = groups.spread_out
    grow_trees: GrowTrees = trees.grow_trees
    walk_trees: WalkTrees = trees.walk_trees
    row_log_sums: RowLogSums = rows.row_log_sums
    stacked_losses: StackedLosses = rows.stacked_losses


NUMPY = Backend("reference")

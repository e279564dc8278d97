from typing import Any

import numpy as np
import numpy.typing as npt

from badac._kernels.arguments import FloatArray, IntArray

abi: int

def levels() -> list[str]: ...
def multiply_add_ns(level: str) -> float: ...
def pair_logsumexp(
    out: FloatArray,
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    extra_variance: FloatArray,
    log_weights: FloatArray | None,
    skip: IntArray | None,
    n_threads: int,
    screen: bool,
    objects_per_block: int,
    curves_per_block: int,
    level: str,
) -> Any: ...
def pair_best(
    out: IntArray,
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    extra_variance: FloatArray,
    log_weights: FloatArray | None,
    skip: IntArray | None,
    n_threads: int,
    level: str,
) -> Any: ...
def pair_log_match(
    out: FloatArray,
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    extra_variance: FloatArray,
    n_threads: int,
    level: str,
) -> Any: ...

latent_max_rank: int
latent_max_responsible: int

def latent_log_match(
    out: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def latent_log_evidence(
    out: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def latent_responsible(
    out: FloatArray,
    which: IntArray,
    match: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def latent_moments(
    mean: FloatArray,
    covariance: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def latent_posterior(
    covariance: FloatArray,
    mean: FloatArray,
    log_det: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def latent_step(
    evidence: FloatArray,
    sums: FloatArray,
    near: npt.NDArray[np.uint8],
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    refresh: bool,
    threshold: float,
    n_threads: int,
    level: str,
) -> None: ...
def latent_left_out(
    evidence: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    means: FloatArray,
    count: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def weigh_points(
    weight: FloatArray,
    scaled: FloatArray,
    offset: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def factor_project(
    precision: FloatArray,
    shift: FloatArray,
    offset: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def row_products(
    out: FloatArray, left: FloatArray, right: FloatArray, *, n_threads: int, level: str
) -> None: ...
def factor_normal(
    normal: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    position: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def factor_leverage(
    out: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    position: FloatArray,
    inverse: FloatArray,
    *,
    largest: float,
    n_threads: int,
    level: str,
) -> None: ...
def factor_sums(
    normal: FloatArray,
    right: FloatArray,
    weight_squared: FloatArray,
    misfit: FloatArray,
    moments: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> float: ...
def population_variance(
    out: FloatArray,
    values: FloatArray,
    variance: FloatArray,
    least: FloatArray,
    *,
    steps: int,
    n_threads: int,
    level: str,
) -> None: ...
def k_means(
    moved: FloatArray,
    count: FloatArray,
    scatter: FloatArray,
    places: FloatArray,
    few: FloatArray,
    centres: FloatArray,
    *,
    steps: int,
    n_threads: int,
    level: str,
) -> None: ...
def spread_out(
    out: IntArray, places: FloatArray, first: int, drawn: FloatArray, *, n_threads: int, level: str
) -> None: ...
def weighted_moments(
    total: FloatArray,
    mean: FloatArray,
    noise: FloatArray,
    covariance: FloatArray,
    together: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    spread: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def mixture_logsumexp(
    out: FloatArray,
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    object_factor: FloatArray,
    curve_factor: FloatArray,
    share: FloatArray,
    log_weights: FloatArray | None,
    skip: IntArray | None,
    n_threads: int,
    level: str,
) -> None: ...

points_max_rank: int
points_max_local: int
points_max_knots: int

def grouped_points(
    values: FloatArray,
    variance: FloatArray,
    at: FloatArray,
    first: IntArray,
    group: IntArray,
    band: IntArray,
    all_values: FloatArray,
    sigma: FloatArray,
    all_at: FloatArray,
    all_band: IntArray,
    *,
    n_bands: int,
    n_threads: int,
) -> tuple[int, int]: ...
def points_likelihood(
    precision: FloatArray,
    shift: FloatArray,
    offset: FloatArray,
    values: FloatArray,
    variance: FloatArray,
    at: FloatArray,
    first: IntArray,
    group: IntArray,
    band: IntArray,
    knots: FloatArray,
    coefficients: FloatArray,
    psi: FloatArray,
    widths: FloatArray,
    *,
    rank: int,
    length: float,
    period: float,
    n_threads: int,
    level: str,
) -> None: ...
def shifted_evidence(
    out: FloatArray,
    values: FloatArray,
    variance: FloatArray,
    at: FloatArray,
    first: IntArray,
    group: IntArray,
    band: IntArray,
    knots: FloatArray,
    coefficients: FloatArray,
    psi: FloatArray,
    shifts: FloatArray,
    *,
    length: float,
    period: float,
    unit: float,
    n_threads: int,
    level: str,
) -> None: ...
def curve_rows(
    out: FloatArray,
    at: FloatArray,
    band: IntArray,
    knots: FloatArray,
    coefficients: FloatArray,
    *,
    rank: int,
    length: float,
    period: float,
    n_threads: int,
    level: str,
) -> None: ...
def cosine_rows(out: FloatArray, angle: FloatArray, *, count: int, n_threads: int) -> None: ...
def bump_rows(
    out: FloatArray,
    where: FloatArray,
    places: FloatArray,
    widths: FloatArray,
    *,
    farthest: float,
    n_threads: int,
) -> None: ...

low_rank_most_columns: int

def low_rank_offset(
    out: FloatArray,
    residual: FloatArray,
    variance: FloatArray,
    band: IntArray,
    shapes: FloatArray,
    local: FloatArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def low_rank_filtered(
    signal: FloatArray,
    precision: FloatArray,
    residual: FloatArray,
    variance: FloatArray,
    band: IntArray,
    shapes: FloatArray,
    local: FloatArray,
    rows: IntArray,
    columns: FloatArray,
    places: IntArray,
    *,
    n_threads: int,
    level: str,
) -> None: ...
def low_rank_gain(
    out: FloatArray,
    residual: FloatArray,
    variance: FloatArray,
    band: IntArray,
    shapes: FloatArray,
    local: FloatArray,
    rows: IntArray,
    columns: FloatArray,
    places: IntArray,
    sizes: FloatArray,
    *,
    common: float,
    n_threads: int,
    level: str,
) -> None: ...

hypothesis_max_size: int
bump_max_rank: int
bump_max_asked: int

def latent_without(
    out_precision: FloatArray,
    out_shift: FloatArray,
    out_offset: FloatArray,
    sums: FloatArray,
    shift: FloatArray,
    offset: FloatArray,
    amplitude: FloatArray,
    *,
    chosen: Any,
    first: Any,
    second: Any,
    n_threads: int,
    level: str,
) -> None: ...
def bumps(
    out: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    rows: IntArray,
    factors: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    which: Any,
    component_precision: FloatArray,
    component_shift: FloatArray,
    *,
    first: Any,
    length: Any,
    begin: IntArray,
    height: FloatArray,
    log_share: FloatArray,
    shrink: float,
    n_threads: int,
    level: str,
) -> None: ...

curves_max_size: int

def curve_log_evidence(
    out: FloatArray,
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    rows: IntArray,
    products: FloatArray,
    columns: FloatArray,
    integrated: Any,
    sizes: Any,
    chosen: Any,
    first: Any,
    second: Any,
    size_of: FloatArray,
    base: float,
    share: float,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    n_threads: int,
    level: str,
) -> None: ...

improve_max_rank: int

def latent_improved(
    weights: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    log_constant: FloatArray,
    old_means: FloatArray,
    old_covariances: FloatArray,
    sums: FloatArray,
    pooling: float,
    least_information: float,
    largest_change: float,
    floor: float,
    n_threads: int,
    level: str,
) -> bool: ...

counts_max_rank: int
counts_max_nodes: int

def poisson_posterior(
    value: FloatArray,
    variance: FloatArray,
    link: FloatArray,
    counts: FloatArray,
    exposure: FloatArray,
    mean: FloatArray,
    factors: FloatArray,
    psi: FloatArray,
    *,
    most: int,
    settled: float,
    largest: float,
    widest: float,
    n_threads: int,
    level: str,
) -> None: ...
def poisson_log_likelihood(
    out: FloatArray,
    counts: FloatArray,
    exposure: FloatArray,
    mean: FloatArray,
    factors: FloatArray,
    psi: FloatArray,
    *,
    positions: FloatArray,
    nodes: FloatArray,
    log_weights: FloatArray,
    n_threads: int,
    level: str,
) -> None: ...

draws_max_rank: int

def latent_draws(
    out: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    own_precision: FloatArray,
    own_shift: FloatArray,
    responsibility: FloatArray,
    points: FloatArray,
    *,
    n_threads: int,
) -> None: ...

widths_max_rank: int
widths_max_widths: int

def widths_posterior(
    weight: FloatArray,
    squared: FloatArray,
    residual: FloatArray,
    sigma: FloatArray,
    factors: FloatArray,
    psi: FloatArray,
    share: FloatArray,
    scale: FloatArray,
    *,
    started: bool,
    max_steps: int,
    tolerance: float,
    n_threads: int,
    level: str,
) -> None: ...
def widths_log_likelihood(
    out: FloatArray,
    residual: FloatArray,
    sigma: FloatArray,
    factors: FloatArray,
    psi: FloatArray,
    share: FloatArray,
    scale: FloatArray,
    *,
    positions: FloatArray,
    n_threads: int,
    level: str,
) -> None: ...
def grow_trees(
    seen: npt.NDArray[np.float32],
    label: IntArray,
    drawn: IntArray,
    seed: IntArray,
    n_classes: int,
    n_tried: int,
    least_in_leaf: int,
    n_threads: int,
) -> Any: ...
def walk_trees(
    out: FloatArray,
    seen: npt.NDArray[np.float32],
    root: Any,
    question: Any,
    threshold: Any,
    yes: Any,
    no: Any,
    gap_is_yes: Any,
    share: Any,
    asked: Any,
    n_threads: int,
) -> None: ...
def curves_log_sums(
    out: FloatArray,
    values: FloatArray,
    variance: FloatArray,
    y: FloatArray,
    u: FloatArray,
    first: IntArray,
    n_threads: int,
    level: str,
) -> None: ...
def points_log_sums(
    out: FloatArray,
    values: FloatArray,
    variance: FloatArray,
    y: FloatArray,
    u: FloatArray,
    log_weights: FloatArray,
    n_threads: int,
    level: str,
) -> None: ...
def pointwise_logsumexp(
    out: FloatArray,
    values: FloatArray,
    variance: FloatArray,
    y: FloatArray,
    u: FloatArray,
    log_weights: FloatArray,
    n_threads: int,
    level: str,
) -> None: ...
def row_log_sums(out: FloatArray, terms: FloatArray, n_threads: int, level: str) -> None: ...
def stacked_losses(
    loss: FloatArray,
    slope: FloatArray,
    by_output: FloatArray,
    outputs: FloatArray,
    weights: FloatArray,
    bias: FloatArray,
    label: IntArray,
    n_threads: int,
    level: str,
) -> None: ...

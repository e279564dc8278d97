from typing import Any

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

def latent_log_match(
    out: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    n_threads: int,
    level: str,
) -> None: ...
def latent_sums(
    count: FloatArray,
    first: FloatArray,
    second: FloatArray,
    spread: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    responsibility: FloatArray,
    threshold: float,
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

"""The table of all kernels: arguments to run each with, and how closely another backend must follow the definition.

Tests and ``benchmarks/kernels.py`` go through it. A row makes the arguments of a kernel, as a `Backend` takes them, for given
sizes: `sizes` are small and odd, for agreement; `busy` is enough for several blocks and the benchmark; `long` takes the core
some seconds, for Ctrl-C. A kernel that is not here fails a test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from badac._kernels import Backend
from badac._kernels.arguments import Pairs
from badac._kernels.counts import CountedPoints, LaplaceSteps, Quadrature
from badac._kernels.hypotheses import Features, Filtering, GridPoints, Layout, Sizes
from badac._kernels.latent import GROUP, Components, Gaussians, Near, latent_step, pack, unpack
from badac._kernels.low_rank import Columns, LowRankPoints
from badac._kernels.points import Curves, GroupedPoints
from badac._kernels.pointwise import PointMixtures
from badac._kernels.single import ClassCurves, ClassMixtures
from badac._kernels.stretches import Stretches
from badac._kernels.trees import Growth, Nodes, grow_trees
from badac._kernels.widths import WidePoints
from badac.noise import Outliers, Student

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Row:
    make: Callable[..., Arguments]
    sizes: Sequence[tuple[int, ...]]
    busy: tuple[int, ...]
    long: tuple[int, ...]
    rtol: float
    atol: float


def kernels() -> list[str]:
    """The names of the kernels of a backend."""
    return [field.name for field in fields(Backend) if field.name != "name"]


def run(backend: Backend, kernel: str, arguments: Arguments, n_threads: int = 1) -> list[np.ndarray]:
    """Everything that a kernel returns or writes, one array after the other. The arguments stay as they are."""
    own = deepcopy(arguments)
    found = _flat(getattr(backend, kernel)(**own, n_threads=n_threads))
    return [*found, own["near"].flags] if "near" in own else found


def _flat(result: Any) -> list[np.ndarray]:
    return [result] if isinstance(result, np.ndarray) else [array for part in result for array in _flat(part)]


def assert_follows(
    backend: Backend,
    definition: Backend,
    kernel: str,
    size: tuple[int, ...],
    ways: Sequence[Callable[[], None]] = (lambda: None,),
) -> None:
    """Hold one kernel of a backend to the definition, in each of the ways that are set up one after the other."""
    row = TABLE[kernel]
    arguments = row.make(*size)
    defined = run(definition, kernel, arguments)
    for way in ways:
        way()
        for found, expected in zip(run(backend, kernel, arguments), defined, strict=True):
            np.testing.assert_allclose(
                found, expected, rtol=row.rtol, atol=row.atol, err_msg=f"{kernel} {size}"
            )


def _pairs(n: int, k: int, m: int) -> Pairs:
    """Smooth curves and noisy copies of them, some points missing, some curves without weight, some left out."""
    rng = np.random.default_rng([n, k, m])
    y = np.sin(rng.uniform(1.0, 9.0, (k, 1)) * np.linspace(0.0, 1.0, m)) + 0.1 * rng.standard_normal((k, m))
    d = y[rng.integers(0, k, n)] + 0.2 * rng.standard_normal((n, m))
    d[rng.random((n, m)) < 0.05] = np.nan
    pairs = Pairs.of(d, rng.uniform(0.05, 0.2, (n, m)), y, rng.uniform(0.05, 0.2, (k if k % 2 else 1, m)))
    if k < 4:
        return pairs
    weights = np.log(rng.dirichlet(np.ones(k)))
    weights[3] = -np.inf
    return pairs.weighed(weights, np.where(np.arange(n) % 3, np.arange(n) % k, -1))


def _of_pairs(n: int, k: int, m: int) -> Arguments:
    return {"pairs": _pairs(n, k, m)}


def _all_matter(n: int, k: int, m: int) -> Arguments:
    """As `_of_pairs`, without weights; if there are many curves they are all alike, so that none can be given up."""
    if k < 1000:
        return {
            "pairs": Pairs.of(*(getattr(_pairs(n, k, m), name) for name in ("d", "d_sigma", "y", "y_sigma")))
        }
    return {"pairs": Pairs.of(np.zeros((n, m)), np.ones((1, m)), np.zeros((k, m)), np.ones((k, m)))}


def _mixture(n: int, k: int, m: int) -> Arguments:
    noise = (Outliers(0.2, 5.0), Outliers(1e-4, 100.0))[m % 2]
    log_share, scale = noise.gaussian_scales()
    return {**_all_matter(n, k, m), "log_share": log_share, "scale": scale}


def _packed(rng: np.random.Generator, count: int, r: int) -> np.ndarray:
    """Positive definite matrices (count, p), packed; a few of them, repeated, if there are very many."""
    wide = rng.standard_normal((min(count, 64), r, r + 2))
    return np.resize(pack(wide @ wide.transpose(0, 2, 1) + 0.1 * np.eye(r)), (count, r * (r + 1) // 2))


def _latent(n: int, k: int, r: int) -> Arguments:
    rng = np.random.default_rng([n, k, r])
    return {
        "precision": _packed(rng, n, r),
        "shift": 3.0 * rng.standard_normal((n, r)),
        "components": Components(_packed(rng, k, r), rng.standard_normal((k, r)), np.linspace(-1.0, 1.0, k)),
    }


def _improved(n: int, k: int, r: int) -> Arguments:
    """A mixture and the sums of a step with it; its last component has no members. Of many components sums are repeated."""
    few = min(k, 60)
    rng = np.random.default_rng([n, k, r])
    weights = np.append(rng.dirichlet(np.ones(few)), 1e-9)[-few:]
    covariances = np.linalg.inv(unpack(_packed(rng, few, r)))
    means = rng.standard_normal((few, r))
    means[-1] += 1e3 * (few > 1)
    given = _latent(n, 1, r)
    near = Near(np.ones((-(-n // GROUP), few), np.bool_))
    mixture = Gaussians(weights, means, covariances)
    sums = latent_step(given["precision"], given["shift"], mixture.components(), near)[1]
    if k > few:
        mixture = Gaussians(*(np.resize(array, (k, *array.shape[1:])) for array in mixture))
        whole = np.hstack([sums[0][:, None], *sums[1:]])
        whole = np.resize(whole, (k, whole.shape[1])).copy()  # the base of its parts
        # Side by side, as a step leaves them.
        p = r * (r + 1) // 2
        count, *others = np.split(whole, [1, 1 + r, 1 + r + p], axis=1)
        sums = (count[:, 0], *others)
    return {"mixture": mixture, "sums": sums, "pooling": 0.1 + k % 3}


def _responsible(n: int, k: int, r: int) -> Arguments:
    return {**_latent(n, k, r), "count": 1 + n % 2}


def _posterior(n: int, r: int) -> Arguments:
    given = _latent(n if n < 1e5 else 1, 1, r)
    own = given.pop("components")
    if n >= 1e5:  # pages of zeros take no memory
        given = {"precision": np.zeros((n, own.precision.shape[1])), "shift": np.zeros((n, r))}
    return {**given, "component_precision": own.precision[0], "component_shift": own.shift[0]}


def _step(n: int, k: int, r: int, refresh: int) -> Arguments:
    flags = np.random.default_rng(1).random((-(-n // GROUP), k)) < 0.7
    flags[:, 0] = True
    return {**_latent(n, k, r), "near": Near(flags, bool(refresh), 1e-3)}


def _left_out(n: int, k: int, r: int) -> Arguments:
    rng = np.random.default_rng(2)
    return {**_latent(n, k, r), "means": rng.standard_normal((k, r)), "count": rng.uniform(1.0, 5.0, k)}


def _points(n: int, m: int) -> Arguments:
    if n * m > 1e8:  # pages of zeros take no memory
        return {"values": np.zeros((n, m)), "sigma": np.zeros((n, m)), "mean": np.zeros(m), "psi": np.ones(m)}
    rng = np.random.default_rng([n, m])
    values, sigma = rng.standard_normal((n, m)), rng.uniform(0.1, 2.0, (n, m)) * 10.0 ** rng.integers(-3, 3)
    gone = rng.random((n, m)) < 0.3
    values[gone], sigma[gone] = np.nan, np.inf
    psi = np.where(rng.random(m) < 0.5, 0.0, 0.3)
    return {"values": values, "sigma": sigma, "mean": rng.standard_normal(m), "psi": psi}


def _factor(n: int, m: int, r: int) -> Arguments:
    rng = np.random.default_rng([n, m, r])
    # Of many, most are the same few: what is slow is to compute, not to draw.
    points = {
        name: np.resize(array, (n, m)) if array.ndim == 2 else array
        for name, array in _points(min(n, 3001), m).items()
    }
    # No point is exact: its weight would be infinite.
    return {**points, "psi": points["psi"] + 0.1, "factors": rng.standard_normal((m, r))}


def _leverage(n: int, m: int, r: int) -> Arguments:
    position = np.random.default_rng([n, r]).standard_normal((min(n, 3001), r))
    return {**_factor(n, m, r), "position": np.resize(position, (n, r))}


def _weights(n: int, m: int) -> Arguments:
    """Values far from zero beside their errors; gaps, and exact values."""
    rng = np.random.default_rng(n)
    values, sigma = 59_000.0 + rng.standard_normal((n, m)), rng.uniform(0.0, 2.0, (n, m))
    gone = rng.random((n, m)) < 0.1
    values[gone], sigma[gone] = np.nan, np.inf
    sigma[rng.random((n, m)) < 0.05] = 0.0
    sigma[gone] = np.inf
    return {"values": values, "sigma": sigma, "spread": rng.uniform(0.1, 2.0, m)}


def _places(n: int, r: int, k: int) -> Arguments:
    rng = np.random.default_rng(n)
    places = rng.standard_normal((n, r))
    centres = rng.standard_normal((k, r))
    centres[-1] = 1e6  # that no place is nearest to, if there are others
    return {"places": places, "few": places[:: 1 + n // 100], "centres": centres, "steps": 3}


def _draws_of_places(n: int, r: int, k: int) -> Arguments:
    rng = np.random.default_rng(n)
    return {"places": rng.standard_normal((n, r)), "first": n // 2, "drawn": rng.uniform(size=k - 1)}


def _spread(n: int, m: int) -> Arguments:
    points = _factor(n, m, 1)
    values, variance = np.nan_to_num(points["values"]), points["sigma"] ** 2
    return {"values": values, "variance": variance, "least": np.full(m, 1e-3), "steps": 5}


def _rows_of_products(n: int, m: int, s: int) -> Arguments:
    rng = np.random.default_rng([n, m, s])
    return {
        "left": np.resize(rng.standard_normal((min(n, 999), m)), (n, m)),
        "right": rng.standard_normal((m, s)),
    }


def _without(n: int, all_of_them: int, columns: int, rest: int) -> Arguments:
    rng = np.random.default_rng([n, columns])
    amplitude = rng.uniform(0.0, 2.0, (n, columns))
    amplitude[:, 0] = 0.0
    layout = Layout.packed(all_of_them, np.resize(rng.permutation(all_of_them), columns + rest))
    packed = _packed(rng, n, all_of_them)
    # Some entries come in two parts.
    split = np.arange(0, layout.first.size, 3)[:20]
    parts = 0.3 * packed[:, layout.first[split]]
    second = layout.second.copy()
    second[split] = packed.shape[1] + np.arange(split.size)
    first = layout.first.copy()
    first[split] = second[split] + split.size
    return {
        "sums": np.hstack([packed, parts, packed[:, layout.first[split]] - parts]),
        "shift": 4.0 * rng.standard_normal((n, all_of_them)),
        "offset": rng.standard_normal(n),
        "amplitude": amplitude,
        "layout": Layout(layout.chosen, first, second),
    }


def _on_a_grid(n: int, m: int, rng: np.random.Generator) -> GridPoints:
    """Some of many objects, in any order, around a mean; half of the first one is missing, in both ways of saying so."""
    values, sigma = rng.standard_normal((n + 3, m)), rng.uniform(0.4, 1.2, (n + 3, m))
    rows = rng.permutation(n + 3)[:n]
    values[rows[0], m // 2 :] = np.nan
    sigma[rows[0], m // 2 :: 2] = np.inf
    sigma[rows[0], m // 2 :] = np.inf
    return GridPoints(values, sigma, rng.standard_normal(m), rng.uniform(0.0, 0.2, m), rows)


def _bumps(n: int, m: int, r: int, asked: int) -> Arguments:
    """Bumps of three points, one that is the class's own factor, and an empty one; half of the first object is missing."""
    rng = np.random.default_rng([n, m, r])
    points, factors = _on_a_grid(n, m, rng), rng.standard_normal((m, r))
    shapes = np.zeros((m, m + 2))
    for place in range(m):
        near = slice(max(0, place - 1), place + 2)
        shapes[near, place] = rng.uniform(0.2, 1.0, shapes[near, place].size)
    shapes[:, m] = factors[:, 0]
    weight, scaled, _ = points._replace(rows=np.arange(n + 3)).weighed()
    through = Filtering(
        points,
        factors,
        weight @ pack(factors[:, :, None] * factors[:, None, :]),
        scaled @ factors,
        which=rng.integers(0, 4, (n, asked)),
        component_precision=_packed(rng, 4, r),
        component_shift=rng.standard_normal((4, r)),
    )
    return {"through": through, "shapes": Stretches.of(shapes)}


def _bump_average(n: int, m: int, r: int, asked: int) -> Arguments:
    share = np.log(np.random.default_rng(n).dirichlet(np.ones(asked), n))
    given = _bumps(n, m, r, asked)
    return {"through": given["through"], "log_share": share, "shapes": given["shapes"], "shrink": 0.9}


def _curves(n: int, m: int, q: int, r: int, k: int) -> Arguments:
    """Curves of q features, and of half of them, beside a class of r factors and k components; of no class if r is 0."""
    rng = np.random.default_rng([n, m, q, r])
    columns = rng.standard_normal((m, q + r)) / np.sqrt(m)
    rows, others = np.triu_indices(q + r)
    # Every third product comes in two parts.
    whole = columns[:, rows] * columns[:, others]
    split = np.arange(0, rows.size, 3)
    products = np.hstack([whole, 0.3 * whole[:, split]])
    products[:, split] *= 0.7
    second = np.full(rows.size, -1)
    second[split] = rows.size + np.arange(split.size)
    layout = Layout(np.arange(q + r), np.arange(rows.size), second)
    few = np.r_[np.arange(-(-q // 2)), np.arange(q, q + r)]
    sizes = rng.uniform(0.0, 2.0, q)
    return {
        "points": _on_a_grid(n, m, rng),
        "features": Features(columns, products, (layout, layout.of(few))),
        "sizes": Sizes((sizes, sizes[: few.size - r]), base=0.3, share=0.5),
        "components": None
        if not r
        else Components(_packed(rng, k, r), rng.standard_normal((k, r)), rng.standard_normal(k)),
    }


def _wide(n: int, m: int, r: int) -> WidePoints:
    rng = np.random.default_rng([n, m, r])
    noise = (Outliers(0.2, 5.0), Outliers(1e-4, 100.0), Student(3.0))[m % 3]
    sigma, factors = rng.uniform(0.2, 0.6, (n, m)), rng.standard_normal((m, r))
    residual = rng.standard_normal((n, r)) @ factors.T + 0.5 * rng.standard_t(2.0, (n, m))
    if n > 2:
        residual[1, 0], sigma[1, 0] = np.nan, np.inf
        residual[2], sigma[2] = np.nan, np.inf
    return WidePoints(residual, sigma, factors, rng.uniform(0.0, 0.1, m), *noise.gaussian_scales())


def _likelihood(n: int, m: int, r: int, positions: int) -> Arguments:
    drawn = np.random.default_rng(1).standard_normal((n, positions, r))
    return {"points": _wide(n, m, r), "positions": drawn}


def _posterior_of_widths(n: int, m: int, r: int, max_steps: int) -> Arguments:
    # No tolerance: all go on to the last step, whatever rounding says about having settled.
    points = _wide(n, m, r)
    start = np.random.default_rng(2).chisquare(1.0, (n, m)) if m % 2 else None
    return {"points": points, "start": start, "max_steps": max_steps, "tolerance": 0.0}


def _draws(n: int, k: int, r: int, count: int) -> Arguments:
    rng = np.random.default_rng([n, k, r])
    responsibility = rng.exponential(1.0, (n, k)) ** 3
    return {
        "precision": _packed(rng, n, r),
        "shift": rng.standard_normal((n, r)),
        "components": Components(_packed(rng, k, r), rng.standard_normal((k, r)), np.zeros(k)),
        "responsibility": responsibility / responsibility.sum(axis=1, keepdims=True),
        "points": rng.standard_normal((count, r)),
    }


def _counted(n: int, m: int, r: int) -> CountedPoints:
    """Counts from none to thousands; some points missing, an object without any, a point without a spread of its own."""
    rng = np.random.default_rng([n, m, r])
    mean, factors, psi = (
        rng.normal(0.0, 2.0, m),
        rng.standard_normal((m, r)) / np.sqrt(r),
        rng.uniform(0.0, 0.5, m),
    )
    psi[0] = 0.0
    exposure = np.broadcast_to(rng.uniform(0.1, 30.0, (n, 1)), (n, m)).copy()
    counts = rng.poisson(exposure * np.exp(mean + rng.standard_normal((n, r)) @ factors.T)).astype(float)
    if n > 2:
        counts[1, 0] = exposure[1, 0] = 0.0
        counts[2] = exposure[2] = 0.0
    return CountedPoints(counts, exposure, mean, factors, psi)


def _likelihood_of_counts(n: int, m: int, r: int, positions: int) -> Arguments:
    drawn = np.random.default_rng(1).standard_normal((n, positions, r))
    if n > 3:
        drawn[3] *= 100.0  # rates beyond any
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    quadrature = Quadrature(nodes, np.log(weights / weights.sum()))
    return {"points": _counted(n, m, r), "positions": drawn, "quadrature": quadrature}


def _posterior_of_counts(n: int, m: int, r: int, most: int) -> Arguments:
    # No tolerance: all go on to the last step, whatever rounding says about having settled.
    return {"points": _counted(n, m, r), "steps": LaplaceSteps(most, 0.0, 3.0, 1e3)}


_PAIRS = [(1, 1, 1), (3, 33, 8), (20, 101, 37), (66, 300, 31), (80, 701, 30)]
_LATENT = [(1, 1, 1), (5, 3, 2), (17, 4, 6), (9, 2, 12), (6, 3, 15), (4, 2, 33), (3, 2, 49)]
_BUMPS = [(1, 6, 1, 1), (13, 30, 4, 2), (6, 40, 14, 2), (5, 20, 3, 3)]
_WIDTHS = [(1, 1, 1), (7, 5, 2), (9, 100, 8), (4, 33, 13), (5, 7, 3), (5, 8, 49)]


def _own_points(n: int, m: int, r: int, j: int, period: float) -> Arguments:
    """Objects of up to m points in up to three groups, some of both empty, in two bands."""
    rng = np.random.default_rng(n + m + r + j)
    group = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))])
    first = np.concatenate([[0], np.cumsum(rng.integers(0, m // 2 + 2, group[-1]))])
    count, knots = int(first[-1]), 1 + m % 7
    points = GroupedPoints(
        rng.standard_normal(count),
        rng.uniform(0.1, 2.0, count),
        rng.uniform(-0.5, 1.5, count),
        first.astype(np.int64),
        group.astype(np.int64),
        rng.integers(0, 2, int(group[-1])),
    )
    coefficients = rng.standard_normal((2, 1 + knots, 1 + r + j))
    curves = Curves(np.linspace(0.0, 1.0, knots), 0.3, period, coefficients, r, np.array([0.1, 0.3]))
    return {"points": points, "curves": curves, "widths": np.array([1.0, 0.25, 9.0])}


def _shifted(n: int, m: int, r: int, n_shifts: int, unit: float, period: float) -> Arguments:
    """Objects of `_own_points`, some of them far outside of the knots, and knots in no order."""
    points, curves, _ = _own_points(n, m, r, 0, period).values()
    rng = np.random.default_rng(n)
    points = points._replace(at=np.where(rng.random(len(points.at)) < 0.1, 40.0 * points.at, points.at))
    order = rng.permutation(len(curves.knots))
    coefficients = curves.coefficients[:, np.append(0, 1 + order)]
    curves = curves._replace(knots=curves.knots[order], coefficients=coefficients)
    return {"points": points, "curves": curves, "shifts": np.linspace(-1.0, 1.0, n_shifts), "unit": unit}


def _grouped(n: int, m: int, n_bands: int) -> Arguments:
    """Objects of 0 to m points in any order of bands; a band that no point has is not asked for where there is none."""
    rng = np.random.default_rng([n, m, n_bands])
    values = np.resize(rng.standard_normal((min(n, 99), m)), (n, m))
    values[:99][rng.random((min(n, 99), m)) < 0.3] = np.nan
    band = np.where(np.isnan(values), -1, np.resize(rng.integers(0, n_bands, 997), (n, m)))
    at = np.linspace(0.0, 1.0, m) if m % 2 else np.resize(rng.random(997), (n, m))
    sigma = np.full((n, m), 0.3)
    return {
        "values": values,
        "sigma": sigma,
        "at": at,
        "band": band if n_bands > 1 else None,
        "n_bands": n_bands,
    }


def _curve_rows(n: int, m: int, r: int, j: int, period: float) -> Arguments:
    """Points of `_own_points`, those of a band in runs of a few."""
    _, curves, _ = _own_points(2, m, r, j, period).values()
    rng = np.random.default_rng(n)
    band = np.resize(np.repeat(rng.integers(0, 2, 50), rng.integers(1, 9, 50)), n)
    return {"at": rng.uniform(-0.5, 1.5, n), "band": band, "curves": curves}


def _cosines(n: int, count: int, farthest: float) -> Arguments:
    return {"angle": np.random.default_rng(n).uniform(-0.5, farthest, n), "count": count}


def _bumps_at_points(n: int, p: int, widest: float) -> Arguments:
    """Some points are nowhere near any bump, unless the widest is very wide."""
    rng = np.random.default_rng([n, p])
    where, places = rng.uniform(-1.0, 2.0, n), np.linspace(0.0, 1.0, p)
    return {"where": where, "places": places, "widths": rng.uniform(0.01, widest, p), "farthest": 4.6}


def _low_rank(n: int, p: int, r: int, j: int) -> Arguments:
    """Objects of 0 to p points, in three bands in any order, the padding full of what no one may read."""
    rng = np.random.default_rng([n, p, r, j])
    band = rng.integers(0, 3, (n, p))
    band[::2].sort(axis=1)
    band[np.arange(p) >= rng.integers(0, p + 1, n)[:, None]] = -1
    gone = band < 0
    residual, variance = (
        rng.standard_normal((n, p)),
        rng.uniform(0.1, 2.0, (n, p)) * 10.0 ** rng.integers(-2, 3, (n, 1)),
    )
    residual[gone], variance[gone] = 7.0, 0.5
    shapes, local = rng.standard_normal((n, p, r)), rng.standard_normal((n, p, j))
    return {"points": LowRankPoints(residual, variance, band, shapes, local)}


def _with_columns(n: int, p: int, r: int, j: int, q: int) -> Arguments:
    """Columns that are 0 but near a place of theirs, for two thirds of the objects, some of them twice."""
    rng = np.random.default_rng([n, q])
    given = _low_rank(n, p, r, j)
    lag = np.abs(np.arange(p)[:, None] - np.linspace(0.0, p, q)) / max(p / 8.0, 1.0)
    columns = np.where(lag < 1.0, 1.0 - lag, 0.0) * rng.uniform(0.5, 1.5, (n + 1, p, q))
    rows = rng.integers(0, n, max(1, 2 * n // 3))
    return {**given, "added": Columns(rows, columns, rng.integers(0, n + 1, rows.size))}


def _with_sizes(n: int, p: int, r: int, j: int, q: int, common: float) -> Arguments:
    given = _with_columns(n, p, r, j, q)
    sizes = np.random.default_rng(q).uniform(0.0, 2.0, (len(given["added"].rows), 2, q))
    return {**given, "sizes": sizes, "common": common}


def _rows_of_terms(n: int, k: int) -> Arguments:
    """Terms of any size; one impossible, one row without any, one row with a term that is no number."""
    rng = np.random.default_rng([n, k])
    terms = rng.standard_normal((n, k)) * 10.0 ** rng.uniform(-2.0, 4.0, (n, 1))
    terms[-1, -1] = -np.inf
    if n > 2:
        terms[1], terms[2, k // 2] = -np.inf, np.nan
    if n > 4:
        terms[3, 0] = np.inf
    return {"terms": terms}


def _stacked(n: int, o: int, k: int) -> Arguments:
    """Outputs that are sure and ones that are not."""
    rng = np.random.default_rng([n, o, k])
    outputs = -np.abs(rng.standard_normal((n, o, k))) * 10.0 ** rng.uniform(-2.0, 2.0, (n, 1, 1))
    return {
        "outputs": outputs,
        "weights": rng.uniform(0.0, 1.0, (n, o)),
        "bias": rng.standard_normal(k),
        "label": rng.integers(k, size=n),
    }


def _pointwise(n: int, m: int, g: int) -> Arguments:
    """Some points missing, some Gaussians without weight, an object far out."""
    rng = np.random.default_rng([n, m, g])
    values, variance = 2.0 * rng.standard_normal((min(n, 999), m)), rng.uniform(0.0, 0.5, (min(n, 999), m))
    variance[rng.random(variance.shape) < 0.2] = np.inf
    values[0] *= 1e6
    log_weights = np.log(rng.dirichlet(np.ones(g), m))
    log_weights[:, 1::3] = -np.inf
    mixtures = PointMixtures(rng.standard_normal((m, g)), rng.uniform(0.01, 1.0, (m, g)), log_weights)
    return {
        "values": np.resize(values, (n, m)),
        "variance": np.resize(variance, (n, m)),
        "mixtures": mixtures,
    }


def _class_curves(n: int, m: int, k: int) -> Arguments:
    """Classes of one, two and all other curves, some points missing, an object that single precision does not reach."""
    rng = np.random.default_rng([n, m, k])
    curves = ClassCurves(
        7.0 + rng.standard_normal((k, m)), rng.uniform(0.05, 1.0, (k, m)), np.unique([0, 1, min(3, k), k])
    )
    values, variance = 7.0 + rng.standard_normal((min(n, 999), m)), rng.uniform(0.0, 0.5, (min(n, 999), m))
    variance[rng.random(variance.shape) < 0.2] = np.inf
    values[0] *= 1e6
    values, variance = np.resize(values, (n, m)), np.resize(variance, (n, m))
    return {"values": values, "variance": variance, "curves": curves}


def _class_points(n: int, m: int, g: int, c: int) -> Arguments:
    """As `_pointwise`, of several classes."""
    made = [_pointwise(n, m, g), *(_pointwise(n + number, m, g) for number in range(1, c))]
    each = [one["mixtures"] for one in made]
    return {**made[0], "mixtures": ClassMixtures(*(np.stack(part) for part in zip(*each, strict=True)))}


def _growth(n: int, f: int, k: int, t: int) -> Arguments:
    """Rows with gaps, one number the same for all, another for all but the gaps."""
    rng = np.random.default_rng([n, f, k, t])
    seen = rng.standard_normal((n, f)).astype(np.float32)
    label = rng.integers(0, k, n)
    seen[:, 0] += label
    seen[rng.random((n, f)) < 0.2] = np.nan
    if f > 2:
        seen[:, 1] = 1.0
        seen[:, 2] = np.where(np.isnan(seen[:, 2]), np.nan, 2.0)
    drawn = np.array([rng.permutation(n)[: max(1, 2 * n // 3)] for _ in range(t)])
    return {"growth": Growth(seen, label, drawn, rng.integers(2**62, size=t), k, max(1, f // 2), 1 + n % 3)}


def _walk(n: int, f: int, k: int, t: int) -> Arguments:
    growth = _growth(min(n, 60), f, k, min(t, 9))["growth"]
    nodes = grow_trees(growth)
    if t > 9:
        nodes = Nodes(np.resize(nodes.root, t), *nodes[1:])
    rng = np.random.default_rng(n)
    seen = np.resize(rng.standard_normal((min(n, 5000), f)).astype(np.float32), (n, f))
    seen[0, :] = np.nan
    return {
        "seen": seen,
        "nodes": nodes,
        "asked": None if n % 2 else np.resize(rng.random((97, 89)) < 0.5, (n, t)),
    }


# Rows, numbers, classes, trees.
_TREES = [(1, 1, 1, 1), (7, 2, 2, 3), (40, 5, 3, 4), (33, 9, 12, 2)]

# Objects, points, factors: of more than the tiles of every level, and of more than the core takes.
_FACTOR = [
    (1, 1, 1),
    (3, 7, 2),
    (33, 16, 5),
    (70, 101, 9),
    (41, 30, 13),
    (9, 60, 49),
    (1500, 12, 3),
    (30, 700, 20),
]

TABLE: dict[str, Row] = {
    "pair_log_match": Row(_all_matter, _PAIRS, (1500, 900, 30), (3000, 20_000, 100), 1e-11, 1e-11),
    "pair_best": Row(_of_pairs, _PAIRS, (1500, 900, 30), (20_000, 20_001, 100), 0.0, 0.0),
    "pair_logsumexp": Row(_of_pairs, _PAIRS, (1500, 900, 30), (20_000, 20_001, 100), 2e-9, 1e-11),
    "mixture_logsumexp": Row(_mixture, _PAIRS, (300, 901, 30), (2000, 4000, 100), 1e-9, 1e-5),
    "latent_log_match": Row(_latent, _LATENT, (3000, 20, 8), (3000, 400, 40), 1e-9, 1e-10),
    "latent_log_evidence": Row(_latent, _LATENT, (3000, 20, 8), (3000, 400, 40), 1e-9, 1e-10),
    "latent_responsible": Row(_responsible, _LATENT, (3000, 20, 8), (3000, 400, 40), 1e-9, 1e-10),
    "latent_moments": Row(_latent, _LATENT, (3000, 20, 8), (3000, 400, 40), 1e-9, 1e-9),
    "latent_posterior": Row(
        _posterior, [(n, r) for n, _, r in _LATENT], (3000, 8), (100_000, 47), 1e-9, 1e-10
    ),
    "latent_step": Row(
        _step,
        [(*size, refresh) for size in _LATENT for refresh in (0, 1)],
        (3000, 20, 8, 1),
        (3000, 400, 40, 1),
        1e-9,
        1e-9,
    ),
    "latent_improved": Row(
        _improved,
        [(9, 1, 1), (40, 3, 2), (200, 7, 5), (90, 4, 8), (50, 3, 9)],
        (300, 1000, 4),
        (100, 200_000, 8),
        1e-8,
        1e-8,
    ),
    "latent_left_out": Row(_left_out, _LATENT, (3000, 20, 8), (3000, 400, 40), 1e-9, 1e-10),
    "weigh_points": Row(
        _points, [(1, 1), (3, 7), (5, 16), (2, 101)], (3000, 100), (2_000_000, 100), 1e-12, 1e-9
    ),
    "factor_project": Row(_factor, _FACTOR, (3000, 100, 9), (200_000, 100, 30), 1e-10, 1e-9),
    "factor_sums": Row(_factor, _FACTOR, (3000, 100, 9), (100_000, 100, 30), 1e-10, 1e-9),
    "leverage_losses": Row(_leverage, _FACTOR, (3000, 100, 5), (100_000, 100, 30), 1e-8, 1e-8),
    "row_products": Row(_rows_of_products, _FACTOR, (3000, 100, 140), (100_000, 100, 600), 1e-11, 1e-11),
    "population_variance": Row(
        _spread, [(1, 1), (3, 7), (50, 16), (200, 101)], (600, 100), (300_000, 100), 1e-10, 1e-12
    ),
    # Products of the weights are of single precision.
    "weighted_moments": Row(
        _weights, [(1, 1), (3, 7), (50, 16), (200, 101), (700, 260)], (3000, 100), (300_000, 100), 1e-6, 1e-9
    ),
    "k_means": Row(
        _places,
        [(1, 1, 1), (9, 1, 2), (60, 3, 5), (200, 9, 17), (700, 48, 40)],
        (8000, 5, 40),
        (300_000, 20, 300),
        1e-10,
        1e-10,
    ),
    "spread_out": Row(
        _draws_of_places,
        [(1, 1, 1), (9, 1, 2), (60, 3, 5), (203, 9, 17)],
        (8000, 5, 40),
        (300_000, 20, 300),
        0.0,
        0.0,
    ),
    "grouped_points": Row(
        _grouped,
        [(1, 1, 1), (0, 3, 2), (7, 9, 1), (12, 30, 4), (5, 2, 7)],
        (700, 60, 4),
        (20_000, 1, 100_000),
        0.0,
        0.0,
    ),
    "points_likelihood": Row(
        _own_points,
        [
            (1, 1, 1, 0, 1.0),
            (5, 9, 3, 2, np.inf),
            (4, 40, 13, 8, 0.7),
            (3, 30, 48, 32, np.inf),
            (3, 5, 50, 3, 1.0),
            (12, 3, 4, 5, np.inf),  # groups of a single point
        ],
        (700, 60, 12, 8, np.inf),
        (40_000, 60, 40, 30, np.inf),
        1e-9,
        1e-9,
    ),
    "shifted_evidence": Row(
        _shifted,
        [
            (1, 1, 1, 1, 0.0, 1.0),
            (6, 20, 6, 5, 0.3, np.inf),
            (4, 33, 12, 3, 0.0, np.inf),
            (3, 5, 50, 2, 1.0, 0.7),
        ],
        (700, 60, 6, 5, 0.3, np.inf),
        (20_000, 60, 24, 40, 0.3, np.inf),
        1e-9,
        1e-9,
    ),
    "curve_rows": Row(
        _curve_rows,
        [(1, 1, 0, 0, np.inf), (40, 9, 3, 2, np.inf), (150, 30, 13, 8, 0.7), (9, 5, 50, 3, 1.0)],
        (9000, 60, 12, 8, np.inf),
        (4_000_000, 250, 40, 30, 0.7),
        1e-9,
        1e-9,
    ),
    "cosine_rows": Row(
        _cosines,
        [(1, 1, 1.0), (3, 2, 3.0), (40, 34, 3.5), (9, 12, 3.0)],
        (200_000, 34, 3.0),
        (20_000_000, 1, 1e12),  # angles that take long, and little memory for the result
        1e-12,
        1e-12,
    ),
    "bump_rows": Row(
        _bumps_at_points,
        [(1, 1, 0.2), (3, 2, 0.2), (40, 72, 0.2), (9, 0, 0.2)],
        (90_000, 72, 0.2),
        (5_000_000, 30, 100.0),
        1e-13,
        1e-13,
    ),
    "low_rank_offset": Row(
        _low_rank,
        [(1, 1, 0, 0), (5, 9, 3, 0), (6, 40, 0, 5), (7, 33, 6, 8), (3, 60, 49, 33)],
        (700, 60, 6, 8),
        (300, 200, 300, 200),
        1e-9,
        1e-9,
    ),
    "low_rank_filtered": Row(
        _with_columns,
        [(1, 1, 0, 0, 1), (5, 9, 3, 0, 7), (6, 40, 0, 5, 0), (7, 33, 6, 8, 30), (3, 60, 49, 33, 81)],
        (700, 60, 6, 8, 80),
        (600, 200, 200, 120, 300),
        1e-8,
        1e-8,
    ),
    "low_rank_gain": Row(
        _with_sizes,
        [
            (1, 1, 0, 0, 1, 1.0),
            (5, 9, 3, 0, 7, 0.5),
            (6, 40, 0, 5, 0, 0.3),
            (7, 33, 6, 8, 30, 1.0),
            (4, 33, 0, 0, 34, 0.5),
            (3, 60, 20, 9, 17, 0.0),
            (15, 4, 3, 2, 5, 0.4),  # bands of a single point
        ],
        (300, 60, 6, 8, 30, 1.0),
        (2000, 100, 80, 50, 60, 0.5),
        1e-8,
        1e-8,
    ),
    "pointwise_logsumexp": Row(
        _pointwise,
        [(1, 1, 1), (3, 4, 7), (20, 9, 49), (5, 2, 16)],
        (2000, 16, 49),
        (120_000, 100, 49),
        1e-11,
        1e-11,
    ),
    "curves_log_sums": Row(
        _class_curves,
        [(1, 1, 1), (3, 4, 7), (20, 9, 49), (33, 70, 100)],
        (2000, 16, 500),
        (20_000, 100, 6000),
        1e-6,
        2e-6,
    ),
    "points_log_sums": Row(
        _class_points,
        [(1, 1, 1, 1), (3, 4, 7, 2), (20, 9, 49, 3), (33, 2, 16, 9)],
        (2000, 16, 49, 5),
        (20_000, 100, 49, 30),
        1e-6,
        2e-6,
    ),
    "row_log_sums": Row(
        _rows_of_terms,
        [(1, 1), (3, 2), (20, 49), (5, 16), (7, 101)],
        (4000, 100),
        (60_000, 3000),
        1e-12,
        1e-12,
    ),
    "stacked_losses": Row(
        _stacked,
        [(1, 1, 1), (3, 2, 7), (20, 5, 49), (5, 6, 4), (9, 3, 101)],
        (4000, 5, 100),
        (60_000, 8, 300),
        1e-11,
        1e-11,
    ),
    "latent_without": Row(
        _without,
        [(1, 1, 1, 0), (7, 5, 3, 2), (9, 14, 4, 6), (5, 30, 23, 0), (3, 99, 90, 9)],
        (3000, 30, 23, 6),
        (60_000, 1, 95, 1),
        1e-8,
        1e-8,
    ),
    "curve_log_evidence": Row(
        _curves,
        [(1, 1, 1, 0, 1), (7, 9, 3, 2, 3), (37, 20, 23, 5, 7), (17, 12, 4, 7, 4), (3, 30, 30, 14, 2)],
        (700, 40, 12, 5, 8),
        (30_000, 100, 60, 12, 40),
        1e-8,
        1e-8,
    ),
    "bump_ratios": Row(_bumps, _BUMPS, (700, 40, 6, 2), (15_000, 300, 40, 2), 1e-8, 1e-8),
    "bump_average": Row(_bump_average, _BUMPS, (700, 40, 6, 2), (15_000, 300, 40, 2), 1e-8, 1e-8),
    "latent_draws": Row(
        _draws,
        [(1, 1, 1, 1), (7, 3, 2, 16), (9, 1, 5, 16), (4, 20, 13, 6), (3, 2, 50, 4)],
        (900, 6, 5, 16),
        (60_000, 40, 12, 40),
        1e-9,
        1e-9,
    ),
    "widths_log_likelihood": Row(
        _likelihood,
        [(*size, 11) for size in _WIDTHS],
        (500, 34, 5, 16),
        (4000, 101, 8, 300),
        1e-9,
        1e-9,
    ),
    "widths_posterior": Row(
        _posterior_of_widths,
        [(*size, 9) for size in _WIDTHS],
        (500, 34, 5, 9),
        (1000, 101, 20, 400),
        1e-8,
        1e-9,
    ),
    "poisson_log_likelihood": Row(
        _likelihood_of_counts,
        [(*size, 11) for size in _WIDTHS],
        (500, 34, 5, 16),
        (4000, 101, 8, 150),
        1e-9,
        1e-8,
    ),
    "poisson_posterior": Row(
        _posterior_of_counts,
        [(*size, 9) for size in _WIDTHS],
        (500, 34, 5, 9),
        (1000, 101, 20, 400),
        1e-8,
        1e-8,
    ),
    "grow_trees": Row(_growth, _TREES, (2000, 10, 3, 8), (20_000, 30, 5, 200), 0.0, 0.0),
    "walk_trees": Row(_walk, _TREES, (3001, 10, 3, 64), (100_001, 10, 3, 2000), 1e-12, 1e-12),
}

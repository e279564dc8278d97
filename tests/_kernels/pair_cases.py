"""The table that holds every way of computing a pair to the definition: cases, and the definition in extended precision.

One row is a set of arguments as `pair_logsumexp` takes them. The tests run each row through every implementation, every
instruction set of the machine and every inner choice; a new fast path is tested by adding itself to those lists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

Arguments = dict[str, object]
Wide = np.longdouble


def definition(arguments: Arguments) -> tuple[np.ndarray, np.ndarray]:
    """The log-sum and the log matches from the formula, in extended precision: (n,) and (n, k)."""
    d, y = (np.asarray(arguments[name], dtype=Wide) for name in ("d", "y"))
    d_sigma = np.broadcast_to(np.asarray(arguments["d_sigma"], dtype=Wide), d.shape)
    y_sigma = np.broadcast_to(np.asarray(arguments["y_sigma"], dtype=Wide), y.shape)
    extra = np.asarray(arguments.get("extra_variance", 0.0), dtype=Wide)
    match = np.empty((len(d), len(y)), dtype=Wide)
    for row in range(len(d)):
        seen = np.isfinite(d[row]) & np.isfinite(d_sigma[row])
        variance = (d_sigma[row] ** 2 + y_sigma**2 + extra)[:, seen]
        chi2 = (d[row] - y)[:, seen] ** 2 / variance
        match[row] = -0.5 * (chi2 + np.log(variance) + np.log(2 * Wide(np.pi))).sum(axis=1)
    weights = arguments.get("log_weights")
    terms = match + (
        np.full(len(y), -np.log(Wide(len(y)))) if weights is None else np.asarray(weights, dtype=Wide)
    )
    skip = arguments.get("skip")
    if skip is not None:
        rows = np.flatnonzero(np.asarray(skip) >= 0)
        terms[rows, np.asarray(skip)[rows]] = -np.inf
    top = terms.max(axis=1)
    finite = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return finite + np.log(np.exp(terms - finite[:, None]).sum(axis=1)), match


def rounding_scale(arguments: Arguments, logsum: np.ndarray) -> np.ndarray:
    """Sum of the sizes of the terms in an object's best match, roughly: what double's rounding is relative to, (n,).

    A log evidence can be near zero although its terms are not, so its own size is no measure of the error to expect.
    """
    d = np.asarray(arguments["d"])
    sigmas = [np.asarray(arguments[name], dtype=np.float64) for name in ("d_sigma", "y_sigma")]
    logs = max(np.abs(np.log(s[np.isfinite(s) & (s > 0)])).max(initial=1.0) for s in sigmas)
    return np.abs(np.where(np.isfinite(logsum), logsum, 0.0)).astype(float) + 2 * d.shape[1] * (logs + 1)


def _plain(n: int, k: int, m: int, seed: int = 0) -> Arguments:
    """Objects that are noisy copies of curves, errors of their own at every point of both."""
    rng = np.random.default_rng([n, k, m, seed])
    y = rng.normal(size=(k, m))
    d_sigma = rng.uniform(0.05, 0.2, (n, m))
    return {
        "d": y[rng.integers(0, k, n)] + 1.5 * d_sigma * rng.normal(size=(n, m)),
        "d_sigma": d_sigma,
        "y": y,
        "y_sigma": rng.uniform(0.05, 0.2, (k, m)),
    }


def _with(base: Arguments, **changes: object) -> Arguments:
    return {**base, **changes}


def _shared(n: int, k: int, m: int) -> Arguments:
    base = _plain(n, k, m)
    return _with(base, y_sigma=np.asarray(base["y_sigma"])[:1])


def _missing(n: int, k: int, m: int, share: float = 0.2) -> Arguments:
    base = _plain(n, k, m)
    rng = np.random.default_rng(5)
    d, sigma = np.array(base["d"]), np.array(base["d_sigma"])
    d[rng.random(d.shape) < share] = np.nan
    sigma[rng.random(d.shape) < share / 2] = np.inf
    d[0] = np.nan
    return _with(base, d=d, d_sigma=sigma)


def _noisy(n: int, k: int, m: int) -> Arguments:
    """Every curve matters: the screening has nothing to drop."""
    rng = np.random.default_rng(7)
    return {
        "d": rng.normal(size=(n, m)),
        "d_sigma": rng.uniform(0.8, 1.2, (n, m)),
        "y": rng.normal(size=(k, m)),
        "y_sigma": rng.uniform(0.8, 1.2, (k, m)),
    }


def _scales(n: int, k: int, m: int, decades: float) -> Arguments:
    """Every sigma of its own order of magnitude."""
    rng = np.random.default_rng(11)
    base = _plain(n, k, m)
    return _with(
        base,
        d_sigma=10.0 ** rng.uniform(-decades, decades, (n, m)),
        y_sigma=10.0 ** rng.uniform(-decades, decades, (k, m)),
    )


def _scaled(base: Arguments, factor: float) -> Arguments:
    return _with(base, **{name: np.asarray(base[name]) * factor for name in ("d", "d_sigma", "y", "y_sigma")})


def _offset(base: Arguments, offset: float, factor: float) -> Arguments:
    out = _scaled(base, factor)
    return _with(out, d=np.asarray(out["d"]) + offset, y=np.asarray(out["y"]) + offset)


def _mixed_objects() -> Arguments:
    """Object by object other sigmas, from 1e-3 to 1e5, and a far outlier."""
    base = _plain(60, 90, 40)
    d, sigma = np.array(base["d"]), np.array(base["d_sigma"])
    sigma *= 10.0 ** np.linspace(-3, 5, len(sigma))[:, None]
    d[7] += 1e6
    return _with(base, d=d, d_sigma=sigma)


def _weights(k: int) -> np.ndarray:
    out = np.log(np.random.default_rng(3).dirichlet(np.ones(k)))
    out[:: max(2, k // 3)] = -np.inf
    return out


def _outlying_curve() -> Arguments:
    base = _plain(70, 200, 20)
    return _with(
        base,
        y=np.vstack([np.asarray(base["y"]), np.full((1, 20), 1e8)]),
        y_sigma=np.vstack([np.asarray(base["y_sigma"]), np.full((1, 20), 0.1)]),
    )


def _coarse_objects() -> Arguments:
    """A few objects with errors far above the typical ones, so that their products need several groups in float."""
    rng = np.random.default_rng(17)
    y = np.tile(1e4 * rng.normal(size=(75, 30)), (2, 1))  # every match comes twice, in different blocks
    d_sigma = np.where(np.arange(40) < 28, 0.1, 100.0)[:, None] * rng.uniform(0.8, 1.2, (40, 30))
    return {
        "d": y[rng.integers(0, 150, 40)] + d_sigma * rng.normal(size=(40, 30)),
        "d_sigma": d_sigma,
        "y": y,
        "y_sigma": rng.uniform(0.08, 0.12, (150, 30)),
    }


def _families(n: int = 129, k: int = 301, m: int = 40, **changes: object) -> Arguments:
    """Smooth curves of two parameters, enough of them (in small blocks) to be put in order and sampled first."""
    rng = np.random.default_rng(13)
    x = np.linspace(0, 1, m)

    def curves(rows: int) -> np.ndarray:
        return np.sin(rng.normal(5, 2, (rows, 1)) * x) + rng.normal(0, 0.3, (rows, 1))

    d_sigma, y_sigma = rng.uniform(0.08, 0.12, (n, m)), rng.uniform(0.08, 0.12, (k, m))
    d, y = curves(n) + d_sigma * rng.normal(size=(n, m)), curves(k) + y_sigma * rng.normal(size=(k, m))
    d[rng.random((n, m)) < 0.1 * (np.arange(n)[:, None] % 3 == 0)] = np.nan
    return _with({"d": d, "d_sigma": d_sigma, "y": y, "y_sigma": y_sigma}, **changes)


# Not multiples of any tile, one of everything, and enough for several blocks: objects, curves, points.
SIZES = [
    (1, 1, 1),
    (1, 1, 3),
    (1, 300, 5),
    (2, 7, 4),
    (3, 33, 8),
    (5, 31, 9),
    (8, 32, 16),
    (9, 129, 64),
    (33, 17, 65),
]
SIZES += [(70, 100, 100), (65, 300, 31), (17, 250, 257), (130, 64, 7), (100, 3, 12)]

CASES: dict[str, Callable[[], Arguments]] = {
    **{f"plain {n}x{k}x{m}": (lambda n=n, k=k, m=m: _plain(n, k, m)) for n, k, m in SIZES},
    **{
        f"shared {n}x{k}x{m}": (lambda n=n, k=k, m=m: _shared(n, k, m))
        for n, k, m in [(1, 1, 1), (1, 50, 5), (7, 33, 9), (66, 290, 100), (20, 65, 257)]
    },
    "both shared": lambda: (lambda a: _with(a, d_sigma=np.asarray(a["d_sigma"])[:1]))(_shared(40, 70, 30)),
    "objects share": lambda: (lambda a: _with(a, d_sigma=np.asarray(a["d_sigma"])[:1]))(_plain(40, 70, 30)),
    "missing": lambda: _missing(70, 90, 40),
    "missing, few": lambda: _missing(5, 90, 40),
    "missing, mostly": lambda: _missing(30, 50, 13, 0.9),
    "missing, shared": lambda: (lambda a: _with(a, y_sigma=np.asarray(a["y_sigma"])[:1]))(
        _missing(70, 90, 40)
    ),
    "all matter": lambda: _noisy(70, 1300, 20),
    "all matter, shared": lambda: (lambda a: _with(a, y_sigma=np.asarray(a["y_sigma"])[:1]))(
        _noisy(70, 1300, 20)
    ),
    "weights": lambda: _with(_plain(70, 120, 30), log_weights=_weights(120)),
    "weights, all matter": lambda: _with(_noisy(70, 120, 30), log_weights=_weights(120)),
    "weights, far below": lambda: _with(_plain(70, 120, 30), log_weights=_weights(120) - 1e4),
    "weights, missing": lambda: _with(_missing(70, 90, 40), log_weights=_weights(90)),
    "skip": lambda: _with(_plain(70, 120, 30), skip=np.arange(70) - 1),
    "skip and weights": lambda: _with(
        _plain(70, 120, 30), skip=np.arange(70) + 50, log_weights=_weights(120)
    ),
    "skip the only one": lambda: _with(_plain(3, 1, 4), skip=np.array([0, -1, 0])),
    "leave one out": lambda: (lambda a: _with(a, d=a["y"], d_sigma=a["y_sigma"], skip=np.arange(100)))(
        _plain(1, 100, 50)
    ),
    "extra": lambda: _with(_plain(70, 120, 30), extra_variance=0.02),
    "extra per point": lambda: _with(_plain(70, 120, 30), extra_variance=np.linspace(0, 1, 30)),
    "extra, shared": lambda: _with(_shared(70, 120, 30), extra_variance=np.linspace(0, 1, 30)),
    "only extra": lambda: _with(
        _plain(20, 40, 6), d_sigma=np.zeros((1, 6)), y_sigma=np.zeros((40, 6)), extra_variance=0.1
    ),
    "exact curves": lambda: _with(_plain(20, 40, 6), y_sigma=np.zeros((40, 6))),
    "exact objects": lambda: _with(_plain(20, 40, 6), d_sigma=np.zeros((20, 6))),
    "sigma 1e-3": lambda: _scaled(_plain(70, 100, 100), 1e-2),
    "sigma 1e5": lambda: _scaled(_plain(70, 100, 100), 1e6),
    "sigma 1e-150": lambda: _scaled(_plain(70, 40, 100), 1e-149),
    "sigma 1e-160, shared": lambda: _scaled(_shared(70, 40, 100), 1e-159),
    "sigma 1e150": lambda: _scaled(_plain(70, 40, 100), 1e151),
    "subnormal squares": lambda: _scaled(_plain(10, 40, 5), 1e-200),
    "overflowing squares": lambda: _scaled(_plain(10, 40, 5), 1e200),
    "scales 1e±3": lambda: _scales(66, 70, 60, 3.0),
    "scales 1e±30": lambda: _scales(66, 70, 60, 30.0),
    "scales 1e±120": lambda: _scales(20, 70, 60, 120.0),
    "scales 1e±200": lambda: _scales(5, 9, 12, 200.0),
    "coarse objects": _coarse_objects,
    "families": _families,
    "families, shared": lambda: _families(y_sigma=np.full((1, 40), 0.1)),
    "families, noisy": lambda: _families(d_sigma=np.full((1, 40), 0.7), extra_variance=0.3),
    "families, weights and skip": lambda: _families(log_weights=_weights(301), skip=np.arange(129) * 2 - 1),
    "families, leave one out": lambda: (
        lambda a: _with(
            a, d=np.asarray(a["y"])[:200], d_sigma=np.asarray(a["y_sigma"])[:200], skip=np.arange(200)
        )
    )(_families()),
    "families, one far curve": lambda: (
        lambda a: _with(a, y=np.vstack([np.asarray(a["y"])[:-1], np.full((1, 40), 1e9)]))
    )(_families()),
    "families, errors of any size": lambda: _families(
        d_sigma=10.0 ** np.random.default_rng(19).uniform(-2.0, 0.3, (129, 40)),
        y_sigma=10.0 ** np.random.default_rng(20).uniform(-2.0, 0.3, (301, 40)),
    ),
    "families, errors grow along the curve": lambda: (
        lambda a: _with(
            a, **{side: np.asarray(a[side]) * np.geomspace(0.1, 5.0, 40) for side in ("d_sigma", "y_sigma")}
        )
    )(_families()),
    "families, some curves exact": lambda: (
        lambda a: _with(a, y_sigma=np.asarray(a["y_sigma"]) * (np.arange(301)[:, None] % 3 > 0))
    )(_families()),
    "families, far objects": lambda: (
        lambda a: _with(a, d=np.asarray(a["d"]) + np.geomspace(0.1, 1e7, 129)[:, None])
    )(_families()),
    "families, many": lambda: _families(300, 1500, 20),
    "families, many, shared": lambda: _families(300, 1500, 20, y_sigma=np.linspace(0.05, 0.5, 20)[None]),
    "families, one curve again and again": lambda: (
        lambda a: _with(a, y=np.repeat(np.asarray(a["y"])[:1], 301, axis=0))
    )(_families()),
    "sigma by object": _mixed_objects,
    "offset 59000": lambda: _offset(_plain(70, 200, 100), 59_000.0, 0.01),
    "offset 59000, shared": lambda: _offset(_shared(70, 200, 100), 59_000.0, 0.01),
    "offset 1e12": lambda: _offset(_plain(70, 200, 20), 1e12, 1.0),
    "outlying curve": _outlying_curve,
    "far objects": lambda: (lambda a: _with(a, d=np.asarray(a["d"]) + 300.0))(_plain(70, 200, 20)),
}


@cache
def case_and_definition(name: str) -> tuple[Arguments, np.ndarray, np.ndarray]:
    """A row of the table, its log-sums (n,) and its log matches (n, k)."""
    arguments = CASES[name]()
    return arguments, *definition(arguments)

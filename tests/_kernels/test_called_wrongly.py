"""The core itself, without the checks in Python before it: a wrong call is an exception, never the end of the process."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

CORE: Any = pytest.importorskip("badac._kernels._core", reason="the core is not built here")
core = CORE

Call = Callable[..., None]


def pairs(name: str, n: int = 3, k: int = 4, m: int = 2, **changed: Any) -> None:
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        "out": np.empty(
            (n, k) if name == "pair_log_match" else n, np.int64 if name == "pair_best" else float
        ),
        "d": rng.standard_normal((n, m)),
        "d_sigma": np.ones((n, m)),
        "y": rng.standard_normal((k, m)),
        "y_sigma": np.ones((k, m)),
    }
    if name == "mixture_logsumexp":
        given |= {"object_factor": np.ones(1), "curve_factor": np.ones(1), "share": np.ones(1)}
    else:
        given["extra_variance"] = np.zeros(m)
    if name != "pair_log_match":
        given |= {"log_weights": None, "skip": None}
    if name == "pair_logsumexp":
        given |= {"screen": True, "objects_per_block": 0, "curves_per_block": 0}
    getattr(core, name)(**{**given, "n_threads": 1, "level": "", **changed})


GRID: dict[str, Any] = {
    "values": np.ones((1, 3)),
    "sigma": np.ones((1, 3)),
    "mean": np.ones(3),
    "psi": np.ones(3),
    "rows": np.zeros(1, np.int64),
}


def curve_log_evidence(**changed: Any) -> None:
    given: dict[str, Any] = {
        "out": np.empty(1),
        **GRID,
        "products": np.ones((3, 3)),
        "columns": np.ones((3, 2)),
        "integrated": np.ones(1, np.int32),
        "sizes": np.full(1, 2, np.int32),
        "chosen": np.arange(2, dtype=np.int32),
        "first": np.arange(3, dtype=np.int32),
        "second": np.full(3, -1, np.int32),
        "size_of": np.ones(1),
        "base": 0.0,
        "share": 1.0,
        "component_precision": np.ones((1, 1)),
        "component_shift": np.ones((1, 1)),
        "log_constant": np.zeros(1),
    }
    core.curve_log_evidence(**{**given, "n_threads": 1, "level": "", **changed})


def bumps(**changed: Any) -> None:
    given: dict[str, Any] = {
        "out": np.empty((1, 1, 1)),
        **GRID,
        "factors": np.ones((3, 1)),
        "precision": np.ones((1, 1)),
        "shift": np.ones((1, 1)),
        "which": np.zeros((1, 1), np.int64),
        "component_precision": np.ones((1, 1)),
        "component_shift": np.ones((1, 1)),
        "first": np.zeros(1, np.int32),
        "length": np.full(1, 3, np.int32),
        "begin": np.zeros(1, np.int64),
        "height": np.ones(3),
        "log_share": np.zeros((1, 1)),
        "shrink": 0.0,
    }
    core.bumps(**{**given, "n_threads": 1, "level": "", **changed})


def latent(name: str, n: int = 3, k: int = 2, r: int = 2, **changed: Any) -> None:
    p = r * (r + 1) // 2
    outputs: dict[str, dict[str, Any]] = {
        "latent_log_match": {"out": np.empty((n, k))},
        "latent_log_evidence": {"out": np.empty(n)},
        "latent_responsible": {
            "out": np.empty(n),
            "which": np.empty((n, 2), np.int64),
            "match": np.empty((n, 2)),
        },
        "latent_moments": {"mean": np.empty((n, r)), "covariance": np.empty((n, p))},
        "latent_posterior": {
            "covariance": np.empty((n, p)),
            "mean": np.empty((n, r)),
            "log_det": np.empty(n),
        },
        "latent_step": {
            "evidence": np.empty(n),
            "sums": np.zeros((k, 1 + r + 2 * p)),
            "near": np.ones((-(-n // core.latent_group), k), np.uint8),
        },
        "latent_left_out": {"evidence": np.empty(n)},
    }
    given = {
        **outputs[name],
        "precision": np.tile(np.eye(r)[np.triu_indices(r)], (n, 1)),
        "shift": np.ones((n, r)),
        "component_precision": np.tile(np.eye(r)[np.triu_indices(r)], (k, 1)),
        "component_shift": np.ones((k, r)),
    }
    if name != "latent_posterior":
        given["log_constant"] = np.zeros(k)
    if name == "latent_step":
        given |= {"refresh": True, "threshold": 1e-3}
    if name == "latent_left_out":
        given |= {"means": np.zeros((k, r)), "count": np.ones(k)}
    getattr(core, name)(**{**given, "n_threads": 1, "level": "", **changed})


def improved(k: int = 2, r: int = 2, **changed: Any) -> Any:
    p = r * (r + 1) // 2
    given: dict[str, Any] = {
        "weights": np.empty(k),
        "means": np.empty((k, r)),
        "covariances": np.empty((k, r, r)),
        "precision": np.empty((k, p)),
        "shift": np.empty((k, r)),
        "log_constant": np.empty(k),
        "old_means": np.zeros((k, r)),
        "old_covariances": np.tile(np.eye(r), (k, 1, 1)),
        "sums": np.ones((k, 1 + r + 2 * p)),
        "pooling": 0.1,
        "least_information": 0.02,
        "largest_change": 10.0,
        "floor": 1e-6,
    }
    return core.latent_improved(**{**given, "n_threads": 1, "level": "", **changed})


def points(**changed: Any) -> None:
    outputs = {"weight": np.empty((2, 3)), "scaled": np.empty((2, 3)), "offset": np.empty(2)}
    inputs = {"values": np.ones((2, 3)), "sigma": np.ones((2, 3)), "mean": np.zeros(3), "psi": np.ones(3)}
    core.weigh_points(**{**outputs, **inputs, "n_threads": 1, "level": "", **changed})


def factor(name: str, n: int = 2, m: int = 3, r: int = 2, **changed: Any) -> None:
    p = r * (r + 1) // 2
    outputs: dict[str, dict[str, Any]] = {
        "factor_project": {
            "precision": np.empty((n, p)),
            "shift": np.empty((n, r)),
            "offset": np.empty(n),
        },
        "factor_sums": {
            "normal": np.empty((m, 1 + r + p)),
            "right": np.empty((m, 1 + r)),
            "weight_squared": np.empty(m),
            "misfit": np.empty(m),
            "moments": np.empty(1 + r + p),
        },
        "factor_normal": {"normal": np.empty((m, 1 + r + p))},
        "factor_leverage": {"out": np.empty(n)},
    }
    inputs = {"values": np.ones((n, m)), "sigma": np.ones((n, m)), "mean": np.zeros(m), "psi": np.ones(m)}
    given = {**outputs[name], **inputs, "factors": np.ones((m, r)), "n_threads": 1, "level": ""}
    if name in ("factor_normal", "factor_leverage"):
        given["position"] = np.ones((n, r))
    if name == "factor_leverage":
        given.update(inverse=np.ones((1 + r + p, m)), largest=0.7)
    getattr(core, name)(**{**given, **changed})


def row_products(**changed: Any) -> None:
    given = {"out": np.empty((2, 4)), "left": np.ones((2, 3)), "right": np.ones((3, 4))}
    core.row_products(**{**given, "n_threads": 1, "level": "", **changed})


def spread(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty(3), "values": np.ones((2, 3)), "variance": np.ones((2, 3))}
    given |= {"least": np.ones(3), "steps": 2}
    core.population_variance(**{**given, "n_threads": 1, "level": "", **changed})


def moments(**changed: Any) -> None:
    given: dict[str, Any] = {name: np.empty(3) for name in ("total", "mean", "noise")}
    given |= {name: np.empty((3, 3)) for name in ("covariance", "together")}
    given |= {"values": np.ones((2, 3)), "sigma": np.ones((2, 3)), "spread": np.ones(3)}
    core.weighted_moments(**{**given, "n_threads": 1, "level": "", **changed})


def k_means(**changed: Any) -> None:
    given: dict[str, Any] = {"moved": np.empty((2, 3)), "count": np.empty(2), "scatter": np.empty((2, 6))}
    given |= {"places": np.ones((5, 3)), "few": np.ones((4, 3)), "centres": np.ones((2, 3)), "steps": 2}
    core.k_means(**{**given, "n_threads": 1, "level": "", **changed})


def spread_out(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty(3, np.int64), "places": np.ones((5, 3)), "first": 1}
    core.spread_out(**{**given, "drawn": np.full(2, 0.5), "n_threads": 1, "level": "", **changed})


def without(**changed: Any) -> None:
    given: dict[str, Any] = {
        "out_precision": np.empty((1, 1)),
        "out_shift": np.empty((1, 1)),
        "out_offset": np.empty(1),
        "sums": np.array([[1.0, 0.0, 1.0]]),
        "shift": np.ones((1, 2)),
        "offset": np.zeros(1),
        "amplitude": np.ones((1, 1)),
        "chosen": np.arange(2, dtype=np.int32),
        "first": np.arange(3, dtype=np.int32),
        "second": np.full(3, -1, np.int32),
    }
    core.latent_without(**{**given, "n_threads": 1, "level": "", **changed})


def irregular(**changed: Any) -> None:
    given: dict[str, Any] = {
        "precision": np.empty((1, 1, 1)),
        "shift": np.empty((1, 1, 1)),
        "offset": np.empty((1, 1)),
    }
    given |= {"values": np.ones(3), "variance": np.ones(3), "at": np.arange(3.0), "first": np.array([0, 3])}
    given |= {"group": np.array([0, 1]), "band": np.array([0]), "knots": np.arange(2.0), "rank": 1}
    given |= {
        "coefficients": np.ones((1, 3, 2)),
        "psi": np.ones(1),
        "widths": np.ones(1),
        "length": 1.0,
        "period": np.inf,
    }
    core.points_likelihood(**{**given, "n_threads": 1, "level": "", **changed})


def shifted(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty((1, 2)), "values": np.ones(3), "variance": np.ones(3)}
    given |= {
        "at": np.arange(3.0),
        "first": np.array([0, 3]),
        "group": np.array([0, 1]),
        "band": np.array([0]),
    }
    given |= {"knots": np.arange(2.0), "coefficients": np.ones((1, 3, 2)), "psi": np.ones(1)}
    given |= {"shifts": np.zeros(2), "length": 1.0, "period": np.inf, "unit": 1.0}
    core.shifted_evidence(**{**given, "n_threads": 1, "level": "", **changed})


def grouped(**changed: Any) -> None:
    n, m, bands = 2, 3, 2
    given: dict[str, Any] = {name: np.empty(n * m) for name in ("values", "variance", "at")}
    given |= {"first": np.empty(n * bands + 1, np.int64), "band": np.empty(n * bands, np.int64)}
    given |= {"group": np.empty(n + 1, np.int64), "all_band": np.array([[0, 1, 0], [1, 1, 0]])}
    given |= {name: np.ones((n, m)) for name in ("all_values", "sigma", "all_at")}
    core.grouped_points(**{**given, "n_bands": bands, "n_threads": 1, **changed})


def curve_rows(**changed: Any) -> None:
    given: dict[str, Any] = {
        "out": np.empty((3, 2)),
        "at": np.arange(3.0),
        "band": np.zeros(3, np.int64),
        "rank": 1,
    }
    given |= {"knots": np.arange(2.0), "coefficients": np.ones((1, 3, 2)), "length": 1.0, "period": np.inf}
    core.curve_rows(**{**given, "n_threads": 1, "level": "", **changed})


def cosine_rows(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty((3, 2)), "angle": np.arange(3.0), "count": 2}
    core.cosine_rows(**{**given, "n_threads": 1, **changed})


def bump_rows(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty((3, 2)), "where": np.arange(3.0), "farthest": 4.0}
    given |= {"places": np.arange(2.0), "widths": np.ones(2)}
    core.bump_rows(**{**given, "n_threads": 1, **changed})


def low_rank(name: str, n: int = 2, p: int = 3, q: int = 2, **changed: Any) -> None:
    given: dict[str, Any] = {
        "residual": np.ones((n, p)),
        "variance": np.ones((n, p)),
        "shapes": np.ones((n, p, 1)),
    }
    given |= {"band": np.zeros((n, p), np.int64), "local": np.ones((n, p, 2))}
    if name != "low_rank_offset":
        given |= {
            "rows": np.zeros(1, np.int64),
            "places": np.zeros(1, np.int64),
            "columns": np.ones((1, p, q)),
        }
    given |= {
        "low_rank_offset": {"out": np.empty(n)},
        "low_rank_filtered": {"signal": np.empty((1, q)), "precision": np.empty((1, q))},
        "low_rank_gain": {"out": np.empty((1, 2)), "sizes": np.ones((1, 2, q)), "common": 0.5},
    }[name]
    getattr(core, name)(**{**given, "n_threads": 1, "level": "", **changed})


def widths(name: str, n: int = 2, m: int = 3, r: int = 1, **changed: Any) -> None:
    given: dict[str, Any] = (
        {
            "weight": np.empty((n, m)),
            "squared": np.zeros((n, m)),
            "started": False,
            "max_steps": 5,
            "tolerance": 0.0,
        }
        if name == "widths_posterior"
        else {"out": np.empty((n, 4)), "positions": np.zeros((n, 4, r))}
    )
    given |= {"residual": np.ones((n, m)), "sigma": np.ones((n, m)), "factors": np.ones((m, r))}
    given |= {"psi": np.ones(m), "share": np.ones(1), "scale": np.ones(1)}
    getattr(core, name)(**{**given, "n_threads": 1, "level": "", **changed})


def draws(n: int = 2, k: int = 3, r: int = 2, count: int = 4, **changed: Any) -> None:
    p = r * (r + 1) // 2
    given: dict[str, Any] = {
        "out": np.empty((n, count, r)),
        "precision": np.ones((n, p)),
        "shift": np.ones((n, r)),
    }
    given |= {"own_precision": np.ones((k, p)), "own_shift": np.ones((k, r))}
    given |= {"responsibility": np.full((n, k), 1.0 / k), "points": np.zeros((count, r))}
    core.latent_draws(**{**given, "n_threads": 1, **changed})


def growth(**changed: Any) -> None:
    given: dict[str, Any] = {
        "seen": np.arange(12, dtype=np.float32).reshape(6, 2),
        "label": np.arange(6) % 2,
        "drawn": np.arange(6).reshape(1, 6),
        "seed": np.ones(1, np.int64),
        "n_classes": 2,
        "n_tried": 1,
        "least_in_leaf": 1,
    }
    core.grow_trees(**{**given, "n_threads": 1, **changed})


def walk(**changed: Any) -> None:
    given: dict[str, Any] = {
        "out": np.empty((3, 2)),
        "seen": np.zeros((3, 2), np.float32),
        "root": np.zeros(1, np.int64),
        "question": np.array([1, -1, -1], np.int32),
        "threshold": np.zeros(3),
        "yes": np.array([1, 0, 1], np.int32),
        "no": np.array([2, 0, 1], np.int32),
        "gap_is_yes": np.zeros(3, np.bool_),
        "share": np.ones((2, 2), np.float32),
        "asked": np.zeros((0, 0), np.bool_),
    }
    core.walk_trees(**{**given, "n_threads": 1, **changed})


def pointwise(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty(2), "values": np.zeros((2, 3)), "variance": np.ones((2, 3))}
    given |= {"y": np.zeros((3, 4)), "u": np.ones((3, 4)), "log_weights": np.zeros((3, 4))}
    core.pointwise_logsumexp(**{**given, "n_threads": 1, "level": "", **changed})


def curves_log_sums(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty((2, 2)), "values": np.zeros((2, 3)), "variance": np.ones((2, 3))}
    given |= {"y": np.zeros((4, 3)), "u": np.ones((4, 3)), "first": np.array([0, 1, 4])}
    core.curves_log_sums(**{**given, "n_threads": 1, "level": "", **changed})


def points_log_sums(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty((2, 2)), "values": np.zeros((2, 3)), "variance": np.ones((2, 3))}
    given |= {name: np.ones((2, 3, 4)) for name in ("y", "u")} | {"log_weights": np.zeros((2, 3, 4))}
    core.points_log_sums(**{**given, "n_threads": 1, "level": "", **changed})


def row_log_sums(**changed: Any) -> None:
    given: dict[str, Any] = {"out": np.empty(2), "terms": np.zeros((2, 3))}
    core.row_log_sums(**{**given, "n_threads": 1, "level": "", **changed})


def stacked_losses(**changed: Any) -> None:
    given: dict[str, Any] = {"loss": np.empty(2), "slope": np.empty((2, 3)), "by_output": np.empty((2, 4))}
    given |= {"outputs": np.zeros((2, 4, 3)), "weights": np.ones((2, 4)), "bias": np.zeros(3)}
    core.stacked_losses(**{**given, "label": np.array([0, 2]), "n_threads": 1, "level": "", **changed})


CALLS: dict[str, Call] = {
    **{
        n: lambda n=n, **c: pairs(n, **c)
        for n in ("pair_log_match", "pair_logsumexp", "pair_best", "mixture_logsumexp")
    },
    **{
        n: lambda n=n, **c: latent(n, **({"k": 1} if n == "latent_posterior" else {}), **c)
        for n in (
            "latent_log_match",
            "latent_log_evidence",
            "latent_responsible",
            "latent_moments",
            "latent_posterior",
            "latent_step",
            "latent_left_out",
        )
    },
    "latent_improved": improved,
    "weigh_points": points,
    "population_variance": spread,
    "weighted_moments": moments,
    "k_means": k_means,
    "spread_out": spread_out,
    "row_products": row_products,
    **{
        n: lambda n=n, **c: factor(n, **c)
        for n in ("factor_project", "factor_sums", "factor_normal", "factor_leverage")
    },
    "points_likelihood": irregular,
    "shifted_evidence": shifted,
    "grouped_points": grouped,
    "curve_rows": curve_rows,
    "cosine_rows": cosine_rows,
    "bump_rows": bump_rows,
    **{
        n: lambda n=n, **c: low_rank(n, **c)
        for n in ("low_rank_offset", "low_rank_filtered", "low_rank_gain")
    },
    "latent_without": without,
    "curve_log_evidence": curve_log_evidence,
    "bumps": bumps,
    **{n: lambda n=n, **c: widths(n, **c) for n in ("widths_posterior", "widths_log_likelihood")},
    "latent_draws": draws,
    "pointwise_logsumexp": pointwise,
    "curves_log_sums": curves_log_sums,
    "points_log_sums": points_log_sums,
    "row_log_sums": row_log_sums,
    "stacked_losses": stacked_losses,
    "grow_trees": growth,
    "walk_trees": walk,
}
WRITTEN = {
    "latent_responsible": ("out", "which", "match"),
    "latent_moments": ("mean", "covariance"),
    "latent_posterior": ("covariance", "mean", "log_det"),
    "latent_step": ("evidence", "sums", "near"),
    "latent_left_out": ("evidence",),
    "latent_improved": ("weights", "means", "covariances", "precision", "shift", "log_constant"),
    "weigh_points": ("weight", "scaled", "offset"),
    "factor_project": ("precision", "shift", "offset"),
    "factor_sums": ("normal", "right", "weight_squared", "misfit", "moments"),
    "factor_normal": ("normal",),
    "points_likelihood": ("precision", "shift", "offset"),
    "grouped_points": ("values", "variance", "at", "first", "group", "band"),
    "low_rank_filtered": ("signal", "precision"),
    "latent_without": ("out_precision", "out_shift", "out_offset"),
    "widths_posterior": ("weight", "squared"),
    "stacked_losses": ("loss", "slope", "by_output"),
    "grow_trees": (),
}


@pytest.mark.parametrize("kernel", CALLS)
def test_as_it_should_be_called(kernel: str) -> None:
    CALLS[kernel]()


@pytest.mark.parametrize("n_threads", [0, -1, -(2**31)])
@pytest.mark.parametrize("kernel", CALLS)
def test_no_threads(kernel: str, n_threads: int) -> None:
    with pytest.raises(ValueError, match="n_threads must be at least 1"):
        CALLS[kernel](n_threads=n_threads)


@pytest.mark.parametrize(
    ("kernel", "output"), [(kernel, name) for kernel in CALLS for name in WRITTEN.get(kernel, ("out",))]
)
def test_results_are_never_written_into_a_copy(kernel: str, output: str) -> None:
    """Of another type, not contiguous, or read-only: the result would be lost, or somebody's memory changed."""
    shape = (64, 64)
    locked = np.zeros(shape)
    locked.flags.writeable = False
    for bad in (np.zeros(shape, np.float32), np.zeros(shape)[:, ::2], locked):
        with pytest.raises((TypeError, ValueError)):
            CALLS[kernel](**{output: bad})


@pytest.mark.parametrize("kernel", ["pair_log_match", "pair_logsumexp", "pair_best", "mixture_logsumexp"])
def test_objects_without_points(kernel: str) -> None:
    with pytest.raises(ValueError, match="points"):
        pairs(kernel, m=0)


@pytest.mark.parametrize("first", [[0, 5], [1, 4], [0, 4, 4], [0, -1, 4], [0, 2**62, 4], [0], [-(2**63), 4]])
def test_classes_are_within_the_curves(first: list[int]) -> None:
    with pytest.raises(ValueError, match="first does not fit|a class has no curve"):
        curves_log_sums(first=np.array(first), out=np.empty((2, max(len(first) - 1, 1))))


@pytest.mark.parametrize("skip", [4, -2, 2**40, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("kernel", ["pair_logsumexp", "pair_best", "mixture_logsumexp"])
@pytest.mark.parametrize("n", [3, 100])
def test_a_curve_that_is_not_there_cannot_be_left_out(kernel: str, skip: int, n: int) -> None:
    with pytest.raises(ValueError, match="skip is out of range"):
        pairs(kernel, n=n, skip=np.full(n, skip))


@pytest.mark.parametrize(
    "changed",
    [
        {"begin": np.array([2**63 - 2])},
        {"begin": np.array([-1])},
        {"begin": np.array([1])},
        {"first": np.array([2**31 - 1], np.int32)},
        {"length": np.array([2**31 - 1], np.int32)},
        {"length": np.array([-1], np.int32)},
        {"which": np.array([[1]])},
        {"which": np.array([[-1]])},
        {"rows": np.array([1])},
        {"rows": np.array([-1])},
    ],
)
def test_bumps_out_of_range(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        bumps(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": np.array([1])},
        {"rows": np.array([-1])},
        {"first": np.array([0, 1, 3], np.int32)},
        {"second": np.array([-1, -2, -1], np.int32)},
        {"chosen": np.array([0, 2], np.int32)},
        {"chosen": np.arange(3, dtype=np.int32)},
        {"integrated": np.full(1, 3, np.int32)},
        {"integrated": np.full(1, -1, np.int32)},
        {"integrated": np.full(1, 2, np.int32)},
        {"sizes": np.full(1, 97, np.int32)},
        {"sizes": np.full(2, 2, np.int32)},
        {"size_of": np.ones(2)},
        {"products": np.ones((2, 3))},
        {"component_shift": np.ones((2, 1))},
        {"component_precision": np.ones((1, 2))},
        {"log_constant": np.zeros(2)},
        {"mean": np.ones(2)},
        {"sigma": np.ones((1, 2))},
        {
            name: np.empty(0, np.float64 if name == "size_of" else np.int32)
            for name in ("integrated", "sizes", "chosen", "first", "second", "size_of")
        },
    ],
)
def test_curves_that_do_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="fit|out of range|of which some are integrated"):
        curve_log_evidence(**changed)


def test_averages_of_bumps_need_shares() -> None:
    bumps(out=np.empty(1), shrink=0.5)
    for changed in ({"log_share": np.empty((0, 0))}, {"shrink": 1.0}, {"shrink": np.inf}):
        with pytest.raises(ValueError, match="log_share does not fit"):
            bumps(**{"out": np.empty(1), "shrink": 0.5, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": np.array([2])},
        {"rows": np.array([-1])},
        {"places": np.array([1])},
        {"places": np.array([-1])},
        {"places": np.zeros(2, np.int64)},
        {"columns": np.ones((1, 2, 2))},
        {"sizes": np.ones((1, 2, 3))},
        {"common": 1.5},
        {"common": np.nan},
        {"band": np.zeros((2, 2), np.int64)},
        {"local": np.ones((2, 2, 2))},
        {"shapes": np.ones((1, 3, 1))},
    ],
)
def test_columns_that_do_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="fit|out of range|share"):
        low_rank("low_rank_gain", **changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"all_band": np.full((2, 3), 2)},
        {"all_band": np.full((2, 3), -1)},
        {"all_band": np.zeros((3, 2), np.int64)},
        {"n_bands": 0},
        {"n_bands": 2**31 - 1},
        {"sigma": np.ones((2, 2))},
        {"band": np.empty(3, np.int64)},
        {"group": np.empty(2, np.int64)},
        {"all_values": np.ones((3, 3))},
    ],
)
def test_groups_that_do_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="fit|at least"):
        grouped(**changed)


@pytest.mark.parametrize("count", [-(2**62), -1, 0, 1, 3, 2**62])
def test_cosines_that_do_not_fit(count: int) -> None:
    with pytest.raises(ValueError, match="fit|at least"):
        cosine_rows(count=count)


@pytest.mark.parametrize("name", ["where", "places", "widths"])
def test_bumps_that_do_not_fit(name: str) -> None:
    with pytest.raises(ValueError, match="fit"):
        bump_rows(**{name: np.ones(5)})


@pytest.mark.parametrize("band", [-1, 1, 2**62])
def test_curves_of_bands_that_are_not_there(band: int) -> None:
    with pytest.raises(ValueError, match="band does not fit"):
        curve_rows(band=np.full(3, band))


@pytest.mark.parametrize(
    "changed",
    [
        {"root": np.array([3])},
        {"root": np.array([-1])},
        {"question": np.array([2, -1, -1], np.int32)},
        {"yes": np.array([0, 0, 1], np.int32)},
        {"yes": np.array([3, 0, 1], np.int32)},
        {"yes": np.array([1, 2, 1], np.int32)},
        {"yes": np.array([1, -1, 1], np.int32)},
        {"asked": np.zeros((3, 2), np.bool_)},
        {"threshold": np.zeros(2)},
    ],
)
def test_trees_that_lead_nowhere(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nowhere|no node|fit"):
        walk(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"label": np.full(6, 2)},
        {"label": np.full(6, -1)},
        {"drawn": np.full((1, 6), 6)},
        {"drawn": np.full((1, 6), -1)},
        {"n_classes": 0},
        {"n_tried": 0},
        {"least_in_leaf": 0},
        {"seed": np.zeros(2, np.int64)},
        {"seen": np.zeros((6, 0), np.float32)},
    ],
)
def test_trees_of_rows_that_are_not_there(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        growth(**changed)


@pytest.mark.parametrize("objects_per_block", [1, 2**62, 2**63 - 1, -5])
def test_any_size_of_blocks(objects_per_block: int) -> None:
    found, expected = np.empty(3), np.empty(3)
    pairs("pair_logsumexp", out=found, objects_per_block=objects_per_block, curves_per_block=2**62)
    pairs("pair_logsumexp", out=expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_lengths_beyond_an_int() -> None:
    """Empty arrays may be of any length; a length that is cut to 32 bits would seem to fit."""
    for r in (2**32 + 1, 2**32, 70_000):
        with pytest.raises(ValueError):
            bumps(
                values=np.empty((1, 0)),
                sigma=np.empty((1, 0)),
                mean=np.empty(0),
                psi=np.empty(0),
                factors=np.empty((0, r)),
                length=np.zeros(1, np.int32),
            )
        with pytest.raises(ValueError):
            without(
                shift=np.empty((0, r)),
                sums=np.empty((0, r)),
                offset=np.empty(0),
                amplitude=np.empty((0, 1)),
            )
        with pytest.raises(ValueError):
            latent(
                "latent_log_match", shift=np.empty((0, r)), precision=np.empty((0, 1)), out=np.empty((0, 2))
            )


@pytest.mark.parametrize(
    "changed", [{"right": np.ones((2, 4))}, {"left": np.ones((3, 3))}, {"out": np.empty((2, 3))}]
)
def test_products_of_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        row_products(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"variance": np.ones((3, 3))},
        {"variance": np.ones((2, 4))},
        {"least": np.ones(2)},
        {"out": np.empty(4)},
        {"steps": -1},
        {"steps": 2**31 - 1},
    ],
)
def test_spreads_of_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        spread(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"sigma": np.ones((3, 3))},
        {"sigma": np.ones((2, 4))},
        {"spread": np.ones(2)},
        {"mean": np.empty(4)},
        {"covariance": np.empty((3, 4))},
        {"together": np.empty((2, 3))},
    ],
)
def test_moments_of_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        moments(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"few": np.ones((4, 2))},
        {"centres": np.ones((2, 4))},
        {
            "centres": np.ones((0, 3)),
            "moved": np.empty((0, 3)),
            "count": np.empty(0),
            "scatter": np.empty((0, 6)),
        },
        {"count": np.empty(3)},
        {"moved": np.empty((3, 2, 2))},
        {"scatter": np.empty((2, 5))},
        {"steps": -1},
    ],
)
def test_groups_of_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        k_means(**changed)


@pytest.mark.parametrize(
    "changed", [{"first": 5}, {"first": -1}, {"out": np.empty(2, np.int64)}, {"places": np.ones((0, 3))}]
)
def test_draws_of_places_that_do_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        spread_out(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"r": 0},
        {"r": 49},
        {"sigma": np.ones((2, 4))},
        {"sigma": np.ones((3, 3))},
        {"mean": np.ones(2)},
        {"psi": np.ones(4)},
        {"factors": np.ones((4, 2))},
        {"factors": np.ones((3, 3))},
        {"misfit": np.empty(4), "offset": np.empty(3)},
    ],
)
@pytest.mark.parametrize("kernel", ["factor_project", "factor_sums"])
def test_points_that_do_not_fit_their_factors(kernel: str, changed: dict[str, Any]) -> None:
    wanted = {"factor_project": "misfit", "factor_sums": "offset"}[kernel]
    with pytest.raises(ValueError):
        CALLS[kernel](**{name: value for name, value in changed.items() if name != wanted})


@pytest.mark.parametrize(
    ("kernel", "changed"),
    [
        ("factor_normal", {"normal": np.empty((3, 5))}),
        ("factor_normal", {"position": np.ones((3, 2))}),
        ("factor_leverage", {"position": np.ones((2, 3))}),
        ("factor_leverage", {"out": np.empty(3)}),
        ("factor_leverage", {"inverse": np.ones((6, 4))}),
        ("factor_leverage", {"inverse": np.ones((5, 3))}),
        ("factor_leverage", {"largest": 1.0}),
        ("factor_leverage", {"largest": np.nan}),
    ],
)
def test_leverages_of_what_does_not_fit(kernel: str, changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        CALLS[kernel](**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"r": 17},
        {"k": 0},
        {"sums": np.ones((2, 8))},
        {"old_covariances": np.ones((2, 2, 3))},
        {"weights": np.empty(3)},
    ],
)
def test_a_step_that_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        improved(**changed)


def test_a_covariance_that_is_none_is_not_improved() -> None:
    """The caller is told, and asks the definition."""
    for bad in (-np.ones((2, 2, 2)), np.full((2, 2, 2), np.nan), np.zeros((2, 2, 2))):
        assert improved(old_covariances=bad) is False


def test_no_steps() -> None:
    with pytest.raises(ValueError, match="max_steps"):
        widths("widths_posterior", max_steps=0)


def _wide(m: int, n: int = 1, k: int = 2) -> dict[str, Any]:
    ones = np.ones((n, m))
    return {
        "n": n,
        "k": k,
        "m": m,
        "d": ones,
        "d_sigma": ones,
        "y": np.zeros((k, m)),
        "y_sigma": np.ones((k, m)),
    }


FEW_AND_LARGE: dict[str, Call] = {
    "widths_posterior": lambda: widths("widths_posterior", max_steps=2**31 - 1, tolerance=-1.0),
    "widths_posterior, many points": lambda: widths(
        "widths_posterior", 1, 20_000, 48, max_steps=2**31 - 1, tolerance=-1.0
    ),
    "widths_log_likelihood": lambda: widths(
        "widths_log_likelihood", 1, 100_000, 40, out=np.empty((1, 400)), positions=np.zeros((1, 400, 40))
    ),
    "latent_log_evidence": lambda: latent("latent_log_evidence", 1, 60_000, 44),
    "latent_log_match": lambda: latent("latent_log_match", 1, 60_000, 44),
    "latent_responsible": lambda: latent("latent_responsible", 1, 60_000, 44),
    "latent_moments": lambda: latent("latent_moments", 1, 60_000, 44),
    "latent_step": lambda: latent("latent_step", 4000, 300, 44),
    "latent_left_out": lambda: latent("latent_left_out", 1, 60_000, 44),
    "pair_log_match, careful": lambda: pairs(
        "pair_log_match", **_wide(20_000, 2, 1000) | {"d": np.full((2, 20_000), 1e200)}
    ),
    "pair_logsumexp": lambda: pairs("pair_logsumexp", **_wide(200_000, 33, 80)),
    "pair_best": lambda: pairs("pair_best", out=np.empty(33, np.int64), **_wide(200_000, 33, 80)),
    "mixture_logsumexp": lambda: pairs(
        "mixture_logsumexp",
        **_wide(20_000, 1, 400),
        object_factor=np.linspace(9.0, 1.0, 40),
        curve_factor=np.linspace(9.0, 1.0, 40),
        share=np.full(40, 0.025),
    ),
    "bumps": lambda: bumps(
        out=np.empty((1, 1, 4000)),
        values=np.ones((1, 100_000)),
        sigma=np.ones((1, 100_000)),
        mean=np.ones(100_000),
        psi=np.ones(100_000),
        factors=np.ones((100_000, 1)),
        first=np.zeros(4000, np.int32),
        length=np.full(4000, 100_000, np.int32),
        begin=np.zeros(4000, np.int64),
        height=np.ones(100_000),
    ),
}


class Timed:
    """The core, with Ctrl-C 0.3 s after a kernel begins: arguments take their time too."""

    def __init__(self) -> None:
        self.at = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(CORE, name)
        return found if name == "latent_group" else lambda **given: self._run(found, given)

    def _run(self, kernel: Call, given: dict[str, Any]) -> None:
        timer = threading.Timer(0.3, self._stop)
        timer.start()
        try:
            kernel(**given)
            timer.join()
            raise AssertionError("finished before Ctrl-C was heard: not an object that is large enough")
        finally:
            timer.join()

    def _stop(self) -> None:
        self.at = time.process_time()
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("case", FEW_AND_LARGE)
def test_ctrl_c_within_one_large_object(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One object alone is work for seconds: it is left within a tenth of one or so (times of the process)."""
    timed = Timed()
    monkeypatch.setitem(globals(), "core", timed)
    with pytest.raises(KeyboardInterrupt):
        FEW_AND_LARGE[case]()
    assert time.process_time() - timed.at < 0.3

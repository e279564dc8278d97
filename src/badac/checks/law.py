"""What a broken law says, and what the checks of all protocols share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.noise.model import Noise, needs_sigma

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NODES = 3001


class LawBroken(AssertionError):
    """A model does not keep a law of its protocol.

    Examples
    --------
    >>> from badac.checks import LawBroken
    >>> issubclass(LawBroken, Exception)
    True
    """


class Leniency(TypedDict, total=False):
    """What a check may be told besides the model and the data.

    skip : names of laws that do not apply
    tolerance : of numbers that should agree, absolute
    """

    skip: Collection[str]
    tolerance: float


def keep_all(
    laws: Mapping[str, Callable[[], None]], skip: Collection[str], excused: Collection[str]
) -> tuple[str, ...]:
    """Check the laws by name, but for those that are skipped or excused; return the names of those that were checked."""
    unknown = set(skip) - set(laws)
    if unknown:
        raise ValueError(f"`skip` must name laws out of {', '.join(laws)}: got {', '.join(sorted(unknown))}.")
    checked = [name for name in laws if name not in skip and name not in excused]
    for name in checked:
        laws[name]()
    return tuple(checked)


def with_values(like: Measurements, values: FloatArray) -> Measurements:
    return like.replaced(values)


def only_points(objects: Measurements, points: IntArray) -> Measurements:
    """Return the objects with only the given points left; the others are missing."""
    keep = np.zeros(objects.n_points, dtype=bool)
    keep[points] = True
    return with_values(objects, np.where(keep, objects.values, np.nan))


def broken(law: str, found: object, expected: object) -> LawBroken:
    return LawBroken(f"law '{law}' is broken: got {found}, expected {expected}.")


def check_close(
    law: str, found: FloatArray, expected: FloatArray, atol: float = 1e-8, rtol: float = 1e-8
) -> None:
    if not np.allclose(found, expected, atol=atol, rtol=rtol):
        worst = np.unravel_index(int(np.nanargmax(np.abs(found - expected))), np.shape(found))
        raise broken(law, f"{found[worst]} at {tuple(int(i) for i in worst)}", expected[worst])


def scaled(side: Measurements, factor: float) -> Measurements:
    if side.covariance is not None:
        return side.replaced(factor * side.values, covariance=factor**2 * side.covariance)
    return side.replaced(factor * side.values, factor * side.sigma if side.has_errors else None)


def nodes_of_point(
    noise: Noise, objects: Measurements, point: int, n_nodes: int = _NODES, tail: float = 1000.0
) -> tuple[FloatArray, FloatArray]:
    """Values (G,) of one point to integrate over, and their weights: whole numbers if the noise draws only such."""
    values = objects.values[:, point]
    if not needs_sigma(noise):
        top = int(20 + 4 * np.nanmax(objects.values))
        return np.arange(top + 1.0), np.ones(top + 1)
    width = max(float(np.nanmax(values) - np.nanmin(values)), float(np.nanmax(objects.sigma[:, point])))
    # Fine in the middle and far in the tails: even in the inverse hyperbolic sine.
    unit = max(width / 50.0, float(np.nanmin(objects.sigma[:, point])))
    edge = np.arcsinh(tail * width / unit)
    x = np.linspace(-edge, edge, n_nodes)
    weight = unit * np.cosh(x) * (x[1] - x[0])
    return float(np.nanmedian(values)) + unit * np.sinh(x), weight


def possible_values(noise: Noise, one: Measurements, nodes: FloatArray, point: int) -> npt.NDArray[np.bool_]:
    """Which nodes are values that the point can have: counts out of trials end somewhere."""
    largest = getattr(noise, "largest", None)
    return (
        np.ones(len(nodes), dtype=bool) if largest is None else nodes <= np.atleast_2d(largest(one))[0, point]
    )

"""Do the points have an order, and what lives on it: random curves and bumps, in units of the range of the coordinates.

    f ~ GP(0, k(x, x')) ,      k(x, x) = 1

A family of random curves (`RandomCurves`) has one or more alternatives (lengths, ...) that are equally likely, and two forms of
each. At any points it is the kernel itself, for `SmoothCurves` within the range so many cosines that they are the kernel
(`FeaturesAtPoints`). On a common grid it is a few features, ``f = features c`` with ``c ~ N(0, diag variances)``: for
`KernelCurves` the leading eigenvectors of the kernel on the grid, for `SmoothCurves` cosines.

Smooth functions are sums of cosines, ``f(x) = sum_k c_k cos(pi k x')`` with ``c_k ~ N(0, lambda_k(l))``: a Gaussian process
with a squared-exponential kernel of length ``l``, whose spectrum ``lambda_k ~ exp(-(pi k l)^2 / 2)`` ends after a few dozen
terms, so that a curve of any number of points costs a few dozen numbers (Hilbert-space approximation, Solin & Sarkka
2020). Bumps are ``exp(-((x - u) / w)^2)`` at places ``u`` and widths ``w`` on a grid.

Points with coordinates `at` have an order. Columns without coordinates have one if neighbours resemble each other more than
columns in any other order do: a permutation test, so that a catalogue of unrelated features is not taken for a curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from badac._kernels import bump_rows, cosine_rows
from badac._kernels.eigen import eigh
from badac._kernels.stretches import Stretches
from badac.anomalies.model import FloatArray
from badac.data.measurements import Measurements
from badac.data.validation import IntArray

_FEWEST_POINTS = 8
_ORDERS = 999
_OBJECTS_ASKED = 2000
# Columns from which on some of their neighbours, in some objects, tell as well: with all, the test grows as their square.
_MANY_POINTS, _OBJECTS_ASKED_OF_MANY = 512, 100
# The cosines are flat at the ends of their interval; a margin keeps that away from the data.
_MARGIN = 0.05
# Terms of the spectrum below this share of the first are left out.
_SPECTRUM_ENDS = 1e-2
# At an object's own points a curve is to be its kernel: nearer to its spectrum's end, and far from the interval's.
# With these two the largest difference of the covariance from the kernel within the range is 3e-4 (tests/anomalies).
_SPECTRUM_ENDS_AT_POINTS = 1e-4
_LENGTHS_BEYOND = 2.0
_WIDTH_RATIO = 2.5
_BUMP_ENDS = 1e-2  # of its height


def coordinates(training: Measurements, rng: np.random.Generator) -> FloatArray | None:
    """Return (m,): where the points lie, scaled to [0, 1]; None for features without an order."""
    if training.at is not None and training.at.ndim == 1:
        return scaled(training.at)
    if training.at is None and neighbours_resemble(training, rng):
        return scaled(np.arange(training.n_points, dtype=np.float64))
    return None


def scaled(at: FloatArray) -> FloatArray | None:
    """Return the coordinates on [0, 1]; None if they are all the same."""
    width = float(np.ptp(at))
    return None if width == 0.0 else np.asarray((at - at.min()) / width)


def neighbours_resemble(training: Measurements, rng: np.random.Generator) -> bool:
    """Whether columns next to each other differ less than they would in one of 999 random orders.

    Of many columns some hundred neighbours are asked, and as many pairs of each order.
    """
    m = training.n_points
    if m < _FEWEST_POINTS:
        return False
    values, many = training.values, m > _MANY_POINTS
    asked = _OBJECTS_ASKED_OF_MANY if many else _OBJECTS_ASKED
    if len(values) > asked:
        values = values[rng.choice(len(values), asked, replace=False)]
    places = np.sort(rng.choice(m - 1, _MANY_POINTS, replace=False)) if many else np.arange(m - 1)
    difference = _pair_differences(values) if many else _all_differences(values)
    own = difference(places, places + 1)
    orders = rng.permuted(np.tile(np.arange(m), (_ORDERS, 1)), axis=1)
    return all(own < difference(order[places], order[places + 1]) for order in orders)


def _all_differences(values: FloatArray) -> Callable[[IntArray, IntArray], float]:
    """What sums, over pairs of columns of values (n, m), the mean squared difference of the objects that have both."""
    observed = ~np.isnan(values)
    filled = np.where(observed, values, 0.0)
    together = observed.astype(np.float64).T @ observed
    squares = (filled**2).T @ observed
    difference = (squares + squares.T - 2.0 * filled.T @ filled) / np.maximum(together, 1.0)
    return lambda first, second: float(difference[first, second].sum())


def _pair_differences(values: FloatArray) -> Callable[[IntArray, IntArray], float]:
    """`_all_differences` of the pairs that are asked alone, for columns of whom few pairs are."""
    columns = np.ascontiguousarray(values.T)
    complete = not np.isnan(values).any()

    def total(first: IntArray, second: IntArray) -> float:
        apart = columns[first] - columns[second]
        if complete:
            return float(np.einsum("ij,ij->", apart, apart) / len(columns[0]))
        both = ~np.isnan(apart)
        squares = np.square(apart, out=np.zeros_like(apart), where=both).sum(axis=1)
        return float((squares / np.maximum(both.sum(axis=1), 1)).sum())

    return total


def within_range(x: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether coordinates, in units of the range, are in it: where features of curves are what they stand for."""
    return (x >= 0.0) & (x <= 1.0)


def spectrum(length: float, ends: float = _SPECTRUM_ENDS) -> FloatArray:
    """Return (q,): variance of each cosine for a process of this length; they sum to one, none below `ends` of the first."""
    most = int(np.ceil(np.sqrt(-2.0 * np.log(ends)) / (np.pi * length * (1 - 2 * _MARGIN)))) + 1
    wave = np.pi * np.arange(most) * length * (1 - 2 * _MARGIN)
    power = np.exp(-0.5 * wave**2)
    return np.asarray(power / power.sum())


def cosines(where: FloatArray, count: int) -> FloatArray:
    """Return (m, count): cosines of unit mean square (the constant first) at coordinates in [0, 1]."""
    inside = _MARGIN + (1.0 - 2.0 * _MARGIN) * where
    waves = np.cos(np.pi * np.outer(inside, np.arange(count)))
    waves[:, 1:] *= np.sqrt(2.0)
    return np.asarray(waves)


def bump_grid(where: FloatArray, step: float, widest: float) -> tuple[FloatArray, FloatArray]:
    """Return (p,) places and (p,) widths: from a point's own width to the widest, by factors of 2.5.

    Parameters
    ----------
    where : (m,)
        Coordinates in [0, 1].
    step : float
        Distance of neighbouring places in units of the width.
    widest : float
        In units of the range of the coordinates.
    """
    gaps = np.diff(np.unique(where))
    spacing = float(np.median(gaps))
    narrowest = 1.2 * spacing
    count = 1 + max(0, int(np.floor(np.log(widest / narrowest) / np.log(_WIDTH_RATIO) + 1e-9)))
    places, widths = [], []
    for width in narrowest * _WIDTH_RATIO ** np.arange(count):
        number = max(2, int(np.ceil(1.0 / max(width * step, spacing))) + 1)
        places.append(np.linspace(0.0, 1.0, number))
        widths.append(np.full(number, width))
    return np.concatenate(places), np.concatenate(widths)


def bumps(where: FloatArray, places: FloatArray, widths: FloatArray) -> FloatArray:
    """Return (..., m, p): every bump of the grid at points (..., m); what is below 1 % of the height is cut off."""
    shapes = bump_rows(where.ravel(), places, widths, -float(np.log(_BUMP_ENDS)))
    return shapes.reshape(*where.shape, places.size)


def bump_stretches(where: FloatArray, places: FloatArray, widths: FloatArray) -> Stretches:
    """Return `bumps` at points (m,) as stretches: each is asked for at its own points alone.

    Of 5,000 points that is a thousandth of the table, which has a number for each point and each of 7,000 bumps.
    """
    order = np.argsort(where, kind="stable")
    along, farthest = where[order], -float(np.log(_BUMP_ENDS))
    # A little more than the reach: rounding is not to lose a point, and what is beyond is 0.
    reach = (1.0 + 1e-9) * np.sqrt(farthest) * widths
    first = np.searchsorted(along, places - reach, side="left")
    count = np.searchsorted(along, places + reach, side="right") - first
    column = np.repeat(np.arange(len(places)), count)
    row = order[np.arange(len(column)) - np.repeat(np.cumsum(count) - count - first, count)]
    square = ((where[row] - places[column]) / widths[column]) ** 2
    near = square <= farthest
    row, column = row[near], column[near]
    return Stretches.of_numbers(row, column, np.exp(-square[near]), (len(where), len(places)))


# Eigenvectors are kept until a thousandth of the variance is left: less than any object's noise would show.
_VARIANCE_KEPT = 0.999


class RandomCurves(Protocol):
    """Alternatives of one kind of random curve that share their features on a grid."""

    def on_grid(self, where: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        """Return features (m, q) at coordinates (m,), a constant 1 first, and variances of the first of them.

        One array (q_k,), ``q_k <= q``, for each alternative; 0 for the constant if the curves have no level of their own.
        """

    def at_points(self, x: FloatArray) -> Iterator[FloatArray]:
        """Yield the covariance (b, p, p) of each alternative at coordinates (b, p)."""


@runtime_checkable
class FeaturesAtPoints(Protocol):
    """Random curves that are a few features at any coordinates within the range, not on a grid alone."""

    def features_at(self, x: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield features (b, p, q) at coordinates (b, p), a constant 1 first, and their variances (q,), of each alternative."""


@runtime_checkable
class SharedProducts(Protocol):
    """Random curves whose features on a grid have few different products: their sums over an object's points are shared."""

    def products_on_grid(self, where: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return columns (m, s) of which the product of any two features is one, or the sum of two.

        Which: (q (q + 1) / 2,) and the same, for the upper triangle row by row; -1 in the second where there is none.
        """


@dataclass(frozen=True)
class SmoothCurves:
    """Gaussian processes with squared-exponential kernels of these lengths, in units of the range.

    Examples
    --------
    >>> from badac.anomalies import SmoothCurves
    >>> SmoothCurves((0.05, 0.3)).lengths
    (0.05, 0.3)
    """

    lengths: tuple[float, ...]

    def on_grid(self, where: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        powers = tuple(spectrum(length) for length in self.lengths)
        return cosines(where, max(power.size for power in powers)), powers

    def features_at(self, x: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        for length in self.lengths:
            margin = _LENGTHS_BEYOND * length
            # The range in units of the interval of the cosines, whose ends are so far away that no curve knows of them.
            share = 1.0 / (1.0 + 2.0 * margin)
            most = int(np.ceil(np.sqrt(-2.0 * np.log(_SPECTRUM_ENDS_AT_POINTS)) / (np.pi * length * share)))
            wave = np.pi * np.arange(most + 1) * length * share
            # Its spectral density over the length of the interval (Solin & Sarkka 2020): the variance is 1 at every point.
            power = np.sqrt(2.0 * np.pi) * length * share * np.exp(-0.5 * wave**2)
            angle = np.pi * share * (margin + x)
            yield cosine_rows(angle.ravel(), most + 1).reshape(*x.shape, most + 1), power

    def products_on_grid(self, where: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
        # 2 cos a cos b = cos (a + b) + cos (a - b), and sqrt(2) cos b with the constant, whose mean square is one, too.
        count = max(spectrum(length).size for length in self.lengths)
        waves = cosines(where, 2 * count - 1)
        plain = np.column_stack([waves[:, :1], waves[:, 1:] / np.sqrt(2.0)])
        low, high = np.triu_indices(count)
        first = np.where(low > 0, low + high, np.where(high > 0, 2 * count - 2 + high, 0))
        return np.hstack([plain, waves[:, 1:count]]), first, np.where(low > 0, high - low, -1)

    def at_points(self, x: FloatArray) -> Iterator[FloatArray]:
        lag = x[:, :, None] - x[:, None, :]
        for length in self.lengths:
            yield np.exp(-0.5 * (lag / length) ** 2)


@dataclass(frozen=True)
class KernelCurves:
    """Gaussian processes with a kernel of your own.

    Parameters
    ----------
    kernel : callable
        The covariance of the curve at coordinates x and x', arrays that broadcast; 1 where they are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.anomalies import KernelCurves
    >>> def rough(a, b):
    ...     return np.exp(-np.abs(a - b) / 0.1)
    >>> float(KernelCurves(rough).kernel(0.0, 0.0))
    1.0
    """

    kernel: Callable[[FloatArray, FloatArray], FloatArray]

    def on_grid(self, where: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        values, vectors = eigh(self.kernel(where[:, None], where[None, :]))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        share = np.cumsum(values) / max(float(values.sum()), 1e-300)
        kept = 1 + int(np.searchsorted(share, _VARIANCE_KEPT))
        # In units in which every feature has a mean square of one, as a cosine has.
        features = np.column_stack([np.ones(where.size), np.sqrt(where.size) * vectors[:, :kept]])
        return features, (np.append(0.0, values[:kept] / where.size),)

    def at_points(self, x: FloatArray) -> Iterator[FloatArray]:
        yield np.array(self.kernel(x[:, :, None], x[:, None, :]), dtype=np.float64)

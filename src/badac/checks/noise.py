"""The laws of a noise model."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import kstest

from badac.checks.law import (
    Leniency,
    broken,
    check_close,
    keep_all,
    nodes_of_point,
    only_points,
    possible_values,
    scaled,
    with_values,
)
from badac.data.measurements import Measurements
from badac.noise.known_truth import log_likelihood
from badac.noise.matches import log_mixture, mixture_of_matches
from badac.noise.model import KnownTruthNoise, Noise, OneOfSeveral, ScaleMixture, needs_sigma

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_PAIRS_FOR_DRAW = 200
_NODES_FOR_DRAW = 401
# The widths that stand for a Student-t in a population are right to 0.01 in the log (`badac.noise.student`).
_WIDTHS_AGREE = 0.02


class NoiseLeniency(Leniency, total=False):
    """As `Leniency`; `tail` is how far integrals over values go, in spreads of the values (1,000 if not given)."""

    tail: float


def check_noise(
    noise: Noise,
    like: Measurements,
    truth_range: tuple[float, float],
    rng: np.random.Generator,
    **lenient: Unpack[NoiseLeniency],
) -> tuple[str, ...]:
    """Check the laws of a noise model on data that it draws itself.

    Parameters
    ----------
    noise : Noise
    like : Measurements
        (n, m), n >= 4, m >= 2: the error bars to try it with; the values do not matter.
    truth_range : (low, high)
        Range of true values, wide against the noise: the law of `draw` puts a flat prior on it.
    rng : numpy.random.Generator
    skip : names of laws that do not apply
        "symmetry" and "scaling" hold for noise that only shifts and scales, "order of points" where points are alike.
        Noise that does not need sigma (counts) is excused from the first two.
    tolerance : float
        For numerical integrals over values; 1e-3 if not given.
    tail : float
        How far these integrals go, in spreads of the values; 1,000 if not given.

    Returns
    -------
    tuple of str
        Names of the laws that were checked.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.checks import check_noise
    >>> from badac.noise import Student
    >>> like = Measurements(np.zeros((6, 3)), sigma=[0.1, 0.2, 0.3])
    >>> "symmetry" in check_noise(Student(4.0), like, truth_range=(-1, 1), rng=np.random.default_rng(0))
    True
    """
    tolerance, tail = lenient.get("tolerance", 1e-3), lenient.get("tail", 1000.0)
    low, high = truth_range
    truth = rng.uniform(low, high, like.shape)
    objects = with_values(like, noise.draw(truth, like, rng))
    curves = with_values(like, noise.draw(truth, like, rng))
    laws = {
        "shapes": lambda: _shapes(noise, objects, curves),
        "draw keeps gaps and seeds": lambda: _draw(noise, truth, like),
        "a density integrates to one": lambda: _integral(noise, objects, curves, tolerance, tail),
        "a missing point is integrated out": lambda: _marginal(noise, objects, curves, tolerance, tail),
        "draw follows log_match": lambda: _draw_follows(noise, like, truth_range, rng, tail),
        "symmetry": lambda: _symmetry(noise, objects, curves),
        "scaling": lambda: _scaling(noise, objects, curves),
        "order of objects and curves": lambda: _order(noise, objects, curves, rng),
        "order of points": lambda: _order_of_points(noise, objects, curves, rng),
        "log_mixture is the mean of the matches": lambda: _mixture(noise, objects, curves, rng),
        "shares sum to one": lambda: _shares(noise),
        "the widths are those of the match": lambda: _widths(noise, objects, curves),
        "the match is an integral over the truth": lambda: _truth(noise, objects, curves, tolerance, tail),
    }
    return keep_all(laws, lenient.get("skip", ()), _without_object(noise, like))


def _without_object(noise: Noise, like: Measurements) -> tuple[str, ...]:
    """Names of laws that speak of abilities which the noise has not."""
    excused: tuple[str, ...] = () if needs_sigma(noise) else ("symmetry", "scaling")
    if not isinstance(noise, ScaleMixture):
        excused += ("shares sum to one",)
    if not isinstance(noise, ScaleMixture) or like.covariance is not None:
        excused += ("the widths are those of the match",)
    # Of one of several models, object and curve have the same: they do not err independently, given the truth.
    apart = isinstance(noise, KnownTruthNoise) and not isinstance(noise, OneOfSeveral)
    if not apart or not needs_sigma(noise) or like.covariance is not None:
        excused += ("the match is an integral over the truth",)
    return excused


def _shapes(noise: Noise, objects: Measurements, curves: Measurements) -> None:
    found = noise.log_match(objects[:3], curves)
    expected = (3, curves.n_objects)
    if found.shape != expected:
        raise broken("shapes", f"log_match of shape {found.shape}", expected)
    if np.isnan(found).any() or (found == np.inf).any():
        raise broken("shapes", "NaN or +inf in log_match", "numbers or -inf")


def _draw(noise: Noise, truth: FloatArray, like: Measurements) -> None:
    law = "draw keeps gaps and seeds"
    gaps = np.zeros(like.shape, dtype=bool)
    gaps[0, 0] = True
    holed = with_values(like, np.where(gaps, np.nan, 0.0))
    first, second = (noise.draw(truth, holed, np.random.default_rng(7)) for _ in range(2))
    if not np.array_equal(np.isnan(first), ~holed.observed):
        raise broken(law, "other gaps than those of `like`", "NaN exactly where `like` is missing")
    if not np.array_equal(first, second, equal_nan=True):
        raise broken(law, "two draws that differ with the same seed", "all randomness from rng")


def _integrate(
    noise: Noise, one: Measurements, curve: Measurements, point: int, nodes: FloatArray, weight: FloatArray
) -> float:
    """Log integral of exp(log_match) over the value at one point of one object."""
    values = np.repeat(one.values, len(nodes), axis=0)
    values[:, point] = nodes
    if one.covariance is not None:
        covariance = one.covariance if one.covariance.ndim == 2 else one.covariance[0]
        grid = Measurements(values, covariance=covariance)
    else:
        grid = Measurements(values, np.repeat(one.sigma, len(nodes), axis=0) if one.has_errors else None)
    possible = possible_values(noise, one, nodes, point)
    match = noise.log_match(grid[possible], curve)[:, 0]
    return float(logsumexp(match, b=weight[possible]))


def _integral(
    noise: Noise, objects: Measurements, curves: Measurements, tolerance: float, tail: float
) -> None:
    for point in (0, objects.n_points - 1):
        nodes, weight = nodes_of_point(noise, objects, point, tail=tail)
        template = np.full((1, objects.n_points), np.nan)
        template[0, point] = 0.0
        one = with_values(objects[:1], template)
        for curve in range(2):
            total = np.exp(_integrate(noise, one, curves[curve], point, nodes, weight))
            if abs(total - 1.0) > tolerance:
                raise broken(
                    "a density integrates to one", f"{total:.6f} at point {point}", f"1 +- {tolerance:g}"
                )


def _marginal(
    noise: Noise, objects: Measurements, curves: Measurements, tolerance: float, tail: float
) -> None:
    point = objects.n_points - 1
    nodes, weight = nodes_of_point(noise, objects, point, tail=tail)
    holed = only_points(objects[:1], np.arange(point))
    found = _integrate(noise, _filled(objects[:1], point), curves[0], point, nodes, weight)
    expected = float(noise.log_match(holed, curves[:1])[0, 0])
    if abs(found - expected) > tolerance * max(1.0, abs(expected)):
        raise broken(
            "a missing point is integrated out", f"log {found:.6f}", f"{expected:.6f} without the point"
        )


def _filled(one: Measurements, point: int) -> Measurements:
    values = one.values.copy()
    values[:, point] = 0.0
    return with_values(one, values)


def _draw_follows(
    noise: Noise, like: Measurements, truth_range: tuple[float, float], rng: np.random.Generator, tail: float
) -> None:
    """With a flat prior on the truth, an object drawn at a curve's truth is distributed as its match says (a PIT)."""
    low, high = truth_range
    rows = np.arange(_PAIRS_FOR_DRAW) % like.n_objects
    wide = like[rows]
    truth = rng.uniform(low, high, wide.shape)
    objects = with_values(wide, noise.draw(truth, wide, rng))
    curves = with_values(wide, noise.draw(truth, wide, rng))
    point = 0
    nodes, _ = nodes_of_point(noise, objects, point, _NODES_FOR_DRAW, tail)
    # Curves near the ends of the range know that the truth is inside; the match, with its endless prior, does not.
    inner = (0.5 * (low + high) - 0.25 * (high - low), 0.5 * (low + high) + 0.25 * (high - low))
    ranks = []
    for row in range(len(rows)):
        value = curves.values[row, point]
        if needs_sigma(noise) and not inner[0] <= value <= inner[1]:
            continue
        template = np.full((1, like.n_points), np.nan)
        template[0, point] = 0.0
        possible = nodes[possible_values(noise, with_values(objects[row], template), nodes, point)]
        values = np.repeat(template, len(possible), axis=0)
        values[:, point] = possible
        grid = with_values(objects[np.full(len(possible), row)], values)
        density = np.exp(noise.log_match(grid, curves[row])[:, 0])
        if needs_sigma(noise):
            cumulative = np.concatenate(
                [[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(possible))]
            )
            ranks.append(float(np.interp(objects.values[row, point], possible, cumulative)))
        else:
            below = density[possible < objects.values[row, point]].sum()
            here = density[possible == objects.values[row, point]].sum()
            ranks.append(float(below + rng.random() * here))
    if len(ranks) < 50:
        raise ValueError(
            "`truth_range` must be wide against the noise: too few curves fell into its middle half."
        )
    # Folded at the middle, a wrong width shows as clearly as a shift does unfolded.
    folded = np.abs(2.0 * np.array(ranks) - 1.0)
    p = float(min(kstest(ranks, "uniform").pvalue, kstest(folded, "uniform").pvalue))
    if p < 1e-4:
        raise broken("draw follows log_match", f"quantiles with p = {p:.1e}", "uniform quantiles")


def _symmetry(noise: Noise, objects: Measurements, curves: Measurements) -> None:
    check_close("symmetry", noise.log_match(objects, curves), noise.log_match(curves, objects).T, atol=1e-6)


def _scaling(noise: Noise, objects: Measurements, curves: Measurements) -> None:
    factor = 3.0
    plain = noise.log_match(objects, curves)
    found = noise.log_match(scaled(objects, factor), scaled(curves, factor))
    check_close("scaling", found, plain - objects.observed.sum(axis=1)[:, None] * np.log(factor), atol=1e-6)


def _order(noise: Noise, objects: Measurements, curves: Measurements, rng: np.random.Generator) -> None:
    rows, columns = rng.permutation(objects.n_objects), rng.permutation(curves.n_objects)
    found = noise.log_match(objects[rows], curves[columns])
    check_close(
        "order of objects and curves",
        found,
        noise.log_match(objects, curves)[np.ix_(rows, columns)],
        atol=1e-6,
    )


def _order_of_points(
    noise: Noise, objects: Measurements, curves: Measurements, rng: np.random.Generator
) -> None:
    order = rng.permutation(objects.n_points)
    found = noise.log_match(objects.points(order), curves.points(order))
    check_close("order of points", found, noise.log_match(objects, curves), atol=1e-6)


def _mixture(noise: Noise, objects: Measurements, curves: Measurements, rng: np.random.Generator) -> None:
    weights = np.log(rng.dirichlet(np.ones(curves.n_objects)))
    skip = np.full(objects.n_objects, -1, dtype=np.int64)
    skip[0] = 0
    found = log_mixture(noise, objects, curves, log_weights=weights, skip=skip)
    expected = mixture_of_matches(noise.log_match, objects, curves, log_weights=weights, skip=skip)
    check_close("log_mixture is the mean of the matches", found, expected, atol=1e-6)


def _shares(noise: Noise) -> None:
    assert isinstance(noise, ScaleMixture)
    log_share, scale = noise.gaussian_scales()
    if abs(float(logsumexp(log_share))) > 1e-9 or (np.asarray(scale) <= 0).any():
        raise broken("shares sum to one", f"shares {np.exp(log_share)}, widths {scale}", "sum 1, widths > 0")


def _widths(noise: Noise, objects: Measurements, curves: Measurements) -> None:
    """What class models are told of the widths must be what the match says: the convolution of two such mixtures."""
    assert isinstance(noise, ScaleMixture)
    log_share, scale = noise.gaussian_scales()
    one, other = only_points(objects, np.array([0])), curves
    variance = (one.sigma[:, 0, None, None, None] * scale[:, None]) ** 2 + (
        other.sigma[:, 0, None, None] * scale
    ) ** 2
    residual = one.values[:, 0, None, None, None] - other.values[:, 0, None, None]
    parts = log_share[:, None] + log_share - 0.5 * (residual**2 / variance + np.log(2 * np.pi * variance))
    expected = logsumexp(parts, axis=(2, 3))
    # Out to six joint widths: farther off a finite mixture may fall faster than what it stands for.
    near = np.abs(residual[..., 0, 0]) < 6.0 * np.hypot(one.sigma[:, :1], other.sigma[:, 0])
    found = noise.log_match(one, other)
    check_close("the widths are those of the match", found[near], expected[near], atol=_WIDTHS_AGREE)


def _truth(noise: Noise, objects: Measurements, curves: Measurements, tolerance: float, tail: float) -> None:
    """The match from the likelihood of a known truth, by brute force at one point; a flat prior on the truth."""
    point = np.array([0])
    nodes, weight = nodes_of_point(noise, objects, 0, tail=tail)
    truth = np.zeros((len(nodes), objects.n_points))
    truth[:, 0] = nodes
    one, other = only_points(objects[:2], point), only_points(curves[:2], point)
    of_object, of_curve = (log_likelihood(noise, side, truth) for side in (one, other))
    norm = logsumexp(of_curve, b=weight, axis=1)
    expected = logsumexp(of_object[:, None] + of_curve, b=weight, axis=2) - norm
    found = noise.log_match(one, curves[:2])
    check_close("the match is an integral over the truth", found, expected, atol=10.0 * tolerance)

"""The diagnosis, step by step: variety, families by evidence, noise of the best one, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from badac.data.measurements import Measurements
from badac.data.units import in_units, units_of
from badac.diagnostics.diagnosis import LEVELS, Diagnosis
from badac.diagnostics.residuals import residuals
from badac.noise import Gaussian, Noise, is_open
from badac.noise.model import LearnableNoise, LearnableWidths
from badac.noise_learning.comparison import Comparison, is_sure
from badac.noise_learning.families import FAMILIES, fit_class, halves_of_classes, is_ordered, open_noise
from badac.noise_learning.half_by_half import FEWEST_POINTS, Asking, compare_halves
from badac.noise_learning.halves import FEWEST
from badac.noise_learning.noise_em import FactorWithNoise
from badac.noise_learning.parameters import fit_classes, learn_covariance, shared_noise
from badac.noise_learning.variety import Variety, measure_variety
from badac.threads import one_thread_in_blas
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# By so little from one, the factor that would match the scatter leaves no other one to be looked for: halves know it to 0.03.
_HOLDS = 0.05
# Members of a class, and classes, that are looked at: 10,000 points know a width to a percent.
_MEMBERS, _CLASSES = 100, 6
# Pulls beyond so many central widths are a tail if there are more than a normal distribution has, and four spreads more: the
# first tells Student-t, the second few points that are far off.
_TAILS, _SPREADS = (2.5, 4.0), 4.0
# Points that are looked at, in so many runs of neighbours, so that correlated errors show and all parts of a curve have a say.
_POINTS, _RUNS = 100, 4


@one_thread_in_blas()
def diagnose(
    training: Measurements,
    label: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    ordered: bool | None = None,
) -> Diagnosis:
    """Find out which noise model holds for labelled training objects.

    Parameters
    ----------
    training : Measurements
        (n, m), with sigma.
    label : (n,)
        Class of each object. At least 20 members are needed in a class.
    rng : numpy.random.Generator
        For the sample, at most 100 members of each of the six largest classes, and its random halves.
    ordered : bool, optional
        Whether the points have an order, as times or wavelengths do; by default whether they have coordinates `at`. Without
        an order correlated errors cannot be told from variability of the class and are not looked for.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.diagnostics import diagnose
    >>> rng = np.random.default_rng(0)
    >>> honest = Measurements(np.sin(np.linspace(0, 3, 20)) + 0.1 * rng.standard_normal((80, 20)), 0.1)
    >>> diagnose(honest, np.zeros(80, dtype=int), rng).best
    'gaussian'
    """
    training, classes, index = _checked(training, label)
    rows = _sample(index, rng)
    training, index = training[rows].points(_runs(training.n_points)), index[rows]
    halves = halves_of_classes(training, index, TrainingScales.of(training), rng)
    variety = measure_variety(halves.values())
    if variety.factor is None or not variety.quiet.any():
        # Whatever the noise is, it is hidden under what the members of a class differ by.
        comparison = Comparison(("gaussian",), np.zeros((1, 1)), np.zeros(1, dtype=np.int64), None)
        noise: Noise = Gaussian()
        pulls, autocorrelation = variety.pulls, None
    else:
        ordered = is_ordered(training) if ordered is None else ordered
        training = training.points(variety.quiet)
        asked = Asking(ordered and _long_enough(training), to_the_end=False, factor=variety.factor)
        noises = {name: open_noise(name) for name in _families(variety)}
        quiet = {number: each.points(variety.quiet) for number, each in halves.items()}
        comparison = compare_halves(quiet, noises, rng, asked)
        fitted = _fitted(training, index, comparison, rng)
        best = noises[comparison.best]
        noise = Gaussian()
        if isinstance(best, LearnableNoise) and is_open(best):
            noise = shared_noise(best, training, index, rng, fitted)
        elif is_open(best):
            noise = learn_covariance(training, index, rng, comparison)
        pulls, autocorrelation = residuals(training, index, comparison.basis, fitted)
    return Diagnosis(
        families=comparison.families,
        log_bayes_factor=comparison.log_bayes_factor,
        spread=comparison.spread,
        best=comparison.best,
        noise=noise,
        correlated_classes=_correlated_classes(comparison, classes.tolist()),
        pulls=pulls,
        quantiles=np.quantile(pulls, norm.cdf(LEVELS)),
        error_bar_factor=np.nan if variety.factor is None else variety.factor,
        autocorrelation=autocorrelation,
        variety=variety,
    )


def scatter(training: Measurements, label: npt.ArrayLike, rng: np.random.Generator) -> Variety:
    """Say how much labelled objects scatter in units of their error bars: the first step of `diagnose` alone."""
    training, _, index = _checked(training, label)
    rows = _sample(index, rng)
    some = training[rows].points(_runs(training.n_points))
    return measure_variety(halves_of_classes(some, index[rows], TrainingScales.of(some), rng).values())


def _checked(training: Measurements, label: npt.ArrayLike) -> tuple[Measurements, npt.NDArray[Any], IntArray]:
    """Return objects in units of their own, the classes (k,) and the class of each object, or refuse them."""
    if not training.has_errors:
        raise ValueError(
            "diagnose compares the scatter of the objects with their error bars, but they have none: give `sigma`."
        )
    if not (training.sigma[training.observed] > 0).any():
        raise ValueError(
            "diagnose compares the scatter of the objects with their error bars, but all of them are 0: give `sigma`."
        )
    if training.own_points:
        raise ValueError(
            "diagnose compares the scatter of the objects point by point, and these have points of their own (`at` per "
            "object): put the curves on one grid first."
        )
    if training.covariance is not None:
        raise ValueError("diagnose looks for correlated errors itself: give `sigma`, not `covariance`.")
    training = in_units(training, units_of(training))
    # Exact values have no error bars to be compared with.
    training = training.with_sigma(np.where(training.sigma > 0, training.sigma, np.inf))
    classes, index = np.unique(np.asarray(label), return_inverse=True)
    index = index.astype(np.int64)
    if np.bincount(index).max(initial=0) < FEWEST:
        raise ValueError("diagnose needs a class with at least 20 members: the largest has fewer.")
    return training, classes, index


def _sample(label: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows of some members of the largest classes."""
    counts = np.bincount(label)
    largest = [number for number in np.argsort(-counts, kind="stable")[:_CLASSES] if counts[number] >= FEWEST]
    picked = [rng.permutation(np.flatnonzero(label == number))[:_MEMBERS] for number in largest]
    return np.sort(np.concatenate(picked))


def _families(variety: Variety) -> tuple[str, ...]:
    """Families to compare: those that the scatter of the points leaves open.

    Error bars that are off by a factor, alone or with heavy tails, show in the scatter of all points; heavy tails in the pulls.
    """
    asked = _without_tails(variety.pulls_within)
    if variety.factor is not None and abs(variety.factor - 1.0) <= _HOLDS:
        asked = tuple(name for name in asked if name != "scaled")
    return asked


def _without_tails(pulls: FloatArray) -> tuple[str, ...]:
    """Families whose tails are as heavy as those of the pulls (p,) may be."""
    low, high = np.quantile(pulls, norm.cdf([-1.0, 1.0]))
    distance, width = np.abs(pulls - np.median(pulls)), (high - low) / 2.0
    for tail in _TAILS:
        expected = 2.0 * float(norm.sf(tail)) * len(pulls)
        # The root of a count has a spread of one half, be the count large or small.
        if np.sqrt(np.count_nonzero(distance > tail * width)) > np.sqrt(expected) + 0.5 * _SPREADS:
            return FAMILIES
    return tuple(name for name in FAMILIES if not isinstance(open_noise(name), LearnableWidths))


def _runs(n_points: int) -> IntArray:
    """Numbers of the points to look at: all, or of many some runs of neighbours, evenly spread."""
    if n_points <= _POINTS:
        return np.arange(n_points)
    length = _POINTS // _RUNS
    first = np.linspace(0, n_points - length, _RUNS).round().astype(np.int64)
    return np.unique((first[:, None] + np.arange(length)).ravel())


def _long_enough(training: Measurements) -> bool:
    """Whether as many points are left as rough and smooth need to be told apart."""
    return is_ordered(training) or (training.at is None and training.n_points >= FEWEST_POINTS)


def _correlated_classes(comparison: Comparison, classes: Sequence[Any]) -> tuple[Any, ...]:
    if "correlated" not in comparison.families:
        return ()
    row = comparison.families.index("correlated")
    return tuple(
        name for number, name in enumerate(classes) if is_sure(comparison.in_class(number).gain[row])
    )


def _fitted(
    training: Measurements, label: IntArray, comparison: Comparison, rng: np.random.Generator
) -> list[FactorWithNoise | None]:
    """Each class with the noise that was found, so that its curves are not pulled by bad points; None of the smallest."""
    best = open_noise(comparison.best)
    if isinstance(best, LearnableNoise) and is_open(best):
        return fit_classes(best, training, label, rng, comparison.starts[comparison.best])
    return [
        fit_class(
            training,
            label,
            number,
            Gaussian(),
            rng,
            basis=comparison.basis,
            rank=comparison.ranks.get(number),
        )
        for number in range(int(label.max()) + 1)
    ]

"""Does the noise model hold? By evidence, and by what is left over.

`diagnose` first tells the variety of the classes from noise, or says that it cannot (`badac.noise_learning.variety`). At points
where noise shows, it compares noise families by the evidence of held-out members (log Bayes factors against plain Gaussian
error bars, with their spread), and looks at the residuals: pulls ``residual / sigma``, their quantiles (0, +-1, +-2, +-3 if the
error bars hold) and autocorrelation, and the factor by which error bars are too small or too large. Families with heavy tails
are tried where the pulls have any. It ends in one sentence of advice.

A sample of the objects says as much as all of them, so that a diagnosis costs no more than a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from badac.data.measurements import Measurements
from badac.data.units import in_units, units_of
from badac.latent.factor import Factor
from badac.latent.likelihood import project
from badac.noise import Gaussian, Noise, is_open, noise_of_class
from badac.noise.model import AdvisingNoise, LearnableNoise, LearnableWidths
from badac.noise_learning.comparison import Comparison, is_sure
from badac.noise_learning.families import FAMILIES, fit_class, halves_of_classes, is_ordered, open_noise
from badac.noise_learning.half_by_half import FEWEST_POINTS, Asking, compare_halves
from badac.noise_learning.halves import FEWEST
from badac.noise_learning.noise_em import FactorWithNoise, held
from badac.noise_learning.parameters import fit_classes, learn_covariance, shared_noise
from badac.noise_learning.variety import Variety, measure_variety
from badac.printing import html_table
from badac.threads import one_thread_in_blas
from badac.training import TrainingScales

__all__ = ["Diagnosis", "diagnose"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LEVELS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
_LAGS = 10
# Error bars that are off by less are right: their factor is known to some percent.
_WORTH_SAYING = 0.15
# By so little from one, the factor that would match the scatter leaves no other one to be looked for: halves know it to 0.03.
_HOLDS = 0.05
# Members differ beyond their error bars if they scatter by this much more.
_VARIED = 1.3
# Members of a class, and classes, that are looked at: 10,000 points know a width to a percent.
_MEMBERS, _CLASSES = 100, 6
# Pulls beyond so many central widths are a tail if there are more than a normal distribution has, and four spreads more: the
# first tells Student-t, the second few points that are far off.
_TAILS, _SPREADS = (2.5, 4.0), 4.0
# Points that are looked at, in so many runs of neighbours, so that correlated errors show and all parts of a curve have a say.
_POINTS, _RUNS = 100, 4


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the training data say about their noise.

    Attributes
    ----------
    families : tuple of str
        Noise families that were compared.
    log_bayes_factor, spread : (F,)
        Held-out log evidence of each family less that of plain Gaussian errors, and its standard deviation.
    best : str
        The family that the data ask for; "gaussian" if no other is beyond doubt better.
    noise : Noise
        The best family with its parameters learned, ready for ``BADACClassifier(noise=...)``.
    correlated_classes : tuple
        Labels of the classes with correlated errors.
    pulls : (p,)
        Residuals in units of their error bars, of all points.
    quantiles : (7,)
        Of the pulls, at the probabilities of -3, -2, -1, 0, 1, 2, 3 standard deviations.
    error_bar_factor : float
        What the error bars should be multiplied by; NaN where it cannot be told from the variety of the classes.
    autocorrelation : (lags,) or None
        Of the pulls of neighbouring points, at lag 1, 2, ...; None where points have no order.
    variety : Variety
        How much more members of a class scatter than their error bars say, point by point.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.diagnostics import diagnose
    >>> rng = np.random.default_rng(0)
    >>> stated = Measurements(np.sin(np.linspace(0, 3, 20)) + 0.3 * rng.standard_normal((80, 20)), 0.1)
    >>> found = diagnose(stated, np.zeros(80, dtype=int), rng)
    >>> bool(2.5 < found.error_bar_factor < 3.5)
    True
    """

    families: tuple[str, ...]
    log_bayes_factor: FloatArray
    spread: FloatArray
    best: str
    noise: Noise
    correlated_classes: tuple[Any, ...]
    pulls: FloatArray
    quantiles: FloatArray
    error_bar_factor: float
    autocorrelation: FloatArray | None
    variety: Variety

    @property
    def told_apart(self) -> bool:
        """Whether noise could be told from the variety of the classes."""
        return bool(np.isfinite(self.error_bar_factor))

    @property
    def advice(self) -> str:
        """One sentence on what to do."""
        return _advice(self)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the table of families, best first."""
        order = np.argsort(-self.log_bayes_factor, kind="stable")
        return {
            "noise": np.array(self.families)[order],
            "log_bayes_factor": self.log_bayes_factor[order],
            "spread": self.spread[order],
        }

    def __str__(self) -> str:
        lines = ["noise        log Bayes factor against gaussian"]
        table = self.columns()
        for name, factor, spread in zip(*table.values(), strict=True):
            mark = "  <-" if name == self.best else ""
            lines.append(f"{name:<12} {factor:>12.1f} +- {spread:.1f}{mark}")
        lines.append("")
        lines.append("pulls at      " + "  ".join(f"{level:+.0f}s" for level in LEVELS))
        lines.append("            " + " ".join(f"{value:+.2f}" for value in self.quantiles))
        if self.told_apart:
            lines.append(f"error bars x {self.error_bar_factor:.2f} would match the scatter of the noise")
        if self.autocorrelation is not None:
            shown = " ".join(f"{value:+.3f}" for value in self.autocorrelation[:5])
            lines.append(f"autocorrelation of neighbouring pulls: {shown}")
        lines.extend(["", self.advice])
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_table({name: column.tolist() for name, column in self.columns().items()}, self.advice)

    def plot(self, ax: Any = None) -> Any:
        """Draw the pulls over a standard normal (needs matplotlib); return the axes."""
        from badac.plots.diagnosis import DiagnosisDisplay

        return DiagnosisDisplay.from_diagnosis(self).plot(ax).ax_


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
        pulls, autocorrelation = _residuals(training, index, comparison.basis, fitted)
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


def _residuals(
    training: Measurements,
    label: IntArray,
    basis: FloatArray | None,
    fitted: list[FactorWithNoise | None],
) -> tuple[FloatArray, FloatArray | None]:
    """Pulls of all points, and the autocorrelation of neighbours beyond what the fitted curves bring in."""
    found, products, expected = [], np.zeros(_LAGS), np.zeros(_LAGS)
    floor = 1e-12 * TrainingScales.of(training).scale.min() ** 2
    lags = min(_LAGS, training.n_points - 1)
    for number, one in enumerate(fitted):
        if one is None:
            continue
        members = training[label == number][:1000]
        factor = held(one.factor, basis)
        pull, correlation = _pulls(members, replace(factor, psi=np.full_like(factor.psi, floor)))
        seen = members.observed
        found.append(pull[seen])
        for lag in range(1, lags + 1):
            both = seen[:, lag:] & seen[:, :-lag]
            products[lag - 1] += (np.clip(pull[:, lag:], -5, 5) * np.clip(pull[:, :-lag], -5, 5))[both].sum()
            expected[lag - 1] += float(np.diagonal(correlation, lag).mean()) * both.sum()
    pulls = np.concatenate(found)
    if basis is None:
        return pulls, None
    power = float((np.clip(pulls, -5, 5) ** 2).mean()) * len(pulls)
    return pulls, np.asarray(products / power - expected / len(pulls))[:lags]


def _pulls(members: Measurements, factor: Factor) -> tuple[FloatArray, FloatArray]:
    """Residuals (k, m) around each member's own curve in units of their expected size, and their typical correlation."""
    latent = project(members, factor.mean, factor.factors, factor.psi)
    position, covariance = latent.posterior
    residual = np.where(members.observed, members.values - factor.mean, 0.0) - position @ factor.factors.T
    variance = np.where(members.observed, members.sigma, 1.0) ** 2
    taken = np.einsum("jr,nrs,js->nj", factor.factors, covariance, factor.factors)
    left = np.sqrt(np.maximum(variance - taken, 0.05 * variance))
    typical = np.median(variance, axis=0)
    full = np.diag(typical) - factor.factors @ covariance.mean(axis=0) @ factor.factors.T
    scale = np.sqrt(np.maximum(np.diagonal(full), 0.05 * typical))
    return np.where(members.observed, residual, 0.0) / left, full / np.outer(scale, scale)


def _advice(found: Diagnosis) -> str:
    noise = noise_of_class(found.noise, None)
    if found.best not in ("gaussian", "correlated") and isinstance(noise, AdvisingNoise):
        return noise.advice()
    if found.best == "correlated":
        names = ", ".join(str(name) for name in found.correlated_classes)
        return (
            f"The errors of neighbouring points are correlated in class {names}, or its members differ in ways rougher than "
            'its smooth curves: give the covariance of the errors if you know it; class_model="population" learns either with '
            'the class, and noise="auto" adds the rough part for other models.'
        )
    typical, factor = found.variety.typical, found.error_bar_factor
    if not found.told_apart:
        much = (
            f" by {typical:.1f} times their error bars"
            if np.isfinite(typical)
            else " beyond their error bars"
        )
        return (
            f"Whether the error bars hold cannot be told: the members of a class differ{much} at typical points, no point is "
            "quiet, and members with larger error bars do not clearly scatter more. That is no fault: the class models learn "
            "how members differ."
        )
    if abs(factor - 1.0) > _WORTH_SAYING:
        off = "small" if factor > 1.0 else "large"
        return (
            f"The scatter is {factor:.2f} times the error bars"
            f"{' at all points alike' if found.variety.alike else ''}: they are too {off} by this factor. Multiply them by it, "
            "unless members of a class differ at random from point to point, which the population model learns."
        )
    if typical > _VARIED:
        return (
            f"The error bars hold, and members of a class differ beyond them (by {typical:.1f} times the error bars at typical "
            'points), which is variety, not noise: keep noise="gaussian".'
        )
    return 'The error bars hold: keep noise="gaussian".'

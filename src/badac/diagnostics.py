"""Does the noise model hold? By evidence, and by what is left over.

`diagnose` compares noise families by the evidence of held-out members (log Bayes factors against plain Gaussian error
bars, with their spread), and looks at the residuals around the smooth curves of each class: pulls ``residual / sigma``, their
quantiles (0, +-1, +-2, +-3 if the error bars hold) and autocorrelation, and the factor by which error bars are too small or
too large. It ends in one sentence of advice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from badac.data.measurements import Measurements
from badac.data.units import in_units, units_of
from badac.latent.factor import Factor
from badac.latent.likelihood import project
from badac.noise import Gaussian, Noise, Student, noise_of_class
from badac.noise.model import AdvisingNoise
from badac.noise_learning.families import (
    Comparison,
    compare_families,
    fit_class,
    is_sure,
    open_noise,
)
from badac.noise_learning.parameters import learn_noise
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LEVELS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
_LAGS = 10
_WORTH_SAYING = 0.1


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
        Scatter of the central two thirds of the pulls: above 1, error bars are too small, or the class varies at each point.
    autocorrelation : (lags,) or None
        Of the pulls of neighbouring points, at lag 1, 2, ...; None where points have no order.
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
        lines.append(f"error bars x {self.error_bar_factor:.2f} would match the central scatter")
        if self.autocorrelation is not None:
            shown = " ".join(f"{value:+.3f}" for value in self.autocorrelation[:5])
            lines.append(f"autocorrelation of neighbouring pulls: {shown}")
        lines.extend(["", self.advice])
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the pulls over a standard normal (needs matplotlib); return the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        edges = np.linspace(-6.0, 6.0, 61)
        ax.hist(np.clip(self.pulls, -6.0, 6.0), bins=edges, density=True, color="0.75", label="pulls")
        middle = 0.5 * (edges[1:] + edges[:-1])
        ax.plot(middle, norm.pdf(middle), color="C3", label="error bars hold")
        ax.set_yscale("log")
        ax.set_ylim(1e-4, 1.0)
        ax.set_xlabel("residual / sigma")
        ax.set_ylabel("density")
        ax.set_title(f"noise: {self.best}")
        ax.legend()
        return ax


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
        For the random halves; at most 1,000 members of each class are looked at.
    ordered : bool, optional
        Whether the points have an order, as times or wavelengths do; by default whether they have coordinates `at`. Without
        an order correlated errors cannot be told from variability of the class and are not looked for.

    Returns
    -------
    Diagnosis
    """
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
    if np.bincount(index).max(initial=0) < 20:
        raise ValueError("diagnose needs a class with at least 20 members: the largest has fewer.")
    comparison = compare_families(training, index, rng, ordered=ordered)
    best = comparison.best
    pulls, autocorrelation = _residuals(training, index, comparison, rng)
    central = np.quantile(pulls, norm.cdf([-1.0, 1.0]))
    return Diagnosis(
        families=comparison.families,
        log_bayes_factor=comparison.log_bayes_factor,
        spread=comparison.spread,
        best=best,
        noise=learn_noise(open_noise(best), training, index, rng),
        correlated_classes=_correlated_classes(comparison, classes.tolist()),
        pulls=pulls,
        quantiles=np.quantile(pulls, norm.cdf(LEVELS)),
        error_bar_factor=float(central[1] - central[0]) / 2.0,
        autocorrelation=autocorrelation,
    )


def _correlated_classes(comparison: Comparison, classes: Sequence[Any]) -> tuple[Any, ...]:
    if "correlated" not in comparison.families:
        return ()
    row = comparison.families.index("correlated")
    return tuple(
        name for number, name in enumerate(classes) if is_sure(comparison.in_class(number).gain[row])
    )


def _residuals(
    training: Measurements, label: IntArray, comparison: Comparison, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Pulls of all points, and the autocorrelation of neighbours beyond what the fitted curves bring in."""
    found, products, expected = [], np.zeros(_LAGS), np.zeros(_LAGS)
    scales = TrainingScales.of(training)
    lags = min(_LAGS, training.n_points - 1)
    # Student-t where points are bad, so that the curves are not pulled by them.
    kind = Student(4.0) if comparison.best in ("outliers", "student") else Gaussian()
    for number in range(int(label.max()) + 1):
        fitted = fit_class(training, label, number, kind, rng, basis=comparison.basis)
        if fitted is None:
            continue
        members = training[label == number][:1000]
        factor = Factor(
            fitted.factor.mean,
            fitted.factor.factors,
            np.full_like(fitted.factor.psi, 1e-12 * scales.scale.min() ** 2),
        )
        pull, correlation = _pulls(members, factor)
        seen = members.observed
        found.append(pull[seen])
        for lag in range(1, lags + 1):
            both = seen[:, lag:] & seen[:, :-lag]
            products[lag - 1] += (np.clip(pull[:, lag:], -5, 5) * np.clip(pull[:, :-lag], -5, 5))[both].sum()
            expected[lag - 1] += float(np.diagonal(correlation, lag).mean()) * both.sum()
    pulls = np.concatenate(found)
    if comparison.basis is None:
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
            f"The errors of neighbouring points are correlated in class {names}: give their covariance if you know it; "
            'class_model="population" learns it with the class, and noise="auto" adds its rough part for other models.'
        )
    if abs(found.error_bar_factor - 1.0) > _WORTH_SAYING:
        return (
            f"Gaussian errors hold, but the scatter is {found.error_bar_factor:.2f} times the error bars: either they are off, "
            "or the classes vary at each point, which the population model learns."
        )
    return 'The error bars hold: keep noise="gaussian".'

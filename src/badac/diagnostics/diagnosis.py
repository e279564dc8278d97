"""What a diagnosis found: families by evidence, pulls, and one sentence of advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.noise import Noise, noise_of_class
from badac.noise.model import AdvisingNoise
from badac.noise_learning.variety import Variety
from badac.printing import html_table

FloatArray = npt.NDArray[np.float64]

LEVELS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
# Error bars that are off by less are right: their factor is known to some percent.
_WORTH_SAYING = 0.15
# Members differ beyond their error bars if they scatter by this much more.
_VARIED = 1.3


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

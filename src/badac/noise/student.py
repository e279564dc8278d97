"""Student-t errors: tails that fall as a power, for error bars that are only estimates.

    P(d | y) = t_nu((d - y) / sigma) / sigma

A Student-t is a Gaussian whose width is itself uncertain: ``sigma s`` with ``1 / s^2 ~ Gamma(nu/2, rate nu/2)``. The gamma
integral is taken by the trapezoid rule in ``log s``, which converges exponentially. The 16 widths that stand for it in a
population give the log density to 0.01 out to 30 sigma for ``nu`` from 2 to 100 (`scale_error` measures it). Two points
match with the convolution of two Student-t densities, which has no closed form: it is tabulated once per ``nu`` over
the residual and the ratio of the two error bars, and interpolated, to 2e-4 in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from scipy.interpolate import RectBivariateSpline
from scipy.special import gammaln, logsumexp
from scipy.stats import t as student_t

from badac.data.measurements import Measurements
from badac.noise.gaussian import check_not_both_exact
from badac.noise.known_truth import sum_around_truth
from badac.noise.matches import sum_over_points
from badac.noise.model import FloatArray, Residuals
from badac.noise.widths import check_sigma_only, log_density
from badac.registry import registered

_LOG_2PI = float(np.log(2.0 * np.pi))
_FINE = 56
_REACH = 1e3
# Where the EM begins, and between what it looks: below 1.5 the 16 widths no longer hold the tail, above 100 it is Gaussian.
_FIRST_DF = 4.0
_DF_RANGE, _DF_STEP = (1.5, 100.0), 0.1
# Enough to know one number.
_POINTS = 4_000


@registered("noise", "student", holds={"df": "> 0", "n_widths": "> 0, < 10000"})
@dataclass(frozen=True)
class Student:
    """Student-t noise of scale sigma.

    Parameters
    ----------
    df : float > 0, optional
        Degrees of freedom ``nu``; small is heavy-tailed, infinity is Gaussian. Learned if None.
    n_widths : int
        Gaussian widths that stand for it in a class model with a population.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian, Student
    >>> d, c = Measurements([[1.0]], 0.1), Measurements([[0.0]], 0.1)
    >>> bool(Student(df=4.0).log_match(d, c)[0, 0] > Gaussian().log_match(d, c)[0, 0])
    True
    """

    df: float | None = None
    n_widths: int = 16

    def __post_init__(self) -> None:
        if self.df is not None and not 0.5 <= self.df < np.inf:
            raise ValueError(
                f"`df` of Student noise must be between 0.5 and infinity: got {self.df!r}. None learns it; "
                "use noise='gaussian' for infinity."
            )

    @property
    def learned(self) -> bool:
        return self.df is not None

    def _df(self) -> float:
        if self.df is None:
            raise ValueError(
                f"{self!r} leaves `df` open: `badac.noise_learning.learn_noise` finds it, or give it."
            )
        return float(self.df)

    def gaussian_scales(self) -> tuple[FloatArray, FloatArray]:
        return student_scales(self._df(), self.n_widths)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        check_sigma_only(self, objects, curves)
        check_not_both_exact(objects, curves)
        table = pair_table(self._df())

        def density(d: FloatArray, d_sigma: FloatArray, y: FloatArray, y_sigma: FloatArray) -> FloatArray:
            width = np.hypot(d_sigma, y_sigma)
            ratio = np.arctan2(np.minimum(d_sigma, y_sigma), np.maximum(d_sigma, y_sigma))
            return np.asarray(table(np.abs(d - y) / width, ratio) - np.log(width))

        return sum_over_points(objects, curves, density)

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        sigma = np.where(like.observed, like.sigma, 0.0)
        noisy = truth + sigma * rng.standard_t(self._df(), size=truth.shape)
        return np.where(like.observed, noisy, np.nan)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        check_sigma_only(self, objects)
        df = self._df()
        return sum_around_truth(
            objects,
            truth,
            lambda value, centre, sigma: student_t.logpdf((value - centre) / sigma, df) - np.log(sigma),
        )

    # -- learned by EM --------------------------------------------------------------------------------------------

    def initial(self) -> Student:
        return Student(_FIRST_DF if self.df is None else self.df, self.n_widths)

    def improved(self, current: Self, residuals: Residuals) -> Student:
        """Degrees of freedom by the likelihood of the residuals."""
        observed = residuals.observed
        if self.df is not None or not observed.any():
            return current
        # Every so many points.
        pick = slice(None, None, 1 + int(observed.sum()) // _POINTS)
        residual, bars = np.sqrt(residuals.squared[observed])[pick], residuals.sigma[observed][pick]
        extra = np.broadcast_to(residuals.psi, observed.shape)[observed][pick]

        def loss(log_df: float) -> float:
            scales = student_scales(float(np.exp(log_df)), current.n_widths)
            return -float(log_density(residual, bars, *scales, extra).mean())

        # One Newton step of the logarithm, from three losses: the EM takes as many as it needs.
        here = np.log(current._df())
        below, at, above = (loss(float(here + step)) for step in (-_DF_STEP, 0.0, _DF_STEP))
        slope, bend = (above - below) / (2.0 * _DF_STEP), (above - 2.0 * at + below) / _DF_STEP**2
        step = np.clip(-slope / bend, -1.0, 1.0) if bend > 0.0 else -np.sign(slope)
        return Student(float(np.exp(np.clip(here + step, *np.log(_DF_RANGE)))), current.n_widths)

    def distance(self, other: Self) -> float:
        return float(abs(np.log(other._df() / self._df())))

    def pooled(self, learned: Sequence[Self], weight: FloatArray) -> Student:
        # Means of 1/df: the tails, not the far end of nearly Gaussian ones, decide.
        df = 1.0 / float(weight @ [1.0 / each._df() for each in learned])
        return Student(df, self.n_widths)

    def fallback(self) -> Student:
        return Student(_DF_RANGE[1], self.n_widths)

    def advice(self) -> str:
        return 'The errors have heavier tails than a Gaussian: use noise="student", or this noise as it was learned.'


@lru_cache(maxsize=64)
def student_scales(df: float, n_widths: int, reach: float = 30.0) -> tuple[FloatArray, FloatArray]:
    """Return (S,) log shares and (S,) widths whose Gaussian mixture is the Student-t, evenly spaced in the log width.

    The widest Gaussian is chosen for residuals of up to `reach` sigma; farther out the tail falls too fast.
    """
    half = 0.5 * df
    # u = log(1/s^2) has the density exp(half (u + log half) - half e^u) / Gamma(half). A residual of r sigma is explained by
    # u around log((nu + 1) / r^2), and the density of u falls as exp(half u) to the left.
    low = np.log((df + 1.0) / reach**2) - 4.0 / np.sqrt(half + 0.5)
    high = np.log1p(12.0 / np.sqrt(half) + 40.0 / df)
    u = np.linspace(low, high, n_widths)
    log_share = half * (u + np.log(half)) - half * np.exp(u) - gammaln(half)
    top = log_share.max()
    return log_share - (top + np.log(np.exp(log_share - top).sum())), np.exp(-0.5 * u)


def scale_error(df: float, n_widths: int, reach: float = 10.0) -> float:
    """Return the largest error of the log density of the mixture of widths, out to `reach` sigma."""
    x = np.linspace(0.0, reach, 400)
    log_share, scale = student_scales(df, n_widths)
    parts = log_share - 0.5 * ((x[:, None] / scale) ** 2 + _LOG_2PI) - np.log(scale)
    return float(np.abs(logsumexp(parts, axis=1) - student_t.logpdf(x, df)).max())


@dataclass(frozen=True, eq=False)
class PairTable:
    """Log density of the residual of two points, in units of their joint width, by the ratio of their error bars."""

    spline: RectBivariateSpline
    df: float

    def __call__(self, residual: FloatArray, ratio: FloatArray) -> FloatArray:
        x = np.arcsinh(residual)
        edge = np.arcsinh(_REACH)
        inside = np.minimum(x, edge)
        # Beyond the table only the power law of the tail is left.
        return np.asarray(
            self.spline.ev(np.broadcast_to(ratio, x.shape), inside) - (self.df + 1.0) * (x - inside)
        )


@lru_cache(maxsize=16)
def pair_table(df: float, n_residuals: int = 160, n_ratios: int = 25) -> PairTable:
    """Return the convolution of two Student-t densities as a table: exact to 1e-4 in the log (measured in the tests).

    The slow twin is the sum over all pairs of widths, `badac._kernels.mixture.mixture_log_match`.
    """
    log_share, scale = student_scales(df, _FINE, _REACH)
    x = np.linspace(0.0, np.arcsinh(_REACH), n_residuals)
    residual = np.sinh(x)
    ratio = np.linspace(0.0, np.pi / 4.0, n_ratios)
    share = (log_share[:, None] + log_share[None, :]).ravel()
    table = np.empty((n_ratios, n_residuals))
    for row, angle in enumerate(ratio):
        variance = ((scale[:, None] * np.sin(angle)) ** 2 + (scale[None, :] * np.cos(angle)) ** 2).ravel()
        height = share - 0.5 * (np.log(variance) + _LOG_2PI)
        parts = height - 0.5 * np.outer(residual**2, 1.0 / variance)
        top = parts.max(axis=1, keepdims=True)
        table[row] = top[:, 0] + np.log(np.exp(parts - top).sum(axis=1))
    return PairTable(RectBivariateSpline(ratio, x, table), df)

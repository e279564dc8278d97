"""A coarsened posterior: probabilities that stay calibrated when the data do not follow the class models.

    P(class | d)  proportional to  P(d | class)^beta P(class),     0 < beta <= 1, rarely up to 5

Many points that each fit a little worse than the model says add up to certainty that is not there. One exponent for all
classes tempers it (Miller & Dunson 2019). It is learned by the log-loss of the training objects, each left out of its own
class, and is 1 unless the data clearly ask for less: on data that follow the models nothing changes. A few objects may be
contaminated (a wrong label, a broken measurement), explained by no class better than by another, which bounds what they can
ask for (Huber's contamination model, 1964):

    P(d | class)^beta   becomes   (1 - e) P(d | class)^beta + e max_c P(d | c)^beta

The share ``e`` of contaminated objects is learned too, and is that of one object more, 1 / (n + 1), unless more are seen. With
``beta = 1`` and no more than that it is that of half an object (Jeffreys' prior of a share that was never seen): n objects
cannot tell that a class has no member unlike all of them, so no probability comes nearer to certainty than they can show.

What the models get wrong drowns in the noise of a noisier object, whose evidence is tempered less:

    logit beta(d) = logit beta + slope (level(d) - level),     level(d) = log median_j sigma_dj / scale_j

with ``beta`` the exponent at the training objects' own ``level``. The slope is learned with it, near 0.6, which is what three
real data sets ask for; training objects of similar noise cannot tell it.

The other way round, few members of a class of many corners leave a density that is smoother than the class, and a posterior
that is less sure than it could be. Left-out objects tell that too: where they clearly ask for an exponent above 1 they get it,

    beta(d) = 1 + (beta - 1) exp(-1.5 max(level(d) - level, 0))

since what a density is too smooth by drowns in the noise of a noisier object as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from badac.calibration.tempered_losses import TemperedLosses
from badac.data.measurements import Measurements
from badac.latent.mixture import logsumexp_rows
from badac.registry import registered
from badac.threads import over_blocks

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LEAST = 1e-3
# More training objects than this do not make the exponent noticeably more certain.
MOST_OBJECTS = 4000
# How many standard errors below 1 the exponent must be before it is believed.
_CLEARLY = 2.0
# The largest exponent, and how what it is above 1 falls with the noise: shells and checkers of `benchmarks/default_tables.py`
# with noise added ask for 1 to 2.
_MOST, _FADES = 5.0, 1.5
# Prior of the slope with the noise: mean and standard deviation.
_SLOPE = (0.6, 0.2)
_LEAST_NOISE = 1e-3
_ROWS_PER_BLOCK = 2048
# Shares of contaminated objects that are tried, and the nats that more than one of them, or a sharper posterior, must gain.
_SHARES = (0.003, 0.01, 0.03, 0.1, 0.2)
_WORTH = 3.0
# Contaminated objects that are allowed for where none was seen: by `benchmarks/certainty.py`, on the paper's curves.
_UNSEEN = 0.5


@registered("part", holds={"exponent": ">= 0", "uncertainty": "may be inf", "contaminated": ">= 0, <= 1"})
@dataclass(frozen=True)
class Coarsening:
    """The exponent of the evidence.

    Attributes
    ----------
    exponent : float
        To be used: 1 unless the estimate is clearly below, or above.
    estimate : float
        The exponent with the least log-loss.
    uncertainty : float
        Standard error of the estimate; infinite where the classes are so far apart that the objects cannot tell.
    slope : float
        How the exponent rises to 1 with the noise of an object, or falls to 1 if it is above.
    level : float
        Noise level of the training objects, at which `exponent` holds.
    gain : float
        Of the loss of left-out objects over the plain posterior, in nats an object: how far the class models are off.
    contaminated : float
        ``e``, the share of contaminated objects; 0 for evidence that stays as it is, where no object can tell.
    """

    exponent: float
    estimate: float
    uncertainty: float
    slope: float = 0.0
    level: float = 0.0
    gain: float = 0.0
    contaminated: float = 0.0

    @property
    def depends_on_noise(self) -> bool:
        """Whether objects of other noise levels have another exponent."""
        return self.slope > 0.0 and self.exponent != 1.0

    def apply(self, log_evidence: FloatArray, noise: FloatArray | None = None) -> FloatArray:
        """Temper the log evidence (n, k) of objects of the given noise levels (n,)."""
        if self.exponent == 1.0 and self.contaminated == 0.0:
            return log_evidence
        exponent: float | FloatArray = self.exponent
        if noise is not None and self.depends_on_noise:
            exponent = _exponents(self.exponent, self.slope, noise - self.level)[:, None]
        return _with_contaminated(exponent * log_evidence, self.contaminated)


def relative_noise(objects: Measurements, scale: FloatArray) -> FloatArray:
    """Return (n,): log of the median error of each object's points, in units of the points' spread `scale` (m,)."""
    # Objects with points of their own may be padded to any length; their points share one scale.
    unit = scale[:1] if objects.own_points else scale
    out, complete = np.empty(objects.n_objects), objects.complete

    def work(start: int, _: int) -> None:
        rows = slice(start, start + _ROWS_PER_BLOCK)
        if complete:
            ratio = objects.sigma[rows] / unit
        else:
            observed = objects.observed[rows]
            ratio = np.where(observed, objects.sigma[rows], np.nan) / unit
            ratio[~observed.any(axis=1)] = 1.0
        out[rows] = np.log(_median(ratio) + _LEAST_NOISE)

    over_blocks(work, range(0, objects.n_objects, _ROWS_PER_BLOCK), 1)
    return out


def _median(rows: FloatArray) -> FloatArray:
    """Return (n,): the median of each row (n, m), without its NaN; by one sort, where `numpy.nanmedian` masks row by row."""
    ordered, count = np.sort(rows, axis=1), (~np.isnan(rows)).sum(axis=1)
    row = np.arange(len(rows))
    return np.asarray(0.5 * (ordered[row, (count - 1) // 2] + ordered[row, count // 2]))


def _exponents(exponent: float, slope: float, above: FloatArray) -> FloatArray:
    if exponent > 1.0:
        return np.asarray(1.0 + (exponent - 1.0) * np.exp(-slope * np.maximum(above, 0.0)))
    return np.asarray(expit(logit(exponent) + slope * above))


def learn_coarsening(
    log_evidence: FloatArray, label: IntArray, log_prior: FloatArray, noise: FloatArray | None = None
) -> Coarsening:
    """Learn the exponent from training objects that were left out of their own class.

    Parameters
    ----------
    log_evidence : (n, k)
        Leave-one-out for the object's own class, as `badac.evidence.training_log_evidence` returns it. Rows with an
        own evidence of -inf (the only member of a class) say nothing and are left out.
    label : (n,)
        Index of each object's class.
    log_prior : (k,)
    noise : (n,), optional
        Noise levels of the objects; without them the exponent is the same for all.

    Returns
    -------
    Coarsening
    """
    own = log_evidence[np.arange(len(label)), label]
    usable = np.isfinite(own) & ~np.isnan(log_evidence).any(axis=1)
    # Relative to the own class: what is far below does not matter, and -inf must not become NaN.
    relative = np.maximum(log_evidence[usable] - own[usable, None], -1e6)
    if not len(relative):
        return Coarsening(1.0, 1.0, np.inf)
    losses = TemperedLosses(relative, label[usable], log_prior)
    estimate, contaminated = _least_loss(losses)
    # Of one exponent for all objects.
    uncertainty = _sandwich(lambda each: losses.at(each, contaminated), estimate)
    exponent = estimate if estimate + _CLEARLY * uncertainty < 1.0 else 1.0
    one = _one_more(len(losses))
    gain = float((losses.at(1.0, one) - losses.at(exponent, contaminated)).mean())
    if exponent == 1.0:
        # A contaminated object has the largest density in every class, so that k of them share what one adds.
        share = contaminated if contaminated > one else _UNSEEN * one / log_evidence.shape[1]
        return _sharpened(losses, contaminated, None if noise is None else noise[usable]) or Coarsening(
            1.0, estimate, uncertainty, gain=gain, contaminated=share
        )
    if noise is None:
        return Coarsening(exponent, estimate, uncertainty, gain=gain, contaminated=contaminated)
    level = float(np.median(noise[usable]))
    exponent, slope = _with_slope(exponent, losses, noise[usable] - level, contaminated)
    return Coarsening(exponent, exponent, uncertainty, slope, level, gain, contaminated)


def _sharpened(left_out: TemperedLosses, contaminated: float, noise: FloatArray | None) -> Coarsening | None:
    """The exponent above 1 with the least loss, None unless it is clearly above; at the noise level of the training objects.

    What it is above 1 fades with the noise of each object here as it will for new ones: one exponent for all would be that of
    middling noise, and too small for those whose noise is less.
    """
    level = 0.0 if noise is None else float(np.median(noise))
    above = np.zeros(len(left_out)) if noise is None else noise - level

    def losses(exponent: float) -> FloatArray:
        return left_out.at(_exponents(exponent, _FADES, above), contaminated)

    found = minimize_scalar(
        lambda exponent: float(losses(exponent).sum()),
        bounds=(1.0, _MOST),
        method="bounded",
        options={"xatol": 1e-3},
    )
    exponent = float(found.x)
    uncertainty = _sandwich(losses, exponent)
    if not exponent - _CLEARLY * uncertainty > 1.0:
        return None
    gained = float(losses(1.0).sum()) - float(found.fun)
    # Objects that are all sure already gain nothing.
    if gained < _WORTH:
        return None
    return Coarsening(exponent, exponent, uncertainty, _FADES, level, gained / len(left_out), contaminated)


def _with_slope(
    exponent: float, losses: TemperedLosses, above: FloatArray, contaminated: float
) -> tuple[float, float]:
    """Exponent at the level of the training objects, and its slope with the noise, by penalised log-loss."""

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        """Penalised loss, and its derivatives (2,)."""
        each = expit(vector[0] + vector[1] * above)
        off = (vector[1] - _SLOPE[0]) / _SLOPE[1]
        by_logit = losses.slopes(each, contaminated) * each * (1.0 - each)
        slopes = np.array([by_logit.sum(), by_logit @ above + off / _SLOPE[1]])
        return float(losses.at(each, contaminated).sum() + 0.5 * off**2), slopes

    found = minimize(loss, [float(logit(exponent)), _SLOPE[0]], method="BFGS", jac=True)
    return max(float(expit(found.x[0])), _LEAST), float(max(found.x[1], 0.0))


def scores(exponent: float, relative: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivative of each object's log-loss (n,) by the exponent, and the second derivative (n,)."""
    terms = exponent * relative + prior
    share = np.exp(terms - logsumexp_rows(terms)[:, None])
    mean = (share * relative).sum(axis=1)
    return mean, (share * (relative - mean[:, None]) ** 2).sum(axis=1)


def _one_more(n: int) -> float:
    return 1.0 / (n + 1.0)


def _with_contaminated(terms: FloatArray, share: float) -> FloatArray:
    """Tempered log evidence (n, k) of objects of whom a share may be contaminated."""
    best = terms.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log1p(-share) + terms, np.log(share) + best))


def _least_loss(losses: TemperedLosses) -> tuple[float, float]:
    """The exponent, not above 1, and the share of contaminated objects with the least loss.

    For each share the best exponent of a grid, then between its neighbours. More than one contaminated object must be worth it.
    """
    n = len(losses)
    grid = np.linspace(np.log(_LEAST), 0.0, 25)
    shares = [_one_more(n), *(share for share in _SHARES if share > 2.0 * _one_more(n))]

    def total(log_exponent: float, share: float) -> float:
        return float(losses.totals(float(np.exp(log_exponent)), (share,))[0])

    of_share = np.full((len(shares), len(grid)), np.inf)

    def ask(places: Iterable[int]) -> None:
        for place in places:
            if np.isfinite(of_share[0, place]):
                continue
            of_share[:, place] = losses.totals(float(np.exp(grid[place])), shares)

    # Every third, then all between the neighbours of the best of each share.
    ask(range(0, len(grid), 3))
    for best in of_share.argmin(axis=1).tolist():
        ask(range(max(best - 2, 0), min(best + 3, len(grid))))
    tried = []
    for each, share in zip(of_share, shares, strict=True):
        best = int(each.argmin())
        tried.append((each[best] + (_WORTH if share > shares[0] else 0.0), best, share))
    _, best, share = min(tried)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda each: total(each, share), bounds=(low, high), method="bounded", options={"xatol": 1e-4}
    )
    return (float(np.exp(found.x)) if found.fun < total(0.0, share) else 1.0), share


def _sandwich(losses: Callable[[float], FloatArray], exponent: float) -> float:
    """Standard error by the sandwich: the model is under suspicion, so its own curvature alone is not trusted."""
    step = 1e-3 * exponent
    below, here, above = (losses(each) for each in (exponent - step, exponent, exponent + step))
    slope = (above - below) / (2.0 * step)
    curvature = float((above - 2.0 * here + below).sum()) / step**2
    return float(np.sqrt((slope**2).sum()) / curvature) if curvature > 0 else np.inf

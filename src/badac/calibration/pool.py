"""A pool of known objects' scores: counted where it suffices, continued by a tail where it does not.

    p = (1 + number of known objects with score >= s) / (1 + number of known objects)             counted: exact
    p = P(tail beyond s), joined to the count at the last score that 50 known objects reach       extrapolated
        (of pools below 2,500: that a fiftieth of them reaches, or 10), and one more known object as strange as that added

A count is a conformal p-value (Vovk, Gammerman & Shafer 2005): uniform for one more object of the pool's kind, whatever the
score. It is never below one over the pool, and a list of few objects among many needs smaller ones (Mary & Roquain 2022):
beyond the fiftieth known object the tail of `badac.calibration.tail` goes on, and says how little it knows. It takes over
before the last few objects do: where a list ends, at a p-value of (level) (share of anomalies), 3,000 known objects count
three, known to its half, and a list that ends by chance too early loses more than one that ends too late gains. The count's one
object more stays: a training set that lacks a class's strangest members has a pool that lacks them too, and without it lists of
3,000 known curves held 0.11 to 0.15 at a level of 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, gamma

from badac.cached import cached_property
from badac.calibration.tail import ParetoTail

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# A count of fifty is known to a seventh of itself. Chosen with the curves of benchmarks/lists.py (seeds 500 to 515; counts of
# 1 to 100, tails of 1 to 10 % of the pool) by P(p <= t) of new known curves at t = 1e-4 to 1e-2: with 10, and one more known
# object allowed for, it was 0.27 t to 0.73 t at t = 1e-3, and lists held half of what they could.
_COUNTED, _FEWEST_COUNTED = 50, 10
# Share of the pool that the tail is learned from, and the fewest objects that say something of it: 5 % of a class that has rare
# members hold two kinds of them, and their tail is too heavy or too light beyond.
_TOP, _FEWEST = 0.02, 20
_SMALLEST = 1e-300
# How far the tail is followed where two pools are matched, in mean excesses, and in how many steps: 4 % of an excess each.
_FARTHEST, _TAIL_STEPS = 1e6, 400


@dataclass(frozen=True, eq=False)
class Pool:
    """Scores of known objects that were not learned from.

    Attributes
    ----------
    score : (n,)
        Rising; high = strange.
    """

    score: FloatArray

    @classmethod
    def of(cls, score: FloatArray) -> Pool:
        """Take scores (n,) in any order."""
        return cls(np.sort(score))

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def tail(self) -> ParetoTail:
        """The excesses over a high score of the pool."""
        n = len(self.score)
        if n < 2:
            return ParetoTail.of(np.empty(0), float(self.score[0]) if n else 0.0)
        top = int(np.clip(_TOP * n, min(_FEWEST, n // 2), n - 1))
        start = float(self.score[n - top - 1])
        return ParetoTail.of(self.score[n - top :] - start, start)

    @cached_property
    def _joint(self) -> tuple[float, float, float]:
        """The score at which the tail takes over, the p-value there, and what the tail says there."""
        n = len(self.score)
        count = int(np.clip(_TOP * n, _FEWEST_COUNTED, _COUNTED))
        at = max(float(self.score[max(n - count, 0)]) if n else 0.0, self.tail.start)
        counted = n - int(np.searchsorted(self.score, at, side="left"))
        return at, (1.0 + counted) / (1.0 + n), float(self.tail.survival(np.array([at]))[0])

    def counted(self, score: FloatArray) -> npt.NDArray[np.int64]:
        """Return (n,): how many known objects are at least as strange."""
        return np.asarray(len(self.score) - np.searchsorted(self.score, score, side="left"))

    def extrapolated(self, score: FloatArray) -> BoolArray:
        """Return (n,): whether the tail, not the count, gives an object's p-value."""
        return np.asarray(score > self._joint[0])

    def pvalue(self, score: FloatArray) -> FloatArray:
        """Return (n,): share of known objects at least as strange; falls with the score."""
        _, there, reached = self._joint
        out = np.asarray((1.0 + self.counted(score)) / (1.0 + len(self.score)))
        far = self.extrapolated(score)
        if far.any():
            share = there * np.minimum(self.tail.survival(score[far]) / reached, 1.0)
            # One more known object might have been as strange: where the pool holds c of them, c + 1 of that many.
            more = 1.0 + 1.0 / (1.0 + share * (1.0 + len(self.score)))
            out[far] = np.minimum(share * more, there)
        return np.asarray(np.maximum(out, _SMALLEST))

    def share(self, score: FloatArray) -> FloatArray:
        """Return (n,): the share of known objects at least as strange that is most believed: no one more is allowed for."""
        at, there, reached = self._joint
        n = len(self.score) + 1.0
        out = np.asarray((0.5 + self.counted(score)) / n)
        far = score > at
        if far.any():
            out[far] = (there - 0.5 / n) * np.minimum(self.tail.survival(score[far]) / reached, 1.0)
        return np.asarray(np.maximum(out, _SMALLEST))

    @cached_property
    def _steps(self) -> tuple[FloatArray, FloatArray]:
        """Scores (q,), rising, and the log of `share` at each, falling: the pool up to the joint, then its tail."""
        at = self._joint[0]
        step = float(self.tail.scale @ self.tail.weight)
        beyond = at + step * np.expm1(np.linspace(0.0, np.log1p(_FARTHEST), _TAIL_STEPS))
        score = np.unique(np.concatenate([self.score[self.score < at], beyond]))
        log_share = np.log(self.share(score))
        falls = np.append(True, log_share[1:] < np.minimum.accumulate(log_share)[:-1])
        return score[falls], log_share[falls]

    def as_in(self, other: Pool, score: FloatArray) -> FloatArray:
        """Return (n,): for scores (n,) of objects like those here, the scores that the same shares of another pool reach.

        Rising with the score. Beyond all that both pools know, and below, the last difference stays.
        """
        here, share = self._steps
        there, share_there = other._steps
        common = (share >= share_there[-1]) & (share <= share_there[0])
        if not common.any():
            return np.asarray(score, dtype=np.float64).copy()
        here = here[common]
        # np.interp wants rising shares.
        found = np.interp(-share[common], -share_there, there)
        shift = np.interp(score, here, found - here)
        return np.asarray(score + shift)

    def possible_pvalues(self, pvalue: float, n_values: int = 19) -> tuple[FloatArray, FloatArray]:
        """Return what the share of known objects may really be where the pool says `pvalue`: values and their weights (g,).

        A count of c objects among n leaves Beta(c + 1, n - c); beyond, each shape and scale of the tail says its own, and none
        knows more than the few objects that were seen so far out: c of them leave Gamma(c + 1).
        """
        at, there, _ = self._joint
        middles = (np.arange(n_values) + 0.5) / n_values
        n = len(self.score)
        counted = min(max(pvalue, there) * (n + 1.0) - 1.0, n - 0.5)
        base = beta.ppf(middles, counted + 1.0, n - counted)
        if pvalue >= there:
            return base, np.full(n_values, 1.0 / n_values)
        score = self._score_at(pvalue)
        tail = self.tail.survivals(np.array([score]))[0] / self.tail.survivals(np.array([at]))[0].clip(1e-300)
        seen = max(pvalue * (n + 1.0), 1.0)
        base = there * gamma.ppf(middles, seen) / seen
        values = np.outer(base, np.minimum(tail, 1.0)).ravel()
        weights = np.outer(np.full(n_values, 1.0 / n_values), self.tail.weight).ravel()
        return values * pvalue / (weights @ values), weights

    def _score_at(self, pvalue: float) -> float:
        """The score beyond the joint whose p-value this is."""
        low = self._joint[0]
        step = max(abs(low), float(self.tail.scale.max()), 1e-6)
        high = low + step
        while self.pvalue(np.array([high]))[0] > pvalue and step < 1e300:
            step *= 2.0
            high = low + step
        for _ in range(60):
            middle = 0.5 * (low + high)
            if self.pvalue(np.array([middle]))[0] > pvalue:
                low = middle
            else:
                high = middle
        return high

"""Log-losses of left-out objects under a tempered posterior with a share of contaminated ones (`badac.calibration.coarsening`).

    l_i(beta, e) = log { [ (1 - e) sum_c p_c t_ic + e sum_c p_c ] / [ (1 - e) p_own t_i,own + e p_own ] },

    t_ic = P(d_i | c)^beta / max_c P(d_i | c)^beta

An object that no other class comes near has a loss that does not depend on the exponent. Learning an exponent asks for the
losses some hundred times, and where classes lie apart nearly all objects are such: only the others are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from badac.cached import cached_property

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NOTHING = -45.0  # nats: exp(-45) is lost beside 1 in a double, also if thousands of classes have it


@dataclass(frozen=True, eq=False)
class TemperedLosses:
    """Losses of ``n`` objects as functions of exponent and share.

    Attributes
    ----------
    relative : (n, k)
        Log evidence of each object less that of its own class; not -inf.
    label : (n,)
        Index of the own class.
    log_prior : (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from badac.calibration.tempered_losses import TemperedLosses
    >>> losses = TemperedLosses(np.array([[0.0, -2.0], [-900.0, 0.0]]), np.array([0, 1]), np.log([0.5, 0.5]))
    >>> losses.at(0.5, 0.0).round(2)
    array([0.31, 0.  ])
    """

    relative: FloatArray
    label: IntArray
    log_prior: FloatArray

    def __len__(self) -> int:
        return len(self.relative)

    def at(self, exponent: float | FloatArray, contaminated: float) -> FloatArray:
        """Return (n,): the losses under one exponent, or one for each object (n,)."""
        return np.asarray(self.of_shares(exponent, (contaminated,))[0])

    def of_shares(self, exponent: float | FloatArray, shares: Sequence[float]) -> FloatArray:
        """Return (s, n): the losses for each of some shares, which have their sums over the classes in common."""
        asked = self._asked(exponent)
        out = np.empty((len(shares), len(self)))
        for place, share, own in zip(out, shares, self._of_asked(asked, shares), strict=True):
            place[:] = self._far_away(share)[self.label]
            place[asked.rows] = own
        return out

    def totals(self, exponent: float, shares: Sequence[float]) -> FloatArray:
        """Return (s,): sums of the losses over the objects; those that no other class comes near to are only counted."""
        asked = self._asked(exponent)
        alike = self._counts - np.bincount(self.label[asked.rows], minlength=len(self._counts))
        far = np.array([alike @ self._far_away(share) for share in shares])
        return np.asarray(far + self._of_asked(asked, shares).sum(axis=1))

    def _of_asked(self, asked: _Asked, shares: Sequence[float]) -> FloatArray:
        """Return (s, a): the losses of the objects that another class comes near to."""
        label = self.label[asked.rows]
        total, prior_sum = asked.match @ self._prior / self._prior[label], self._prior_sum[label]
        out = np.empty((len(shares), len(label)))
        for place, share in zip(out, shares, strict=True):
            good = 1.0 - share
            # One logarithm an object in place of one a class.
            np.log((good * total + share * prior_sum) / (good * asked.own + share), out=place)
        return out

    def _far_away(self, share: float) -> FloatArray:
        """Return (k,): the loss of an object of each class that no other class comes near to."""
        good = 1.0 - share
        return np.asarray(np.log((good + share * self._prior_sum) / (good + share)))

    def slopes(self, exponent: FloatArray, contaminated: float) -> FloatArray:
        """Return (n,): derivatives of the losses by the exponent of each object (n,)."""
        asked, good = self._asked(exponent), 1.0 - contaminated
        total = asked.match @ self._prior
        known = contaminated * self._prior.sum()
        steeper = asked.match * asked.relative @ self._prior
        # The largest of the terms, by which contaminated objects count, is one of another class or the own one, of slope 0.
        largest = reduce(np.maximum, asked.relative.T)
        out = np.zeros(len(self))
        out[asked.rows] = (good * steeper + known * largest) / (good * total + known)
        out[asked.rows] -= contaminated * largest / (good * asked.own + contaminated)
        return out

    def _asked(self, exponent: float | FloatArray) -> _Asked:
        """The objects that another class comes near to under these exponents."""
        near = exponent * self._nearest > self._far[self.label]
        rows = slice(None) if near.all() else np.flatnonzero(near)
        relative = self.relative[rows]
        match = (exponent if isinstance(exponent, float) else exponent[rows, None]) * relative
        # Column by column: NumPy goes through narrow rows one at a time. Relative to the largest term nothing overflows.
        best = reduce(np.maximum, match.T)
        match -= best[:, None]
        return _Asked(rows, relative, np.exp(match, out=match), np.exp(-best))

    @cached_property
    def _nearest(self) -> FloatArray:
        """(n,): relative log evidence of the nearest other class."""
        others = self.relative.copy()
        others[np.arange(len(others)), self.label] = -np.inf
        return np.asarray(others.max(axis=1))

    @cached_property
    def _far(self) -> FloatArray:
        """(k,): relative log evidence below which no other class counts beside each."""
        return np.asarray(_NOTHING + self.log_prior - self.log_prior.max())

    @cached_property
    def _counts(self) -> FloatArray:
        """(k,): number of objects of each class."""
        return np.bincount(self.label, minlength=len(self.log_prior)).astype(np.float64)

    @cached_property
    def _prior_sum(self) -> FloatArray:
        """(k,): sum of the priors in units of each."""
        return np.asarray(self._prior.sum() / self._prior)

    @cached_property
    def _prior(self) -> FloatArray:
        """(k,): relative to the largest."""
        return np.asarray(np.exp(self.log_prior - self.log_prior.max()))


class _Asked(NamedTuple):
    """Some of the objects: which, their relative log evidence (a, k), ``t`` (a, k), and that of the own class (a,)."""

    rows: slice | IntArray
    relative: FloatArray
    match: FloatArray
    own: FloatArray

"""What a comparison of noise families found, and when a gain in log evidence is believed.

The difference of the log evidences of held-out members is a log Bayes factor; its spread is the standard deviation of the sum
over these members. Gains are believed beyond chance and a few nats, more of both where more hangs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from badac.classes.model import FloatArray
from badac.noise_learning.noise_em import Start

IntArray = npt.NDArray[np.int64]

# A family is believed if it gains this many times its spread, and this many nats.
_SURE = (3.0, 5.0)
# The second halves, and families that are behind, are not asked where the first gain so much: more than all need to gain.
_PLAIN = (4.0, 25.0)
# What a family learned is where the next EM starts where it gains so much. Experiment 3, both settings, seeds 500 to 502, 150
# held-out members: bad points are ahead even of Student-t by 11 to 14 spreads and 280 to 320 nats.
_BEYOND_DOUBT = (8.0, 50.0)


def is_sure(gain: FloatArray) -> bool:
    """Whether gains (n,) in log evidence add up to more than chance and a few nats."""
    return _exceeds(gain, *_SURE)


def is_plain(gain: FloatArray) -> bool:
    """Whether gains (n,) of half of the members are enough to ask no more of them."""
    return _exceeds(gain, *_PLAIN)


def is_beyond_doubt(gain: FloatArray) -> bool:
    """Whether gains (n,) of one family over another leave no doubt."""
    return _exceeds(gain, *_BEYOND_DOUBT)


def is_promising(gain: FloatArray, share: float) -> bool:
    """Whether gains (n,) of a share of the members, a spread more of them, are their part of the least that is believed."""
    most = float(gain.sum()) + float(gain.std()) * np.sqrt(len(gain))
    return bool(most > _SURE[1] * share)


def _exceeds(gain: FloatArray, spreads: float, nats: float) -> bool:
    return bool(gain.sum() > max(nats, spreads * float(gain.std()) * np.sqrt(len(gain))))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Held-out evidence of the families.

    Attributes
    ----------
    families : tuple of str
        Those that were compared.
    gain : (F, n)
        Log evidence of each held-out member less that under plain Gaussian noise.
    label : (n,)
        Class index of these members.
    basis : (m, K) or None
        Smooth functions that the classes were held to, if the points have an order.
    ranks : dict from class index to int
        How many factors the members of a class need under Gaussian noise.
    starts : dict from family to dict from class index to Start
        What the halves of each class taught.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise_learning import compare_families
    >>> rng = np.random.default_rng(0)
    >>> bad = np.where(rng.random((80, 15)) < 0.2, 0.5, 0.1)
    >>> curves = Measurements(np.sin(np.linspace(0, 3, 15)) + bad * rng.standard_normal((80, 15)), 0.1)
    >>> found = compare_families(curves, np.zeros(80, dtype=int), rng, families=("gaussian", "outliers"))
    >>> found.best
    'outliers'
    """

    families: tuple[str, ...]
    gain: FloatArray
    label: IntArray
    basis: FloatArray | None
    ranks: Mapping[int, int] = field(default_factory=dict)
    starts: Mapping[str, Mapping[int, Start]] = field(default_factory=dict)

    @property
    def log_bayes_factor(self) -> FloatArray:
        """(F,): of each family against the plain Gaussian, all held-out members together."""
        return np.asarray(self.gain.sum(axis=1))

    @property
    def spread(self) -> FloatArray:
        """(F,): standard deviation of the log Bayes factors."""
        return np.asarray(self.gain.std(axis=1) * np.sqrt(self.gain.shape[1]))

    def in_class(self, index: int) -> Comparison:
        """Return the comparison in one class only."""
        own = self.label == index
        return Comparison(self.families, self.gain[:, own], self.label[own], self.basis)

    @property
    def best(self) -> str:
        """The family with the largest evidence, or "gaussian" if none is beyond doubt better."""
        factor = self.log_bayes_factor
        sure = np.array([is_sure(row) for row in self.gain])
        return self.families[int(np.argmax(np.where(sure, factor, 0.0)))] if sure.any() else "gaussian"

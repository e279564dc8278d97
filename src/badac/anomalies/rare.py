"""Rare members of a known class: what the training objects themselves show of its tails.

A factor model learns what most members have in common. A few of them may have more of a shape that the others hardly show, and
look like anomalies, although the class is known to have such members. Those that the hypotheses call strange are learned once
more as a population of their own, with the share of the class that they are, and stand beside it among the known classes:
a new object that resembles them is rare, not strange.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.anomalies.class_summary import Described, View, describe
from badac.anomalies.model import FloatArray, Known
from badac.classes.population.population import Population
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import is_plain
from badac.latent.likelihood import weigh
from badac.noise.model import noise_of_class

# A member must fit this much worse than chance allows, in standard deviations of chi-square, to be asked about at all.
_MISFIT = 1.5
_MOST_ASKED = 0.05
_FEWEST = 8
_STRANGE = 0.0
# Some must be strange beyond doubt: with many members chance alone lifts a few above even odds.
_FEWEST_CLEAR, _CLEAR = 4, 3.0


def misfit(view: View) -> FloatArray:
    """Return (n,): how much worse an object fits its class than chance makes it, in standard deviations.

    With Gaussian errors by chi-square. Under other noise a bad fit hides in points that are taken for bad ones, so the
    evidence itself is compared with that of the other members.
    """
    if not is_plain(view.described.noise):
        with np.errstate(divide="ignore"):
            scale = np.where(
                view.objects.observed & (view.objects.sigma > 0), np.log(view.objects.sigma), 0.0
            )
        loss = -view.log_evidence - scale.sum(axis=1)
        middle = np.median(loss)
        return np.asarray((loss - middle) / max(1.4826 * float(np.median(np.abs(loss - middle))), 1e-12))
    factor = view.described.factor
    weight, residual = weigh(view.gaussian[0], factor.mean, factor.psi)
    left = residual - view.latent.posterior[0] @ factor.factors.T
    count = np.maximum((weight > 0).sum(axis=1), 1)
    return np.asarray(((weight * left**2).sum(axis=1) - count) / np.sqrt(2.0 * count))


def suspects(known: Known, index: int, described: Described) -> npt.NDArray[np.int64]:
    """Return the rows of the training objects of a class that fit it badly, at most a twentieth of them."""
    rows = np.flatnonzero(known.label == index)
    worse = misfit(View(known.training[rows], described, 0.0))
    asked = rows[worse > _MISFIT]
    most = int(_MOST_ASKED * rows.size)
    if asked.size > most:
        asked = rows[np.argsort(-worse)[:most]]
    return np.sort(asked)


def rare_population(
    known: Known,
    index: int,
    described: Described,
    rows: npt.NDArray[np.int64],
    log_bayes_factor: FloatArray,
    rng: np.random.Generator,
) -> tuple[Described, float] | None:
    """Learn the strange ones among the suspects of a class, if there are enough.

    Parameters
    ----------
    known : Known
    index : int
        Of the class.
    described : Described
        The class without them.
    rows : (s,)
        Suspects, rows of the training objects.
    log_bayes_factor : (s,)
        Of an anomaly against the known classes so far.
    rng : numpy.random.Generator

    Returns
    -------
    (Described, float) or None
        Their description and the log of their share of the class.
    """
    rare = rows[log_bayes_factor > _STRANGE]
    if rare.size < _FEWEST or (log_bayes_factor > _CLEAR).sum() < _FEWEST_CLEAR:
        return None
    share = rare.size / int((known.label == index).sum())
    noise = noise_of_class(known.noise, index)
    learned = describe(Population(), known.training[rare], noise, rng, known.scales)
    # What few members leave open is not theirs to forgive: their factors are their own, psi is the class's.
    factor = Factor(
        learned.factor.mean, learned.factor.factors, np.minimum(learned.factor.psi, described.factor.psi)
    )
    return Described(factor, learned.mixture, learned.noise), float(np.log(share))

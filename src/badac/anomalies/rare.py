"""Rare members of a known class: what the training objects themselves show of its tails.

A factor model learns what most members have in common. A few of them may have more of a shape that the others hardly show, and
look like anomalies, although the class is known to have such members. Those that the hypotheses call strange are learned once
more as a population of their own, with the share of the class that they are, and stand beside it among the known classes:
a new object that resembles them is rare, not strange.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from badac.anomalies.learned_summary import class_summary
from badac.anomalies.model import FloatArray, Known
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import is_plain
from badac.threads import over_blocks

# A member must fit this much worse than chance allows, in standard deviations of chi-square, to be asked about at all.
_MISFIT = 1.5
_MOST_ASKED = 0.05
_FEWEST = 8
_STRANGE = 0.0
# Some must be strange beyond doubt: with many members chance alone lifts a few above even odds.
_FEWEST_CLEAR, _CLEAR = 4, 3.0
_FEWEST_DOUBTED = 400  # members: of fewer, a tenth is no more than a handful
_OBJECTS_PER_BLOCK = 2048  # block size


def misfit(under: ObjectsUnderClass) -> FloatArray:
    """Return (n,): how much worse an object fits its class than chance makes it, in standard deviations.

    With Gaussian errors by chi-square. Under other noise a bad fit hides in points that are taken for bad ones, so the
    evidence itself is compared with that of the other members.
    """
    if not is_plain(under.summary.noise):
        loss = -under.log_evidence - log_errors(under.objects)
        middle = np.median(loss)
        return np.asarray((loss - middle) / max(1.4826 * float(np.median(np.abs(loss - middle))), 1e-12))
    weight, scaled, _ = under.weighed
    left = under.latent.position @ under.summary.factor.factors.T
    left *= weight
    left -= scaled
    seen = weight > 0
    share = np.divide(left, weight, out=np.zeros_like(left), where=seen)
    count = np.maximum(seen.sum(axis=1), 1)
    return np.asarray((np.einsum("ij,ij->i", share, left) - count) / np.sqrt(2.0 * count))


def members_under_class(
    known: Known, index: int, summary: ClassSummary, among: BoolArray | None = None
) -> tuple[npt.NDArray[np.int64], ObjectsUnderClass]:
    """Rows of the training objects of a class, all or those `among` (n,), and these as the class sees them."""
    own = known.label == index
    rows = np.flatnonzero(own if among is None else own & among)
    return rows, ObjectsUnderClass(known.training[rows], summary)


def suspects(
    known: Known,
    index: int,
    summary: ClassSummary,
    among: BoolArray | None = None,
    members: tuple[npt.NDArray[np.int64], ObjectsUnderClass] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the rows of the training objects of a class that fit it badly, at most a twentieth of them.

    Parameters
    ----------
    known : Known
    index : int
    summary : ClassSummary
    among : (n,) bool, optional
        Training objects of whom it is known that the others fit better; all are asked if not given.
    members : tuple, optional
        `members_under_class` of them, if it is known already.
    """
    rows, under = members_under_class(known, index, summary, among) if members is None else members
    worse = misfit(under)
    asked = rows[worse > _MISFIT]
    most = int(_MOST_ASKED * int((known.label == index).sum()))
    if asked.size > most:
        asked = rows[np.argsort(-worse)[:most]]
    return np.sort(asked)


def doubtful_members(known: Known, summaries: Sequence[ClassSummary]) -> BoolArray:
    """Whether each training object (n,) is among the tenth of its class that fits it worst or is explained worst by it.

    Twice as many as are asked whether they are rare, or unlike all others (`badac.anomalies.unseen`), so that a class
    learned without some of its members has those that it would ask among them. All of a small class, and under noise whose
    misfit is relative to that of the other members.
    """
    members = [np.flatnonzero(known.label == index) for index in range(len(summaries))]
    large = [
        index
        for index, rows in enumerate(members)
        if rows.size >= _FEWEST_DOUBTED and is_plain(summaries[index].noise)
    ]
    strangeness = np.empty((2, len(known.label)))

    def ask(part: tuple[ClassSummary, npt.NDArray[np.int64]], _: int) -> None:
        summary, rows = part
        under = ObjectsUnderClass(known.training[rows], summary)
        strangeness[:, rows] = misfit(under), -under.log_evidence - log_errors(under.objects)

    over_blocks(
        ask,
        (
            (summaries[index], members[index][start : start + _OBJECTS_PER_BLOCK])
            for index in large
            for start in range(0, members[index].size, _OBJECTS_PER_BLOCK)
        ),
        1,
    )
    doubtful = np.ones(len(known.label), dtype=np.bool_)
    for index in large:
        rows = members[index]
        doubtful[rows] = False
        for each in strangeness[:, rows]:
            doubtful[rows[np.argsort(-each, kind="stable")[: int(2.0 * _MOST_ASKED * rows.size)]]] = True
    return doubtful


def log_errors(members: Measurements) -> FloatArray:
    """Return (n,): the sum of the log errors of each object, by which its evidence is made comparable with that of others."""
    with np.errstate(divide="ignore"):
        logs = np.where(members.observed & (members.sigma > 0), np.log(members.sigma), 0.0)
    return np.asarray(logs.sum(axis=1))


def strange_ones(rows: npt.NDArray[np.int64], log_bayes_factor: FloatArray) -> npt.NDArray[np.int64]:
    """Return those of the suspects (s,) that an anomaly explains better than the known classes; none if too few.

    Parameters
    ----------
    rows : (s,)
        Suspects, rows of the training objects.
    log_bayes_factor : (s,)
        Of an anomaly against the known classes so far.
    """
    strange = rows[log_bayes_factor > _STRANGE]
    enough = strange.size >= _FEWEST and (log_bayes_factor > _CLEAR).sum() >= _FEWEST_CLEAR
    return strange if enough else rows[:0]


def rare_population(
    known: Known,
    index: int,
    summary: ClassSummary,
    rows: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[ClassSummary, float]:
    """Learn the rare members of class `index`, rows (s,) of the training objects, as a population of their own.

    Returns
    -------
    ClassSummary, float
        Their summary, and the log of their share of the class; `summary` is that of the class without them.
    """
    learned = class_summary(known, index, None, known.training[rows], rng)
    # What few members leave open is not theirs to forgive: their factors are their own, psi is the class's.
    own = learned.factor
    factor = Factor(own.mean, own.factors, np.minimum(own.psi, summary.factor.psi))
    share = rows.size / int((known.label == index).sum())
    return replace(learned, factor=factor), float(np.log(share))

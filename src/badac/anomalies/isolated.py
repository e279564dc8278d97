"""Where a known class thins out: its isolated members, each with the lines to its nearest neighbours, and beyond its ends.

    z ~ 1 / (n k) sum_i sum_j N( m_i , C_i + (m_i - m_j) (m_i - m_j)' )         i isolated,  j the k members nearest to it
        + 3 / n  at either end of the class                                     (`badac.anomalies.family_ends`)

A mixture of some dozen components describes the bulk of a class. Where a family of curves thins out, such as its slowest and
quickest sines, single members stand apart, and a component of one member is drawn towards the bulk and widened. Here such a
member counts as what it is: one of n, at the place ``m_i`` that its own measurements give it (covariance ``C_i``, under a prior
that is ten times as wide as the class's). The line to a neighbour, as long again on either side, says where the family goes on.
A member is isolated if noise does not explain how far its neighbours are.

Beyond the last of n members there are further ones, once in n on average, and up to three times as often at 95 % confidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from badac._kernels import latent_posterior
from badac._kernels.eigen import eigh
from badac._kernels.latent import pack, unpack
from badac.anomalies.family_ends import LEAST_MEMBERS, PLACES, beyond_ends
from badac.anomalies.model import FloatArray
from badac.anomalies.neighbours import Neighbours
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray, IntArray
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.gaussian_approximation import is_plain, with_noise_scale
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.registry import registered

# Neighbours of a member. Chosen on printed 1 with 1,000 training curves, seeds 500 to 505 (MCC 0.895 without this): the member
# alone 0.908, one neighbour 0.910, three 0.912; lines twice as long 0.909.
_NEIGHBOURS = 3
# Neighbours that are known of members of whom a sixth is left out at a time: of one in two thousand fewer than three are left
# of these, and they are looked for anew.
_KNOWN_NEIGHBOURS = 8
# That noise alone sets the last of these neighbours so far apart; and the first from the fifth of the members at an end.
_CHANCE, _CHANCE_AT_END = 1e-4, 0.05
# Variance of the prior under which an isolated member has its place, in units of the class's.
_WIDE = 100.0
# Of the members; with more of them apart the class has no bulk, and of classes of more members the mixture knows the ends.
_MOST_ISOLATED, _MOST_MEMBERS = 0.05, 20_000
# Members beyond each end: what n members that show none leave possible at 95 % confidence, -log(0.05).
_BEYOND_END = 3.0
_MOST_IN_TREE = 1500
# Variance of a place in spaced coordinates, where places of two members at one position differ by a variance of 1.
_NOISE = 0.5


@registered("part", holds={"log_prior": "may be -inf"})
@dataclass(frozen=True, eq=False)
class Isolated:
    """Isolated members of a class, and those beyond its ends.

    Attributes
    ----------
    summary : ClassSummary
        The class's factors, with a component for every isolated member and neighbour, and for places beyond the ends.
    log_prior : float
        Of being one of them, among all known objects.
    """

    summary: ClassSummary
    log_prior: float

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log of prior times density of objects (n, m)."""
        under = ObjectsUnderClass(objects, self.summary, self.log_prior, n_threads)
        return np.asarray(self.log_prior + under.log_evidence)

    def log_evidence_of(self, under: ObjectsUnderClass) -> FloatArray:
        """The same of objects under the class itself, whose factors these members have: what they say of them is known."""
        own = self.summary.log_evidence(under.latent, n_threads=under.n_threads)
        return np.asarray(self.log_prior + own)


def isolated_members(members: Measurements, summary: ClassSummary, log_prior: float) -> tuple[Isolated, ...]:
    """Return the isolated members of a class, if there are any.

    Parameters
    ----------
    members : Measurements
        (n, m), of the class.
    summary : ClassSummary
        The class, as learned from them.
    log_prior : float
        Of the class among the known ones.
    """
    if not _can_be_apart(len(members), summary):
        return ()
    latent = summary.factor.project(with_noise_scale(members, summary.noise))
    place, covariance = _places(latent)
    spacing = _spacing(latent, place)
    spaced = place @ spacing
    apart = Apart.of(Neighbours.of(spaced, _NEIGHBOURS))
    own = _Placed(place[apart.rows], covariance[apart.rows], spaced[apart.rows], spacing)
    return _found(own, apart, summary, log_prior)


def members_nearby(members: Measurements, summary: ClassSummary) -> Neighbours | None:
    """Return who is near to whom of the members (n, m) of a class; None where none is asked whether it stands apart."""
    if not _can_be_apart(len(members), summary):
        return None
    latent = summary.factor.project(with_noise_scale(members, summary.noise))
    place, _ = _places(latent)
    return Neighbours.of(place @ _spacing(latent, place), min(_KNOWN_NEIGHBOURS, len(members) - 1))


def isolated_without_some(
    members: Callable[[IntArray], Measurements],
    nearby: tuple[Neighbours, BoolArray],
    summary: ClassSummary,
    log_prior: float,
) -> tuple[Isolated, ...]:
    """Return the isolated members of a class without some of those among whom it is known who is near to whom.

    Who stands apart from whom is asked of the positions that the class of all members gives them, where they stand, of those
    that `summary` does: of a few members alone, and the same to what a few members more say of the others' positions.

    Parameters
    ----------
    members : callable
        Gives the members of some numbers (s,) among those that are kept.
    nearby : Neighbours, (n,) bool
        Of all members, and which of them are kept.
    summary : ClassSummary
        The class, as learned from those.
    log_prior : float
    """
    known, kept = nearby
    if not _can_be_apart(int(kept.sum()), summary):
        return ()
    apart = Apart.of(known.among(kept, _NEIGHBOURS))
    if not apart.rows.size:
        return ()
    latent = summary.factor.project(with_noise_scale(members(apart.rows), summary.noise))
    place, covariance = _places(latent)
    spacing = _spacing(latent, place)
    return _found(_Placed(place, covariance, place @ spacing, spacing), apart, summary, log_prior)


def _can_be_apart(n: int, summary: ClassSummary) -> bool:
    enough = 2 * _NEIGHBOURS < n <= _MOST_MEMBERS and summary.factor.rank
    return bool(enough and is_plain(summary.noise))


@dataclass(frozen=True, eq=False)
class Apart:
    """Which members stand apart, and those that are looked at to see where.

    Attributes
    ----------
    n_members : int
        Of the class.
    rows : (s,)
        Members whose places are asked, in their order.
    isolated : (q,)
        Those that stand apart, numbers of `rows`.
    near : (q, k)
        Their neighbours, likewise.
    tree : (t,)
        Those in whose tree the ends of the class are sought, likewise; none of a class of a few.
    """

    n_members: int
    rows: IntArray
    isolated: IntArray
    near: IntArray
    tree: IntArray

    @classmethod
    def of(cls, nearby: Neighbours) -> Apart:
        """Ask who is near to whom; the tree of many members is that of the sparse ones, and of some of the bulk."""
        (n, rank), last = nearby.place.shape, nearby.distance[-1]
        isolated = np.flatnonzero(last > np.sqrt(chi2.isf(_CHANCE, rank)))
        most = int(_MOST_ISOLATED * n)
        if isolated.size > most:
            isolated = np.sort(isolated[np.argsort(-last[isolated], kind="stable")[:most]])
        tree = np.arange(n if n >= LEAST_MEMBERS else 0)
        if n > _MOST_IN_TREE:
            sparse, bulk = np.split(np.argsort(-last, kind="stable"), [_MOST_IN_TREE // 2])
            tree = np.sort(np.concatenate([sparse, bulk[:: 2 * len(bulk) // _MOST_IN_TREE + 1]]))
        near, asked = nearby.near[:, isolated].T, np.zeros(n, dtype=np.bool_)
        for each in (isolated, near, tree):
            asked[each] = True
        number = np.cumsum(asked) - 1
        return cls(n, np.flatnonzero(asked), number[isolated], number[near], number[tree])


@dataclass(frozen=True, eq=False)
class _Placed:
    """Where members are: positions (s, r), their covariances (s, p), packed, and spaced coordinates by the spacing (r, r)."""

    place: FloatArray
    covariance: FloatArray
    spaced: FloatArray
    spacing: FloatArray


# Members to expect of each component (c,), its mean (c, r) and covariance (c, r, r).
_Components = tuple[FloatArray, FloatArray, FloatArray]


def _found(own: _Placed, apart: Apart, summary: ClassSummary, log_prior: float) -> tuple[Isolated, ...]:
    """The isolated members, and places beyond the ends of the class."""
    parts = [_isolated(own, apart), _beyond(own, apart)]
    expected = np.concatenate([one[0] for one in parts])
    if not expected.size:
        return ()
    mixture = Mixture(
        expected / expected.sum(),
        np.concatenate([one[1] for one in parts]),
        np.concatenate([one[2] for one in parts]),
    )
    found = ClassSummary(summary.factor, mixture, summary.noise)
    return (Isolated(found, log_prior + float(np.log(expected.sum() / apart.n_members))),)


def _isolated(own: _Placed, apart: Apart) -> _Components:
    """Members whose last neighbour is farther than noise sets it, with the lines to all of them."""
    rows = apart.isolated
    line = own.place[rows, None] - own.place[apart.near]
    lengthened = unpack(own.covariance[rows])[:, None] + line[..., :, None] * line[..., None, :]
    means = np.repeat(own.place[rows], _NEIGHBOURS, axis=0)
    return np.full(len(means), 1.0 / _NEIGHBOURS), means, lengthened.reshape(-1, *lengthened.shape[2:])


def _beyond(own: _Placed, apart: Apart) -> _Components:
    """Places beyond the ends of the class."""
    rank = len(own.spacing)
    if not apart.tree.size:
        return np.empty(0), np.empty((0, rank)), np.empty((0, rank, rank))
    at_end = float(np.sqrt(chi2.isf(_CHANCE_AT_END, rank)))
    means, covariances = beyond_ends(own.spaced[apart.tree], _NOISE, at_end)
    back = np.linalg.inv(own.spacing)
    return np.full(len(means), _BEYOND_END / PLACES), means @ back, back.T @ covariances @ back


def _places(latent: LatentLikelihood) -> tuple[FloatArray, FloatArray]:
    """Positions (n, r) by each member's own measurements, and their covariances (n, p), packed."""
    rank = latent.shift.shape[1]
    covariance, place, _ = latent_posterior(
        latent.precision, latent.shift, pack(np.eye(rank) / _WIDE), np.zeros(rank)
    )
    return place, covariance


def _spacing(latent: LatentLikelihood, place: FloatArray) -> FloatArray:
    """What takes positions (n, r) to coordinates (n, r) where two members at one position differ by a variance of 1.

    Along the principal axes of the `place` (n, r) of the members there, the longest first: neighbours are then found sooner.
    """
    rank = latent.shift.shape[1]
    metric = _NOISE * unpack(latent.precision.mean(axis=0)[None])[0] + np.eye(rank) / _WIDE
    root = np.linalg.cholesky(metric)
    axes = eigh(np.cov(place @ root, rowvar=False).reshape(rank, rank))[1]
    return np.asarray(root @ axes[:, ::-1], dtype=np.float64)

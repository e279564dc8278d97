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

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from badac._kernels import latent_posterior
from badac._kernels.eigen import eigh
from badac._kernels.latent import pack, unpack
from badac.anomalies.family_ends import LEAST_MEMBERS, PLACES, beyond_ends
from badac.anomalies.model import FloatArray
from badac.anomalies.neighbours import nearest_members
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.gaussian_approximation import is_plain, with_noise_scale
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.registry import registered

# Neighbours of a member. Chosen on printed 1 with 1,000 training curves, seeds 500 to 505 (MCC 0.895 without this): the member
# alone 0.908, one neighbour 0.910, three 0.912; lines twice as long 0.909.
_NEIGHBOURS = 3
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
    n = len(members)
    too_few = not 2 * _NEIGHBOURS < n <= _MOST_MEMBERS or not summary.factor.rank
    if too_few or not is_plain(summary.noise):
        return ()
    latent = summary.factor.project(with_noise_scale(members, summary.noise))
    place, covariance = _places(latent)
    spacing = _spacing(latent, place)
    spaced = place @ spacing
    apart, at_end = np.sqrt(chi2.isf([_CHANCE, _CHANCE_AT_END], len(spacing))).tolist()
    distance, near = nearest_members(spaced, _NEIGHBOURS)
    parts = [
        _isolated(place, covariance, distance[:, -1], near, apart),
        _beyond(spaced, spacing, distance[:, -1], at_end),
    ]
    expected = np.concatenate([one[0] for one in parts])
    if not expected.size:
        return ()
    mixture = Mixture(
        expected / expected.sum(),
        np.concatenate([one[1] for one in parts]),
        np.concatenate([one[2] for one in parts]),
    )
    own = ClassSummary(summary.factor, mixture, summary.noise)
    return (Isolated(own, log_prior + float(np.log(expected.sum() / n))),)


# Members to expect of each component (c,), its mean (c, r) and covariance (c, r, r).
_Components = tuple[FloatArray, FloatArray, FloatArray]


def _isolated(
    place: FloatArray, covariance: FloatArray, distance: FloatArray, near: IntArray, apart: float
) -> _Components:
    """Members whose last neighbour (n,) is farther than noise sets it, with the lines to all (n, k) of them."""
    rows = np.flatnonzero(distance > apart)
    most = int(_MOST_ISOLATED * len(place))
    if rows.size > most:
        rows = np.sort(rows[np.argsort(-distance[rows], kind="stable")[:most]])
    line = place[rows, None] - place[near[rows]]
    lengthened = unpack(covariance[rows])[:, None] + line[..., :, None] * line[..., None, :]
    means = np.repeat(place[rows], _NEIGHBOURS, axis=0)
    return np.full(len(means), 1.0 / _NEIGHBOURS), means, lengthened.reshape(-1, *lengthened.shape[2:])


def _beyond(spaced: FloatArray, spacing: FloatArray, distance: FloatArray, apart: float) -> _Components:
    """Places beyond the ends of the class; the tree of many members is that of the sparse ones, and of some of the bulk."""
    n, rank = spaced.shape
    if n < LEAST_MEMBERS:
        return np.empty(0), np.empty((0, rank)), np.empty((0, rank, rank))
    if n > _MOST_IN_TREE:
        order = np.argsort(-distance, kind="stable")
        sparse, bulk = np.split(order, [_MOST_IN_TREE // 2])
        spaced = spaced[np.sort(np.concatenate([sparse, bulk[:: 2 * len(bulk) // _MOST_IN_TREE + 1]]))]
    means, covariances = beyond_ends(spaced, _NOISE, apart)
    back = np.linalg.inv(spacing)
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

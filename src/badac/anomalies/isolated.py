"""Isolated members of a known class: the few beyond its bulk, each with the lines to its nearest neighbours.

    z ~ 1 / (n k) sum_i sum_j N( m_i , C_i + (m_i - m_j) (m_i - m_j)' )         i isolated,  j the k members nearest to it

A mixture of some dozen components describes the bulk of a class. Where a family of curves thins out, such as its slowest and
quickest sines, single members stand apart, and a component of one member is drawn towards the bulk and widened. Here such a
member counts as what it is: one of n, at the place ``m_i`` that its own measurements give it (covariance ``C_i``, under a prior
that is ten times as wide as the class's). The line to a neighbour, as long again on either side, says where the family goes on.
A member is isolated if noise does not explain how far its neighbours are. A class without such members has none of this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import chi2

from badac._kernels.latent import unpack
from badac.anomalies.model import FloatArray
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.gaussian_approximation import is_plain
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.registry import registered

# Neighbours of a member. Chosen on printed 1 with 1,000 training curves, seeds 500 to 505 (MCC 0.895 without this): the member
# alone 0.908, one neighbour 0.910, three 0.912; lines twice as long 0.909.
_NEIGHBOURS = 3
# That noise alone sets the last of these neighbours so far apart.
_CHANCE = 1e-4
# Variance of the prior under which an isolated member has its place, in units of the class's.
_WIDE = 100.0
# Of the members; with more of them apart the class has no bulk, and of classes of more members the mixture knows the ends.
_MOST_ISOLATED, _MOST_MEMBERS = 0.05, 20_000


@registered("part", holds={"log_prior": "may be -inf"})
@dataclass(frozen=True, eq=False)
class Isolated:
    """Isolated members of a class.

    Attributes
    ----------
    summary : ClassSummary
        The class's factors, with a component for every isolated member and neighbour.
    log_prior : float
        Of being like one of them, among all known objects.
    """

    summary: ClassSummary
    log_prior: float

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log of prior times density of objects (n, m)."""
        under = ObjectsUnderClass(objects, self.summary, self.log_prior, n_threads)
        return np.asarray(self.log_prior + under.log_evidence)


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
    latent = ObjectsUnderClass(members, summary).latent
    place, covariance = _places(latent)
    rows, near = _apart(latent, place)
    if not rows.size:
        return ()
    line = place[rows, None] - place[near]
    means = np.repeat(place[rows], _NEIGHBOURS, axis=0)
    covariances = covariance[rows, None] + line[..., :, None] * line[..., None, :]
    mixture = Mixture(
        np.full(len(means), 1.0 / len(means)), means, covariances.reshape(-1, *covariance.shape[1:])
    )
    own = ClassSummary(summary.factor, mixture, summary.noise)
    return (Isolated(own, log_prior + float(np.log(rows.size / n))),)


def _places(latent: LatentLikelihood) -> tuple[FloatArray, FloatArray]:
    """Positions (n, r) by each member's own measurements, and their covariances (n, r, r)."""
    precision = unpack(latent.precision) + np.eye(latent.shift.shape[1]) / _WIDE
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    return np.einsum("nij,nj->ni", covariance, latent.shift), covariance


def _apart(latent: LatentLikelihood, place: FloatArray) -> tuple[IntArray, IntArray]:
    """Rows (s,) of members that noise alone does not set so far apart, and their nearest neighbours (s, k)."""
    rank = place.shape[1]
    metric = 0.5 * unpack(latent.precision.mean(axis=0)[None])[0] + np.eye(rank) / _WIDE
    scaled = place @ np.linalg.cholesky(metric)
    distance, near = cKDTree(scaled).query(scaled, _NEIGHBOURS + 1)
    rows = np.flatnonzero(distance[:, -1] ** 2 > chi2.isf(_CHANCE, rank))
    most = int(_MOST_ISOLATED * len(place))
    if rows.size > most:
        rows = np.sort(rows[np.argsort(-distance[rows, -1], kind="stable")[:most]])
    return rows, near[rows, 1:]

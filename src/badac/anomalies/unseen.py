"""Members of a known class unlike all that were seen: curves as smooth and as large as its own, in directions it has not shown.

    y_true = mean + factors z + f + eps,    z three times as wide as the members',    f ~ GP(0, (3 spread)^2 , length)
    share of the class  =  (1 + members that are explained better so) / (members + 1)

A class of n members has members unlike all of them, about one in n + 1 (Good 1953, after Turing), more where the training
objects themselves show some. They lie beyond the class's factors, which are learned from what most members share: a
sine quicker than every one in the training set is no sum of those that were seen, and without this it stands at the top of the
ranking with a Bayes factor of e^100. What such members have in common with the others is their smoothness, the ``length`` under
which a Gaussian process explains the members best, and their size: far outside, nothing is a member. So an anomaly that
is no rougher and no larger than the class keeps a log Bayes factor of about log(n + 1), and one that is, all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from badac._kernels import curve_log_evidence, latent_log_evidence, latent_without
from badac._kernels.hypotheses import Features, Layout, Sizes
from badac._kernels.latent import Components, products
from badac.anomalies.model import FloatArray
from badac.anomalies.rare import log_errors
from badac.anomalies.sequence import cosines, spectrum
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.factor import Factor
from badac.latent.mixture import Mixture, gaussian_dimensions
from badac.registry import registered

# How much wider than the members seen: amplitudes of 1, 3 and 10 and each alone were compared on the paper's curves (1,000 to
# 12,000 training curves, seeds from 200 on); 3 is best, 10 close.
_WIDER = 3.0
# In units of the length of the members, the same curves: somewhat smoother ones cost nothing, and save a class with steps.
_LENGTHS = (1.0, 1.25)
# Lengths that are tried, in units of the range of the coordinates, from the smoothest on.
_TRIED = (0.8, 0.6, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.025)
MEMBERS_FOR_A_LENGTH = 200  # that are asked for their length: it is known to a few per cent then
# Mean square around the class, in units of the members', at which an unseen member is half a nat less likely. It then falls
# steeply: beyond, it must be less likely than an anomaly, which is three times narrower (law "farther is never less strange").
_LARGE = 8.0
_FEWEST_MEMBERS = 2
# Of the first cosine's variance. With so wide curves the weak cosines still tell a quicker curve from a slower one.
_SPECTRUM_ENDS = 1e-4
_STEPS = 20
# Members that may be unlike the others: a twentieth of them, those that the class explains worst.
_FEWEST_ASKED, _MOST_ASKED = 20, 0.05


@registered("part", holds={"log_prior": "may be -inf", "length": "> 0", "mean": "(m,)", "variance": ">= 0"})
@dataclass(frozen=True, eq=False)
class Unseen:
    """Members of a class unlike all that were seen.

    Attributes
    ----------
    summary : ClassSummary
        The class with smooth curves beside its factors, and a wider mixture.
    log_prior : float
        Of belonging to them, among all known objects.
    length : float
        Of the smooth curves, in units of the range of the coordinates.
    mean : (m,)
        Of the class.
    variance : float
        Of the members around it, averaged over the points.
    """

    summary: ClassSummary
    log_prior: float
    length: float
    mean: FloatArray
    variance: float

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log of prior times density of objects (n, m); it ends where objects are larger than members are."""
        under = ObjectsUnderClass(objects, self.summary, self.log_prior, n_threads)
        gaussian = under.gaussian[0]
        residual, noise, count = gaussian.values - self.mean, gaussian.sigma, float(gaussian.n_points)
        if not gaussian.complete:
            seen = gaussian.observed
            residual, noise = np.where(seen, residual, 0.0), np.where(seen, noise, 0.0)
            count = np.maximum(seen.sum(axis=1), 1)
        size = (residual**2 / (self.variance + noise**2)).sum(axis=1) / count
        evidence = self._integrated(under)
        return np.asarray(self.log_prior + evidence - 0.5 * (size / _LARGE) ** 4)

    @cached_property
    def _class_alone(self) -> tuple[Layout, int, Components]:
        """Where the smooth curves and the class's own dimensions are, how many curves, and the mixture of the latter."""
        mixture = self.summary.mixture
        size, curves = mixture.means.shape[1], gaussian_dimensions(mixture)
        own = size - curves
        layout = Layout.packed(size, np.concatenate([np.arange(own, size), np.arange(own)]))
        narrow = Mixture(mixture.weights, mixture.means[:, :own], mixture.covariances[:, :own, :own])
        return layout, curves, narrow.components()

    @cached_property
    def _features(self) -> tuple[Features, Sizes]:
        """The smooth curves, then the class's own dimensions; each curve of its own size, whatever the object."""
        layout, curves, _ = self._class_alone
        columns = np.ascontiguousarray(self.summary.factor.factors[:, layout.chosen])
        whole = Layout.packed(columns.shape[1], np.arange(columns.shape[1]))
        sizes = Sizes((np.ones(curves),), base=1.0, share=0.0)
        return Features(columns, np.ascontiguousarray(products(columns)), (whole,)), sizes

    def _integrated(self, under: ObjectsUnderClass) -> FloatArray:
        """Log P(d | the class with smooth curves) (n,), that of `under.log_evidence`: the curves, which every component has
        alike, are integrated out once and not once for each component.
        """
        layout, curves, components = self._class_alone
        if not 0 < curves < layout.chosen.size:
            return under.log_evidence
        if not under.correlated:
            features, sizes = self._features
            found = curve_log_evidence(under.points, features, sizes, components, n_threads=under.n_threads)
            return found + under.log_constant
        latent = under.latent
        ones, parts = np.ones((len(latent), curves)), (latent.precision, latent.shift, latent.offset)
        precision, shift, offset = latent_without(*parts, ones, layout, n_threads=under.n_threads)
        matched = latent_log_evidence(precision, shift, components, n_threads=under.n_threads)
        return np.asarray(matched - 0.5 * offset)


@dataclass(frozen=True, eq=False)
class Counted:
    """What is known of a class of whom only the members that it explains worst are asked.

    Attributes
    ----------
    members : int
        All of them.
    length : float, optional
        Of their curves, in units of the range of the coordinates.
    typical : Measurements, optional
        Members that it is learned from, if it is not known.
    log_evidence : (n,), optional
        Of those that are asked, under the class, if it is known already.
    """

    members: int
    length: float | None = None
    typical: Measurements | None = None
    log_evidence: FloatArray | None = None


def unseen_members(
    members: Measurements,
    summary: ClassSummary,
    log_prior: float,
    where: FloatArray,
    counted: Counted | None = None,
) -> tuple[Unseen, ...]:
    """Return what a class's unseen members look like, one for each length; nothing for a class of a single member.

    Parameters
    ----------
    members : Measurements
        (n, m), of the class: all, or those that it explains worst.
    summary : ClassSummary
        The class, as learned from them.
    log_prior : float
        Of the class among the known ones.
    where : (m,)
        Coordinates of the points on [0, 1].
    counted : Counted, optional
        If these are not all members.
    """
    n = members.n_objects if counted is None else counted.members
    if n < _FEWEST_MEMBERS or where.size < 3:
        return ()
    factor = summary.factor
    variance = float(((factor.factors**2).sum(axis=1) + factor.psi).mean())
    own = None if counted is None else counted.length
    if own is None:
        typical = counted.typical if counted is not None and counted.typical is not None else members
        own = typical_length(typical, summary, where, variance)
    found = tuple(
        Unseen(_continued(summary, where, times * own, variance), 0.0, times * own, factor.mean, variance)
        for times in _LENGTHS
    )
    known = None if counted is None else counted.log_evidence
    evidence = ObjectsUnderClass(members, summary).log_evidence if known is None else known
    share = log_prior + np.log(_count(found, members, evidence, n) / (n + 1.0)) - np.log(len(found))
    return tuple(replace(one, log_prior=float(share)) for one in found)


def _count(unseen: tuple[Unseen, ...], members: Measurements, own: FloatArray, n: int) -> float:
    """How many of n members of the class are of the kind: one for certain, and those that are explained better so.

    `own` (k,) is the evidence of the members (k, m) under the class itself.
    """
    # What an object of this noise can have at best does not tell members apart.
    worst = np.argsort(own + log_errors(members), kind="stable")[: max(_FEWEST_ASKED, int(_MOST_ASKED * n))]
    some = members[worst]
    alike = np.logaddexp.reduce([one.log_evidence(some) for one in unseen]) - np.log(len(unseen))
    gain = np.clip(alike - own[worst] - np.log(n + 1.0), -700.0, 700.0)
    count = 1.0
    for _ in range(_STEPS):  # EM for a share
        count = 1.0 + float((1.0 / (1.0 + np.exp(-gain) / count)).sum())
    return count


def typical_length(members: Measurements, summary: ClassSummary, where: FloatArray, variance: float) -> float:
    """Return the length of the Gaussian process around the class's mean that explains its members best."""
    some, factor = members[:MEMBERS_FOR_A_LENGTH], summary.factor
    best, best_evidence = _TRIED[0], -np.inf
    for length in _TRIED:
        curves = Factor(factor.mean, _curves(where, length, variance), factor.psi)
        plain = ClassSummary(curves, Mixture.standard(curves.rank), summary.noise)
        evidence = float(ObjectsUnderClass(some, plain).log_evidence.sum())
        if evidence < best_evidence:
            break
        best, best_evidence = length, evidence
    return best


def _continued(summary: ClassSummary, where: FloatArray, length: float, variance: float) -> ClassSummary:
    """The class with smooth curves beside its factors, everything `_WIDER` times as wide."""
    factor, mixture = summary.factor, summary.mixture
    curves = _WIDER * _curves(where, length, variance)
    wide = Mixture(mixture.weights, mixture.means, _WIDER**2 * mixture.covariances)
    return ClassSummary(
        Factor(factor.mean, np.hstack([factor.factors, curves]), factor.psi),
        wide.with_gaussian_dimensions(curves.shape[1]),
        summary.noise,
    )


def _curves(where: FloatArray, length: float, variance: float) -> FloatArray:
    """Features (m, q) of curves of this variance, each with its standard deviation."""
    power = spectrum(length, _SPECTRUM_ENDS)
    return cosines(where, power.size) * np.sqrt(variance * power)

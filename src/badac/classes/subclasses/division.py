"""How many subclasses a class has, by evidence.

A subclass is a kind of curve that no members connect with the rest of the class beyond their errors. Two steps, both in the
latent space of the class's factor model, where every member is a likelihood with its own errors and gaps:

1.  A mixture of Gaussians, the members' labels marginalised, its size by the evidence of members held out. It says where
    the members are; a class that bends needs several Gaussians, and is still one kind.
2.  Between every two of them the evidence for a gap (`badac.classes.subclasses.gap`). What is connected is one subclass.

    log P(members | K subclasses) - log P(members | K - 1)  =  the widest gap that is left to close

A gap counts from 15 nats: 300 members of classes without any show up to 10 by chance.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.classes.model import FloatArray
from badac.classes.population.rank import choose_rank
from badac.classes.subclasses.gap import gap_evidence
from badac.data.measurements import Measurements
from badac.latent.factor import expectation_maximisation
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, deconvolve, start_mixture
from badac.latent.moments import Spectrum
from badac.latent.shape import is_better
from badac.registry import registered
from badac.training import TrainingScales

LEAST_GAP = 15.0  # nats: 300 members of classes without a gap show up to 10 (docs/learning_on.md)
# By cost: every size is learned from several starts in every fold.
_MOST_COMPONENTS = 12
_FOLDS = 5
_STARTS, _FINAL_STARTS = 3, 6
_MEMBERS_TO_LEARN_FROM = 2000
_PATIENCE = 3  # sizes in a row that gain nothing end the search
_MEMBERS_PER_COMPONENT = 8  # fewer do not tell a covariance
# A class that needs more directions is told apart by the strongest: the cost grows as their cube.
_MOST_DIRECTIONS = 12

IntArray = npt.NDArray[np.int64]


@registered(
    "part", holds={"label": "(n,) < n", "component_evidence": "any", "gaps": "any", "least_gap": "may be inf"}
)
@dataclass(frozen=True, eq=False)
class Division:
    """A class divided into subclasses.

    Attributes
    ----------
    label : (k,) int
        Subclass of each member, the largest subclass first.
    component_evidence : (components tried,)
        Mean held-out log evidence of a member under 1, 2, ... Gaussians.
    gaps : (components - 1,)
        Evidence in nats for a second, third, ... subclass: the gaps between the Gaussians, widest first.
    least_gap : float
        From where on a gap counts.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Subclasses
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([[0.0], [3.0]], 30, axis=0) * np.ones(10)
    >>> model = Subclasses("template").fit(Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2), Gaussian(), rng)
    >>> model.division.number
    2
    """

    label: IntArray
    component_evidence: FloatArray
    gaps: FloatArray
    least_gap: float = LEAST_GAP

    @property
    def number(self) -> int:
        """How many subclasses there are."""
        return 1 + int((self.gaps > self.least_gap).sum())

    @property
    def log_evidence(self) -> FloatArray:
        """Log evidence of 1, 2, ... subclasses, relative to one."""
        return np.concatenate([[0.0], np.cumsum(self.gaps)])


def divide(
    members: Measurements,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    least_gap: float = LEAST_GAP,
    most_components: int = _MOST_COMPONENTS,
) -> Division:
    """Find the subclasses of a class.

    Parameters
    ----------
    members : Measurements
        (k, m), with Gaussian errors.
    scales : TrainingScales
    rng : numpy.random.Generator
    least_gap : float
        Evidence in nats from which on a gap separates two subclasses.
    most_components : int
        Gaussians at most.
    """
    n = members.n_objects
    whole = Division(np.zeros(n, dtype=np.int64), np.zeros(1), np.zeros(0), least_gap)
    if n < 2 * _MEMBERS_PER_COMPONENT:
        return whole
    chosen = members
    if n > _MEMBERS_TO_LEARN_FROM:
        chosen = members[np.sort(rng.choice(n, _MEMBERS_TO_LEARN_FROM, replace=False))]
    rank, floor, _ = choose_rank(chosen, scales, rng)
    if rank == 0:
        return whole
    rank = min(rank, _MOST_DIRECTIONS)
    factor = Spectrum.of(chosen, scales, rank).factor(rank)
    factor = expectation_maximisation(chosen, factor, scales, max_steps=8).widened(floor)
    latent = factor.project(chosen)
    size, evidence = number_of_components(latent, rng, most_components)
    mixture = best_mixture(latent, size, rng, starts=_FINAL_STARTS)
    nearest = mixture.log_match(latent).argmax(axis=1)
    group, gaps = connect(latent, mixture, nearest, least_gap)
    if chosen is not members:
        latent = factor.project(members)
        nearest = mixture.log_match(latent).argmax(axis=1)
    label = group[nearest]
    # Largest first, and none that the other members left empty.
    used, count = np.unique(label, return_counts=True)
    place = np.empty(group.max() + 1, dtype=np.int64)
    place[used[np.argsort(-count, kind="stable")]] = np.arange(used.size)
    return Division(place[label], evidence, gaps, least_gap)


def best_mixture(
    latent: LatentLikelihood, size: int, rng: np.random.Generator, *, starts: int, pooling: float = 1.0
) -> Mixture:
    """Return the mixture of `size` Gaussians with the largest evidence from several starts."""
    found = []
    with warnings.catch_warnings():
        # A start with an empty group has one group less.
        warnings.filterwarnings("ignore", message="One of the clusters is empty")
        for _ in range(starts if size > 1 else 1):
            found.append(deconvolve(latent, start_mixture(latent, size, rng), max_steps=25, pooling=pooling))
    return max(found, key=lambda mixture: float(mixture.log_evidence(latent).sum()))


def number_of_components(
    latent: LatentLikelihood,
    rng: np.random.Generator,
    most: int,
    *,
    n_folds: int = _FOLDS,
    starts: int = _STARTS,
    pooling: float = 1.0,
) -> tuple[int, FloatArray]:
    """Return how many Gaussians held-out members want, and their mean held-out log evidence under 1, 2, ... of them.

    One more must gain more than the standard error of its gain; three in a row that do not end the search.
    """
    n = len(latent)
    fold = rng.permutation(n) % n_folds
    best, chosen, means = np.empty(0), 1, []
    for size in range(1, max(min(most, n // _MEMBERS_PER_COMPONENT), 1) + 1):
        evidence = np.empty(n)
        for part in range(n_folds):
            learned = best_mixture(latent[fold != part], size, rng, starts=starts, pooling=pooling)
            evidence[fold == part] = learned.log_evidence(latent[fold == part])
        means.append(float(evidence.mean()))
        if is_better(evidence, best):
            best, chosen = evidence, size
        elif size - chosen >= _PATIENCE:
            break
    return chosen, np.array(means)


def connect(
    latent: LatentLikelihood, mixture: Mixture, nearest: IntArray, least_gap: float
) -> tuple[IntArray, FloatArray]:
    """Group components without a gap between them.

    Returns
    -------
    group : (components,) int
    gaps : (components - 1,)
        That keep the groups, and the parts of groups, apart: widest first.
    """
    size = len(mixture)
    group = np.arange(size)
    edges: list[tuple[float, int, int]] = []
    for a, b in _nearest_pairs(mixture):
        if group[a] == group[b]:
            continue
        evidence = gap_evidence(latent[(nearest == a) | (nearest == b)], mixture, a, b)
        edges.append((evidence, a, b))
        if evidence <= least_gap:
            group[group == group[b]] = group[a]
    # The least gaps that hold everything together are what separates 1, 2, ... subclasses.
    linked, gaps = np.arange(size), []
    for evidence, a, b in sorted(edges):
        if linked[a] != linked[b]:
            linked[linked == linked[b]] = linked[a]
            gaps.append(evidence)
    return np.unique(group, return_inverse=True)[1].astype(np.int64), np.array(gaps[::-1])


def _nearest_pairs(mixture: Mixture) -> list[tuple[int, int]]:
    """All pairs of components, those that overlap most first."""
    pairs = []
    for a in range(len(mixture)):
        for b in range(a):
            line = mixture.means[a] - mixture.means[b]
            both = mixture.covariances[a] + mixture.covariances[b]
            pairs.append((float(line @ np.linalg.solve(both, line)), b, a))
    return [(a, b) for _, a, b in sorted(pairs)]

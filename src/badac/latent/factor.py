"""The factor model of a class, learned through the noise: ``y_true = mean + factors z + eps``.

    z ~ N(0, I) in r dimensions,   eps ~ N(0, diag psi),   y | y_true ~ N(y_true, diag sigma^2), each member's own sigma

EM with every member's own errors; a missing point has infinite sigma. One step is ``statistics(block)`` summed over blocks
of members, then `maximise`: the sums can come from anywhere (a file, a cluster), in any order. Two changes make it quick:
the latent space is rescaled at each step so that the members' spread in it is one (parameter-expanded EM), and ``psi`` takes
a scoring step instead of EM's, which crawls where the members' errors are larger than ``psi``.

Points are held together in two ways. The ``psi`` of the points, in units of each point's own error, are drawn to their common
mean as far as their scatter is no more than chance (James-Stein): otherwise the points at which chance made ``psi``
positive, never negative, would add up over many points. And a fraction of the spread of all training objects counts as part
of one more member, which keeps a point at which all members agree from becoming a delta function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from badac._kernels import factor_sums, latent_posterior
from badac._kernels.latent import triangle, unpack
from badac.data.measurements import Measurements
from badac.latent.likelihood import LatentLikelihood, blocks, project
from badac.registry import registered
from badac.threads import in_order, one_thread_in_blas
from badac.training import FloatArray, TrainingScales

# In units of the variance of all training objects at the point: what the prior member adds to psi, small, since it is to decide
# only where all members agree; and what keeps a density finite where they agree to the last digit.
PRIOR_SHARE = 0.02
_FLOOR = 1e-10
# Share of the tolerance that the next gain of an EM, foretold by the last two, is to be below: by the log-loss of the paper's
# experiments (600 and 3,000 curves, seeds 900 to 923), which is as before.
_SURELY = 0.1


@registered("part", holds={"mean": "(m,)", "factors": "(m, r)", "psi": "(m,) >= 0"})
@dataclass(frozen=True, eq=False)
class Factor:
    """A Gaussian population: mean (m,), factors (m, r), intra-class variance psi (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor
    >>> factor = Factor(mean=np.zeros(3), factors=np.ones((3, 1)), psi=np.full(3, 0.01))
    >>> factor.project(Measurements([[1.0, 1.0, np.nan]], 0.1)).position.round(2)
    array([[0.99]])
    """

    mean: FloatArray
    factors: FloatArray
    psi: FloatArray

    def __post_init__(self) -> None:
        # In memory as in a file: sums over every other number of an array differ from sums over neighbours in the last digit.
        for name in ("mean", "factors", "psi"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))

    @property
    def rank(self) -> int:
        return int(self.factors.shape[1])

    def widened(self, variance: FloatArray) -> Factor:
        """Return the same model with more variance (m,) at every point."""
        return Factor(self.mean, self.factors, self.psi + variance)

    def project(self, objects: Measurements, *, n_threads: int = 1) -> LatentLikelihood:
        """Return what each of the n objects (n, m) says of its latent position (`badac.latent.likelihood`)."""
        return project(objects, self.mean, self.factors, self.psi, n_threads=n_threads)


@dataclass(frozen=True, eq=False)
class FactorSums:
    """What one EM step needs to know of the members; sums of blocks add up.

    Attributes
    ----------
    count : float
        Number of members.
    log_evidence : float
        Sum of their log evidence under the factor model that made the sums.
    normal : (m, q)
        Packed normal matrices of each point's regression on ``(1, z)``, ``q = (r + 1)(r + 2) / 2``.
    right : (m, r + 1)
        Right-hand sides of the same regressions.
    weight, weight_squared, misfit : (m,)
        Sums over the members of ``w``, ``w^2`` and ``w^2 E[residual^2]``, ``w = 1 / (psi + sigma^2)``.
    position : (r,)
    scatter : (p,)
        Sums of ``E[z]`` and of ``E[z z']`` (packed).
    """

    count: float
    log_evidence: float
    normal: FloatArray
    right: FloatArray
    weight: FloatArray
    weight_squared: FloatArray
    misfit: FloatArray
    position: FloatArray
    scatter: FloatArray

    def __add__(self, other: FactorSums) -> FactorSums:
        return FactorSums(**{name: getattr(self, name) + getattr(other, name) for name in vars(self)})


def statistics(members: Measurements, factor: Factor) -> FactorSums:
    """E-step: sums over a block of members (n, m) under the current factor model."""
    found = factor_sums(members.values, members.sigma, factor.mean, factor.psi, factor.factors)
    count, position, scatter = np.split(found.moments, [1, 1 + factor.rank])
    return FactorSums(
        count=float(count[0]),
        log_evidence=float(found.log_evidence[0]),
        normal=found.normal,
        right=found.right,
        weight=found.normal[:, 0].copy(),  # of the regressor 1
        weight_squared=found.weight_squared,
        misfit=found.misfit,
        position=position,
        scatter=scatter,
    )


def log_evidence(members: Measurements, factor: Factor) -> float:
    """Return the members' log evidence: that of `all_statistics`, in half of its time."""

    def of_block(block: slice) -> float:
        return float(factor.project(members[block]).gaussian_log_evidence().sum())

    with one_thread_in_blas():
        return reduce(add, in_order(of_block, blocks(members)))


def all_statistics(members: Measurements, factor: Factor) -> FactorSums:
    """`statistics` of all members, block by block, so that memory does not grow with their number."""
    with one_thread_in_blas():
        parts = in_order(lambda block: statistics(members[block], factor), blocks(members))
        return reduce(add, parts)


def maximise(sums: FactorSums, factor: Factor, scales: TrainingScales) -> Factor:
    """M-step: the factor model that the sums ask for."""
    # A point that no member observed has an empty regression; the ridge keeps mean and factors where they were.
    ridge = 1e-6 * np.maximum(sums.weight, 1e-300)
    rows, columns = triangle(factor.rank + 1)
    normal = sums.normal + np.outer(ridge, rows == columns)
    # All points at once: the mean of a Gaussian whose precision is the normal matrix.
    _, step, _ = latent_posterior(normal, sums.right, np.zeros(rows.size), np.zeros(factor.rank + 1))
    seen = sums.weight > 0
    mean = factor.mean + np.where(seen, step[:, 0], 0.0)
    factors = np.where(seen[:, None], step[:, 1:], 0.0)
    psi = psi_step(sums, factor.psi, scales)
    centre = sums.position / sums.count
    spread = unpack(sums.scatter) / sums.count - np.outer(centre, centre)
    spread += 1e-9 * np.eye(factor.rank)
    return Factor(mean + factors @ centre, factors @ np.linalg.cholesky(spread), psi)


def psi_step(sums: FactorSums, psi: FloatArray, scales: TrainingScales) -> FloatArray:
    """Scoring step for psi (m,), drawn to the points' common mean, with the prior member added."""
    seen = sums.weight > 0
    weight, squared = sums.weight[seen], sums.weight_squared[seen]
    raw = psi[seen] + (sums.misfit[seen] - weight) / squared
    unit = weight / squared
    learned, count = np.zeros_like(psi), np.zeros_like(psi)
    # How many members' worth of information there is about psi at the point.
    count[seen] = weight * unit
    learned[seen] = np.maximum(drawn_together(raw / unit, 2.0 / count[seen]), 0.0) * unit
    return with_prior_member(learned, count, scales)


def with_prior_member(psi: FloatArray, count: FloatArray, scales: TrainingScales) -> FloatArray:
    """Average psi (m,) learned from `count` (m,) members with one prior member; where count is 0, as all training objects."""
    prior = np.where(count > 0, PRIOR_SHARE, 1.0) * scales.scale**2
    return np.asarray((count * psi + prior) / (count + 1.0) + _FLOOR * scales.scale**2)


def drawn_together(estimates: FloatArray, variance: FloatArray) -> FloatArray:
    """Draw estimates (m,) of known sampling variance (m,) to their mean, by how little they scatter beyond it."""
    centre, kept = shrinkage(estimates, variance)
    return np.asarray(centre + kept * (estimates - centre))


def shrinkage(estimates: FloatArray, variance: FloatArray) -> tuple[float, FloatArray]:
    """Mean of estimates (m,) of known variance (m,), and what each keeps (m,) of its distance: all of it below 4."""
    if estimates.size < 4:
        return 0.0, np.ones_like(estimates)
    weight = 1.0 / variance
    centre = float((estimates * weight).sum() / weight.sum())
    beyond = max(float(np.mean((estimates - centre) ** 2 - variance)), 0.0)
    return centre, beyond / (beyond + variance)


@dataclass(frozen=True, eq=False)
class Climb:
    """Where an EM stands.

    Attributes
    ----------
    factor : Factor
        To be tried next.
    best : Factor
        The best of those tried, by the members' evidence.
    log_evidence : float
        Of the members under the best, as far as they were asked.
    arrived : bool
        Whether the last step gained next to nothing, or the one after it will: then that is taken without asking.
    gain : float
        Of the last step, in nats per member.
    """

    factor: Factor
    best: Factor
    log_evidence: float = -np.inf
    arrived: bool = False
    gain: float = np.inf

    @classmethod
    def begin(cls, factor: Factor) -> Climb:
        return cls(factor, factor)

    def better(self, log_evidence: float) -> Factor:
        """Return the best so far, `factor` included, under which the members have this evidence."""
        return self.factor if log_evidence > self.log_evidence else self.best

    def step(self, sums: FactorSums, scales: TrainingScales, tolerance: float = 0.01) -> Climb:
        """Take the sums of all members under `factor`, wherever they were made, and make the next factor model of them."""
        gain = (sums.log_evidence - self.log_evidence) / sums.count
        best, evidence = (self.factor, sums.log_evidence) if gain > 0 else (self.best, self.log_evidence)
        if gain < tolerance:
            return Climb(self.factor, best, evidence, arrived=True)
        factor = maximise(sums, self.factor, scales)
        # Gains of an EM fall as a geometric series.
        if gain**2 < _SURELY * tolerance * self.gain < np.inf:
            return Climb(factor, factor, evidence, arrived=True, gain=gain)
        return Climb(factor, best, evidence, gain=gain)


def expectation_maximisation(
    members: Measurements,
    factor: Factor,
    scales: TrainingScales,
    *,
    max_steps: int = 20,
    tolerance: float = 0.01,
) -> Factor:
    """Iterate until a step gains less than `tolerance` nats per member; never return worse than the start.

    Returns
    -------
    Factor
        The best of the visited factor models by the members' evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import TrainingScales
    >>> from badac.latent import Factor, expectation_maximisation
    >>> rng = np.random.default_rng(0)
    >>> members = Measurements(rng.normal(size=(80, 1)) * np.ones(6) + 0.1 * rng.standard_normal((80, 6)), 0.1)
    >>> start = Factor(np.zeros(6), np.full((6, 1), 0.5), np.full(6, 0.1))
    >>> found = expectation_maximisation(members, start, TrainingScales.of(members))
    >>> type(found).__name__
    'Factor'
    """
    climb = Climb.begin(factor)
    for _ in range(max_steps - 1):
        climb = climb.step(all_statistics(members, climb.factor), scales, tolerance)
        if climb.arrived:
            return climb.best
    if max_steps < 1:
        return climb.best
    # After the last step nothing but the evidence is asked of where it led.
    return climb.better(log_evidence(members, climb.factor))

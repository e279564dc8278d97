"""The population of a class whose members have no common grid: mean and factors are functions of the coordinate.

    d(t, b) = basis(t, b) @ (mean + factors z) + f(t, b) + eps + noise,     z ~ the class's density in r dimensions

As `badac.classes.population.population`, with the curves of mean and factors evaluated at each object's own points
(`badac.latent.basis`) and a smooth remainder ``f`` (`badac.latent.process`), so that densely sampled
objects do not count every wiggle as news. A Gaussian process with the same factors is learned first; then the density of
``z`` is a Gaussian, a deconvolved mixture or the members' own positions, whichever held-out members prefer
(`badac.classes.population.shape`). The uncertainty of the mean curve is part of every object's covariance, and a learned
share of wider remainders gives the class its tails.

Use it for many irregular curves of a class that bends or falls into groups; with few members it comes down to
`badac.classes.processes.gp`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from badac._kernels.latent import pack
from badac.classes.model import FloatArray, check_noise_taken
from badac.classes.population.shape import Shape, choose_shape
from badac.classes.processes.fit_process import FOLDS, SMALL_CLASS, Curve, Learner, scaled
from badac.classes.processes.gp import WIDTHS, GaussianProcess, learn_shares
from badac.data.measurements import Measurements
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.kernel_density import KernelDensity
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.latent.process import Process, blocks, covariance
from badac.noise.kinds import NoiseKind
from badac.noise.model import Noise
from badac.training import TrainingScales

_LOG_2PI = float(np.log(2.0 * np.pi))
_BROAD_WIDTH = 3.0


@dataclass(frozen=True, eq=False)
class IrregularPopulation:
    """A population of curves at points of their own.

    Parameters
    ----------
    kernel, period, rank, n_knots
        As in `badac.classes.processes.gp.GaussianProcess`.
    shape : {"auto", "gaussian", "curves"}
        Density of the latent positions; by held-out evidence if "auto".

    Attributes
    ----------
    process : Process
        The remainder, after `fit`: its own factors are the uncertainty of the mean curve.
    curve : Curve
    factors : (q, r)
    density : Mixture or Curves
    log_shares : (4,)
        Of the remainder's widths.
    member_evidence : (k,)
    noise : Noise
        Of the objects: a factor on their error bars.
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.GAUSSIAN})
    reads_coordinates: ClassVar[bool] = True

    kernel: str = "matern32"
    period: float = 1.0
    rank: int | str = "learn"
    n_knots: int = 20
    shape: str = "auto"
    process: Process | None = None
    curve: Curve | None = None
    factors: FloatArray | None = None
    density: Mixture | KernelDensity | None = None
    log_shares: FloatArray | None = None
    member_evidence: FloatArray | None = None
    noise: Noise | None = None

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        check_noise_taken(self, noise, members)
        members = with_noise_scale(members, noise)
        gaussian = GaussianProcess(self.kernel, self.period, self.rank, self.n_knots)
        learner, process, order = gaussian.learn_process(members, rng, scales)
        ordered = members[order]
        shape = self._shape(ordered, learner, process, rng)
        fitted = self._with(ordered, learner, process, shape, rng)
        evidence = np.empty((members.n_objects, len(WIDTHS)))
        evidence[order] = self._member_evidence(ordered, learner, process, shape, fitted, rng)
        log_shares = learn_shares(evidence)
        left_out = np.asarray(logsumexp(evidence + log_shares, axis=1))
        return replace(fitted, log_shares=log_shares, member_evidence=left_out, noise=noise)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.log_shares is not None, "fit first"
        objects = with_noise_scale(objects, self.noise)
        return np.asarray(logsumexp(self._by_width(objects) + self.log_shares, axis=1))

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def latent(self, objects: Measurements, width: float = 1.0) -> LatentLikelihood:
        """Reduce objects to their likelihoods in the class's latent space, with a remainder of the given width."""
        assert self.process is not None and self.curve is not None and self.factors is not None, "fit first"
        return project(objects, _wider(self.process, width), self.curve, self.factors)

    def _by_width(self, objects: Measurements) -> FloatArray:
        assert self.density is not None
        return np.column_stack([self.density.log_evidence(self.latent(objects, width)) for width in WIDTHS])

    def _shape(
        self, members: Measurements, learner: Learner, process: Process, rng: np.random.Generator
    ) -> Shape:
        if self.shape != "auto" or process.factors.shape[1] == 0 or members.n_objects < 12:
            return Shape("gaussian" if self.shape == "auto" else self.shape)
        held = np.arange(members.n_objects) % 3 == 0
        rest = self._with(members[~held], learner, process, Shape("gaussian"), rng)
        return choose_shape(rest.latent(members[~held]), rest.latent(members[held]), rng)[0]

    def _with(
        self,
        members: Measurements,
        learner: Learner,
        process: Process,
        shape: Shape,
        rng: np.random.Generator,
    ) -> Self:
        """Return a copy with the mean curve and the density that the members have under a learned process."""
        curve = learner.curve(members, process)
        # At rank 0 one factor of zeros stands in, so that there is a latent space to speak of.
        factors = process.factors if process.factors.shape[1] else np.zeros((learner.basis.size, 1))
        uncertainty = np.linalg.cholesky(np.linalg.inv(curve.precision))
        remainder = replace(process, factors=uncertainty)
        made = replace(self, process=remainder, curve=curve, factors=factors)
        density = shape.learn(made.latent(members), rng)
        if isinstance(density, Mixture):
            density = density.with_broad(1.0 / (members.n_objects + 2.0), _BROAD_WIDTH)
        return replace(made, density=density)

    def _member_evidence(
        self,
        members: Measurements,
        learner: Learner,
        process: Process,
        shape: Shape,
        fitted: Self,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Evidence (k, widths) of members under a class learned without them; of a large class, as they are."""
        n = members.n_objects
        out = fitted._by_width(members)
        if n < 2 * FOLDS:
            return out
        for fold in range(FOLDS if n <= SMALL_CLASS else 0):
            held = np.arange(n) % FOLDS == fold
            without = self._with(members[~held], learner, learner.again(members[~held], process), shape, rng)
            out[held] = without._by_width(members[held])
        return out


def project(objects: Measurements, process: Process, curve: Curve, factors: FloatArray) -> LatentLikelihood:
    """Reduce objects at their own points to likelihoods of the latent position, as `population.latent.project`."""
    n, r = objects.n_objects, factors.shape[1]
    out = LatentLikelihood(np.empty((n, r * (r + 1) // 2)), np.empty((n, r)), np.empty(n))
    for block in blocks(objects, process.basis):
        features = block.features(process.basis)
        full, _, _ = covariance(process, block, features)
        root = np.linalg.cholesky(full)
        residual = np.where(block.seen, block.values - curve.origin - features @ curve.coefficients, 0.0)
        both = np.concatenate([features @ factors, residual[..., None]], axis=2)
        white = np.linalg.solve(root, both)
        flat, last = white[..., :-1], white[..., -1]
        out.precision[block.rows] = pack(flat.transpose(0, 2, 1) @ flat)
        out.shift[block.rows] = (flat.transpose(0, 2, 1) @ last[..., None])[..., 0]
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        out.offset[block.rows] = (last**2).sum(axis=1) + log_det + block.seen.sum(axis=1) * _LOG_2PI
    return out


def _wider(process: Process, width: float) -> Process:
    """Widen the remainder, not the uncertainty of the mean curve."""
    return replace(scaled(process, width), factors=process.factors)

"""The population of a class whose members have no common grid: mean and factors are functions of the coordinate.

    d(t, b) = basis(t, b) @ (mean + factors z) + f(t, b) + eps + noise,     z ~ the class's density in r dimensions

As `badac.classes.population.population`, with the curves of mean and factors evaluated at each object's own points
(`badac.latent.basis`) and a smooth remainder ``f`` (`badac.latent.process`), so that densely sampled
objects do not count every wiggle as news. All is low rank plus diagonal (`badac.latent.band_factors`), learned by EM from all
members (`badac.latent.fit_band_factors`); where errors are correlated, by a Gaussian process with the same factors. The density
of ``z`` is a Gaussian or a deconvolved mixture, whichever held-out members prefer (`badac.latent.shape`). The uncertainty of
the mean curve is part of every object's covariance, and a learned share of wider remainders gives the class its tails.

Use it for many irregular curves of a class that bends or falls into groups; with few members it comes down to
`badac.classes.gp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from badac._kernels.points import GroupedPoints
from badac.classes.gp import WIDTHS, GaussianProcess, learn_shares
from badac.classes.model import FloatArray, check_noise_taken
from badac.data.measurements import Measurements
from badac.latent.band_factors import BandFactors
from badac.latent.density import LatentDensity
from badac.latent.fit_band_factors import FactorLearner
from badac.latent.fit_process import FOLDS, Learner, shuffled
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.hyperparameters import Extent
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, logsumexp_rows
from badac.latent.points import blocks_of, grouped
from badac.latent.process import Curve, FactorProcess, Process, check_bands
from badac.latent.process_summary import ProcessSummary
from badac.latent.shape import Shape, choose_shape
from badac.noise.kinds import NoiseKind
from badac.noise.model import Noise
from badac.registry import registered
from badac.threads import over_blocks
from badac.training import TrainingScales


@registered(
    "class_model",
    holds={
        "member_evidence": "may be -inf",
        "period": "> 0, may be inf",
        "n_knots": "> 0",
        "log_shares": "may be -inf",
    },
)
@dataclass(frozen=True, eq=False)
class IrregularPopulation:
    """A population of curves at points of their own.

    Parameters
    ----------
    kernel, period, rank, n_knots
        As in `badac.classes.gp.GaussianProcess`.
    shape : {"auto", "gaussian", "curves"}
        Density of the latent positions; by held-out evidence if "auto".

    Attributes
    ----------
    process : Process
        The remainder, after `fit`: its own factors are the smooth part in each band and the uncertainty of the mean curve.
    curve : Curve
    factors : (q, r)
    density : LatentDensity
        Of the latent positions.
    log_shares : (4,)
        Of the remainder's widths.
    member_evidence : (k,)
    noise : Noise
        Of the objects: a factor on their error bars.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import IrregularPopulation
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> at = rng.uniform(0, 6, (30, 12))
    >>> members = Measurements(rng.normal(1, 0.2, (30, 1)) * np.sin(at) + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    >>> model = IrregularPopulation(rank=1).fit(members, Gaussian(), rng)
    >>> model.log_evidence(members[:2]).shape
    (2,)
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
    density: LatentDensity | None = None
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
        if members.covariance is not None:
            fitted, evidence = self._fit_correlated(gaussian, members, rng, scales)
        else:
            fitted, evidence = self._fit_factors(gaussian, members, rng, scales)
        log_shares = learn_shares(evidence)
        left_out = np.asarray(logsumexp(evidence + log_shares, axis=1))
        return replace(fitted, log_shares=log_shares, member_evidence=left_out, noise=noise)

    def refit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self | None:
        """Return the class as other members (k, m) teach it, with the choices of this fit: knots, rank, shape, tails.

        What is estimated starts where a `fit` starts: a remainder that members left out had widened would tell of them.
        """
        known = self.band_factors
        if known is None or members.covariance is not None:
            return None
        check_noise_taken(self, noise, members)
        members = with_noise_scale(members, noise)
        scales = TrainingScales.of(members) if scales is None else scales
        gaussian = GaussianProcess(self.kernel, self.period, self.rank, self.n_knots)
        extent = gaussian.frame(members, scales)[1]
        ordered = members[shuffled(members, rng)]
        # One factor of zeros stands for none.
        rank = known.rank if known.factors.any() else 0
        learned = FactorLearner(known.basis, known.origin, extent, rng).learn(ordered, rank)
        found = self._holding(learned, extent)._with_density(ordered, self._chosen_shape(), rng)
        return replace(found, member_evidence=None, noise=noise)

    def _chosen_shape(self) -> Shape:
        """Return the shape of the density that was learned; the last component of a mixture is the broad one."""
        if self.shape != "auto":
            return Shape(self.shape)
        count = len(self.density) - 1 if isinstance(self.density, Mixture) else 1
        return Shape("mixture", count) if count > 1 else Shape("gaussian")

    def described(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        """Learn mean, factors and remainder alone, for whoever asks for latent positions: quicker, and nobody is left out."""
        check_noise_taken(self, noise, members)
        members = with_noise_scale(members, noise)
        scales = TrainingScales.of(members) if scales is None else scales
        gaussian = GaussianProcess(self.kernel, self.period, self.rank, self.n_knots)
        origin, extent, basis = gaussian.frame(members, scales)
        learner = FactorLearner(basis, origin, extent, rng)
        learned = learner.learn(members[shuffled(members, rng)], self.rank)
        return replace(
            self._holding(learned, extent), density=Mixture.standard(learned.rank or 1), noise=noise
        )

    def _fit_factors(
        self,
        gaussian: GaussianProcess,
        members: Measurements,
        rng: np.random.Generator,
        scales: TrainingScales | None,
    ) -> tuple[Self, FloatArray]:
        """Return the class without its shares, and the evidence (k, widths) of the members left out."""
        scales = TrainingScales.of(members) if scales is None else scales
        origin, extent, basis = gaussian.frame(members, scales)
        learner = FactorLearner(basis, origin, extent, rng)
        order = shuffled(members, rng)
        ordered = members[order]
        learned = learner.learn(ordered, self.rank)
        first = self._holding(learned, extent)
        shape = Shape("gaussian" if self.shape == "auto" else self.shape)
        if self.shape == "auto" and learned.rank and members.n_objects >= 12:
            latent, held = first.latent(ordered), np.arange(members.n_objects) % 3 == 0
            # Members' own positions gained nothing over a mixture on the SPCC's classes, and cost an object ten times as much.
            shape = choose_shape(latent[~held], latent[held], rng, curves=False)[0]
        fitted = first._with_density(ordered, shape, rng)
        evidence = np.empty((members.n_objects, len(WIDTHS)))
        if members.n_objects < 2 * FOLDS:
            evidence[order] = fitted._by_width(ordered)
            return fitted, evidence
        out = np.empty_like(evidence)
        for held, without in learner.without(ordered, learned):
            rest = self._holding(without, extent)._with_density(ordered[~held], shape, rng)
            out[held] = rest._by_width(ordered[held])
        evidence[order] = out
        return fitted, evidence

    def _holding(self, learned: BandFactors, extent: Extent) -> Self:
        # At rank 0 one factor of zeros stands in, so that there is a latent space to speak of.
        if not learned.rank:
            learned = replace(learned, factors=np.zeros((*learned.mean.shape, 1)))
        process, curve, factors = learned.as_process(self.kernel, self.period, extent.span)
        return replace(self, process=process, curve=curve, factors=factors)

    def _with_density(self, members: Measurements, shape: Shape, rng: np.random.Generator) -> Self:
        return replace(self, density=shape.learn(self.latent(members), rng))

    def _fit_correlated(
        self,
        gaussian: GaussianProcess,
        members: Measurements,
        rng: np.random.Generator,
        scales: TrainingScales | None,
    ) -> tuple[Self, FloatArray]:
        """As `_fit_factors`, by whole covariances of the points: errors that are correlated leave no shorter way."""
        learner, process, order = gaussian.learn_process(members, rng, scales)
        ordered = members[order]
        shape = self._shape(ordered, learner, process)
        fitted = self._with(ordered, learner, process, shape)
        evidence = np.empty((members.n_objects, len(WIDTHS)))
        if members.n_objects < 2 * FOLDS:
            evidence[order] = fitted._by_width(ordered)
        else:
            evidence[order] = self._left_out(ordered, learner, process, shape)
        return fitted, evidence

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.log_shares is not None, "fit first"
        objects = with_noise_scale(objects, self.noise)
        by_width = self._by_width(objects, n_threads=n_threads)
        return logsumexp_rows(by_width + self.log_shares)

    @classmethod
    def log_evidence_of_classes(
        cls, models: Sequence[object], objects: Measurements, *, n_threads: int = 1
    ) -> FloatArray | None:
        """Return (n, k): the log evidence of objects under all classes, whose points are sorted by band once for all of them.

        Twin: `log_evidence`, class by class, the same to the last bit. It is asked where this returns None: where a class is of
        another kind, or has a whole covariance, other bands or another width of the noise.
        """
        classes = [one for one in models if isinstance(one, cls)]
        if len(classes) < len(models) or not classes or objects.covariance is not None:
            return None
        same = with_noise_scale(objects, classes[0].noise)
        if any(
            with_noise_scale(objects, one.noise) is not same
            for one in classes[1:]
            if one.noise is not classes[0].noise
        ):
            return None
        every = [one.band_factors for one in classes]
        curves = [one for one in every if one is not None]
        n_bands = {one.basis.n_bands for one in curves}
        if len(curves) < len(classes) or len(n_bands) > 1:
            return None
        (count,) = n_bands
        check_bands(same, count)
        out = np.empty((objects.n_objects, len(classes)))

        def work(block: slice, n_threads: int) -> None:
            points = grouped(same[block], count)
            for column, (one, own) in enumerate(zip(classes, curves, strict=True)):
                out[block, column] = one._log_evidence_of(points, own, n_threads)

        over_blocks(work, blocks_of(same), n_threads)
        return out

    def _log_evidence_of(self, points: GroupedPoints, curves: BandFactors, n_threads: int) -> FloatArray:
        """As `log_evidence`, of objects as points, under the class's own `curves`."""
        assert self.density is not None and self.log_shares is not None
        latents = curves.project(points, WIDTHS, n_threads=n_threads)
        by_width = [self.density.log_evidence(each, n_threads=n_threads) for each in latents]
        return logsumexp_rows(np.column_stack(by_width) + self.log_shares)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def summary(self) -> ProcessSummary | None:
        """Return the class at any points, its population as one Gaussian: the rest of its shape is no strangeness."""
        process, curve, factors = self.process, self.curve, self.factors
        if process is None or curve is None or factors is None:
            return None
        assert self.density is not None and self.log_shares is not None
        mean, spread = self.density.moments()
        return ProcessSummary(
            replace(process, factors=process.factors[:, :0]),
            replace(curve, coefficients=curve.coefficients + factors @ mean),
            np.hstack([process.factors, factors @ np.linalg.cholesky(spread)]),
            WIDTHS[: len(self.log_shares)],
            self.log_shares,
        )

    @property
    def factor(self) -> FactorProcess:
        """Mean curve, factors and remainder together."""
        assert self.process is not None and self.curve is not None and self.factors is not None, "fit first"
        return FactorProcess(self.process, self.curve, self.factors)

    @property
    def band_factors(self) -> BandFactors | None:
        """Mean, factors and remainder as low rank plus diagonal; None where they were learned through correlated errors."""
        assert self.process is not None and self.curve is not None and self.factors is not None, "fit first"
        return BandFactors.of_process(self.process, self.curve, self.factors)

    def latent(self, objects: Measurements, *, n_threads: int = 1) -> LatentLikelihood:
        """Reduce objects to their likelihoods in the class's latent space."""
        return self._projected(with_noise_scale(objects, self.noise), (1.0,), n_threads)[0]

    def _projected(
        self, objects: Measurements, widths: Sequence[float], n_threads: int = 1
    ) -> list[LatentLikelihood]:
        low_rank = self.band_factors if objects.covariance is None else None
        if low_rank is not None:
            return low_rank.project_objects(objects, widths, n_threads=n_threads)
        return [self.factor.widened(width).project(objects, n_threads=n_threads) for width in widths]

    def _by_width(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.density is not None
        latents = self._projected(objects, WIDTHS, n_threads)
        return np.column_stack([self.density.log_evidence(each, n_threads=n_threads) for each in latents])

    def _shape(self, members: Measurements, learner: Learner, process: Process) -> Shape:
        if self.shape != "auto" or process.factors.shape[1] == 0 or members.n_objects < 12:
            return Shape("gaussian" if self.shape == "auto" else self.shape)
        held = np.arange(members.n_objects) % 3 == 0
        rest = self._with(members[~held], learner, process, Shape("gaussian"))
        return choose_shape(rest.latent(members[~held]), rest.latent(members[held]), learner.rng)[0]

    def _with(self, members: Measurements, learner: Learner, process: Process, shape: Shape) -> Self:
        """Return a copy with the mean curve and the density that the members have under a learned process."""
        curve = learner.curve(members, process)
        # At rank 0 one factor of zeros stands in, so that there is a latent space to speak of.
        factors = process.factors if process.factors.shape[1] else np.zeros((learner.basis.size, 1))
        uncertainty = np.linalg.cholesky(np.linalg.inv(curve.precision))
        remainder = replace(process, factors=uncertainty)
        made = replace(self, process=remainder, curve=curve, factors=factors)
        return replace(made, density=shape.learn(made.latent(members), learner.rng))

    def _left_out(
        self, members: Measurements, learner: Learner, process: Process, shape: Shape
    ) -> FloatArray:
        """Evidence (k, widths) of members under a class learned without them, its density too (cross-fitting)."""
        out = np.empty((members.n_objects, len(WIDTHS)))
        for held, without in learner.folds(members, process):
            rest = self._with(members[~held], learner, without, shape)
            out[held] = rest._by_width(members[held])
        return out

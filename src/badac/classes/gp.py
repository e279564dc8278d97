"""A Gaussian process per class, learned from all of its noisy, irregular members together (the paper's second approach).

    log P(d | class) = log sum_s share_s N(d ; mean curve , s x process + uncertainty of the mean + Sigma_d)

at the object's own points. Needs no common grid: objects have coordinates of their own (`at` per object) and, if they like,
several bands. The mean curve, the kernel's length and amplitude, the covariance between bands and the class's own ways to
deviate are learned by evidence from the members as they are (`badac.latent.process`, `badac.latent.fit_process`). The
widths ``s`` give the class tails: real classes have members that are four times as far off as the rest, and a Gaussian would
call them impossible. Their shares are learned; a class that is Gaussian keeps ``s = 1``. One process per class is also the
paper's template: its cost does not grow with the number of members.

Use it for light curves and spectra with gaps; use the population model where all objects share a grid and are many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from badac.classes.model import FloatArray, check_noise_taken
from badac.data.measurements import Measurements
from badac.latent.basis import Basis, coordinates
from badac.latent.correlation import KERNELS
from badac.latent.fit_process import MEMBERS_TO_LEARN_FROM, Learner, log_evidence, shuffled
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.hyperparameters import Extent, start
from badac.latent.process import Curve, Process, scaled
from badac.latent.process_summary import ProcessSummary
from badac.noise.kinds import NoiseKind
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

WIDTHS = (
    1.0,
    0.25,
    4.0,
    16.0,
)  # of the covariance: half, twice and four times as far off as the process says
# Members' worth of prior belief in each width: a class is Gaussian until its members say otherwise.
_PRIOR_SHARE = (1.0, 0.02, 0.1, 0.02)


@registered(
    "class_model",
    "gp",
    holds={
        "member_evidence": "may be -inf",
        "period": "> 0, may be inf",
        "n_knots": "> 0",
        "log_shares": "may be -inf",
    },
)
@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """One Gaussian process per class.

    Parameters
    ----------
    kernel : {"matern32", "matern52", "squared_exponential", "periodic"}
        Of what varies beside mean and factors.
    period : float
        Of the periodic kernel, in the coordinate's unit: 1 for phases.
    rank : int or "learn"
        Ways to deviate that are learned as curves: 0 leaves all variety to the kernel, which is the same everywhere;
        "learn" adds them while members that were held out gain evidence.
    n_knots : int
        Of the mean curve and the factors, per band.
    tails : bool
        Whether the class may have members further off than a Gaussian's.

    Attributes
    ----------
    process : Process
        After `fit`.
    curve : Curve
        The mean curve and how well it is known.
    log_shares : (4,)
        Of the covariance's widths 1, 1/4, 4 and 16.
    member_evidence : (k,)
        Log evidence of each member under the class learned from the others.
    noise : Noise
        Of the objects: a factor on their error bars.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import GaussianProcess
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> at = rng.uniform(0, 6, (20, 10))
    >>> members = Measurements(np.sin(at) + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    >>> model = GaussianProcess(rank=0, tails=False).fit(members, Gaussian(), rng)
    >>> model.log_evidence(members[:2]).shape
    (2,)
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.GAUSSIAN})
    reads_coordinates: ClassVar[bool] = True

    kernel: str = "matern32"
    period: float = 1.0
    rank: int | str = "learn"
    n_knots: int = 20
    tails: bool = True
    process: Process | None = None
    curve: Curve | None = None
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
        learner, process, order = self.learn_process(members, rng, scales)
        widths = WIDTHS if self.tails else WIDTHS[:1]
        evidence = np.empty((members.n_objects, len(widths)))
        evidence[order] = learner.member_evidence(members[order], process, widths)
        log_shares = learn_shares(evidence)
        return replace(
            self,
            process=process,
            curve=learner.curve(members, process),
            log_shares=log_shares,
            member_evidence=np.asarray(logsumexp(evidence + log_shares, axis=1)),
            noise=noise,
        )

    def learn_process(
        self,
        members: Measurements,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> tuple[Learner, Process, npt.NDArray[np.int64]]:
        """Return what learned the process, the process, and the order (k,) in which members were dealt into folds."""
        self._check()
        scales = TrainingScales.of(members) if scales is None else scales
        origin, extent, basis = self.frame(members, scales)
        prior_precision = (basis.prior_scale() * extent.value) ** -2.0
        learner = Learner(basis, origin, prior_precision, extent, rng)
        blank = Process(
            basis,
            self.kernel,
            self.period,
            extent.span,
            np.eye(basis.n_bands),
            np.ones(basis.n_bands),
            np.zeros((basis.size, 0)),
        )
        order = shuffled(members, rng)
        process = learner.learn(members[order[:MEMBERS_TO_LEARN_FROM]], start(blank, extent), self.rank)
        return learner, process, order

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.process is not None and self.curve is not None and self.log_shares is not None, (
            "fit first"
        )
        objects = with_noise_scale(objects, self.noise)
        columns = [
            log_evidence(objects, scaled(self.process, width), self.curve, n_threads=n_threads) + log_share
            for width, log_share in zip(WIDTHS, self.log_shares, strict=False)
        ]
        return np.asarray(logsumexp(columns, axis=0))

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Learned in `fit` by cross-fitting: neither hyperparameters nor mean curve have seen the member."""
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def summary(self) -> ProcessSummary | None:
        """Return the class at any points: what varies widens, the uncertainty of the mean curve does not."""
        if self.process is None or self.curve is None or self.log_shares is None:
            return None
        uncertainty = np.linalg.cholesky(np.linalg.inv(self.curve.precision))
        widths = WIDTHS[: len(self.log_shares)]
        return ProcessSummary(self.process, self.curve, uncertainty, widths, self.log_shares)

    def _check(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"`kernel` must be one of {', '.join(KERNELS)}: got {self.kernel!r}.")
        if self.rank != "learn" and not (isinstance(self.rank, int) and self.rank >= 0):
            raise ValueError(f"`rank` must be a whole number >= 0 or 'learn': got {self.rank!r}.")

    def frame(self, members: Measurements, scales: TrainingScales) -> tuple[float, Extent, Basis]:
        """Origin and scales of the values and of the coordinate, and the basis over the members' coordinates."""
        origin = float(scales.centre.mean())
        spread = float(np.sqrt(np.mean(scales.scale**2 + (scales.centre - origin) ** 2)))
        at = coordinates(members)[members.observed]
        lower, upper = (float(at.min()), float(at.max())) if at.size else (0.0, 1.0)
        periodic = self.kernel == "periodic"
        distinct = len(np.unique(at)) if at.size < 100_000 else self.n_knots
        knots = max(min(self.n_knots, distinct), 1)
        period = self.period if periodic else np.inf
        basis = Basis.over(lower, upper, knots, n_bands=scales.n_bands, period=period)
        span = self.period if periodic else (upper - lower if upper > lower else 1.0)
        return origin, Extent(spread, span), basis


def learn_shares(evidence: FloatArray, steps: int = 50) -> FloatArray:
    """Log shares (s,) of the widths from the members' evidence (k, s) under each, by EM with the prior's members."""
    prior = np.array(_PRIOR_SHARE[: evidence.shape[1]])
    log_shares = np.log(prior / prior.sum())
    for _ in range(steps):
        joint = evidence + log_shares
        share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)).sum(axis=0) + prior
        log_shares = np.log(share / share.sum())
    return np.asarray(log_shares)

"""A class that falls into several kinds of curves: classes within a class.

    P(d | class) = sum_s P(subclass s) P(d | subclass s)

How many there are, and who belongs to which, says the evidence of the members (`badac.classes.subclasses.division`); each
subclass is then a population or a template of its own (the paper's sections on subclasses and on speed). With one subclass it
is that population or template, unchanged. Use it where a label covers different things: the subclasses have names, shares and
curves that can be looked at, and one template each is the fastest model of a class that is not one curve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.classes.population.gaussian_members import as_gaussian, common_axes
from badac.classes.population.population import Population
from badac.classes.subclasses.division import LEAST_GAP, Division, divide
from badac.classes.template import Template
from badac.data.measurements import Measurements
from badac.latent.gaussian_approximation import link_scales
from badac.latent.mixture import logsumexp_rows
from badac.latent.moments import seen_clearly
from badac.noise.kinds import LATENT_NOISE, NoiseKind
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

PARTS: dict[str, type[Population | Template]] = {"population": Population, "template": Template}


@registered(
    "class_model",
    "subclasses",
    holds={
        "member_evidence": "may be -inf",
        "models": "(s,)",
        "weights": "(s,) >= 0",
        "least_gap": "may be inf",
    },
)
@dataclass(frozen=True, eq=False)
class Subclasses:
    """A class as a mixture of subclasses, their number by evidence.

    Parameters
    ----------
    part : {"population", "template"}
        What a subclass is.
    least_gap : float
        Evidence in nats from which on a gap separates two subclasses.

    Attributes
    ----------
    models : tuple of Population or Template
        After `fit`: the subclasses, the largest first.
    weights : (s,)
        Their shares of the class.
    division : Division
        How many there are, and the subclass of each member.
    member_evidence : (k,)
        Log evidence of each member under the class learned from the others; the division kept.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Subclasses
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([[0.0], [3.0]], 30, axis=0) * np.ones(10)
    >>> model = Subclasses("template").fit(Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2), Gaussian(), rng)
    >>> np.unique(model.subclass_proba(Measurements([[0.0] * 10, [3.0] * 10], 0.2)).argmax(axis=1)).size
    2
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = LATENT_NOISE
    learns_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.COVARIANCE})

    part: str = "population"
    least_gap: float = LEAST_GAP
    models: tuple[Population | Template, ...] = ()
    weights: FloatArray | None = None
    division: Division | None = None
    member_evidence: FloatArray | None = None

    # New objects are compared with the class point by point: their coordinates must be those of the members.
    by_column: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"`part` must be one of {', '.join(PARTS)}: got {self.part!r}.")

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        refuse_own_points(members, "Subclasses")
        check_noise_taken(self, noise, members)
        scales = TrainingScales.of(members) if scales is None else scales
        # By what the members are, not by where they stand, as in a population.
        order = np.argsort(np.nansum(members.values, axis=1), kind="stable")
        found = _divide(members[order], noise, scales, rng, self.least_gap)
        division = replace(found, label=found.label[np.argsort(order)])
        count = np.bincount(division.label)
        n = members.n_objects
        models = []
        evidence = np.empty((n, count.size))
        for number in range(count.size):
            own = division.label == number
            model = PARTS[self.part]().fit(members[own], noise, rng, scales)
            evidence[own, number] = model.leave_one_out()
            if not own.all():
                evidence[~own, number] = model.log_evidence(members[~own])
            models.append(model)
        # Without itself a member's subclass has one member less.
        left = count - (division.label[:, None] == np.arange(count.size))
        with np.errstate(divide="ignore"):
            log_share = np.log(left) - np.log(max(n - 1, 1))
        return replace(
            self,
            models=tuple(models),
            weights=count / n,
            division=division,
            member_evidence=evidence[:, 0] if count.size == 1 else logsumexp_rows(evidence + log_share),
        )

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        joint = self.log_joint(objects, n_threads=n_threads)
        return joint[:, 0] if joint.shape[1] == 1 else logsumexp_rows(joint)

    def log_joint(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n, s): log P(object, subclass | class)."""
        assert self.weights is not None, "fit first"
        columns = [model.log_evidence(objects, n_threads=n_threads) for model in self.models]
        return np.stack(columns, axis=1) + np.log(self.weights)

    def subclass_proba(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n, s): probability of each subclass for an object of the class."""
        joint = self.log_joint(objects, n_threads=n_threads)
        return np.asarray(np.exp(joint - logsumexp_rows(joint)[:, None]))

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        del n_threads
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def moved(self, at: FloatArray, by: float) -> Self:
        return replace(self, models=tuple(model.moved(at, by) for model in self.models))

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Those of all subclasses together, with the least variance: what the best-informed of them would need."""
        each = [model.columns() for model in self.models]
        return np.hstack([one for one, _ in each]), np.min([psi for _, psi in each], axis=0)


def _divide(
    members: Measurements, noise: Noise, scales: TrainingScales, rng: np.random.Generator, least_gap: float
) -> Division:
    """Divide the members as Gaussian ones, as a population would see them."""
    scales = link_scales(members, noise, seen_clearly(scales, members))
    gaussian = as_gaussian(members, noise, scales, rng)[0]
    axes = common_axes(gaussian, scales)
    if axes is not None:
        gaussian, scales = axes.turn(gaussian), axes.turn_scales(scales)
    return divide(gaussian, scales, rng, least_gap=least_gap)

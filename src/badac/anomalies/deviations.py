"""The default anomaly: three hypotheses with the object's own noise, averaged with stated priors.

    P(d | anomaly) = sum_h share_h P(d | hypothesis h)

    something else entirely                    0.80
    a known class plus a bump                  0.15
    a known class plus a smooth deviation      0.05

A density of the known classes alone is a poor score: the chi-square noise of all m points (a standard deviation of sqrt(m / 2)
nats) drowns an anomaly that costs ten. A hypothesis that is itself a model with the object's noise has the same noise
term, and it cancels in the Bayes factor. For that both sides must come from one family, so the score is the Bayes factor
under the summaries of the classes (`badac.latent.class_summary`) that the hypotheses use, whatever the class model:

    log P(d | anomaly) = log P(d | known, class models) + log [P(d | anomaly, summaries) / P(d | known, summaries)] .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from badac._kernels import row_log_sums
from badac.anomalies.at_points import AtPoints
from badac.anomalies.bad_points import learned_bad_points
from badac.anomalies.bump import Bump
from badac.anomalies.hypothesis import Evaluator, Hypothesis, Scales, Weigh
from badac.anomalies.isolated import Isolated, isolated_members, isolated_without_some, members_nearby
from badac.anomalies.learned_summary import class_summaries, process_summaries
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.neighbours import Neighbours
from badac.anomalies.on_a_grid import OnGrid
from badac.anomalies.rare import (
    doubtful_members,
    members_under_class,
    rare_population,
    strange_ones,
    suspects,
)
from badac.anomalies.sequence import coordinates
from badac.anomalies.smooth import SmoothDeviation
from badac.anomalies.something_else import SomethingElse
from badac.anomalies.unseen import MEMBERS_FOR_A_LENGTH, Counted, Unseen, unseen_members
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray, IntArray
from badac.latent.class_summary import ClassSummary
from badac.latent.gaussian_approximation import is_plain
from badac.noise.model import noise_of_class
from badac.posterior import log_total
from badac.registry import registered
from badac.threads import each_apart, in_order, over_blocks


@registered("anomaly", "auto", holds={"hypotheses": "(h,)", "shares": "(h,) >= 0"})
@dataclass(frozen=True, eq=False)
class Deviations:
    """An average of hypotheses about what an anomaly is.

    Parameters
    ----------
    hypotheses : tuple of Hypothesis
        These, or ones of your own: see `badac.anomalies.hypothesis`.
    shares : tuple of float
        Prior probability of each, given that the object is an anomaly; they sum to one.

    Attributes
    ----------
    grid : OnGrid or None
        After `fit` on objects with a common grid: the known classes as the hypotheses see them.
    points : AtPoints or None
        After `fit` on objects with points of their own: the same at any points.

    Examples
    --------
    >>> from badac.anomalies import Bump, Deviations, SomethingElse
    >>> Deviations(hypotheses=(SomethingElse(), Bump()), shares=(0.5, 0.5)).shares
    (0.5, 0.5)
    """

    hypotheses: tuple[Hypothesis, ...] = (SomethingElse(), Bump(), SmoothDeviation())
    shares: tuple[float, ...] = (0.8, 0.15, 0.05)
    grid: OnGrid | None = None
    points: AtPoints | None = None
    # Of its Bayes factor: scores of objects of any noise are comparable as they are (`badac.calibration.pvalues`).
    noise_cancels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for one in self.hypotheses:
            if isinstance(one, type) or not isinstance(one, Hypothesis):
                raise TypeError(
                    "`hypotheses` must be objects with a method `adds(scales)` that says what is added "
                    f"(badac.anomalies.Hypothesis): got {one!r}."
                )
        if (
            len(self.shares) != len(self.hypotheses)
            or abs(sum(self.shares) - 1.0) > 1e-6
            or min(self.shares) <= 0
        ):
            raise ValueError(
                f"`shares` must be one positive prior probability per hypothesis, {len(self.hypotheses)}, that sum "
                f"to 1: got {self.shares!r}."
            )

    def __getstate__(self) -> dict[str, Any]:
        # What the hypotheses declared is made again where it is needed: functions do not travel between processes.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        if known.training.own_points:
            return replace(self, points=AtPoints.of(known, process_summaries(known, rng)))._checked()
        classes = class_summaries(known, rng)
        where = coordinates(known.training, rng)
        noise = None if where is None else learned_bad_points(known, classes, rng)
        if noise is not None:
            known = replace(known, noise=noise)
            classes = class_summaries(known, rng, learn=True)
        grid = OnGrid(classes, known.log_prior, Scales.of(where, classes, known.scales))
        found = replace(self, grid=grid)._checked()
        asked = AskedOfAll(known.label, found.doubtful(known))
        return found._with_rare_members(known, rng, asked, (None,) * len(classes))

    def _checked(self) -> Self:
        """Return the same after every hypothesis has said what it adds here, or refused: not when objects are judged."""
        assert self._weigh
        return self

    def doubtful(self, known: Known) -> BoolArray:
        """Whether each training object (n,) that was learned from could be rare, or unlike the others: for a part of them."""
        return doubtful_members(known, () if self.grid is None else self.grid.classes)

    def asked_of_all(self, known: Known) -> AskedOfAll:
        """Return what need not be asked again of most of the training objects that it was learned from."""
        nearby: tuple[Neighbours | None, ...] = ()
        if self.grid is not None and self.grid.scales.where is not None:
            members = (known.training[known.label == index] for index in range(len(self.grid.classes)))
            about = zip(members, self.grid.classes, strict=True)
            nearby = tuple(in_order(lambda one: members_nearby(*one), about))
        return AskedOfAll(known.label, self.doubtful(known), nearby)

    def refit_without_some(self, known: Known, asked: AskedOfAll, rng: np.random.Generator) -> Self:
        """Return what most of the training objects that it was learned from teach, with its choices kept.

        Parameters
        ----------
        known : Known
            The training objects, the label of those that are left out -1, and the classes that the others teach.
        asked : AskedOfAll
            Of all of them, none left out.
        rng : numpy Generator
        """
        grid = self.grid
        # Bad points that were found here, and not in the class models, are not looked for in part of the objects.
        if grid is None or any(
            is_plain(noise_of_class(known.noise, index)) != is_plain(one.noise)
            for index, one in enumerate(grid.classes)
        ):
            kept = known.label >= 0
            rest = replace(known, training=known.training[kept], label=known.label[kept])
            return replace(self, grid=None, points=None).fit(rest, rng)
        classes = class_summaries(known, rng)
        own = OnGrid(classes, known.log_prior, Scales.of(grid.scales.where, classes, known.scales))
        lengths = [
            next((each.length for each in grid.unseen if np.array_equal(each.mean, one.factor.mean)), None)
            for one in grid.classes
        ]
        return replace(self, grid=own)._checked()._with_rare_members(known, rng, asked, lengths)

    def _with_rare_members(
        self,
        known: Known,
        rng: np.random.Generator,
        asked: AskedOfAll,
        lengths: Sequence[float | None],
    ) -> Self:
        """Return a copy that knows the classes' rare members (`badac.anomalies.rare`), and that there are unseen ones.

        `lengths` (k,) of the classes' curves are learned where they are None.
        """
        assert self.grid is not None
        summaries, doubtful = self.grid.classes, asked.doubtful

        # How well each of the doubtful is explained by its class: what is dear under other than Gaussian noise is asked once.
        evidence = np.full(len(known.label), np.nan)

        def asked_about(index: int) -> IntArray:
            members = members_under_class(known, index, summaries[index], doubtful)
            evidence[members[0]] = members[1].log_evidence
            return suspects(known, index, summaries[index], doubtful, members)

        each = list(in_order(asked_about, range(len(summaries))))
        # Of all classes at once: of each they are few.
        factor = self.log_bayes_factor(known.training[np.concatenate(each)])
        ends = np.cumsum([rows.size for rows in each])[:-1]
        rare = [strange_ones(*own) for own in zip(each, np.split(factor, ends), strict=True)]
        parts: list[Callable[[np.random.Generator], Any]] = []
        for index, rows in enumerate(rare):
            parts += [
                partial(self._rare, known, index, rows),
                partial(self._isolated, known, index, rows, asked),
                partial(self._unseen, known, index, rows, doubtful, lengths[index], evidence),
            ]
        # All kinds of all classes side by side: they differ in how long they take.
        found = each_apart(lambda number, own: parts[number](own), len(parts), rng)
        populations, isolated, unseen = (list(chain(*found[kind::3])) for kind in range(3))
        grid = replace(
            self.grid,
            rare=tuple(population for population, _ in populations),
            rare_log_prior=np.array([log_prior for _, log_prior in populations]),
            unseen=tuple(unseen),
            isolated=tuple(isolated),
        )
        out = replace(self, grid=grid)
        # What the hypotheses add is the same beside rare members: their tables are made once.
        vars(out)["_weigh"] = self._weigh
        return out

    def _rare(
        self, known: Known, index: int, rare: IntArray, rng: np.random.Generator
    ) -> list[tuple[ClassSummary, float]]:
        """The population of the rare members of class `index` (rows) and its log prior; none without such members."""
        assert self.grid is not None
        if not rare.size:
            return []
        population, log_share = rare_population(known, index, self.grid.classes[index], rare, rng)
        return [(population, log_share + known.log_prior[index])]

    def _isolated(
        self, known: Known, index: int, rare: IntArray, asked: AskedOfAll, _: np.random.Generator
    ) -> tuple[Isolated, ...]:
        """Members of class `index` that stand apart, without those that are known as rare (rows)."""
        assert self.grid is not None
        if self.grid.scales.where is None or known.log_prior[index] == -np.inf:
            return ()
        rows, about = _others(known, index, rare), (self.grid.classes[index], float(known.log_prior[index]))
        nearby = asked.nearby[index] if asked.nearby else None
        if nearby is None:
            return isolated_members(known.training[rows], *about)
        kept = np.isin(np.flatnonzero(asked.label == index), rows, assume_unique=True)
        return isolated_without_some(lambda some: known.training[rows[some]], (nearby, kept), *about)

    def _unseen(
        self,
        known: Known,
        index: int,
        rare: IntArray,
        doubtful: BoolArray,
        length: float | None,
        evidence: FloatArray,
        _: np.random.Generator,
    ) -> tuple[Unseen, ...]:
        """Members of class `index` unlike all that were seen, and unlike those that are known as rare (rows).

        `evidence` (n,) of the doubtful is that under their own class.
        """
        assert self.grid is not None
        where, prior = self.grid.scales.where, float(known.log_prior[index])
        if where is None or prior == -np.inf:
            return ()
        rows = _others(known, index, rare)
        typical = known.training[rows[:MEMBERS_FOR_A_LENGTH]] if length is None else None
        asked = rows[doubtful[rows]]
        counted = Counted(rows.size, length, typical, evidence[asked])
        return unseen_members(known.training[asked], self.grid.classes[index], prior, where, counted)

    def as_of_all(self, share: float) -> Self:
        """Return a copy with so many unseen members as a class of all training objects has, learned from a `share` of them.

        A left-out object is otherwise judged with more unseen members around, and less strange, than a new one will be.
        """
        if self.grid is None:
            return self
        unseen = tuple(
            replace(one, log_prior=one.log_prior + float(np.log(share))) for one in self.grid.unseen
        )
        return replace(self, grid=replace(self.grid, unseen=unseen))

    @property
    def evaluator(self) -> Evaluator:
        """The known classes as the hypotheses see them, on a grid or at any points."""
        evaluator = self.points if self.grid is None else self.grid
        assert evaluator is not None, "fit first"
        return evaluator

    @cached_property
    def _weigh(self) -> tuple[Weigh, ...]:
        """What gives the log densities (n,) of objects under each hypothesis."""
        evaluator = self.evaluator
        return tuple(one.adds(evaluator.scales).weighed_by(evaluator) for one in self.hypotheses)

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        known = log_total(log_known, self.evaluator.log_prior)
        return known + self.log_bayes_factor(objects, n_threads=n_threads)

    def log_bayes_factor(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d | anomaly) - log P(d | known classes), both under the summaries."""
        return row_log_sums(self.by_hypothesis(objects, n_threads=n_threads) + np.log(self.shares))

    def by_hypothesis(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n, hypotheses): the log Bayes factor of each hypothesis against all known classes."""
        evaluator, weigh, log_shares = self.evaluator, self._weigh, np.log(self.shares)
        out = np.empty((objects.n_objects, len(self.hypotheses)))

        def compare(part: tuple[Any, Any], n_threads: int) -> None:
            rows, block = part
            under = evaluator.under(block, n_threads=n_threads)
            density = np.stack([one(under) for one in weigh], axis=1)
            known = evaluator.log_known(under, row_log_sums(density + log_shares))
            out[rows] = density - known[:, None]

        over_blocks(compare, evaluator.blocks(objects), n_threads)
        return out

    def log_density(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(object | anomaly) as the hypotheses have it, for objects with a common grid.

        `log_evidence` is the Bayes factor under the summaries times the evidence of the class models, whose tails may be other
        ones. Who compares a density of the same family with an anomaly (`badac.stream`) takes this one.
        """
        assert self.grid is not None, "fit first, on objects with a common grid"
        under = self.grid.under(objects, n_threads=n_threads)
        return row_log_sums(np.stack([one(under) for one in self._weigh], axis=1) + np.log(self.shares))


@dataclass(frozen=True, eq=False)
class AskedOfAll:
    """What was asked of all training objects, and holds for most of them, too.

    Attributes
    ----------
    label : (n,) int
    doubtful : (n,) bool
        Those that may be rare, or unlike all others: nobody else is asked.
    nearby : tuple of (Neighbours or None), optional
        Of each class, who is near to whom of its members.
    """

    label: IntArray
    doubtful: BoolArray
    nearby: tuple[Neighbours | None, ...] = ()


def _others(known: Known, index: int, rare: IntArray) -> IntArray:
    """Rows of the training objects of a class that are not among some `rare` ones, in their order."""
    rows = np.flatnonzero(known.label == index)
    return np.setdiff1d(rows, rare) if rare.size else rows

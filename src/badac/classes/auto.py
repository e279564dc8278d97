"""The class model that the members themselves prefer.

Each candidate is fitted, and asked for the evidence of members that it has not seen (leave-one-out). The population is taken
unless another one explains the left-out members better by more than two standard errors of the gain and more than half a nat
each: it is the fastest of those that can be right, and never far from the best. The candidates are the exact instances (the
paper's flat prior), the population, the template, and in up to eight columns the deconvolved mixture of full rank
(`badac.classes.deconvolved`); `Auto.report` says what each of them got. Noise that only one of them can use as it is leaves
no choice, and the report says that.

What explains each class best need not tell the classes apart best. So those that can be had for all classes stay at hand
(`Auto.alternatives`), and `badac.calibration.agreement` takes one of them for all if left-out objects are told better by it.

Trying the exact instances is bounded: about 2 million pairs of a left-out member and a curve are compared, whatever the
size of the class (30 members at least). Where each of many pairs would need a covariance of its own they are not tried.
Instances are asked for twelve members first, then, as the template, for fifty, and for the rest only where those leave it
open whether they are better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from badac.classes.deconvolved import MOST_COLUMNS, DeconvolvedMixture
from badac.classes.instances import Instances
from badac.classes.irregular import IrregularPopulation
from badac.classes.model import (
    ClassModel,
    FloatArray,
    MovableClass,
    Summary,
    check_noise_taken,
    summary_of,
    takes_noise,
)
from badac.classes.population.population import Population
from badac.classes.report import Candidate
from badac.classes.template import Template
from badac.data.measurements import Measurements
from badac.data.validation import smallest
from badac.latent.likelihood import sums_of_values
from badac.noise.correlated import is_shared
from badac.noise.kinds import ANY_NOISE, NoiseKind, kind_of, name_of
from badac.noise.matches import log_mixture
from badac.noise.model import IntArray, Noise, needs_sigma
from badac.registry import registered
from badac.threads import each_apart
from badac.training import TrainingScales

# By cost: pairs of a left-out member and a curve, with at least and at most so many members; members that a template is
# learned from; and members that may have covariances of their own.
_PAIRS = 2_000_000
_LEAST, _MOST = 30, 500
_FOR_A_TEMPLATE = 1000
# Members that are asked first, and by how many standard errors they settle it: four of fifty members, and as surely (one in
# thirty thousand, by Student's t) seven of twelve. Others that a template is learned from for them.
_FIRST = ((12, 7.0), (50, 4.0))
_FOR_A_FIRST_TEMPLATE = 300
# Counts are compared with every curve without a compiled kernel: fewer of them are asked first. One curve per member is off by
# so much in counts of many points that these settle it.
_FIRST_OF_COUNTS = ((8, 4.0),)
_OWN_COVARIANCES = 100
# Members for each column that a mixture of full rank needs to be worth trying.
_PER_COLUMN = 5
# One member far off must not choose the model for all.
_LARGEST_GAIN = 20.0
# A gain that is sure but too small to matter is not worth another kind of tail than the other classes have: far from all
# members the tails alone would decide the class.
_LEAST_GAIN = 0.5


@registered("class_model", "auto", version=2)
@dataclass(frozen=True, eq=False)
class Auto:
    """Exact instances, population, template or deconvolved mixture, by leave-one-out evidence.

    Attributes
    ----------
    chosen : ClassModel
        After `fit`: the fitted model.
    report : tuple of Candidate
        What was tried, the chosen one first.
    alternatives : tuple of (str, ClassModel)
        The fitted models that the other classes may have too, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Auto
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 12)
    >>> members = Measurements(rng.normal(1, 0.5, (30, 1)) * x + 0.1 * rng.standard_normal((30, 12)), 0.1)
    >>> model = Auto().fit(members, Gaussian(), rng)
    >>> sorted(one.name for one in model.report)
    ['instances', 'population', 'template']
    """

    left_to_data: ClassVar[bool] = True
    takes_noise: ClassVar[frozenset[NoiseKind]] = ANY_NOISE
    learns_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.COVARIANCE})

    chosen: ClassModel | None = None
    report: tuple[Candidate, ...] = ()
    alternatives: tuple[tuple[str, ClassModel], ...] = ()

    def at_own_points(self) -> IrregularPopulation:
        """Return the model for members with points of their own: the one of them that learns what a class is."""
        return IrregularPopulation()

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        check_noise_taken(self, noise, members)
        scales = TrainingScales.of(members) if scales is None else scales
        if kind_of(noise) not in takes_noise(Population):
            instances = Instances().fit(members, noise, rng, scales)
            mean = float(np.mean(instances.leave_one_out()))
            why = f"chosen: only instances take this noise, {name_of(noise)}, as it is"
            only = Candidate("instances", mean, 0.0, 0.0, True, why)
            return replace(self, chosen=instances, report=(only,))
        population = Population().fit(members, noise, rng, scales)
        if population.unit != 1.0:
            mean = float(np.mean(population.leave_one_out()))
            why = "chosen: the squares of the values are beyond a float, and only the population has units of its own"
            return replace(
                self, chosen=population, report=(Candidate("population", mean, 0.0, 0.0, True, why),)
            )
        compared = some_members(members, rng)
        fitted: dict[str, ClassModel] = {"population": population}
        if is_for_full_rank(members):
            fitted["mixture"] = DeconvolvedMixture().fit(members, noise, rng, scales)
        evidence = {name: model.leave_one_out()[compared] for name, model in fitted.items()}
        base = evidence["population"]

        def of_template(own: np.random.Generator) -> FloatArray:
            return as_far_as_open(
                lambda asked, size: left_out_of_template(members, compared[asked], noise, own, scales, size),
                base,
                members,
                first=_FIRST[1:],  # to learn it costs more than to ask it
            )

        def of_instances(own: np.random.Generator) -> FloatArray:
            return as_far_as_open(
                lambda asked, _: left_out_of_instances(members, compared[asked], noise, own, scales),
                base,
                members,
                first=_FIRST_OF_COUNTS if kind_of(noise) is NoiseKind.LINKED else _FIRST,
            )

        rivals = {"template": of_template}
        # The density of exact values at points where they repeat has no bound, and would decide the comparison.
        exact = needs_sigma(noise) and (not members.has_errors or smallest(members.sigma) == 0.0)
        if members.n_objects > 1 and not exact and affordable(members, noise):
            rivals["instances"] = of_instances
        asked = list(rivals.values())
        answers = each_apart(lambda number, own: asked[number](own), len(asked), rng)
        evidence.update(zip(rivals, answers, strict=True))
        report = compare(evidence)
        if kind_of(noise) is NoiseKind.COVARIANCE:
            # A population would take it twice if it were added to what the members have in common already.
            report = tuple(_with_remark(one) if one.name == "population" else one for one in report)
        best = report[0].name
        if best not in fitted:
            other: Template | Instances = Template() if best == "template" else Instances()
            fitted[best] = other.fit(members, noise, rng, scales)
        shared = tuple((name, fitted[name]) for name in ("population", "mixture") if name in fitted)
        return replace(self, chosen=fitted[best], report=report, alternatives=shared)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.chosen is not None, "fit first"
        return self.chosen.log_evidence(objects, n_threads=n_threads)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.chosen is not None, "fit first"
        return self.chosen.leave_one_out(n_threads=n_threads)

    def summary(self) -> Summary | None:
        return summary_of(self.chosen)

    def moved(self, at: FloatArray, by: float) -> Self | None:
        assert self.chosen is not None, "fit first"
        moved = self.chosen.moved(at, by) if isinstance(self.chosen, MovableClass) else None
        return None if moved is None else replace(self, chosen=moved)

    def columns(self) -> tuple[FloatArray, FloatArray]:
        assert self.chosen is not None and isinstance(self.chosen, MovableClass), "fit first"
        return self.chosen.columns()


def _with_remark(candidate: Candidate) -> Candidate:
    return replace(candidate, why=candidate.why + "; it learns the noise's covariance with its factors")


def some_members(members: Measurements, rng: np.random.Generator) -> IntArray:
    """Indices of the members to compare the candidates on: as many as the bound on pairs allows."""
    n = members.n_objects
    count = int(np.clip(_PAIRS // n, _LEAST, _MOST))
    order = np.argsort(sums_of_values(members), kind="stable")
    if n <= count:
        return np.sort(order).astype(np.int64)
    return np.sort(order[rng.choice(n, count, replace=False)]).astype(np.int64)


def as_far_as_open(
    left_out: Callable[[slice, int], FloatArray],
    base: FloatArray,
    members: Measurements,
    *,
    first: tuple[tuple[int, float], ...] = _FIRST,
) -> FloatArray:
    """Evidence (n,) of the compared members under a rival of the population, NaN for those that need not be asked.

    Parameters
    ----------
    left_out : callable
        From a part of the compared members and the size that a sample to learn from has, to their evidence.
    base : (n,)
        Their evidence under the population.
    members : Measurements
        Of the class.
    first : tuple of (int, float)
        Members that are asked first, from few to more, and the standard errors by which they settle it.
    """
    for count_asked, settled in first:
        if len(base) < 2 * count_asked:
            break
        # In no order of importance: every so many of a random choice.
        part = slice(None, None, len(base) // count_asked)
        out = np.full(len(base), np.nan)
        out[part] = left_out(part, _FOR_A_FIRST_TEMPLATE)
        mean, error, count = _gain(out, base)
        # A mean of so many members costs a new one half a nat per point over their number.
        lost = 0.5 * members.n_points / _FOR_A_FIRST_TEMPLATE
        if count and mean + settled * error + lost < _LEAST_GAIN:
            return out
    return left_out(slice(None), _FOR_A_TEMPLATE)


def left_out_of_template(
    members: Measurements,
    compared: IntArray,
    noise: Noise,
    rng: np.random.Generator,
    scales: TrainingScales,
    size: int = _FOR_A_TEMPLATE,
) -> FloatArray:
    """Evidence of the compared members under the template of others, of `size` of them in a large class."""
    n = members.n_objects
    used = np.arange(n)
    if n > 1.5 * size:
        used = np.union1d(compared, np.arange(0, n, n // size))
    template = Template().fit(members[used], noise, rng, scales)
    return template.leave_one_out()[np.searchsorted(used, compared)]


def is_for_full_rank(members: Measurements) -> bool:
    """Whether a mixture of full rank is worth trying: few columns, and members enough to tell a covariance."""
    m = members.n_points
    return m <= MOST_COLUMNS and members.n_objects >= _PER_COLUMN * (m + 1)


def affordable(members: Measurements, noise: Noise) -> bool:
    """Whether the exact instances can be compared in reasonable time: not if each of many pairs has a covariance of its own."""
    correlated = kind_of(noise) is NoiseKind.COVARIANCE or members.covariance is not None
    return not correlated or members.n_objects <= _OWN_COVARIANCES or is_shared(members)


def left_out_of_instances(
    members: Measurements, compared: IntArray, noise: Noise, rng: np.random.Generator, scales: TrainingScales
) -> FloatArray:
    """Evidence of the compared members under all other members as exact curves."""
    n = members.n_objects
    exact = Instances().fit(members, noise, rng, scales)
    assert exact.curves is not None
    weights = np.full(n, -np.log(n - 1.0))
    return log_mixture(noise, members[compared], exact.curves, log_weights=weights, skip=compared)


def compare(evidence: dict[str, FloatArray]) -> tuple[Candidate, ...]:
    """Choose between candidates by the evidence (n,) of the same left-out members; the chosen one comes first.

    The population is the one to beat: by more than two standard errors of the gain, and by half a nat. NaN is the evidence of
    members that a candidate was not asked about.
    """
    base = evidence["population"]
    rows, gains = [], {}
    for name, own in evidence.items():
        mean, error, _ = _gain(own, base)
        gains[name] = (mean, error)
        asked = ~np.isnan(own)
        # As if all had been asked: by how much those that were differ from all is known from the population.
        apart = 0.0 if asked.all() else float(np.mean(base) - np.mean(base[asked]))
        rows.append((name, float(np.mean(own[asked])) + apart, mean, error))
    better = [
        name
        for name, (mean, error) in gains.items()
        if mean > max(2.0 * error, _LEAST_GAIN) and name != "population"
    ]
    winner = max(better, key=lambda name: gains[name][0], default="population")
    report = []
    for name, mean_evidence, mean, error in rows:
        if name == winner:
            why = "chosen: " + (
                "no other candidate explains left-out members better"
                if name == "population"
                else f"left-out members gain {mean:.2f} +- {error:.2f} nats over the population"
            )
        elif name == "population":
            why = f"left-out members lose {gains[winner][0]:.2f} nats against the {winner}"
        else:
            verb, amount = ("gain", mean) if mean > 0 else ("lose", -mean)
            why = f"left-out members {verb} {amount:.2f} +- {error:.2f} nats against the population"
        report.append(Candidate(name, mean_evidence, mean, error, name == winner, why))
    return tuple(sorted(report, key=lambda row: (not row.chosen, -row.log_evidence)))


def _gain(own: FloatArray, base: FloatArray) -> tuple[float, float, int]:
    """Mean gain of evidence (n,) over that of the population, its standard error, and the number of members that tell it."""
    usable = np.isfinite(own) & np.isfinite(base)
    gain = np.clip(own[usable] - base[usable], -_LARGEST_GAIN, _LARGEST_GAIN)
    if not gain.size:
        return 0.0, 0.0, 0
    return float(gain.mean()), float(gain.std() / np.sqrt(gain.size)), gain.size

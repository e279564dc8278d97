"""Families of noise compared half by half: each is learned from one half of the members of a class and asked about the other.

And the other way round, unless only the best family matters and the first halves leave no doubt. A family has to beat the plain
Gaussian with the same number of factors, or with the number that suits that, by the evidence of members that neither has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from badac.classes.model import FloatArray
from badac.classes.population.rank import choose_rank
from badac.latent.factor import Factor
from badac.noise import Gaussian, Noise, is_open
from badac.noise.model import AddedCovariance, LearnableNoise, LearnableWidths
from badac.noise_learning.comparison import Comparison, is_beyond_doubt, is_plain, is_promising, is_sure
from badac.noise_learning.error_bar_factor import error_bar_factor
from badac.noise_learning.halves import Half, Halves
from badac.noise_learning.noise_em import (
    FactorWithNoise,
    Start,
    fit_factor_and_noise,
    fit_from,
    orthonormal_polynomials,
)
from badac.noise_learning.residual_covariance import correlated_gain
from badac.threads import each_apart

_SMOOTH_FUNCTIONS = (6, 9, 13)
FEWEST_POINTS = 3 * _SMOOTH_FUNCTIONS[0]
"""Ordered points from which on rough can be told from smooth."""


@dataclass(frozen=True)
class Asking:
    """How families are compared.

    Attributes
    ----------
    ordered : bool
        Whether the points have an order. Without one, families that add a covariance are left out.
    to_the_end : bool
        Whether all families are asked of all members. If only the best one matters, one that is far behind another is not asked
        again, and the second halves are not where the first leave no doubt: the others gain what those who were asked did.
    factor : float, optional
        What the error bars seem to be off by (`badac.noise_learning.variety`): a factor on all of them is looked for around it,
        and anywhere if it is not given.
    """

    ordered: bool = False
    to_the_end: bool = True
    factor: float | None = None


def compare_halves(
    classes: Mapping[int, Halves], noises: Mapping[str, Noise], rng: np.random.Generator, how: Asking
) -> Comparison:
    """Compare families of noise, by name and with open parameters, on the halves of classes, by their index.

    Returns
    -------
    Comparison
    """
    if not how.ordered:
        noises = {name: one for name, one in noises.items() if not isinstance(one, AddedCovariance)}
    families = tuple(noises)
    if not classes:
        return Comparison(families, np.zeros((len(families), 1)), np.zeros(1, dtype=np.int64), None)
    basis = _choose_basis(list(classes.values())) if how.ordered else None
    learned = _Learned(noises, rng, basis, how)
    for turn in range(2):
        for index, halves in classes.items():
            learned.ask(index, halves, turn)
        if not how.to_the_end and learned.is_decided():
            break
    gains = learned.of_all_members(classes)
    needed = {index: halves.rank for index, halves in classes.items()}
    if "correlated" in families:
        assert basis is not None
        smooth, each = basis, list(classes.values())
        found = each_apart(lambda number, rng: _correlated(each[number], smooth, rng), len(each), rng)
        for (index, halves), (gain, needed[index]) in zip(classes.items(), found, strict=True):
            # As much as each of the members above stands for.
            parts = np.array_split(gain, halves.n_asked)
            gains[index][families.index("correlated")] = [part.mean() for part in parts]
    label = np.concatenate([np.full(gain.shape[1], index) for index, gain in gains.items()])
    gain = np.concatenate(list(gains.values()), axis=1)
    return Comparison(families, gain, label, basis, needed, learned.starts(classes))


def _correlated(halves: Halves, basis: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, int]:
    """Gains (k,) of all members of a class by correlated errors, nothing where that may be chance, and their number of factors.

    Errors may be correlated in one class only; the others stay as they are.
    """
    members, scales, rank = halves.all_members(), halves.first.scales, halves.rank
    if len(halves.others):
        # More members than are compared may teach more factors.
        rank = choose_rank(members, scales, rng)[0]
    gain = correlated_gain(members, rank, basis, scales, rng)
    return gain * float(is_sure(gain)), rank


class _Learned:
    """What families were learned from halves, and what the other halves gained by them."""

    def __init__(
        self, noises: Mapping[str, Noise], rng: np.random.Generator, basis: FloatArray | None, how: Asking
    ) -> None:
        self._rng, self._basis, self._how = rng, basis, how
        self._rows = {name: row for row, name in enumerate(noises)}
        self._open = {
            name: noise
            for name, noise in noises.items()
            if is_open(noise) and not isinstance(noise, AddedCovariance)
        }
        self._running, self._believed = set(self._open), set[str]()
        self._gains: dict[int, list[FloatArray]] = {}
        self._taught: dict[str, list[_Taught]] = {}
        self._ranks: dict[int, int] = {}
        self._factors: dict[tuple[int, int], Factor] = {}
        self._scaled: dict[int, Halves] = {}

    def ask(self, index: int, halves: Halves, turn: int) -> None:
        """Learn from one half of a class and ask the other one; in the next turn the other way round."""
        known, unknown = list(halves.turns())[turn]
        # Of what is not open or out of the running nobody is asked: the plain Gaussian, a covariance, and those left out.
        gain = np.zeros((len(self._rows), unknown.members.n_objects))
        gain[[self._rows[name] for name in self._open]] = np.nan
        plain = _Plain(known, unknown, self._basis, halves.rank)
        for name in [name for name in self._open if name in self._running]:
            fitted = self._fit(name, index, halves, turn)
            left_out = fitted.for_others(known.members).log_evidence(unknown.members)
            gain[self._rows[name]] = left_out - plain.log_evidence(fitted.n_factors)
            self._taught.setdefault(name, []).append(_Taught(index, fitted, known.members.n_objects))
        self._gains.setdefault(index, []).append(gain)
        if not self._how.to_the_end:
            self._running -= self._far_behind()
        # Only what is beyond doubt there is where the next EM may start: others would find again what was found by chance.
        self._believed = {name for name in self._running if is_beyond_doubt(self._asked(name))}

    def _fit(self, name: str, index: int, halves: Halves, turn: int) -> FactorWithNoise:
        """Class and open noise of a half; an EM starts at what other members taught."""
        known, noise = list(halves.turns())[turn][0], self._open[name]
        scales = known.scales
        if not isinstance(noise, LearnableWidths):
            if self._how.factor is not None:
                return self._near(index, halves, turn, self._how.factor)
            return fit_factor_and_noise(
                known.members, noise, scales, self._rng, basis=self._basis, rank=halves.rank
            )
        near = self._pooled(name) if name in self._believed else None
        # What members need under noise of several widths they need whichever it is: asked once of a class, and a half that has
        # been learned from goes on from there. From the other half's factors it would remember what it is asked about.
        rank, settled = self._ranks.get(index, halves.rank), index in self._ranks
        factor = self._factors.get((index, turn))
        if not settled:
            factor = known.factor(rank, self._basis)
        start = Start(near, rank, settled, factor)
        fitted = fit_from(known.members, noise, start, scales, self._rng, self._basis)
        self._ranks.setdefault(index, fitted.n_factors)
        self._factors.setdefault((index, turn), fitted.factor)
        return fitted

    def _near(self, index: int, halves: Halves, turn: int, factor: float) -> FactorWithNoise:
        """Class and a factor on the error bars of a half, near this one: by how its members scatter around the other's model.

        So the factor is not too small by what a model took from its own members, and one fit of each half is enough.
        """
        if index not in self._scaled:
            self._scaled[index] = halves.scaled(factor)
        scaled = self._scaled[index]
        known, unknown = list(scaled.turns())[turn]
        theirs = FactorWithNoise(unknown.factor(scaled.rank, self._basis), Gaussian())
        factor *= error_bar_factor(known.members, theirs.for_others(unknown.members).factor)
        return FactorWithNoise(known.factor(scaled.rank, self._basis), Gaussian(factor))

    def _asked(self, name: str) -> FloatArray:
        """Gains (n,) of all who were asked so far; of none for the plain Gaussian."""
        return np.concatenate([gain[self._rows[name]] for parts in self._gains.values() for gain in parts])

    def _far_behind(self) -> set[str]:
        """Families in the running that are plainly behind the best one.

        Whether a covariance is added is asked class by class, and not here.
        """
        if not self._running:
            return set()
        gains = {name: self._asked(name) for name in self._running}
        best = max(self._running, key=lambda name: (float(gains[name].sum()), name))
        return {name for name, gain in gains.items() if is_plain(gains[best] - gain)}

    def is_decided(self) -> bool:
        """Whether those who were asked leave no doubt which family is the best, the plain Gaussian included.

        Families by which half of the members gained next to nothing, a spread more of it, are not asked again.
        """
        gains = {name: self._asked(name) for name in self._running}
        self._running = {name for name, gain in gains.items() if is_promising(gain, 0.5)}
        if not self._running:
            return True
        best = max(gains, key=lambda name: (float(gains[name].sum()), name))
        others = [gain for name, gain in gains.items() if name != best]
        return is_plain(gains[best]) and all(is_sure(gains[best] - gain) for gain in others)

    def of_all_members(self, classes: Mapping[int, Halves]) -> dict[int, FloatArray]:
        """Gains (F, n) of the members of both halves of each class.

        Who was not asked gains as those of the class who were; a family that was left out stays as far behind the best one.
        """
        asked = {index: np.concatenate(parts, axis=1) for index, parts in self._gains.items()}
        everybody = np.concatenate(list(asked.values()), axis=1)
        total = everybody.sum(axis=1)
        best = int(np.argmax(np.where(np.isnan(total), -np.inf, total)))
        behind = np.nanmean(everybody[best] - everybody, axis=1)
        found = {}
        for index, halves in classes.items():
            own = asked[index]
            own = np.where(np.isnan(own), own[best] - behind[:, None], own)
            found[index] = np.stack([np.resize(row, halves.n_asked) for row in own])
        return found

    def _pooled(self, name: str, of_class: int | None = None) -> Noise | None:
        """What the halves taught of a family whose parameters can be pooled, of all classes or of one; None of any other."""
        noise = self._open[name]
        taught = [one for one in self._taught.get(name, []) if of_class in (None, one.index)]
        if not taught or not isinstance(noise, LearnableNoise):
            return None
        weight = np.array([float(one.count) for one in taught])
        return noise.pooled([one.fitted.noise for one in taught], weight / weight.sum())

    def starts(self, classes: Mapping[int, Halves]) -> dict[str, dict[int, Start]]:
        """What the halves of each class taught, by family and class."""
        return {
            name: {index: self._start(name, index, halves) for index, halves in classes.items()}
            for name in self._taught
            if self._how.factor is not None or not has_open_factor(self._open[name])
        }

    def _start(self, name: str, index: int, halves: Halves) -> Start:
        own = [one for one in self._taught[name] if one.index == index]
        if not own:
            return Start(self._pooled(name), halves.rank)
        last = own[-1].fitted
        return Start(self._pooled(name, index), last.n_factors, settled=True, factor=last.factor)


@dataclass(frozen=True)
class _Taught:
    """What so many members of a class taught of a family."""

    index: int
    fitted: FactorWithNoise
    count: int


def has_open_factor(noise: Noise) -> bool:
    """Whether what is open is one factor on all error bars."""
    return isinstance(noise, LearnableNoise) and is_open(noise) and not isinstance(noise, LearnableWidths)


class _Plain:
    """Plain Gaussian noise, at the rank that suits it or at that of a family it is compared with, whichever is better.

    A family must not win because its own way of learning happened upon a better number of factors.
    """

    def __init__(self, known: Half, unknown: Half, basis: FloatArray | None, rank: int) -> None:
        self._known, self._unknown, self._basis, self._rank = known, unknown, basis, rank
        self._kept: dict[int, FloatArray] = {}

    def _at(self, rank: int) -> FloatArray:
        if rank not in self._kept:
            plain = FactorWithNoise(self._known.factor(rank, self._basis), Gaussian())
            left_out = plain.for_others(self._known.members).log_evidence(self._unknown.members)
            self._kept[rank] = left_out
        return self._kept[rank]

    def log_evidence(self, rank: int) -> FloatArray:
        """Return (n,): log evidence of the held-out members."""
        return max(self._at(rank), self._at(self._rank), key=lambda each: float(each.sum()))


def _choose_basis(classes: list[Halves]) -> FloatArray:
    """How smooth the classes are, by held-out evidence: the same for all classes, so that none is excused."""
    members = classes[0].first.members
    at = np.arange(members.n_points, dtype=np.float64) if members.at is None else members.at
    best, best_evidence = orthonormal_polynomials(at, _SMOOTH_FUNCTIONS[0]), -np.inf
    for count in _SMOOTH_FUNCTIONS:
        if count > members.n_points // 3:
            break
        basis = orthonormal_polynomials(at, count)
        evidence = 0.0
        for halves in classes:
            factor = halves.first.factor(halves.rank, basis)
            evidence += float(factor.project(halves.second.members).gaussian_log_evidence().sum())
        if evidence > best_evidence + 2.0:
            best, best_evidence = basis, evidence
    return best

"""Noise families compared by the evidence of members that were held out.

Each family is learned, with its parameters, from one half of the members of each class and asked about the other, and the
other way round. The difference of the log evidences is a log Bayes factor; its spread is the standard deviation of the sum
over the held-out members. A family other than the plain Gaussian must earn its parameters on members it has not seen.

    gaussian     the error bars hold
    scaled       all error bars are off by one factor
    outliers     a share of the points has error bars too small by a factor
    student      error bars are only estimates: Student-t tails
    correlated   neighbouring points move together in ways that no smooth curve of the class does
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from badac.classes.model import FloatArray
from badac.classes.population.rank import choose_rank
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.noise import AutoNoise, Gaussian, Noise, is_open
from badac.noise.model import AddedCovariance, LearnableWidths, OpenFamily
from badac.noise_learning.noise_em import (
    FactorWithNoise,
    fit_factor_and_noise,
    improve_factor_and_noise,
    orthonormal_polynomials,
)
from badac.noise_learning.residual_covariance import fit_correlated_residuals
from badac.training import TrainingScales

IntArray = npt.NDArray[np.int64]

FAMILIES = tuple(AutoNoise().families())
_SMOOTH_FUNCTIONS = (6, 9, 13)
_MEMBERS = 1000
# By cost: families that matter gain hundreds of nats among so many. `diagnose` names the same ones by 100. A covariance has
# many numbers to be learned: 300 members find that of Experiment 4 as printed in 6 of 12 sets (1,000 and 3,000 curves).
_MEMBERS_TO_COMPARE, _MEMBERS_FOR_A_COVARIANCE = 300, 600
_FEWEST = 20
_FOLDS, _FOLDS_FIRST = 10, 3
# A family is believed if it gains this many times its spread, and this many nats.
_SPREADS, _NATS = 3.0, 5.0
# A family is out of the running where another one is ahead by so many spreads, and so many nats. Experiment 3, both settings,
# seeds 500 to 502, 150 held-out members: bad points are ahead of Student-t by 11 to 14 spreads and 280 to 320 nats.
_SPREADS_AHEAD, _NATS_AHEAD = 8.0, 50.0


def open_noise(family: str) -> Noise:
    """Return the noise of a family with all its parameters open."""
    return AutoNoise().families()[family]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Held-out evidence of the families.

    Attributes
    ----------
    families : tuple of str
        Those that were compared.
    gain : (F, n)
        Log evidence of each held-out member less that under plain Gaussian noise.
    label : (n,)
        Class index of these members.
    basis : (m, K) or None
        Smooth functions that the classes were held to, if the points have an order.
    learned : dict from family to Noise
        What the halves taught of those whose parameters are found by an EM.
    ranks : dict from class index to int
        How many factors the members of a class need under Gaussian noise, where it was asked.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise_learning import compare_families
    >>> rng = np.random.default_rng(0)
    >>> bad = np.where(rng.random((80, 15)) < 0.2, 0.5, 0.1)
    >>> curves = Measurements(np.sin(np.linspace(0, 3, 15)) + bad * rng.standard_normal((80, 15)), 0.1)
    >>> found = compare_families(curves, np.zeros(80, dtype=int), rng, families=("gaussian", "outliers"))
    >>> found.best
    'outliers'
    """

    families: tuple[str, ...]
    gain: FloatArray
    label: IntArray
    basis: FloatArray | None
    learned: Mapping[str, Noise] = field(default_factory=dict)
    ranks: Mapping[int, int] = field(default_factory=dict)

    @property
    def log_bayes_factor(self) -> FloatArray:
        """(F,): of each family against the plain Gaussian, all held-out members together."""
        return np.asarray(self.gain.sum(axis=1))

    @property
    def spread(self) -> FloatArray:
        """(F,): standard deviation of the log Bayes factors."""
        return np.asarray(self.gain.std(axis=1) * np.sqrt(self.gain.shape[1]))

    def in_class(self, index: int) -> Comparison:
        """Return the comparison in one class only."""
        own = self.label == index
        return Comparison(self.families, self.gain[:, own], self.label[own], self.basis)

    @property
    def best(self) -> str:
        """The family with the largest evidence, or "gaussian" if none is beyond doubt better."""
        factor = self.log_bayes_factor
        sure = np.array([is_sure(row) for row in self.gain])
        return self.families[int(np.argmax(np.where(sure, factor, 0.0)))] if sure.any() else "gaussian"


def is_sure(gain: FloatArray) -> bool:
    """Whether gains (n,) in log evidence add up to more than chance and a few nats."""
    return bool(gain.sum() > max(_NATS, _SPREADS * float(gain.std()) * np.sqrt(len(gain))))


def is_ordered(training: Measurements) -> bool:
    """Whether all objects have the same ordered points: only then can rough be told from smooth."""
    return training.at is not None and training.at.ndim == 1 and training.n_points >= 3 * _SMOOTH_FUNCTIONS[0]


def compare_families(
    training: Measurements,
    label: IntArray,
    rng: np.random.Generator,
    *,
    ordered: bool | None = None,
    families: tuple[str, ...] | None = None,
    choice: OpenFamily | None = None,
    to_the_end: bool = True,
) -> Comparison:
    """Compare noise families on training objects (n, m) of classes label (n,), 0 to K-1.

    Parameters
    ----------
    ordered : bool, optional
        Whether the points have an order, as times or wavelengths do; by default, whether they have coordinates.
    families : names of families, optional
        All of the choice if not given. Those that add a covariance are left out where points have no order.
    choice : OpenFamily, optional
        What there is to choose from; `badac.noise.AutoNoise` if not given.
    to_the_end : bool
        Whether all families are asked of all members. If only the best one matters, one that is far behind another after some
        of the halves is left out, and missing in the result.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise_learning import compare_families
    >>> rng = np.random.default_rng(0)
    >>> curves = Measurements(np.sin(np.linspace(0, 3, 15)) + 0.1 * rng.standard_normal((80, 15)), 0.1)
    >>> compare_families(curves, np.zeros(80, dtype=int), rng, families=("gaussian", "outliers")).best
    'gaussian'
    """
    offered = (AutoNoise() if choice is None else choice).families()
    if ordered is None:
        # Only a covariance needs to know how smooth the classes are.
        ordered = is_ordered(training) and any(isinstance(one, AddedCovariance) for one in offered.values())
    noises = {name: offered[name] for name in (offered if families is None else families)}
    if not ordered:
        noises = {name: one for name, one in noises.items() if not isinstance(one, AddedCovariance)}
    families = tuple(noises)
    scales = TrainingScales.of(training)
    parts = [_halves(training, label, index, rng) for index in range(int(label.max()) + 1)]
    usable = [(index, part[0]) for index, part in enumerate(parts) if part is not None]
    others = {index: part[1] for index, part in enumerate(parts) if part is not None}
    basis: FloatArray | None = None
    ranks: list[int | None] = [None] * len(usable)
    if ordered:
        # Of each first half once: the smoothness that is tried does not change how many factors its members need.
        chosen = [choose_rank(first, scales, rng)[0] for _, (first, _) in usable]
        basis = _choose_basis(training, [pair for _, pair in usable], chosen, scales, rng)
        ranks = [*chosen]
    gains: list[FloatArray] = []
    labels: list[IntArray] = []
    taught: dict[str, list[tuple[Noise, int]]] = {}
    running, believed = set(families), set[str]()
    needed: dict[int, int] = {}
    for (index, (first, second)), rank in zip(usable, ranks, strict=True):
        of_class: list[FloatArray] = []
        learnable = any(
            is_open(noises[name]) and not isinstance(noises[name], AddedCovariance) for name in running
        )
        for known, unknown, its_rank in ((first, second, rank), (second, first, None)):
            gain = np.zeros((len(families), unknown.n_objects))
            # Of a family that is alone in the running and believed, the first half says enough.
            alone = not to_the_end and running <= {"gaussian", "correlated", *believed} and len(believed) == 1
            if not learnable or (alone and of_class):
                gain[:] = of_class[0].mean(axis=1, keepdims=True) if of_class else 0.0
                of_class.append(gain)
                continue
            plain = _Plain(known, unknown, scales, basis, rng, its_rank)
            for row, (name, noise) in enumerate(noises.items()):
                if not is_open(noise) or isinstance(noise, AddedCovariance) or name not in running:
                    continue
                start = _pooled(noise, taught[name]) if name in believed else None
                fitted = _fitted(known, noise, start, scales, rng, basis, plain.rank)
                gain[row] = fitted.log_evidence(unknown) - plain.log_evidence(fitted.factor.rank)
                taught.setdefault(name, []).append((fitted.noise, known.n_objects))
            of_class.append(gain)
            asked = np.concatenate([*gains, *of_class], axis=1)
            if not to_the_end:
                running -= _far_behind(noises, asked, running)
            # Only what is beyond doubt there is where the next EM may start: others would find again what was found by chance.
            believed = {
                name for name, row in zip(families, asked, strict=True) if name in running and _ahead(row)
            }
        both = np.concatenate(of_class, axis=1)
        if "correlated" in running:
            # Errors may be correlated in one class only; the others stay as they are.
            assert basis is not None
            members = concatenate([first, second, *([others[index]] if len(others[index]) else [])])
            # The same number of factors for both and for all parts: what is compared is the noise.
            needed[index] = choose_rank(members, scales, rng)[0]
            gain = correlated_gain(members, needed[index], basis, scales, rng)
            # As much as each of the members above stands for.
            shared = [part.mean() for part in np.array_split(gain * float(is_sure(gain)), both.shape[1])]
            both[families.index("correlated")] = shared
        gains.append(both)
        labels.append(np.full(both.shape[1], index))
    if not gains:
        return Comparison(families, np.zeros((len(families), 1)), np.zeros(1, dtype=np.int64), basis)
    pooled = {name: _pooled(noises[name], parts) for name, parts in taught.items()}
    learned = {name: noise for name, noise in pooled.items() if noise is not None}
    left = tuple(name for name in families if name in running)
    rows = [families.index(name) for name in left]
    gain = np.concatenate(gains, axis=1)[rows]
    return Comparison(left, gain, np.concatenate(labels), basis, learned, needed)


def _fitted(
    members: Measurements,
    noise: Noise,
    start: Noise | None,
    scales: TrainingScales,
    rng: np.random.Generator,
    basis: FloatArray | None,
    rank: int,
) -> FactorWithNoise:
    """Class and open noise of members (k, m); an EM starts at what other members taught."""
    if start is None:
        return fit_factor_and_noise(members, noise, scales, rng, basis=basis, rank=rank)
    return improve_factor_and_noise(members, noise, start, scales, rng, basis, rank)


def _far_behind(noises: Mapping[str, Noise], gain: FloatArray, running: set[str]) -> set[str]:
    """Families whose gains (F, n) are beyond doubt behind those of the best one that is learned point by point.

    Whether a covariance is added is asked class by class, and not here.
    """
    rows = {
        name: row
        for row, (name, noise) in enumerate(noises.items())
        if not isinstance(noise, AddedCovariance)
    }
    best = max((name for name in rows if name in running), key=lambda name: float(gain[rows[name]].sum()))
    return {
        name
        for name, row in rows.items()
        if name in running and is_open(noises[name]) and _ahead(gain[rows[best]] - gain[row])
    }


def _ahead(gain: FloatArray) -> bool:
    """Whether gains (n,) of one family over another leave no doubt."""
    return bool(gain.sum() > max(_NATS_AHEAD, _SPREADS_AHEAD * float(gain.std()) * np.sqrt(len(gain))))


def _pooled(noise: Noise, taught: list[tuple[Noise, int]]) -> Noise | None:
    """What several halves taught of noise whose parameters an EM finds; None of any other."""
    if not isinstance(noise, LearnableWidths):
        return None
    weight = np.array([float(count) for _, count in taught])
    return noise.pooled([one for one, _ in taught], weight / weight.sum())


class _Plain:
    """Plain Gaussian noise, at the rank that suits it or at that of a family it is compared with, whichever is better.

    A family must not win because its own way of learning happened upon a better number of factors.
    """

    def __init__(
        self,
        known: Measurements,
        unknown: Measurements,
        scales: TrainingScales,
        basis: FloatArray | None,
        rng: np.random.Generator,
        rank: int | None = None,
    ) -> None:
        self._known, self._unknown, self._scales, self._basis, self._rng = known, unknown, scales, basis, rng
        self.rank = choose_rank(known, scales, rng)[0] if rank is None else rank
        self._evidence = {max(self.rank, 1): self._at(self.rank)}

    def _at(self, rank: int) -> FloatArray:
        fitted = fit_factor_and_noise(
            self._known, Gaussian(), self._scales, self._rng, basis=self._basis, rank=rank
        )
        return fitted.log_evidence(self._unknown)

    def log_evidence(self, rank: int) -> FloatArray:
        """Return (n,): log evidence of the held-out members."""
        if rank not in self._evidence:
            self._evidence[rank] = self._at(rank)
        return max(
            self._evidence[rank], self._evidence[max(self.rank, 1)], key=lambda each: float(each.sum())
        )


def correlated_gain(
    members: Measurements, rank: int, basis: FloatArray, scales: TrainingScales, rng: np.random.Generator
) -> FloatArray:
    """Return (k,): gain of each member when it is held out and the residuals of the others are taken as correlated.

    A covariance has many numbers to be learned, so the members are held out a tenth at a time, not half and half. Where the
    first ones gain nothing the others are not asked, and nobody gains.
    """
    fold = rng.permutation(members.n_objects) % _FOLDS
    gain = np.empty(members.n_objects)
    for which in range(_FOLDS):
        if which == _FOLDS_FIRST and not _is_promising(gain[fold < which]):
            return np.zeros_like(gain)
        known, unknown = members[fold != which], members[fold == which]
        gaussian = fit_factor_and_noise(known, Gaussian(), scales, rng, basis=basis, rank=rank)
        correlated = fit_correlated_residuals(known, gaussian.factor, basis)
        gain[fold == which] = correlated.log_evidence(unknown) - gaussian.log_evidence(unknown)
    return gain


def _is_promising(gain: FloatArray) -> bool:
    """Whether gains (n,) of the first tenths, a spread more of them, are their part of the least that is believed."""
    most = float(gain.sum()) + float(gain.std()) * np.sqrt(len(gain))
    return bool(most > _NATS * _FOLDS_FIRST / _FOLDS)


def _halves(
    training: Measurements, label: IntArray, index: int, rng: np.random.Generator
) -> tuple[tuple[Measurements, Measurements], Measurements] | None:
    """Two random halves of the members of a class, and further members; None if there are too few to say anything."""
    rows = rng.permutation(np.flatnonzero(label == index))[:_MEMBERS_FOR_A_COVARIANCE]
    if len(rows) < _FEWEST:
        return None
    half = min(len(rows), _MEMBERS_TO_COMPARE) // 2
    first, second, others = np.split(rows, [half, min(len(rows), _MEMBERS_TO_COMPARE)])
    return (training[np.sort(first)], training[np.sort(second)]), training[np.sort(others)]


def _choose_basis(
    training: Measurements,
    halves: list[tuple[Measurements, Measurements]],
    ranks: list[int],
    scales: TrainingScales,
    rng: np.random.Generator,
) -> FloatArray:
    """How smooth the classes are, by held-out evidence: the same for all classes, so that none is excused."""
    at = np.arange(training.n_points, dtype=np.float64) if training.at is None else training.at
    best, best_evidence = orthonormal_polynomials(at, _SMOOTH_FUNCTIONS[0]), -np.inf
    for count in _SMOOTH_FUNCTIONS:
        if count > training.n_points // 3:
            break
        basis = orthonormal_polynomials(at, count)
        evidence = sum(
            float(
                fit_factor_and_noise(known, Gaussian(), scales, rng, basis=basis, rank=rank)
                .log_evidence(unknown)
                .sum()
            )
            for (known, unknown), rank in zip(halves, ranks, strict=True)
        )
        if evidence > best_evidence + 2.0:
            best, best_evidence = basis, evidence
    return best


def fit_class(
    training: Measurements,
    label: IntArray,
    index: int,
    noise: Noise,
    rng: np.random.Generator,
    *,
    basis: FloatArray | None = None,
    rank: int | None = None,
) -> FactorWithNoise | None:
    """Learn a factor model and open noise from (at most 1,000) members of one class; None if it has fewer than 20."""
    members = some_members(training, label, index, rng)
    if members is None:
        return None
    return fit_factor_and_noise(members, noise, TrainingScales.of(training), rng, basis=basis, rank=rank)


def some_members(
    training: Measurements, label: IntArray, index: int, rng: np.random.Generator
) -> Measurements | None:
    """Return at most 1,000 members of a class, at random; None if it has fewer than 20."""
    rows = rng.permutation(np.flatnonzero(label == index))[:_MEMBERS]
    return None if len(rows) < _FEWEST else training[np.sort(rows)]

"""From what was said to what comes next: probabilities of the young classes beside those of the model, and expected values.

Every kind, artefact and class that a person names is a young class ``j`` with ``n_j`` members among ``N`` objects looked at.
Against the density ``f`` of all objects at the same place, with each object's own noise,

    rho_j = n_j / (N + 1)  P(d | young class j) / f(d) ,    P(j | d) = t rho_j / (1 + sum rho) ,    rest = 1 - sum_j P(j | d)

A few members may be no Gaussian, so young classes are believed with a probability ``t`` only, by how well they foretold what
was said (`badac.triage.trust`). What they leave is shared as the model has it: known classes, and the unknown, with a learned
tendency ``u(d)`` (`badac.triage.tendency`), whose prior is the static ranking. So

    value(d) = sum_j P(j | d) value_j  +  rest [ (1 - u) sum_k P(k | d, model) value_k  +  u value_unknown ] .

With nothing said the order is that of the static ranking. A statement changes one young class: one pass over all objects.

What is learned may lead nowhere. After `IN_VAIN` looks in a row that found nothing, one look is the static ranking's: its first
object that no worthless kind explains. So a session cannot fall far behind the ranking it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from badac.triage.positions import Positions
from badac.triage.statement import Statement
from badac.triage.tendency import Tendency
from badac.triage.trust import LOOKS, UNKNOWN, tested, trust
from badac.triage.young_class import YoungClass

FloatArray = npt.NDArray[np.float64]

DEFAULT_VALUES = {"new": 1.0, "interesting": 1.0, "class": 0.0, "dull": 0.0, "artefact": 0.0, "unknown": 1.0}
"""What an object is worth by what was said of its like; a name of its own may have another value."""

IN_VAIN = 5
"""Looks in a row without a find, after which one is the static ranking's. Chosen on seeds 200 and 201 of
benchmarks/triage_sets.py: with 3 a session finds one less in 100 looks, with 4 to 6 as many as with none."""

_EXPLAINED = 0.5  # probability of a worthless kind, from which an object is explained
_LARGEST = 50.0  # nats; a ratio beyond that is certain
_MOST_KEPT = 64  # evidences of young classes, of n numbers each


@dataclass(frozen=True, eq=False)
class Scene:
    """What is known of ``n`` objects before anybody looks.

    Attributes
    ----------
    positions : Positions
        (n, r)
    log_background : (n,)
        Density of objects of any kind.
    proba : (n, k)
        Of the known classes, by the model.
    score : (n,)
        Of the static ranking.
    classes : tuple of k str
    """

    positions: Positions
    log_background: FloatArray
    proba: FloatArray
    score: FloatArray
    classes: tuple[str, ...]
    tendency: Tendency = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tendency", Tendency.of(self.positions, self.proba, self.score))

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True, eq=False)
class Kind:
    """A young class: what was said of its members, its name, their rows, and its density against all (n,), in nats."""

    said: str
    name: str
    members: tuple[int, ...]
    young: YoungClass
    log_ratio: FloatArray


class Learned:
    """What was learned of the objects of a scene. One statement at a time; the same statements give the same state.

    Parameters
    ----------
    scene : Scene
    values : mapping
        By what is said ("artefact"), or by name of a class, kind or artefact.
    """

    def __init__(self, scene: Scene, values: Mapping[str, float] | None = None) -> None:
        self.scene = scene
        self.values: dict[str, float] = {**DEFAULT_VALUES, **(values or {})}
        self.said: dict[int, Statement] = {}
        self.kinds: list[Kind] = []
        self._explained = np.zeros(len(scene), dtype=np.bool_)
        self._weights = scene.tendency.prior
        # By how much each statement spoke for young classes, before it was learned.
        self._tested: list[float] = []
        # By members: a statement that is taken back, or a replay, finds what was worked out before.
        self._kept: dict[tuple[int, ...], tuple[YoungClass, FloatArray]] = {}

    def again(self, statements: Mapping[int, Statement], values: Mapping[str, float]) -> None:
        """Learn all of these statements, by row and in this order, in place of what was learned."""
        given, before, looks = list(statements.items()), list(self.said.items()), self._tested
        values = {**DEFAULT_VALUES, **values}
        # What was foretold from the same statements before, need not be foretold again.
        same = 0
        while values == self.values and same < min(len(given), len(before)) and given[same] == before[same]:
            same += 1
        self.values, self.said, self.kinds, self._tested = values, {}, [], []
        for place, (row, statement) in enumerate(given):
            found = looks[place] if place < same else UNKNOWN
            if np.isnan(found) and place >= len(given) - LOOKS:
                self._weights = self._learned_weights()
                found = self._test(row, statement)
            self._take(row, statement, found)
        self._weights = self._learned_weights()

    # -- learning ----------------------------------------------------------------------------------------------------

    def learn(self, row: int, statement: Statement) -> None:
        """Take in what was said of an object that nothing was said of before."""
        self._take(row, statement, self._test(row, statement))
        self._weights = self._learned_weights()

    def _test(self, row: int, statement: Statement) -> float:
        """By how much a statement speaks for young classes, as they are before it is learned."""
        if statement.said == "unsure" or not self.kinds:
            return 0.0
        ratio, left = self._ratios(row)
        good = sum(
            share
            for kind, share in zip(self.kinds, ratio, strict=True)
            if self._value(kind.said, kind.name) > 0.0
        )
        interest = float(self._by_model(row)[1])
        return tested((good + interest) * left, interest, worth=self.is_worth(statement))

    def _take(self, row: int, statement: Statement, found: float) -> None:
        self.said[row] = statement
        self._tested.append(found)
        if statement.said == "unsure":
            return
        which = self._kind_for(row, statement)
        if which is None:
            self.kinds.append(self._kind(statement.said, self._name(row, statement), (row,)))
        else:
            old = self.kinds[which]
            self.kinds[which] = self._kind(old.said, old.name, (*old.members, row))

    def _name(self, row: int, statement: Statement) -> str:
        """The name that was given; what is dull goes with the known class that it looks like."""
        if statement.name or statement.said != "dull":
            return statement.name
        return self.scene.classes[int(self.scene.proba[row].argmax())]

    def _kind_for(self, row: int, statement: Statement) -> int | None:
        """The young class that an object belongs to: the one of that name; without a name the most alike, if alike at all."""
        name = self._name(row, statement)
        same = [i for i, kind in enumerate(self.kinds) if kind.said == statement.said and kind.name == name]
        if not same or name:
            return same[0] if same else None
        ratio = [self.kinds[i].log_ratio[row] for i in same]
        best = int(np.argmax(ratio))
        return same[best] if ratio[best] > 0.0 else None

    def _kind(self, said: str, name: str, members: tuple[int, ...]) -> Kind:
        if members not in self._kept:
            positions = self.scene.positions
            young = YoungClass.of(positions[np.array(members)])
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[members] = young, young.log_evidence(positions) - self.scene.log_background
        return Kind(said, name, members, *self._kept[members])

    def _learned_weights(self) -> FloatArray:
        rows = np.array([row for row, each in self.said.items() if each.said != "unsure"], dtype=np.int64)
        wanted = np.array([float(self.is_worth(self.said[row])) for row in rows])
        return self.scene.tendency.learn(rows, wanted)

    # -- what follows ------------------------------------------------------------------------------------------------

    def _value(self, said: str, name: str) -> float:
        """What an object is worth: by its name, else by what was said; a new kind that the model knows by now is one still."""
        if name and name in self.values:
            return self.values[name]
        found_here = said == "class" and any(kind.said == "new" and kind.name == name for kind in self.kinds)
        return self.values["new" if found_here else said]

    def is_worth(self, statement: Statement) -> bool:
        """Whether an object that this was said of is worth anything."""
        return statement.said != "unsure" and self._value(statement.said, statement.name) > 0.0

    def _by_model(self, rows: slice | int = slice(None)) -> tuple[FloatArray, FloatArray]:
        """Expected value, and probability of being worth anything, of all objects or of a row, without young classes."""
        scene = self.scene
        unknown = expit(scene.tendency.log_odds(self._weights, rows))
        by_class = np.array([self._value("class", name) for name in scene.classes])
        proba = scene.proba[rows]
        value = (1.0 - unknown) * (proba @ by_class) + unknown * self.values["unknown"]
        worth = (1.0 - unknown) * (proba @ (by_class > 0.0)) + unknown * (self.values["unknown"] > 0.0)
        return value, worth

    def judged(self) -> tuple[FloatArray, FloatArray]:
        """Expected value (n,) of every object, and the probability (n,) that it is worth anything."""
        scene = self.scene
        worth, odds, good = np.zeros(len(scene)), np.zeros(len(scene)), np.zeros(len(scene))
        looked = sum(len(kind.members) for kind in self.kinds)
        for kind in self.kinds:
            share = np.log(len(kind.members) / (looked + 1.0))
            ratio = np.exp(np.clip(kind.log_ratio + share, -_LARGEST, _LARGEST))
            value = self._value(kind.said, kind.name)
            odds += ratio
            worth += ratio * value
            good += ratio * (value > 0.0)
        model, interest = self._by_model()
        left = 1.0 / (1.0 + odds)
        self._explained = (odds - good) * left > _EXPLAINED
        believed, rest = self._shares(left)
        return believed * worth + rest * model, believed * good + rest * interest

    def _shares(self, left: Any) -> tuple[Any, Any]:
        """What young classes' ratios are multiplied with, and what they leave, where they would leave `left`."""
        share = trust(self._tested)
        return share * left, 1.0 - share + share * left

    def by_ranking(self) -> FloatArray | None:
        """Return the static scores (n,), -inf where `judged` found objects explained, if this is the ranking's turn."""
        if not is_rankings_turn(self.is_worth(each) for each in self.said.values()):
            return None
        return np.where(self._explained, -np.inf, self.scene.score)

    def probabilities(self, row: int, called: Callable[[int], str] = str) -> dict[tuple[str, str], float]:
        """What an object may be: probability by what is said and name; ("unknown", "") is none of them.

        What nobody named is called by its first member, whose row `called` puts into words.
        """
        ratio, left = self._ratios(row)
        believed, rest = self._shares(left)
        found: dict[tuple[str, str], float] = {}
        for kind, share in zip(self.kinds, ratio, strict=True):
            key = (kind.said, kind.name or called(kind.members[0]))
            found[key] = found.get(key, 0.0) + believed * share
        unknown = float(expit(self.scene.tendency.log_odds(self._weights, row)))
        for name, share in zip(self.scene.classes, self.scene.proba[row], strict=True):
            key = ("class", name)
            found[key] = found.get(key, 0.0) + rest * (1.0 - unknown) * float(share)
        found["unknown", ""] = rest * unknown
        return found

    def _ratios(self, row: int) -> tuple[list[float], float]:
        """Of an object: each young class's ratio to what all objects are like, and the share that they leave, if believed."""
        looked = sum(len(kind.members) for kind in self.kinds)
        ratio = [
            exp(min(max(kind.log_ratio[row] + log(len(kind.members) / (looked + 1.0)), -_LARGEST), _LARGEST))
            for kind in self.kinds
        ]
        return ratio, 1.0 / (1.0 + sum(ratio))


def is_rankings_turn(found: Iterable[bool]) -> bool:
    """Whether the next look is the static ranking's, after looks that found something or not."""
    vain = 0
    for one in found:
        vain = 0 if one or vain >= IN_VAIN else vain + 1
    return vain >= IN_VAIN

"""From what was said to what comes next: probabilities of the young classes beside those of the model, and expected values.

Every kind, artefact and class that a person names is a young class ``j`` with ``n_j`` members among ``N`` objects looked at.
Against the density ``f`` of all objects at the same place, with each object's own noise,

    rho_j = n_j / (N + 1)  P(d | young class j) / f(d) ,      P(j | d) = rho_j / (1 + sum rho) ,      rest = 1 / (1 + sum rho)

What young classes leave is shared as the model has it: known classes, and the unknown, with a learned tendency ``u(d)``
(`badac.triage.tendency`), whose prior is the static ranking. So

    value(d) = sum_j P(j | d) value_j  +  rest [ (1 - u) sum_k P(k | d, model) value_k  +  u value_unknown ] .

With nothing said the order is that of the static ranking. A statement changes one young class: one pass over all objects.

What is learned may lead nowhere. After `IN_VAIN` looks in a row that found nothing, one look is the static ranking's: its first
object that no worthless kind explains. So a session cannot fall far behind the ranking it began with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from badac.triage.positions import Positions
from badac.triage.statement import Statement
from badac.triage.tendency import Tendency
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
        # By members: a statement that is taken back, or a replay, finds what was worked out before.
        self._kept: dict[tuple[int, ...], tuple[YoungClass, FloatArray]] = {}

    def again(self, statements: Mapping[int, Statement], values: Mapping[str, float]) -> None:
        """Learn all of these statements, by row and in this order, in place of what was learned."""
        self.values = {**DEFAULT_VALUES, **values}
        self.said, self.kinds = {}, []
        for row, statement in statements.items():
            self._take(row, statement)
        self._weights = self._learned_weights()

    # -- learning ----------------------------------------------------------------------------------------------------

    def learn(self, row: int, statement: Statement) -> None:
        """Take in what was said of an object that nothing was said of before."""
        self._take(row, statement)
        self._weights = self._learned_weights()

    def _take(self, row: int, statement: Statement) -> None:
        self.said[row] = statement
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
        """What an object is worth: by its name, else by what was said."""
        return self.values.get(name, self.values[said]) if name else self.values[said]

    def is_worth(self, statement: Statement) -> bool:
        """Whether an object that this was said of is worth anything."""
        return statement.said != "unsure" and self._value(statement.said, statement.name) > 0.0

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
        unknown = expit(scene.tendency.log_odds(self._weights))
        by_class = np.array([self._value("class", name) for name in scene.classes])
        known = scene.proba @ by_class
        model = (1.0 - unknown) * known + unknown * self.values["unknown"]
        interest = (1.0 - unknown) * (scene.proba @ (by_class > 0.0)) + unknown * (
            self.values["unknown"] > 0.0
        )
        rest = 1.0 / (1.0 + odds)
        self._explained = (odds - good) * rest > _EXPLAINED
        return (worth + model) * rest, (good + interest) * rest

    def by_ranking(self) -> FloatArray | None:
        """Return the static scores (n,), -inf where `judged` found objects explained, if this is the ranking's turn."""
        if not is_rankings_turn(self.is_worth(each) for each in self.said.values()):
            return None
        return np.where(self._explained, -np.inf, self.scene.score)

    def probabilities(self, row: int) -> dict[tuple[str, str], float]:
        """What an object may be: probability by what is said and name; ("unknown", "") is none of them."""
        looked = sum(len(kind.members) for kind in self.kinds)
        ratio = {
            (kind.said, kind.name or f"{number + 1}"): float(
                np.exp(
                    np.clip(
                        kind.log_ratio[row] + np.log(len(kind.members) / (looked + 1.0)), -_LARGEST, _LARGEST
                    )
                )
            )
            for number, kind in enumerate(self.kinds)
        }
        rest = 1.0 / (1.0 + sum(ratio.values()))
        found = {key: value * rest for key, value in ratio.items()}
        unknown = float(expit(self.scene.tendency.log_odds(self._weights, row)))
        for name, share in zip(self.scene.classes, self.scene.proba[row], strict=True):
            key = ("class", name)
            found[key] = found.get(key, 0.0) + rest * (1.0 - unknown) * float(share)
        found["unknown", ""] = rest * unknown
        return found


def is_rankings_turn(found: Iterable[bool]) -> bool:
    """Whether the next look is the static ranking's, after looks that found something or not."""
    vain = 0
    for one in found:
        vain = 0 if one or vain >= IN_VAIN else vain + 1
    return vain >= IN_VAIN

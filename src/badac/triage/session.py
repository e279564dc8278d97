"""A session of looking: what comes next, what is said of it, and what is learned from that.

    session = Session(model, new, "looks.jsonl", ids=names)
    row = session.next()[0]
    session.say(row, "new", "ring")          # everything like it joins the top
    session.say(session.next()[0], "artefact", "trail")          # everything like it leaves

What is said is on the disk before `say` returns (`badac.triage.journal`); `Session.open` goes on where it ended. Learning is a
pure function of the statements (`badac.triage.learning`), so a replay gives the same state.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.estimators import BADACClassifier
from badac.triage.figures import NEXT, Figures
from badac.triage.journal import Journal
from badac.triage.learning import Learned, Scene
from badac.triage.positions import Positions, space
from badac.triage.statement import NAMED, SAID, Statement, checked_number, standing, values_set
from badac.triage.young_class import ALIKE, log_background, log_normal
from badac.verdicts import Verdicts

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TriageOptions:
    """What may be chosen about a session; the defaults are right for most.

    Attributes
    ----------
    values : mapping
        What an object is worth, by what is said of it ("artefact"), or by the name of a class, kind or artefact.
    teach : float in [0, 1)
        Share of looks at the objects that teach most, those whose interest is least certain, in place of the best.
    who : str
        Who looks; the user of the machine by default.
    source : str
        The file that the objects are from, for whoever reads the session.
    verdicts : Verdicts, optional
        Of the objects, in their order, if they were judged already.

    Examples
    --------
    >>> from badac.triage import TriageOptions
    >>> TriageOptions(values={"spike": -1.0}, teach=0.2, who="Ada").teach
    0.2
    """

    values: Mapping[str, float] = field(default_factory=dict)
    teach: float = 0.0
    who: str = ""
    source: str = ""
    verdicts: Verdicts | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.teach < 1.0:
            raise ValueError(f"`teach` is a share of the looks, from 0 to below 1: got {self.teach!r}.")
        for name, value in self.values.items():
            checked_number(f"the value of {name!r}", value)


class Session:
    """Objects to look at, the most promising first, learning from what is said of them.

    Parameters
    ----------
    model : BADACClassifier
        Fitted.
    objects : Measurements or whatever `model.judge` takes
        (n, m)
    path : path, optional
        File of the session (JSON lines), only ever added to; a session there already is refused (`Session.open` goes on with
        it). Without a path nothing is kept.
    ids : (n,), optional
        Names of the objects; their rows by default.
    options : TriageOptions

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.triage import Session
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 20)
    >>> def noisy(curve, n):
    ...     return curve * rng.normal(1, 0.1, (n, 1)) + 0.2 * rng.standard_normal((n, 20))
    >>> model = BADACClassifier(random_state=0).fit(Measurements(noisy(x, 60), 0.2, at=x), np.zeros(60))
    >>> new = Measurements(np.vstack([noisy(x, 50), noisy(np.sin(9 * x), 5)]), 0.2, at=x)
    >>> session = Session(model, new)
    >>> session.say(session.next()[0], "new", "wave")
    >>> bool(session.next()[0] >= 50)        # another of its kind
    True
    >>> session.figures().found
    1
    """

    _taken: int = 0
    _training: Positions | None = None

    def __init__(
        self,
        model: BADACClassifier,
        objects: Any,
        path: str | os.PathLike[str] | None = None,
        ids: Sequence[Any] | None = None,
        *,
        options: TriageOptions = TriageOptions(),  # noqa: B008
    ) -> None:
        if path is not None and os.path.exists(path) and os.path.getsize(path):
            raise ValueError(
                f"{path} holds a session already: Session.open({str(path)!r}, model, objects) goes on with it. Give another "
                "path to begin a new one."
            )
        self._start(model, objects, path, ids, options)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        model: BADACClassifier,
        objects: Any,
        ids: Sequence[Any] | None = None,
        *,
        options: TriageOptions = TriageOptions(),  # noqa: B008
        other_model: bool = False,
    ) -> Self:
        """Go on with the session in a file.

        Parameters
        ----------
        path, model, objects, ids, options
            As above.
        other_model : bool
            Whether a session of another model may be gone on with: what was said is replayed for the objects of the same
            names. Refused otherwise.
        """
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"there is no session {path}: Session(model, objects, {str(path)!r}) begins one."
            )
        made = cls.__new__(cls)
        made._start(model, objects, path, ids, options, other_model=other_model)
        return made

    def _start(
        self,
        model: BADACClassifier,
        objects: Any,
        path: str | os.PathLike[str] | None,
        ids: Sequence[Any] | None,
        options: TriageOptions,
        other_model: bool = False,
    ) -> None:
        judged = model.judge(objects)
        # In the units of the data, as they were given.
        self.objects: Measurements = objects if isinstance(objects, Measurements) else judged.objects
        self.model: BADACClassifier = model
        self.options: TriageOptions = options
        self.ids: list[str] = _checked_ids(ids, len(self.objects))
        self._row = {name: row for row, name in enumerate(self.ids)}
        journal = Journal.at(path)
        fitted = judged.model
        self.model_identity: str = fitted.identity
        models = {head["model"] for head in journal.heads}
        if models and self.model_identity not in models and not other_model:
            raise ValueError(
                f"{path} is the session of another model ({journal.heads[-1]['model'][:8]}; this one is "
                f"{self.model_identity[:8]}). Give that model, or replay what was said for the objects of the same names: "
                "Session.open(..., other_model=True), on the command line --other-model."
            )
        said_of = {each.object for each in journal.statements if each.said}
        if said_of and not said_of & set(self.ids):
            raise ValueError(
                f"{path} is about other objects: none of the {len(said_of)} it names (such as {sorted(said_of)[0]!r}) is among "
                f"the {len(self.ids)} of this table (such as {self.ids[0]!r}). Give the table that the session was about."
            )
        self.verdicts: Verdicts = judged.verdicts() if options.verdicts is None else options.verdicts
        if len(self.verdicts) != len(self.objects):
            raise ValueError(
                f"the verdicts are of {len(self.verdicts)} objects, the table has {len(self.objects)}: give those of this "
                "table, or none."
            )
        score = np.asarray(self.verdicts.score, dtype=np.float64)
        self._space = space(fitted, judged.objects, score)
        place = self._space.locate(judged.objects)
        self._learned = Learned(
            Scene(
                place,
                log_background(place),
                np.asarray(self.verdicts.proba, dtype=np.float64),
                score,
                tuple(str(name) for name in model.classes_.tolist()),
            ),
            options.values,
        )
        self._journal = journal
        journal.name_model(self.model_identity, objects=len(self.objects), source=options.source)
        self._replay()

    # -- what comes next ---------------------------------------------------------------------------------------------

    def next(self, n: int = 1) -> IntArray:
        """Return the rows of the n objects to look at next, most promising first; fewer where no more are left."""
        self.refresh()
        value = np.where(self._looked, -np.inf, self._value)
        n = min(int(n), int((~self._looked).sum()))
        if n <= 0:
            return np.empty(0, dtype=np.int64)
        if n < len(value) // 4:
            few = np.argpartition(-value, n - 1)[:n]
            # All that tie with the last one, so that ties keep the order of the table.
            few = np.flatnonzero(value >= value[few].min())
        else:
            few = np.arange(len(value))
        rows = few[np.argsort(-value[few], kind="stable")[:n]].astype(np.int64)
        first = self._first()
        if first is None:
            return rows
        return np.concatenate([[first], rows[rows != first]])[:n].astype(np.int64)

    def _first(self) -> int | None:
        """Row of an object that comes before that of highest value: it teaches most, or it is the static ranking's turn."""
        if self._teaches_now():
            return int(np.where(self._looked, -1.0, self._interest * (1.0 - self._interest)).argmax())
        ranked = self._learned.by_ranking()
        if ranked is None:
            return None
        ranked[self._looked] = -np.inf
        first = int(ranked.argmax())
        return first if np.isfinite(ranked[first]) else None

    def _teaches_now(self) -> bool:
        """Whether this look is one of the share that teaches."""
        looked, teach = len(self._learned.said), self.options.teach
        return int((looked + 1) * teach) > int(looked * teach)

    @property
    def value(self) -> FloatArray:
        """(n,): expected value of every object, as known by now."""
        return self._value

    @property
    def interest(self) -> FloatArray:
        """(n,): probability that an object is worth anything, as known by now."""
        return self._interest

    def probabilities(self, row: int) -> dict[tuple[str, str], float]:
        """Return what an object may be, known classes and what was said of others, with probabilities that sum to one."""
        return self._learned.probabilities(self._checked_row(row))

    def most_alike(self, row: int, n: int = 3) -> IntArray:
        """Return rows of the n training objects that an object is most alike, noise considered; none without any kept."""
        fitted = self.model.fitted_
        if not len(fitted.training):
            return np.empty(0, dtype=np.int64)
        if self._training is None:
            self._training = self._space.locate(fitted.in_units(fitted.training))
        one, known = self._learned.scene.positions, self._training
        variance = ALIKE + known.variance + one.variance[row]
        match = log_normal(known.place, one.place[row], variance)
        return np.argsort(-match, kind="stable")[:n].astype(np.int64)

    # -- what is said ------------------------------------------------------------------------------------------------

    def say(self, row: int, what: str, name: str | None = None, *, who: str | None = None) -> None:
        """Say what an object is.

        Parameters
        ----------
        row : int
        what : {"interesting", "dull", "artefact", "class", "new", "unsure"}
        name : str, optional
            Of the known class (needed), of the new kind or of the artefact.
        who : str, optional
            Who says so, where it is not the session's own person.
        """
        row = self._checked_row(row)
        if what not in SAID:
            raise ValueError(f"what is said must be one of {', '.join(SAID)}: got {what!r}.")
        name = "" if name is None else str(name).strip()
        if what in NAMED and not name:
            raise ValueError(
                f'a known class needs its name: say(row, "class", {self._learned.scene.classes[0]!r}).'
            )
        if what == "class" and name not in self._learned.scene.classes:
            raise ValueError(
                f"there is no class {name!r}: the model knows {', '.join(self._learned.scene.classes)}. A new kind is "
                f'say(row, "new", {name!r}).'
            )
        self.refresh()
        value = float(self._value[row])
        rank = 1 + int(((self._value > value) & ~self._looked).sum())
        self._journal.add(
            Statement.now(
                who or self.who,
                object=self.ids[row],
                said=what,
                name=name,
                model=self.model_identity,
                rank=rank,
                score=round(value, 6),
            )
        )
        self._catch_up()

    def undo(self, who: str | None = None) -> int | None:
        """Take back what was said last (by `who`, if given), as one more line; return the row, None if there is nothing."""
        self.refresh()
        undone = {each.undo for each in self._journal.statements}
        for each in reversed(self._journal.statements):
            if each.undo or each.id in undone or (who is not None and each.who != who):
                continue
            self._journal.add(Statement.now(who or self.who, undo=each.id))
            self._catch_up()
            return self._row.get(each.object)
        return None

    def set_value(self, name: str, value: float) -> None:
        """Set what objects are worth from here on: of a class, kind or artefact, or of all that is called "artefact", say."""
        value = checked_number(f"the value of {name!r}", value)
        self._journal.add(Statement.now(self.who, name=str(name), value=value))
        self._replay()

    @property
    def who(self) -> str:
        """Who looks."""
        if self.options.who:
            return self.options.who
        try:
            return getpass.getuser()
        except (OSError, KeyError, ImportError):
            return "somebody"

    # -- what was said -----------------------------------------------------------------------------------------------

    @property
    def path(self) -> Any:
        """The file of the session, None if there is none."""
        return self._journal.path

    @property
    def notes(self) -> list[str]:
        """What was found wrong with the file and set right."""
        return self._journal.notes

    @property
    def statements(self) -> list[Statement]:
        """Everything that was said, in order, what was taken back included."""
        return list(self._journal.statements)

    @property
    def said(self) -> dict[int, Statement]:
        """What holds of each object looked at, by row, in order."""
        return dict(self._learned.said)

    @property
    def kinds(self) -> dict[str, tuple[int, ...]]:
        """Rows of the new kinds that were named, by name."""
        found: dict[str, tuple[int, ...]] = {}
        for kind in self._learned.kinds:
            if kind.said == "new":
                found[kind.name] = found.get(kind.name, ()) + kind.members
        return found

    def figures(self) -> Figures:
        """Return where the session stands."""
        self.refresh()
        said = self._learned.said
        worth = [self._learned.is_worth(each) for each in said.values()]
        names: dict[str, int] = {}
        for each in said.values():
            key = f"{each.said}: {each.name}" if each.name else each.said
            names[key] = names.get(key, 0) + 1
        left = np.sort(self._interest[~self._looked])[::-1]
        return Figures(
            looked=len(said),
            found=sum(worth),
            expected_next=float(left[:NEXT].sum()),
            discoveries=tuple(np.cumsum(worth, dtype=np.int64).tolist()),
            by_name=names,
            left=int((~self._looked).sum()),
            elsewhere=self._elsewhere,
        )

    def widget(self) -> Any:
        """Return the page as a widget of a notebook (needs the package anywidget)."""
        from badac.triage.view import Desk
        from badac.triage.widget import make_widget

        return make_widget(Desk.of(self))

    # -- learning ----------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Take in what others wrote into the same file meanwhile; whether there was anything."""
        if not self._journal.refresh():
            return False
        self._catch_up()
        return True

    def _catch_up(self) -> None:
        """Learn what was added to the file: one statement as it is, anything else as a replay."""
        new = self._journal.statements[self._taken :]
        simple = len(new) == 1 and new[0].said and self._row.get(new[0].object) not in self._learned.said
        if simple and new[0].object in self._row:
            self._learned.learn(self._row[new[0].object], new[0])
            self._taken = len(self._journal.statements)
            self._judge()
        elif new:
            self._replay()

    def _replay(self) -> None:
        statements = self._journal.statements
        holds = standing(statements)
        values = {**self.options.values, **values_set(statements)}
        here = {self._row[each.object]: each for each in holds if each.object in self._row}
        self._learned.again(here, values)
        self._taken, self._elsewhere = len(statements), len(holds) - len(here)
        self._judge()

    def _judge(self) -> None:
        self._value, self._interest = self._learned.judged()
        self._looked = np.zeros(len(self.ids), dtype=np.bool_)
        self._looked[list(self._learned.said)] = True

    def _checked_row(self, row: int) -> int:
        if not isinstance(row, int | np.integer) or not 0 <= row < len(self.ids):
            raise ValueError(f"`row` must be a row of the table, from 0 to {len(self.ids) - 1}: got {row!r}.")
        return int(row)

    def __repr__(self) -> str:
        found = self.figures()
        where = "in memory" if self.path is None else str(self.path)
        return f"Session({len(self.ids)} objects, {found.looked} looked at, {found.found} found, {where})"


def _checked_ids(ids: Sequence[Any] | None, n: int) -> list[str]:
    names = [str(row) for row in range(n)] if ids is None else [str(name) for name in ids]
    if len(names) != n:
        raise ValueError(f"`ids` must name each of the {n} objects: got {len(names)} names.")
    if len(set(names)) < n:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(
            f"`ids` must be different: {twice!r} is there twice. A session knows its objects by name."
        )
    return names

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
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.estimators import BADACClassifier
from badac.threads import one_thread_in_blas
from badac.triage.belonging import checked_ids, refuse_other_session
from badac.triage.figures import Figures
from badac.triage.journal import Journal
from badac.triage.learning import Learned, Scene
from badac.triage.options import TriageOptions
from badac.triage.positions import Positions, space
from badac.triage.queue import highest
from badac.triage.statement import NAMED, SAID, Statement, checked_number, standing, values_set
from badac.triage.young_class import ALIKE, log_background, log_normal
from badac.verdicts import Verdicts

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


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
        options: TriageOptions = TriageOptions(),
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
        options: TriageOptions = TriageOptions(),
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

    @one_thread_in_blas()
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
        self.ids: list[str] = checked_ids(ids, len(self.objects))
        self._row = {name: row for row, name in enumerate(self.ids)}
        journal = Journal.at(path)
        fitted = judged.model
        self.model_identity: str = fitted.identity
        refuse_other_session(journal, self.model_identity, self.ids, other_model=other_model)
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
        rows = highest(np.where(self._looked, -np.inf, self._value), min(int(n), int((~self._looked).sum())))
        first = self._first() if len(rows) else None
        if first is None:
            return rows
        return np.concatenate([[first], rows[rows != first]])[: len(rows)].astype(np.int64)

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
        """Return what an object may be, known classes and what was said of others, with probabilities that sum to one.

        What nobody named is called by its first object: ("interesting", "like star-17").
        """
        return self._learned.probabilities(self._checked_row(row), lambda first: f"like {self.ids[first]}")

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

    @one_thread_in_blas()
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
        return Figures.of(self._learned, self._interest, self._looked, elsewhere=self._elsewhere)

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

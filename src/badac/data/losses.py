"""What was left out on the way in, and why: nothing is lost without a line here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_EXAMPLES = 5


def counted(count: int, what: str) -> str:
    """Say how many things there are, or have something, in grammar.

    >>> counted(1, "rows have"), counted(2, "objects have"), counted(1, "cells")
    ('1 row has', '2 objects have', '1 cell')
    """
    if count != 1:
        return f"{count} {what}"
    return (
        f"1 {what.removesuffix('s have')} has" if what.endswith("s have") else f"1 {what.removesuffix('s')}"
    )


@dataclass(frozen=True)
class Loss:
    """So many rows, objects or columns were left out for a reason.

    Examples
    --------
    >>> from badac.data import Loss, Losses
    >>> print(Losses((Loss("rows", 2, "negative error", ("object 3",)),)))
    2 rows left out: negative error (object 3)
    """

    what: str
    count: int
    reason: str
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = self.what if self.count != 1 else self.what.removesuffix("s")
        shown = ", ".join(self.examples[:_EXAMPLES])
        more = ", ..." if len(self.examples) > _EXAMPLES else ""
        return f"{self.count} {what} left out: {self.reason}{f' ({shown}{more})' if shown else ''}"


@dataclass(frozen=True)
class Losses:
    """What was left out, and what was kept but deserves a word (`notes`).

    Examples
    --------
    >>> from badac.data import Losses
    >>> print(Losses().and_note("times are taken as modified Julian days"))
    times are taken as modified Julian days
    """

    left_out: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.left_out)

    @property
    def of_cells(self) -> bool:
        """Whether single cells may have been lost or changed, beside whole columns."""
        return bool(self.notes) or any(one.what != "columns" for one in self.left_out)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.left_out), *self.notes]) or "nothing left out"

    def and_also(self, what: str, count: int, reason: str, examples: Iterable[object] = ()) -> Losses:
        """Return the report with one more loss; a count of 0 adds nothing."""
        if not count:
            return self
        names = tuple(str(example) for _, example in zip(range(_EXAMPLES + 1), examples, strict=False))
        return Losses((*self.left_out, Loss(what, int(count), reason, names)), self.notes)

    def merged(self, other: Losses) -> Losses:
        """Return both reports as one."""
        return Losses((*self.left_out, *other.left_out), (*self.notes, *other.notes))

    def and_note(self, note: str) -> Losses:
        """Return the report with one more note."""
        return Losses(self.left_out, (*self.notes, note))


def some(names: Sequence[str], most: int = 12) -> str:
    """Return names separated by commas; of many, the first and how many there are.

    >>> some(["a", "b", "c"], most=2)
    'a, b, ... (3 in all)'
    """
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more

"""What a person says of an object, as one line of a session's file.

    {"id": "9f3c...", "object": "star-17", "said": "new", "name": "ring", "who": "ana", "when": "2026-05-04T12:00:00+00:00",
     "model": "6b1e...", "rank": 1, "score": 0.93}
    {"id": "02aa...", "undo": "9f3c...", "who": "ana", "when": ...}
    {"id": "77d0...", "value": 0.5, "name": "ring", "who": "ana", "when": ...}

A line is never changed: taking back is one more line, and so is another opinion.
"""

from __future__ import annotations

import json
import numbers
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

SAID = ("interesting", "dull", "artefact", "class", "new", "unsure")
"""What may be said: of interest; of none; an instrument's doing; of a known class; of a new kind; cannot tell."""

NAMED = ("class",)
"""What needs a name."""

LARGEST_VALUE = 1e100
"""Of a value: sums and products of such are finite."""


@dataclass(frozen=True)
class Statement:
    """One thing that a person said.

    Attributes
    ----------
    id : str
        Of the line.
    who, when : str
        The person, and the time (ISO 8601, UTC).
    object : str
        Name of the object; empty where it is not about one.
    said : str
        One of `SAID`; empty for a line that takes back, or sets a value.
    name : str
        Of the class, new kind or artefact.
    undo : str
        Id of the line that is taken back.
    value : float or None
        What an object of that name is worth, from here on.
    model : str
        Identity of the model that showed the object.
    rank, score : int or None, float or None
        Place in the queue and expected value that were shown.

    Examples
    --------
    >>> from badac.triage import Statement
    >>> said = Statement("1", "Ada", "2026-01-31T23:59:59", object="star 7", said="new", name="flash")
    >>> import json
    >>> Statement.of(json.loads(said.line())) == said
    True
    """

    id: str
    who: str
    when: str
    object: str = ""
    said: str = ""
    name: str = ""
    undo: str = ""
    value: float | None = None
    model: str = ""
    rank: int | None = None
    score: float | None = None

    @classmethod
    def now(cls, who: str, **said: Any) -> Statement:
        """Return a statement made now, with an id of its own."""
        return cls(secrets.token_hex(8), who, datetime.now(UTC).isoformat(timespec="milliseconds"), **said)

    def line(self) -> str:
        """Return the line of the file; what was not said is left out."""
        kept = {name: value for name, value in asdict(self).items() if value not in ("", None)}
        return json.dumps(kept, ensure_ascii=False, allow_nan=False)

    @classmethod
    def of(cls, found: dict[str, Any]) -> Statement:
        """Return the statement of a parsed line; what a later version added is left alone."""
        known = {name: found[name] for name in cls.__dataclass_fields__ if name in found}
        for name in ("id", "who", "when"):
            if name not in known:
                raise ValueError(f"a line lacks {name!r}")
        for name in known.keys() - {"value", "rank", "score"}:
            if not isinstance(known[name], str):
                raise ValueError(f"{name!r} is not a text: {known[name]!r}")
            known[name].encode()  # half a pair of UTF-16 cannot be written again
        for name in known.keys() & {"value", "rank", "score"}:
            if known[name] is not None:
                checked_number(f"{name!r}", known[name])
        if known.get("said", "") not in ("", *SAID):
            raise ValueError(f"{known['said']!r} is not one of {', '.join(SAID)}")
        if known.get("said", "") in NAMED and not known.get("name"):
            raise ValueError(f"{known['said']!r} needs a name")
        return cls(**known)


def checked_number(what: str, value: Any) -> float:
    """Return a value as a number, or say that it is none."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Real)
        or not abs(float(value)) <= LARGEST_VALUE
    ):
        raise ValueError(
            f"{what} must be a finite number, at most {LARGEST_VALUE:g} in size: got {str(value)[:40]!r}."
        )
    return float(value)


def standing(statements: list[Statement]) -> list[Statement]:
    """Return what holds: without what was taken back, and of each object the last that was said."""
    undone = {each.undo for each in statements if each.undo}
    latest: dict[str, Statement] = {}
    for each in statements:
        if each.said and each.id not in undone:
            # A later opinion takes the later place: what was learned in between was learned without it.
            latest.pop(each.object, None)
            latest[each.object] = each
    return list(latest.values())


def values_set(statements: list[Statement]) -> dict[str, float]:
    """Return the values that were set and not taken back, by name."""
    undone = {each.undo for each in statements if each.undo}
    return {each.name: each.value for each in statements if each.value is not None and each.id not in undone}

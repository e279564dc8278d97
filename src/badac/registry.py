"""One table of what badac is made of: who writes a class into it is known everywhere.

    @registered("class_model", "population")
    @dataclass(frozen=True, eq=False)
    class Population: ...

From this line come the word that the estimator and the command line take (``class_model="population"``), the leave to be stored
in a model file, and the place in the laws that the tests run over everything registered. A class of your own is registered in
the same way, and is then as good as one of badac's.

A class without a name has no word: the estimator takes it as an instance. What a model file holds of a class is what its
constructor takes, the fields of the dataclass; what follows from those is no field but a cached property. Whoever adds,
drops or renames a field raises `version`, and says in `badac.store.migrations` how files of the version before are read.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Entry", "entries", "registered"]

KINDS = {
    "class_model": "what a class is",
    "noise": "how measurements scatter",
    "anomaly": "what an anomaly is",
    "hypothesis": "one way of being an anomaly",
    "nuisance": "what is unknown of each new object",
    "estimator": "what is fitted, saved and loaded",
    "part": "what the others are made of",
}
Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Entry:
    """One registered class.

    Attributes
    ----------
    cls : type
    kind : str
        One of `KINDS`.
    name : str or None
        The word for it in the parameters of the estimator and of the command line.
    version : int
        Of its schema: of what a model file holds of it.
    holds : mapping
        What must hold of its fields when it is loaded, in the words of `badac.store.invariants`.

    Examples
    --------
    >>> from badac.registry import entries
    >>> [entry.name for entry in entries("anomaly") if entry.name == "tophat"]
    ['tophat']
    """

    cls: type
    kind: str
    name: str | None = None
    version: int = 1
    holds: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def part(self) -> str:
        """Its name in model files."""
        return self.cls.__name__

    @property
    def ours(self) -> bool:
        """Whether it is a part of badac, not a class of a user's own."""
        return self.cls.__module__.partition(".")[0] == __name__.partition(".")[0]

    @property
    def fields(self) -> tuple[str, ...]:
        """What a model file holds of it: what its constructor takes; of an estimator also what `fit` learned.

        What `fit` learned is declared by the annotations of an estimator that end with an underscore.
        """
        if dataclasses.is_dataclass(self.cls):
            return tuple(one.name for one in dataclasses.fields(self.cls))
        if self.kind != "estimator":
            raise TypeError(
                f"{_path(self.cls)} is not a dataclass, so that nothing says what to store of it."
            )
        return (*self.parameters, *self.learned)

    @property
    def parameters(self) -> tuple[str, ...]:
        """What its constructor takes."""
        return tuple(inspect.signature(self.cls).parameters)

    @property
    def learned(self) -> tuple[str, ...]:
        """The attributes that an estimator has after `fit`."""
        annotated = [name for base in reversed(self.cls.__mro__) for name in inspect.get_annotations(base)]
        return tuple(
            name for name in dict.fromkeys(annotated) if name.endswith("_") and not name.startswith("_")
        )


_ENTRIES: dict[str, Entry] = {}


def registered(
    kind: str, name: str | None = None, *, version: int = 1, holds: Mapping[str, str] | None = None
) -> Callable[[Class], Class]:
    """Return a decorator that writes a class into the table, under the name of the class itself.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    name : str, optional
        The word that stands for it, made without arguments, in the estimator's parameter of that kind.
    version : int
        Of its schema; raised by one whenever its fields change.
    holds : mapping, optional
        What must hold of its fields in a model file: shapes and signs (`badac.store.invariants`). Numbers must be finite
        without a word.

    Examples
    --------
    >>> from badac.registry import entries
    >>> [entry.cls.__name__ for entry in entries("class_model") if entry.name == "template"]
    ['Template']
    """
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}: got {kind!r}.")

    def register(cls: Class) -> Class:
        entry = Entry(cls, kind, name, version, holds or {})
        _check(entry)
        _ENTRIES[entry.part] = entry
        return cls

    return register


def entries(kind: str | None = None) -> tuple[Entry, ...]:
    """Return what is registered, of one kind or of all, in the order of the classes' names.

    Examples
    --------
    >>> from badac.registry import entries
    >>> "poisson" in {entry.name for entry in entries("noise")}
    True
    """
    return tuple(entry for _, entry in sorted(_ENTRIES.items()) if kind is None or entry.kind == kind)


def named(kind: str) -> dict[str, Entry]:
    """Return what has a word, by its word: "auto" first, where there is one, then in alphabetical order."""
    found = {entry.name: entry for entry in entries(kind) if entry.name is not None}
    return {name: found[name] for name in sorted(found, key=lambda name: (name != "auto", name))}


def part(name: str) -> Entry | None:
    """Return the class that model files call `name`."""
    return _ENTRIES.get(name)


def entry_of(cls: type) -> Entry | None:
    """Return the entry of a class; a class that only inherits from a registered one has none."""
    entry = _ENTRIES.get(cls.__name__)
    return entry if entry is not None and entry.cls is cls else None


def _check(entry: Entry) -> None:
    """Refuse what would not work later, or would hide something that is there already."""
    own = _path(entry.cls)
    # A module that is loaded again, or a notebook's cell that is run again, replaces what it wrote.
    others = [other for other in _ENTRIES.values() if _path(other.cls) != own]
    for other in others:
        if other.part == entry.part:
            raise ValueError(
                f"a class called {entry.part!r} is registered already, {_path(other.cls)}, and model files know classes by "
                f"their names: rename {own}."
            )
        if entry.name is not None and (other.kind, other.name) == (entry.kind, entry.name):
            raise ValueError(
                f"{entry.kind}={entry.name!r} is registered already, for {_path(other.cls)}: give {own} another name."
            )
    if not dataclasses.is_dataclass(entry.cls):
        return
    fields = dataclasses.fields(entry.cls)
    derived = [one.name for one in fields if not one.init]
    if derived:
        raise TypeError(
            f"`{derived[0]}` of {own} is a field that its constructor does not take, which a model file would lose: make it a "
            "cached property."
        )
    needed = [
        one.name
        for one in fields
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    if entry.name is not None and needed:
        raise TypeError(
            f"{entry.kind}={entry.name!r} would stand for {entry.part}(), but that needs {', '.join(needed)}: give it a "
            "default, or register the class without a name and pass an instance."
        )


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"

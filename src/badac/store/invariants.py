"""What must hold of a part before it is used: one rule, that every part fills in where it is registered.

    @registered("part", holds={"mean": "(m,)", "factors": "(m, r)", "psi": "(m,) >= 0"})

A checksum finds what a disk or a network damaged; it says nothing about a file that was changed and sealed again, or written
by a program with a fault. So every part is looked at when it is loaded:

- each field is of the type that its class annotates: the kind of number, the class of an inner part, None only where it may be;
- every number is finite, but where `holds` says that it may be NaN, infinite, or minus infinite (a log of zero);
- what `holds` says: shapes, in which the same letter is the same length, and one condition.

Conditions: ``> 0``, ``>= 0``, ``<= 1`` (a share), ``< n`` (an index: 0 <= value < n, a length of a shape; or a number, for
counts that memory is taken by), ``sorted``, ``covariance`` (symmetric, no negative eigenvalue, a positive diagonal), ``may be
nan``, ``may be inf``, ``may be -inf``, ``any``; several are joined by commas. A name with dots is a field of a field
(``density.rank``), and a letter alone says that it is that length; what is None on the way there is not looked at. A part
with a method ``broken`` says what no such rule can.
"""

from __future__ import annotations

import collections.abc
import functools
import math
import re
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac import registry

_SHAPE = re.compile(r"^\(([^)]*)\)")
_ROUNDING = 1e-8  # of the largest eigenvalue: what decompositions of covariances leave


class Broken(ValueError):
    """A part that no fit could have made."""


def check(part: Any, entry: registry.Entry) -> None:
    """Raise `Broken` unless a part that was loaded is one that could have been saved."""
    lengths: dict[str, int] = {}
    typed = annotated(entry.cls)
    # An estimator may have been fitted without some of them.
    values = {name: getattr(part, name) for name in entry.fields if hasattr(part, name)}
    for name, value in values.items():
        if name in typed and not matches(value, typed[name]):
            raise Broken(f"{name} is {_told(value)}, where {_type_name(typed[name])} belongs")
    values |= {name: _reached(part, name) for name in entry.holds if "." in name}
    rules = {name: _Rule.of(entry.holds.get(name, "")) for name in values}
    for name, rule in rules.items():
        rule.check_shape(name, values[name], lengths)
    for name, rule in rules.items():
        rule.check_numbers(name, values[name], lengths)
    broken = getattr(part, "broken", None)  # what no rule can say
    if broken is not None and (reason := broken()):
        raise Broken(reason)


def _reached(part: Any, name: str) -> Any:
    for step in name.split("."):
        part = getattr(part, step, None)
        if part is None:
            return None
    return part


@dataclass(frozen=True)
class _Rule:
    """What `holds` says of one field."""

    shape: tuple[str, ...] | None
    length: str
    conditions: tuple[str, ...]

    @classmethod
    @functools.cache
    def of(cls, words: str) -> _Rule:
        found = _SHAPE.match(words)
        if found is not None:
            shape = tuple(word.strip() for word in found.group(1).split(",") if word.strip())
            return cls(shape, "", _conditions(words[found.end() :]))
        if words.isidentifier() and words not in (*_WHOLE, "any"):
            return cls(None, words, ("any",))
        return cls(None, "", _conditions(words))

    def check_shape(self, name: str, value: Any, lengths: dict[str, int]) -> None:
        if value is None:
            return
        if self.length:
            _same_length(name, int(value), self.length, lengths)
        if self.shape is None:
            return
        found = np.shape(value) if isinstance(value, np.ndarray) else (len(value),)
        if len(found) != len(self.shape):
            raise Broken(f"{name} has the shape {found}, where ({', '.join(self.shape)}) belongs")
        for length, letter in zip(found, self.shape, strict=True):
            if letter != "_":
                _same_length(name, length, letter, lengths)

    def check_numbers(self, name: str, value: Any, lengths: dict[str, int]) -> None:
        if "any" in self.conditions:
            return
        for numbers in _numbers(value):
            bad = self._bad(name, numbers, lengths)
            if bad.any():
                where = tuple(int(index) for index in np.argwhere(bad)[0]) if numbers.ndim else ()
                at = f" at {where[0] if len(where) == 1 else where}" if where else ""
                said = f", which must be {' and '.join(self.conditions)}" if self.conditions else ""
                raise Broken(f"{name} holds {numbers[where]}{at}{said}")

    def _bad(self, name: str, numbers: npt.NDArray[Any], lengths: dict[str, int]) -> npt.NDArray[np.bool_]:
        bad = np.zeros(numbers.shape, dtype=bool)
        if numbers.dtype.kind == "f":
            for word, is_it in (
                ("nan", np.isnan(numbers)),
                ("inf", numbers == np.inf),
                ("-inf", numbers == -np.inf),
            ):
                if f"may be {word}" not in self.conditions:
                    bad |= is_it
        for condition in self.conditions:
            if condition in _WHOLE:
                if not bad.any() and not _WHOLE[condition](numbers):
                    raise Broken(f"{name} must be {_WORDS[condition]}")
            elif not condition.startswith("may be"):
                sign, _, limit = condition.partition(" ")
                with np.errstate(invalid="ignore"):
                    bad |= _BEYOND[sign](numbers, float(lengths.get(limit, limit)))
        return bad


def _conditions(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(",") if word.strip())


def _same_length(name: str, length: int, letter: str, lengths: dict[str, int]) -> None:
    expected = int(letter) if letter.isdecimal() else lengths.setdefault(letter, length)
    if length != expected:
        raise Broken(f"{name} has the length {length} where its other fields have {expected}")


def _numbers(value: Any) -> list[npt.NDArray[Any]]:
    """The numbers in a field: an array, a number, or several of them; none in text, parts and dictionaries."""
    if isinstance(value, np.ndarray):
        return [value] if value.dtype.kind in "fiub" else []
    if isinstance(value, bool | str):
        return []
    if isinstance(value, int | float):
        return [np.asarray(value, dtype=np.float64)]
    if isinstance(value, list | tuple):
        return [array for item in value for array in _numbers(item)]
    return []


_BEYOND: dict[str, Callable[[npt.NDArray[Any], float], npt.NDArray[np.bool_]]] = {
    ">": lambda numbers, limit: numbers <= limit,
    ">=": lambda numbers, limit: numbers < limit,
    "<=": lambda numbers, limit: numbers > limit,
    "<": lambda numbers, limit: (numbers < 0) | (numbers >= limit),
}


def _is_covariance(matrices: npt.NDArray[Any]) -> bool:
    if matrices.size == 0:
        return True
    size = np.abs(matrices).max(axis=(-2, -1))
    if np.any(np.abs(matrices - matrices.swapaxes(-1, -2)).max(axis=(-2, -1)) > _ROUNDING * size):
        return False
    least = np.linalg.eigvalsh(matrices).min(axis=-1)
    return bool(np.all(least >= -_ROUNDING * size) and np.all(np.einsum("...ii->...i", matrices) > 0.0))


_WHOLE: dict[str, Callable[[npt.NDArray[Any]], bool]] = {
    "sorted": lambda numbers: bool(np.all(np.diff(numbers) >= 0)),
    "covariance": _is_covariance,
}
_WORDS = {"sorted": "in order", "covariance": "a covariance"}


@functools.cache
def annotated(cls: type) -> dict[str, Any]:
    """Return the types of a class's fields; a name that its module only has for type checkers is left out."""
    out = {}
    for base in reversed(cls.__mro__):
        module = sys.modules.get(base.__module__)
        known = {
            **vars(typing),
            **{entry.part: entry.cls for entry in registry.entries()},
            **vars(module or types),
        }
        for name, written in vars(base).get("__annotations__", {}).items():
            try:
                out[name] = eval(written, known) if isinstance(written, str) else written  # our own source
            except NameError:
                out.pop(name, None)
    return out


def _without_alias(wanted: Any) -> Any:
    """Return what an alias of Python's ``type`` statement stands for: from NumPy 2.5 on ``NDArray[...]`` is one."""
    stands_for = getattr(typing.get_origin(wanted), "__value__", None)
    return wanted if stands_for is None else stands_for[typing.get_args(wanted)]


def matches(value: Any, wanted: Any) -> bool:
    """Whether a value is of an annotated type, as far as files go."""
    wanted = _without_alias(wanted)
    if wanted is Any:
        return True
    if wanted is None or wanted is type(None):
        return value is None
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(matches(value, one) for one in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is typing.ClassVar:
        return True
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _is_kind(value.dtype, typing.get_args(inner[1])[0])
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inner[-1] is Ellipsis:
            return all(matches(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(matches, value, inner))
    if origin in (list, collections.abc.Sequence):
        return isinstance(value, list | tuple) and all(matches(item, inner[0]) for item in value)
    if origin in (dict, collections.abc.Mapping):
        return isinstance(value, dict)
    if origin is collections.abc.Callable:
        return callable(value)
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if getattr(wanted, "_is_protocol", False):
        return registry.entry_of(type(value)) is not None
    return isinstance(value, wanted) if isinstance(wanted, type) else True


def _is_kind(dtype: np.dtype[Any], wanted: Any) -> bool:
    return wanted is Any or dtype.kind == np.dtype(wanted).kind


def _told(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return f"a {type(value).__name__}" if value is not None else "missing"


def _type_name(wanted: Any) -> str:
    return getattr(wanted, "__name__", None) or str(wanted).replace("typing.", "")

"""A model as a tree of parts, and back: what stands between the objects of this version and the bytes of any version.

    objects  -- encode -->  JSON tree and arrays  -- decode, migrate -->  `StoredPart`s  -- build -->  objects

A part is the name of a registered class, the version of its schema and its fields. Between decoding and building nothing but
names and values is known, so that what was written by an older version can be brought up to date part by part.
"""

from __future__ import annotations

import copy
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from badac import registry
from badac.estimators.choices import drawn_seed
from badac.store.invariants import Broken, check

KINDS = "fiubU"
"""Of arrays that can be stored: numbers and strings, which are bytes; objects would need pickle."""


class ModelFileError(ValueError):
    """A file that is not a whole, readable badac model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import badac
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "notes.badac").write_text("no model")
    ...     try:
    ...         badac.load(Path(folder) / "notes.badac")
    ...     except badac.store.ModelFileError:
    ...         print("refused")
    refused
    """


@dataclass(frozen=True)
class StoredPart:
    """A part as a file holds it.

    Attributes
    ----------
    name : str
        Of the class, when it was written.
    version : int
        Of the schema, when it was written; 0 in files of format 1.
    fields : dict
        Values, arrays, and other parts.
    """

    name: str
    version: int
    fields: dict[str, Any]


class Encoder:
    """Turns a model into JSON, its arrays moved to a list and the versions of its parts noted.

    Attributes
    ----------
    arrays : list of arrays
        Contiguous.
    schemas : dict
        Version of each part's schema.
    """

    def __init__(self) -> None:
        self.arrays: list[npt.NDArray[Any]] = []
        self.schemas: dict[str, int] = {}
        self._kept: dict[Any, tuple[int, npt.NDArray[Any]]] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON has it; `where` it stands is for messages."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return {"array": self._keep(value, where)}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.encode(item, where) for item in value]}
        if isinstance(value, dict):
            return {
                "dict": [
                    [self.encode(name, where), self.encode(item, f"{where}.{name}")]
                    for name, item in value.items()
                ]
            }
        if isinstance(value, np.random.Generator | np.random.RandomState):
            # What is drawn later is drawn by the seed that it would give next; it stays as it is.
            return drawn_seed(copy.deepcopy(value))
        entry = registry.entry_of(type(value))
        if entry is not None:
            return self._encode_part(value, entry, where)
        family = getattr(getattr(value, "dist", None), "name", None)
        if family is not None and _is_distribution(getattr(stats, family, None)):
            return {
                "distribution": family,
                "args": self.encode(tuple(value.args), where),
                "kwds": self.encode(value.kwds, where),
            }
        if isinstance(value, types.FunctionType) and value.__name__ != "<lambda>":
            return {"function": _name(value)}
        raise TypeError(
            f"{where} cannot be stored in a model file: got {type(value).__module__}.{type(value).__name__}. Only badac's "
            "own models, classes of yours that are registered (badac.registry.registered), named functions, scipy.stats "
            "distributions, numbers, strings and numeric arrays can."
        )

    def _encode_part(self, value: Any, entry: registry.Entry, where: str) -> dict[str, Any]:
        names = entry.fields
        if entry.kind == "estimator":
            held = [name for name in vars(value) if name.endswith("_") and not name.startswith("_")]
            undeclared = [name for name in held if name not in names]
            if undeclared:
                raise TypeError(
                    f"{where}.{undeclared[0]} cannot be stored in a model file: {entry.part} does not declare it."
                )
            names = tuple(name for name in names if name in entry.parameters or name in held)
        self.schemas[entry.part] = entry.version
        fields = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}
        return {"part": entry.part, "fields": fields}

    def _keep(self, array: npt.NDArray[Any], where: str) -> int:
        """Move an array to the list and return its number; the same memory is stored once."""
        if array.dtype.kind == "O" and all(isinstance(cell, str) for cell in array.ravel().tolist()):
            # scikit-learn keeps names of columns as Python objects.
            array = array.astype(str)
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{where} cannot be stored: an array of {array.dtype} would need pickle.")
        memory = (array.__array_interface__["data"], array.shape, array.strides, array.dtype)
        if memory not in self._kept:
            # As it lies in memory: along rows or along columns, sums differ in the last digit.
            along_columns = array.flags.f_contiguous and not array.flags.c_contiguous
            kept = array if along_columns else np.ascontiguousarray(array).reshape(array.shape)
            self.arrays.append(kept)
            # The array itself is kept too: as long as it lives, nothing else is at its place.
            self._kept[memory] = (len(self.arrays) - 1, array)
        return self._kept[memory][0]


def decode(
    tree: Any,
    arrays: Sequence[npt.NDArray[Any]],
    schemas: Mapping[str, int],
    functions: Sequence[Callable[..., Any]],
    migrate: Callable[[StoredPart], StoredPart],
) -> Any:
    """Undo `Encoder.encode`, but for the parts, which stay `StoredPart`, each brought up to date by `migrate`, the inner first.

    Parameters
    ----------
    tree : JSON
    arrays : sequence of arrays
    schemas : mapping
        Version of each part's schema; 0 where it says nothing.
    functions : sequence of functions
        That the model needs, by their names.
    migrate : function
    """
    known = {_name(function): function for function in functions}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "part" in value:
            fields = {name: read(item) for name, item in value["fields"].items()}
            return migrate(StoredPart(value["part"], schemas.get(value["part"], 0), fields))
        if "float" in value:
            return float(value["float"])
        if "array" in value:
            number = value["array"]
            if type(number) is not int or not 0 <= number < len(arrays):
                raise ModelFileError(f"it has {len(arrays)} arrays, and asks for number {number!r}.")
            return arrays[number]
        if "list" in value:
            return [read(item) for item in value["list"]]
        if "tuple" in value:
            return tuple(read(item) for item in value["tuple"])
        if "dict" in value:
            return {read(name): read(item) for name, item in value["dict"]}
        if "function" in value:
            if value["function"] not in known:
                raise ModelFileError(
                    f"the model needs your function {value['function']!r}, which a file cannot hold. Load it with "
                    f"badac.load(path, functions=[{value['function']}])."
                )
            return known[value["function"]]
        if "distribution" in value:
            family: Any = getattr(stats, value["distribution"], None)
            if not _is_distribution(family):
                raise ModelFileError(f"scipy.stats has no distribution {value['distribution']!r}.")
            return family(*read(value["args"]), **read(value["kwds"]))
        # An estimator of format 1.
        fields = {**read(value["params"]), **read(value["state"])}
        return migrate(StoredPart(value["estimator"], 0, fields))

    return read(tree)


def build(value: Any) -> Any:
    """Make the objects of this version from parts that are up to date."""
    if isinstance(value, list | tuple):
        return type(value)(build(item) for item in value)
    if isinstance(value, dict):
        return {name: build(item) for name, item in value.items()}
    if not isinstance(value, StoredPart):
        return value
    entry = registry.part(value.name)
    if entry is None:
        raise ModelFileError(
            f"its part {value.name!r} is no class that this badac knows. If it is a class of yours, import the module that "
            "registers it first; otherwise load the file with the version that wrote it, or fit the model again."
        )
    _check(value, entry)
    fields = {name: build(item) for name, item in value.fields.items()}
    if entry.kind == "estimator":
        made = entry.cls(**{name: fields.pop(name) for name in entry.parameters})
    else:
        made = object.__new__(entry.cls)
    # As they were: constructors convert and normalise what users give them.
    for name, item in fields.items():
        object.__setattr__(made, name, item)
    try:
        check(made, entry)
    except Broken as reason:
        raise ModelFileError(
            f"its part {value.name} is none that could have been saved: {reason}. The file was changed, or what wrote it "
            "has a fault: copy it again from where it came from, or fit the model again."
        ) from reason
    return made


def _check(found: StoredPart, entry: registry.Entry) -> None:
    """Refuse a part that is not of the schema of today."""
    if found.version > entry.version:
        raise ModelFileError(
            f"its part {found.name} has schema {found.version}, and this badac reads up to {entry.version}. Upgrade badac."
        )
    required = set(entry.parameters if entry.kind == "estimator" else entry.fields)
    if found.version < entry.version or not required <= set(found.fields) <= set(entry.fields):
        raise ModelFileError(
            f"its part {found.name} has schema {found.version} with the fields {', '.join(found.fields)}, and this badac has "
            f"schema {entry.version} with {', '.join(entry.fields)}. Load the file with the version that wrote it, or fit the "
            "model again."
        )


def _is_distribution(family: Any) -> bool:
    return isinstance(family, stats.rv_continuous | stats.rv_discrete)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function)).rpartition("<locals>.")[2]

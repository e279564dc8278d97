"""The identity of a value: a name that two values share if, and only if, they hold the same.

The content alone counts: arrays by type, shape and numbers, dataclasses by their fields. What was worked out and kept beside
the fields (cached properties), the layout in memory and the history of a value make no difference, so a model that was
saved, sent or used has the name that it had before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import joblib
import numpy as np


def identity(value: Any) -> str:
    """Return the name of a value: 32 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.identity import identity
    >>> identity({"a": np.arange(4)[::2]}) == identity({"a": np.array([0, 2])})
    True
    >>> identity(1) == identity(1.0)
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, value)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Add the kind of a value, and then its parts."""
    digest.update(f"{type(value).__module__}.{type(value).__qualname__}:".encode())
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        if value.dtype.hasobject:
            _add(digest, value.tolist())
        else:
            digest.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            digest.update(f"{field.name}=".encode())
            _add(digest, getattr(value, field.name))
    elif isinstance(value, Mapping):
        digest.update(f"{len(value)}".encode())
        for key, item in value.items():
            _add(digest, key)
            _add(digest, item)
    elif isinstance(value, list | tuple):
        digest.update(f"{len(value)}".encode())
        for item in value:
            _add(digest, item)
    elif value is None or isinstance(value, str | bytes | int | float | np.generic):
        digest.update(f"{value!r};".encode())
    else:
        # A function, a distribution, a model of the user's own: as it is pickled.
        digest.update(str(joblib.hash(value)).encode())

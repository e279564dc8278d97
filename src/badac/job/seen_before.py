"""Whether objects were in the training: names kept as hashes, so that a model file tells nobody who was in it.

A model judged on objects that it has learned looks better than it is.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from badac.data.catalogue import name_key
from badac.data.losses import some
from badac.data.rows import is_numbered

HashArray = npt.NDArray[np.uint64]


def hashed_names(names: npt.NDArray[np.generic]) -> HashArray:
    """Return sorted 64-bit hashes of names (n,); none if they are only the numbers of the rows.

    >>> hashed_names(np.arange(3)).size, hashed_names(np.array(["b", "a", "a"])).size
    (0, 2)
    """
    if is_numbered(names):
        return np.empty(0, dtype=np.uint64)
    return np.unique(np.array([_hashed(name) for name in names.tolist()], dtype=np.uint64))


def seen_before(names: npt.NDArray[np.generic], members: HashArray) -> str:
    """Return a sentence if some of the names (n,) are among the members' hashes, else ""."""
    if not members.size or is_numbered(names):
        return ""
    known = set(members.tolist())
    again = [name for name in names.tolist() if _hashed(name) in known]
    if not again:
        return ""
    return (
        f"{len(again):,} of {len(names):,} objects were in the training ({some([str(name) for name in again], 5)}): judged on "
        "what it has learned, a model looks better than it is. Evaluate on other objects, or cross-validate the training table "
        "(badac evaluate TRAIN)."
    )


def _hashed(name: object) -> int:
    return int.from_bytes(hashlib.blake2b(name_key(name).encode(), digest_size=8).digest(), "little")

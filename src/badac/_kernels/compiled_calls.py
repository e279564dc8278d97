"""How every kernel of the core is called: on how many threads, for which instruction set, with arrays as they lie in memory."""

from __future__ import annotations

import os
from typing import TypedDict

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import checked_threads
from badac._kernels.spare_threads import at_least_spare

_ABI = 22  # of `_core`, counted up when a signature there changes

if _core.abi != _ABI:
    raise RuntimeError(
        f"the compiled core is not of this version of badac: it has abi {_core.abi}, and {_ABI} is needed. "
        "Build it again (`make install`), or set BADAC_KERNELS=reference."
    )

whole = np.ascontiguousarray
# Multiply-adds: some tenths of a millisecond. To start and end a thread takes up to one.
_WORTH_A_THREAD = 4e6


class How(TypedDict):
    n_threads: int
    level: str


def how(n_threads: int, work: float = np.inf) -> How:
    """What every kernel of the core takes besides its arrays; threads to spare as far as the multiply-adds are worth them."""
    asked = checked_threads(n_threads)
    return {
        "n_threads": max(asked, int(min(at_least_spare(asked), work / _WORTH_A_THREAD))),
        "level": os.environ.get("BADAC_SIMD", ""),
    }

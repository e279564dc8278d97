"""NumPy's archives, whose arrays say how large they are before memory is taken for them.

A compressed archive of a megabyte may declare arrays of a terabyte, and a damaged header any size at all. So the headers are
read first: an array must be as long as its member of the archive says, and all of them together must fit into the machine.
"""

from __future__ import annotations

import math
import os
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt


def read_arrays(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an NPZ file by their names; pickles are never loaded."""
    _check_sizes(path)
    # allow_pickle stays off: a table needs no code.
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _check_sizes(path: str | os.PathLike[str]) -> None:
    total = 0
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                continue
            if names.count(member.filename) > 1:
                raise ValueError(
                    f"it has more than one array {member.filename.removesuffix('.npy')!r}: rename or drop one"
                )
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(file)
                declared = math.prod(shape) * dtype.itemsize
                if not dtype.hasobject and declared != member.file_size - file.tell():
                    raise ValueError(
                        f"the array {member.filename.removesuffix('.npy')!r} declares {declared:,} bytes, and "
                        f"{member.file_size - file.tell():,} are there"
                    )
            total += declared
    memory = _memory()
    if memory is not None and total > memory:
        raise ValueError(
            f"its arrays have {total / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB of memory"
        )


def _memory() -> int | None:
    """Bytes of memory that the machine has; None where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None

r"""The bytes of a model file.

    magic ``BADAC\0`` | format version, uint32 | length of the header, uint64 | SHA-256 of all that follows | header | arrays

The header is JSON, with the kind of number and the shape of each array; the arrays' raw bytes follow one after the other. Files
are written whole or not at all (`badac.writing.whole_file`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.store.parts import KINDS, ModelFileError
from badac.writing import whole_file

FORMAT_VERSION = 2
_MAGIC = b"BADAC\x00"
_PREFIX = struct.Struct("<6sIQ32s")


def write_file(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Sequence[npt.NDArray[Any]]
) -> None:
    """Write contiguous arrays, and a header of plain JSON values that gets their kinds and shapes."""
    specs = [{"dtype": array.dtype.str, "shape": array.shape} for array in arrays]
    text = json.dumps({**header, "arrays": specs}, allow_nan=False).encode()
    digest = hashlib.sha256(text)
    for array in arrays:
        digest.update(_bytes(array))
    with whole_file(Path(path)) as file:
        file.write(_PREFIX.pack(_MAGIC, FORMAT_VERSION, len(text), digest.digest()))
        file.write(text)
        for array in arrays:
            file.write(_bytes(array))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
    """Return the header and the arrays of a whole file of this format or an older one."""
    data = Path(path).read_bytes()
    if not data.startswith(_MAGIC):
        hint = " It looks like a pickle, which badac never loads." if data[:1] == b"\x80" else ""
        raise ModelFileError(
            f"{path} is not a badac model file.{hint} Write one with badac.save(model, path)."
        )
    if len(data) < _PREFIX.size:
        raise ModelFileError(f"{path} is truncated: it has {len(data)} bytes. Copy or save it again.")
    _, version, length, digest = _PREFIX.unpack_from(data)
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; this badac reads up to {FORMAT_VERSION}. Upgrade badac to load it."
        )
    body = memoryview(data)[_PREFIX.size :]
    if hashlib.sha256(body).digest() != digest:
        raise ModelFileError(
            f"{path} is damaged or truncated: its checksum does not match its {len(data)} bytes. Copy or save it again."
        )
    try:
        header = json.loads(bytes(body[:length]))
        return header, _read_arrays(header["arrays"], body[length:])
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} has no header that badac knows: {error!r}. Save it again.") from error


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def _read_arrays(specs: Sequence[Mapping[str, Any]], payload: memoryview) -> list[npt.NDArray[Any]]:
    arrays, start = [], 0
    for spec in specs:
        dtype = np.dtype(spec["dtype"])
        if dtype.kind not in KINDS:
            raise ModelFileError(
                f"it holds an array of {dtype}, which would need pickle; badac never loads that."
            )
        shape = tuple(int(length) for length in spec["shape"])
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or start + size > len(payload):
            raise ModelFileError("an array ends beyond the end of the file.")
        arrays.append(np.frombuffer(payload[start : start + size], dtype=dtype).reshape(shape))
        start += size
    return arrays

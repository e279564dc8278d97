r"""The bytes of a model file.

    magic ``BADAC\0`` | format version, uint32 | length of the header, uint64 | SHA-256 of all that follows
    | header | arrays | signature

The header is JSON, with the kind of number, the shape and (since format 3) the order of each array: products of a matrix
that lies along its columns differ in the last digit from those of one along its rows. The arrays' raw bytes follow one
after the other. Files are written whole or not at all (`badac.writing.whole_file`). Nothing is taken into memory before the
file has shown that it is as long as it says and as it was written. A signature is there if the file was saved with a key:
the HMAC-SHA256 of header and arrays.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import stat
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from badac.store.parts import KINDS, ModelFileError
from badac.writing import whole_file

FORMAT_VERSION = 3
_MAGIC = b"BADAC\x00"
_PREFIX = struct.Struct("<6sIQ32s")
_SIGNED, _SIGNATURE_BYTES = "hmac-sha256", 32
_CHUNK = 1 << 20  # block size, of what is read at a time
_LONGEST_HEADER = (
    1 << 26
)  # 64 MiB: a header names parts and arrays; that of a default model of ten classes has 0.1 MiB
_LONGEST_TEXT = 1 << 16  # bytes of one cell of text

Key = bytes | str
Order = Literal["C", "F"]


def write_file(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Sequence[npt.NDArray[Any]],
    key: Key | None = None,
) -> None:
    """Write contiguous arrays, and a header of plain JSON values that gets their kinds and shapes; sign it with a key."""
    specs = [{"dtype": array.dtype.str, "shape": array.shape, "order": _order(array)} for array in arrays]
    signed = {} if key is None else {"signed": _SIGNED}
    text = json.dumps({**header, **signed, "arrays": specs}, allow_nan=False).encode()
    end = b""
    if key is not None:
        signature = _signing(key)
        signature.update(text)
        for array in arrays:
            signature.update(_bytes(array))
        end = signature.digest()
    digest = hashlib.sha256(text)
    for array in arrays:
        digest.update(_bytes(array))
    digest.update(end)
    with whole_file(Path(path)) as file:
        file.write(_PREFIX.pack(_MAGIC, FORMAT_VERSION, len(text), digest.digest()))
        file.write(text)
        for array in arrays:
            file.write(_bytes(array))
        file.write(end)


def read_file(
    path: str | os.PathLike[str], key: Key | None = None
) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
    """Return the header and the arrays of a whole file of this format or an older one; with a key, of a signed one alone."""
    with open(path, "rb") as file:
        length, size = _check_prefix(file, path)
        text, rest = file.read(length), size - _PREFIX.size - length
        try:
            header = json.loads(text)
            payload = _payload_size(header["arrays"])
            end = _SIGNATURE_BYTES if header.get("signed") == _SIGNED else 0
        except ModelFileError as error:
            raise ModelFileError(f"{path} cannot be loaded: {error}") from error
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise ModelFileError(
                f"{path} has no header that badac knows: {error!r}. Save it again."
            ) from error
        if payload + end != rest:
            raise ModelFileError(
                f"{path} is damaged: its header declares {payload:,} bytes of arrays, and {rest - end:,} follow. Copy or save "
                "it again."
            )
        content = file.read(payload)
        if key is not None:
            _check_signature(path, key, text, content, file.read(_SIGNATURE_BYTES) if end else b"")
    try:
        return header, _read_arrays(header["arrays"], memoryview(content))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{path} has no header that badac knows: {error!r}. Save it again.") from error


def _check_prefix(file: BinaryIO, path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the lengths of the header and of the file, which is whole; it is read piece by piece."""
    prefix = file.read(_PREFIX.size)
    if not prefix.startswith(_MAGIC):
        hint = " It looks like a pickle, which badac never loads." if prefix[:1] == b"\x80" else ""
        raise ModelFileError(
            f"{path} is not a badac model file.{hint} Write one with badac.save(model, path)."
        )
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        raise ModelFileError(f"{path} is no file but a device or a pipe: copy the model into a file first.")
    size = about.st_size
    if len(prefix) < _PREFIX.size:
        raise ModelFileError(f"{path} is truncated: it has {size} bytes. Copy or save it again.")
    _, version, length, digest = _PREFIX.unpack(prefix)
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; this badac reads up to {FORMAT_VERSION}. Upgrade badac to load it."
        )
    if length > size - _PREFIX.size:
        raise ModelFileError(
            f"{path} is damaged or truncated: its header alone would have {length:,} bytes, and the file has {size:,}. Copy or "
            "save it again."
        )
    found = hashlib.sha256()
    while piece := file.read(_CHUNK):
        found.update(piece)
    if found.digest() != digest:
        raise ModelFileError(
            f"{path} is damaged or truncated: its checksum does not match its {size} bytes. Copy or save it again."
        )
    if length > _LONGEST_HEADER:
        raise ModelFileError(
            f"{path} has a header of {length:,} bytes, and badac reads up to {_LONGEST_HEADER:,}: it is no model of ours."
        )
    file.seek(_PREFIX.size)
    return length, size


def _signing(key: Key) -> hmac.HMAC:
    secret = key.encode() if isinstance(key, str) else bytes(key)
    if not secret:
        raise ValueError("the key must not be empty: give a secret that whoever loads the model knows too.")
    return hmac.new(secret, _MAGIC, hashlib.sha256)


def _check_signature(
    path: str | os.PathLike[str], key: Key, text: bytes, content: bytes, found: bytes
) -> None:
    expected = _signing(key)
    expected.update(text)
    expected.update(content)
    if not found:
        raise ModelFileError(
            f"{path} is not signed, and a key was given. Take one that was saved with badac.save(model, path, key=...), or "
            "load it without a key if you trust where it came from."
        )
    if not hmac.compare_digest(found, expected.digest()):
        raise ModelFileError(f"{path} was signed with another key, or was changed since. Do not use it.")


def _order(array: npt.NDArray[Any]) -> Order:
    """Return whether the memory of a contiguous array goes along its rows (C) or its columns (F)."""
    return "C" if array.flags.c_contiguous else "F"


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array, without a copy."""
    rows = array if _order(array) == "C" else array.T
    return rows.reshape(-1).view(np.uint8).data


def _form(spec: Mapping[str, Any]) -> tuple[np.dtype[Any], tuple[int, ...], Order]:
    """Return the kind, the shape and the order that a header declares; before format 3 all went along rows."""
    name, shape, order = spec["dtype"], spec["shape"], spec.get("order", "C")
    if order not in ("C", "F"):
        raise ModelFileError(f"it holds an array in the order {order!r}, which badac does not write.")
    if not isinstance(name, str):
        raise TypeError(f"the kind of an array is {name!r}")
    dtype = np.dtype(name)
    if dtype.kind not in KINDS:
        raise ModelFileError(
            f"it holds an array of {dtype}, which would need pickle; badac never loads that."
        )
    if not dtype.isnative or (dtype.kind == "f" and dtype.itemsize > 8) or dtype.itemsize > _LONGEST_TEXT:
        raise ModelFileError(f"it holds an array of {name}, which badac does not write.")
    if not all(type(length) is int and length >= 0 for length in shape) or len(shape) > 8:
        raise ModelFileError(f"it holds an array of the shape {shape!r}.")
    return dtype, tuple(shape), order


def _payload_size(specs: Sequence[Mapping[str, Any]]) -> int:
    return sum(math.prod(shape) * dtype.itemsize for dtype, shape, _ in map(_form, specs))


def _read_arrays(specs: Sequence[Mapping[str, Any]], payload: memoryview) -> list[npt.NDArray[Any]]:
    arrays, start = [], 0
    for dtype, shape, order in map(_form, specs):
        size = math.prod(shape) * dtype.itemsize
        arrays.append(np.frombuffer(payload[start : start + size], dtype=dtype).reshape(shape, order=order))
        start += size
    return arrays

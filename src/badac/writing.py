"""Writing files so that they are whole or absent, and values as JSON has them."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def check_file(path: Path, what: str, *, overwrite: bool) -> None:
    """Find out before the work, not after it, that a file could not be written, or would replace another."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: {what} is a file. Give its name too, with --output.")
    above = path.absolute().parent
    if not above.is_dir():
        raise ValueError(
            f"there is no folder {above} for {what}. Make it, or give another place with --output."
        )
    if not os.access(above, os.W_OK | os.X_OK):
        raise ValueError(f"{above} cannot be written to. Give another place with --output.")
    if path.exists() and not overwrite:
        raise ValueError(
            f"{path} is there already. Give another name with --output, or replace it with --overwrite."
        )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write that is never seen half-written: it has another name until all of it is on the disk.

    If the writing fails, or the machine, what was there before stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(
        os, "O_DIRECTORY"
    ):  # the new name is on the disk when the folder is; Windows sees to it by itself
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, and the folders above it, so that it is never seen half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def plain(value: object) -> object:
    """Return a value as JSON has it: names as strings, tuples as lists, and null for numbers that JSON lacks."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

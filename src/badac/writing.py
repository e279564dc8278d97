"""Writing files so that they are whole or absent, and values as JSON has them."""

from __future__ import annotations

import errno
import glob
import math
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from badac.locks import is_alive

# A folder may be shared with other machines, whose processes are not ours to know.
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname()) or "host"


def check_file(path: Path, what: str, *, overwrite: bool, begins: tuple[bytes, ...]) -> None:
    """Find out before the work, not after it, that a file could not be written, or would replace another.

    With `overwrite` a file of the same kind is replaced, told by what such files begin with, and no other: the output may have
    been given the name of a table.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: {what} is a file. Give its name too, with --output.")
    _refuse_special(path)
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
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if not file.read(16).startswith(begins):
                raise ValueError(
                    f"{path} is there already, is not {what} of an earlier run, and is left alone. Give another name with "
                    "--output."
                )
    real = Path(os.path.realpath(path))
    remove_dead(real.parent, glob.escape(real.name))


def _refuse_special(path: Path) -> None:
    """A file in the place of /dev/null would end more than this run."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file but a folder, a device or a pipe. Give another name.")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write that is never seen half-written: it has another name until all of it is on the disk.

    If the writing fails, or the machine, what was there before stays as it was. A link stays one: what it leads to is
    written.
    """
    path = Path(os.path.realpath(path))
    _refuse_special(path)
    temporary = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with named_in_errors(path), temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.absolute().parent)


@contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Let an error of writing inside say where: those of a full disk do not by themselves."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def sync_folder(folder: Path) -> None:
    """See to it that the names in a folder are on the disk; Windows does by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:  # some network file systems sync no folders
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def remove_dead(folder: Path, name: str = "*") -> int:
    """Remove the temporary files that dead runs of this machine left of files of this name (a pattern); how many there were."""
    removed = 0
    for left in folder.glob(f".{name}.{_HOST}.*.*.part"):
        pid = left.name.split(".")[-3]
        if pid.isdecimal() and int(pid) != os.getpid() and not is_alive(int(pid)):
            left.unlink(missing_ok=True)
            removed += 1
    return removed


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, and the folders above it, so that it is never seen half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def clause(words: object) -> str:
    r"""Return somebody else's message as a part of a sentence of ours: on one line, without its full stop.

    Examples
    --------
    >>> from badac.writing import clause
    >>> clause("no such column: 'x'. \n")
    "no such column: 'x'"
    """
    return " ".join(str(words).split()).rstrip(".")


def plain(value: object) -> object:
    """Return a value as JSON has it: names as strings, tuples as lists, and null for numbers that JSON lacks."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

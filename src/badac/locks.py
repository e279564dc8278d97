"""One writer at a time: a lock beside what is written, with the name of who holds it.

    out/  is locked by  .out.lock   {"user": "ana", "host": "node7", "pid": 4711, "since": "2026-03-01 12:00:00"}

The file is also locked by the operating system, which lets go when a process dies, however it dies: a lock of this machine that
nobody holds is stale and is taken over. Whether a process of another machine is still there cannot be known from here; its lock
is respected, and the message says how to remove it. A run asks its lock again before it replaces anything (`Lock.check`).
"""

from __future__ import annotations

import contextlib
import errno
import getpass
import json
import os
import secrets
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class Locked(ValueError):
    """Somebody else is writing there."""


@dataclass(frozen=True)
class Owner:
    """Who holds a lock.

    Attributes
    ----------
    user, host : str
    pid : int
        Of the process.
    since : str
        Local time.
    token : str
        Tells two locks of one process apart.
    """

    user: str
    host: str
    pid: int
    since: str
    token: str = ""

    @classmethod
    def me(cls) -> Owner:
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container's user without a name
            user = f"user {os.getuid()}" if hasattr(os, "getuid") else "somebody"
        return cls(
            user,
            socket.gethostname(),
            os.getpid(),
            time.strftime("%Y-%m-%d %H:%M:%S"),
            secrets.token_hex(8),
        )

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid}, since {self.since})"


@dataclass(frozen=True, eq=False)
class Lock:
    """A lock that is held.

    Attributes
    ----------
    target, path : Path
        What is locked, and the file that says so.
    owner : Owner
    stale : Owner or None
        Whose lock was taken over, if somebody died without taking it away.
    """

    target: Path
    path: Path
    owner: Owner
    stale: Owner | None = None

    def check(self) -> None:
        """Raise `Locked` unless the lock is still there and ours."""
        now = _owner_in(self.path)
        if now is None or now.token != self.owner.token:
            whom = f"{now} holds it now" if now is not None else f"{self.path} is gone"
            raise Locked(
                f"the lock on {self.target} was taken away while this run was at work: {whom}. Nothing was replaced there. "
                "Run it again, into another place."
            )


_held: dict[Path, tuple[Lock, int]] = {}  # with the thread that took it
_guard = threading.Lock()


def lock_of(target: str | os.PathLike[str]) -> Path:
    """Return the file that locks a file or folder: beside it, and beside what a link leads to, which has several names."""
    path = Path(os.path.realpath(target))
    return path.parent / f".{path.name}.lock"


@contextmanager
def locked(target: str | os.PathLike[str]) -> Iterator[Lock]:
    """Hold the lock on a file or folder, or raise `Locked` with the name of who does.

    A thread that holds it already gets the same lock again. Temporary files of dead runs there are removed.
    """
    path = lock_of(target)
    with _guard:
        mine = _held.get(path)
    if mine is not None and mine[1] == threading.get_ident():
        yield mine[0]
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file, stale = _take(path, Path(target))
    try:
        lock = Lock(Path(target), path, _write_owner(file), stale)
        with _guard:
            _held[path] = (lock, threading.get_ident())
        yield lock
    finally:
        with _guard:
            _held.pop(path, None)
        _let_go(path, file)


def _take(path: Path, target: Path) -> tuple[int, Owner | None]:
    """Open and lock the file; also who left it behind, if somebody did."""
    while True:
        try:
            # A link that somebody laid there would have the file it leads to emptied in place of a lock written.
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except PermissionError:
            owner = _owner_in(path)
            if owner is None:
                raise
            raise Locked(_busy(target, owner, path)) from None
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.EISDIR):
                raise
            raise Locked(_in_the_way(path, target)) from None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):  # a pipe would be waited for
                raise Locked(_in_the_way(path, target))
            held = _lock(file)
            owner = _owner_in(path)
            if held is False or (owner is not None and not _is_stale(owner, held)):
                raise Locked(_busy(target, owner, path))
            # Whoever held it may have removed the file between our opening and our locking of it.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    return file, owner
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(file: int) -> bool | None:
    """Whether the system gave us the lock; None if it has none to give (Windows, some network file systems)."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_stale(owner: Owner, held: bool | None) -> bool:
    if owner.host != socket.gethostname():
        return False
    return held is True or not is_alive(owner.pid)


def _busy(target: Path, owner: Owner | None, path: Path) -> str:
    who = str(owner) if owner is not None else "another run"
    said = f"{target} is being written by {who}. Wait for it to end, or give another place."
    if owner is not None and owner.host != socket.gethostname():
        said += f" If that run is gone, remove {path}."
    return said


def _in_the_way(path: Path, target: Path) -> str:
    return (
        f"{path} is a link, a folder or no ordinary file, where the lock on {target} belongs: nothing was written. Remove "
        "it, or give another place."
    )


def _write_owner(file: int) -> Owner:
    owner = Owner.me()
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, json.dumps(asdict(owner)).encode())
    os.fsync(file)
    return owner


def _owner_in(path: Path) -> Owner | None:
    """Who a lock file names; None for a file that is gone, empty or not one of ours."""
    try:
        return Owner(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _let_go(path: Path, file: int) -> None:
    """Remove the file before the system's lock is given back, unless it is somebody else's by now."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(file), os.stat(path)):
            if os.name == "nt":  # an open file cannot be removed there
                os.close(file)
                file = -1
            path.unlink(missing_ok=True)
    if file >= 0:
        os.close(file)


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number on this machine."""
    if pid <= 0:
        return False
    if os.name == "nt":
        import ctypes

        kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]
        handle = kernel.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
        if handle:
            kernel.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True

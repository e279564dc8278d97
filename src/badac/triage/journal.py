"""The file of a session: JSON lines that are only ever added to, each on the disk before the next is asked for.

Several processes may write one file: a line is added under a lock, in one write, and whoever comes next reads what the others
said. A crash can leave half a line at the end; it is set aside beside the file, and said. The first line, and each further one
with "badac_triage", names the model, so that statements about another model's ranking are known as such.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from badac.triage.statement import Statement
from badac.writing import write_whole

try:
    import fcntl
except ImportError:  # Windows: one write to a file opened for appending is one piece there too
    fcntl = None  # type: ignore[assignment]

VERSION = 1
_BEGIN = b'{"badac_triage"'


@dataclass
class Journal:
    """Statements, and the file they are in; without a path they are kept in memory only.

    Attributes
    ----------
    path : Path or None
    heads : list of dict
        The lines that name a model, oldest first.
    statements : list of Statement
        In the order of the file.
    notes : list of str
        What was found wrong with the file and set right.

    Examples
    --------
    >>> from badac.triage import Journal, Statement
    >>> journal = Journal()
    >>> journal.add(Statement.now("Ada", object="star 7", said="dull"))
    >>> [one.object for one in journal.statements]
    ['star 7']
    """

    path: Path | None = None
    heads: list[dict[str, Any]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _read: int = 0
    _lines: int = 0

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None) -> Journal:
        """Open the file of a session, whatever is in it; it is made if there is none."""
        if path is None:
            return cls()
        journal = cls(Path(path))
        try:
            with journal._locked() as file:
                # First, as a file that is no session is left as it is.
                journal._catch_up(file)
                journal._mend(file)
                journal._catch_up(file)
        except IsADirectoryError:
            raise ValueError(f"{path} is a folder: a session is a file. Give its name too.") from None
        except OSError as error:
            raise OSError(
                error.errno,
                f"the session cannot be written to {path} ({error.strerror}): what is said would be lost. Give another place "
                "for it (--session FILE)",
            ) from None
        return journal

    def name_model(self, model: str, **about: Any) -> None:
        """Add the line that names the model, unless the file's last such line does already."""
        if self.heads and self.heads[-1]["model"] == model:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        head = {"badac_triage": VERSION, "model": model, "when": now, **about}
        self._append(json.dumps(head, ensure_ascii=False, allow_nan=False))
        if self.path is None:
            self.heads.append(head)

    def add(self, statement: Statement) -> None:
        """Put a statement on the disk, after whatever others said meanwhile."""
        self._append(statement.line())
        if self.path is None:
            self.statements.append(statement)

    def refresh(self) -> bool:
        """Read what other processes have said; whether there was anything."""
        if self.path is None:
            return False
        before = len(self.statements)
        if self.path.stat().st_size != self._read:
            with self._locked() as file:
                self._catch_up(file)
        return len(self.statements) != before

    # -- the file ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        assert self.path is not None
        with open(self.path, "a+b", buffering=0) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _append(self, line: str) -> None:
        if self.path is None:
            return
        with self._locked() as file:
            # Another process may have been killed half-way since.
            self._mend(file)
            end = file.seek(0, os.SEEK_END)
            try:
                _write_all(file, line.encode() + b"\n")
                os.fsync(file.fileno())
            except BaseException:
                # What is said to have failed is not found in the file later, whole or half.
                with suppress(OSError):
                    os.ftruncate(file.fileno(), end)
                raise
            self._catch_up(file)

    def _mend(self, file: BinaryIO) -> None:
        """Set half a last line aside, in a file beside."""
        assert self.path is not None
        size, length, tail = file.seek(0, os.SEEK_END), 1 << 16, b""
        while True:
            start = max(0, size - length)
            file.seek(start)
            tail = file.read()
            if not start or b"\n" in tail:
                break
            length *= 8
        if not tail or tail.endswith(b"\n"):
            return
        cut = tail.rfind(b"\n") + 1
        half = tail[cut:]
        if half.rstrip().endswith(b"}") and _is_json(half):
            self._parsed(half, "the last line")
            file.write(b"\n")  # whole, but for its end
            return
        if not start + cut and not _BEGIN.startswith(half[: len(_BEGIN)]):
            raise ValueError(f"{self.path} is not the file of a session. Give another file.")
        aside = self.path.with_name(f"{self.path.name}.damaged")
        with open(aside, "ab") as kept:
            kept.write(half + b"\n")
        file.truncate(start + cut)
        file.seek(0, os.SEEK_END)
        self.notes.append(
            f"The last line of {self.path.name} was damaged (a crash while it was written): it is set aside in {aside.name}, "
            "and everything before it holds."
        )

    def _catch_up(self, file: BinaryIO) -> None:
        """Read the whole lines that are new."""
        file.seek(self._read)
        new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        lines = whole.splitlines()
        # All of them or none, so that a damaged one is refused each time that it is read.
        found = [
            self._parsed(line, f"line {self._lines + number}")
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
        self.heads += [each for each in found if isinstance(each, dict)]
        self.statements += [each for each in found if isinstance(each, Statement)]
        self._read += len(whole)
        self._lines += len(lines)

    def _parsed(self, line: bytes, where: str) -> dict[str, Any] | Statement:
        """The head or the statement of a line."""
        try:
            found = json.loads(line)
            if not isinstance(found, dict):
                raise ValueError("not an object of JSON")
            if "badac_triage" not in found:
                return Statement.of(found)
            if found["badac_triage"] > VERSION:
                raise ValueError("written by a later badac")
            if not isinstance(found.get("model"), str):
                raise ValueError("it names no model")
            json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
            return found
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{self.path} is not the file of a session, or {where} of it is damaged ({error}). Remove that line to "
                "go on without it, or give another file."
            ) from None


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write a line to a file without a buffer: nothing of it waits for a later close."""
    while data:
        data = data[file.write(data) :]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def merge(paths: Sequence[str | os.PathLike[str]], into: str | os.PathLike[str]) -> Journal:
    """Put the sessions of several people together into one new file, in the order in which things were said.

    A line that is in several files (a session that was copied and gone on with) counts once. Sessions of different models are
    put together too: they are replayed where objects match.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.triage import Session, merge
    >>> rng = np.random.default_rng(0)
    >>> known = 0.1 * rng.standard_normal((60, 8))
    >>> model = BADACClassifier("template", random_state=0).fit(known, np.repeat([0, 1], 30), X_err=0.1)
    >>> objects = Measurements(0.1 * rng.standard_normal((20, 8)), 0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ada, bob = (Path(folder) / name for name in ("ada.jsonl", "bob.jsonl"))
    ...     Session(model, objects, path=ada).say(3, "dull")
    ...     Session(model, objects, path=bob).say(5, "interesting")
    ...     _ = merge([ada, bob], Path(folder) / "both.jsonl")
    ...     Session.open(Path(folder) / "both.jsonl", model, objects).figures().looked
    2
    """
    if Path(into).exists():
        raise ValueError(f"{into} is there already. Give another name for the merged session.")
    for path in paths:
        if not Path(path).exists():
            raise FileNotFoundError(f"there is no session {path}")
    parts = [Journal.at(path) for path in paths]
    heads = {json.dumps(head, sort_keys=True): head for part in parts for head in part.heads}
    said = {each.id: each for part in parts for each in part.statements}
    dated: list[tuple[str, int, str, str]] = [
        (str(head.get("when", "")), 0, "", json.dumps(head, ensure_ascii=False)) for head in heads.values()
    ]
    dated += [(each.when, 1, each.id, each.line()) for each in said.values()]
    write_whole(Path(into), "".join(f"{line}\n" for *_, line in sorted(dated)))
    return Journal.at(into)

"""Tables of text as people have them: how their columns are separated, their decimals written and their letters encoded.

Told from the first lines: commas, semicolons, tabs, bars or blanks, whichever cuts them into equally many fields; a decimal
comma where another mark separates; a header that is a comment (# id g g_err); rows that have a name before the first column
(R); UTF-8, UTF-16 or Windows' Latin letters. Identifiers stay as they are written.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from badac.data.cell_errors import split_errors
from badac.data.columns import find
from badac.data.optional import needs
from badac.data.whole_numbers import long_columns, whole_again

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Compressed files, by suffix."""
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_FIRST = {".tsv": "\t", ".tab": "\t", ".txt": "\t", ".dat": "\t"}
"""Tried first, by suffix; all others after it, blanks last."""
_HEAD = 1 << 16
_LINES = 100
_EQUAL = 0.9
"""Share of the lines that must have as many fields as most."""
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
MISSING = ("---", "--", "-", "...", "…", "INDEF", "\\N", "n.a.", "N.A.", "na", "missing", "*", "?")
"""What stands for an empty cell, beside what pandas knows (NA, N/A, NaN, null, None ...)."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# A whole number that is the same again when it is written: identifiers such as 007 or 1e5 are not.
_WHOLE = r"-?[1-9]\d{0,17}|-?[1-8]\d{18}|0"


class TableFileError(ValueError):
    """A file that holds no table that can be read."""


@dataclass(frozen=True)
class Dialect:
    """How a table of text is written.

    Attributes
    ----------
    separator : str
        One of , ; tab | or a blank for any number of them.
    decimal : str
    encoding : str
    names : tuple of str
        Of the columns.
    skipped : int
        Lines before the first row of data.
    comments : bool
        Whether there are comments among the data.
    notes : tuple of str
    long : frozenset of str
        Columns with whole numbers of more digits than a float holds.
    """

    separator: str
    decimal: str
    encoding: str
    names: tuple[str, ...]
    skipped: int
    comments: bool = False
    notes: tuple[str, ...] = ()
    long: frozenset[str] = frozenset()

    def options(self) -> dict[str, Any]:
        """Return the keywords of ``pandas.read_csv``."""
        out: dict[str, Any] = {
            "sep": r"\s+" if self.separator == " " else self.separator,
            "decimal": self.decimal,
            "encoding": self.encoding,
            "names": list(self.names),
            "header": None,
            "skiprows": self.skipped,
            "skipinitialspace": True,
            "index_col": False,
            "na_values": list(MISSING),
        }
        return out | ({"comment": "#"} if self.comments else {})


def read_text(
    path: str | os.PathLike[str], text: Sequence[str] = (), n_rows: int | None = None
) -> Iterator[Any]:
    """Yield the rows of a table of text as DataFrames, `n_rows` at a time, or all at once; `text` are columns of names."""
    pandas = needs("pandas", f"Reading {path}")
    dialect = sniff(path)
    check_names(dialect.names, path)
    _refuse_cut(path, dialect)
    named = {name for name in (find(dialect.names, "object"), *text) if name in dialect.names}
    dialect = replace(dialect, long=dialect.long - named)
    options = dialect.options() | {"dtype": dict.fromkeys(named | dialect.long, str)}
    try:
        if n_rows is None:
            yield _finished(pandas.read_csv(path, **options), dialect)
            return
        with pandas.read_csv(path, chunksize=n_rows, **options) as chunks:
            for chunk in chunks:
                yield _finished(chunk, dialect)
    except UnicodeDecodeError as error:
        raise TableFileError(
            f"{path}: line {_undecodable(path, dialect.encoding)} holds letters that are not {error.encoding}, though the file "
            "begins as such. Write all of it as UTF-8."
        ) from error


def sniff(path: str | os.PathLike[str]) -> Dialect:
    """Tell how a table of text is written, from its first lines."""
    head, encoding, notes = _head(path)
    lines = head.splitlines()
    marks = [
        number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")
    ]
    if not marks:
        raise TableFileError(f"{path} holds no rows: it has nothing but comments or nothing at all.")
    used = [lines[number] for number in marks[:_LINES]]
    separator, width = _separator(used, _suffix(path))
    first = fields(used[0], separator)
    above = [
        line.strip().lstrip("#").strip() for line in lines[: marks[0]] if line.strip().strip("#").strip()
    ]
    names, skipped = first, marks[0] + 1
    if above and any(map(_is_number, first)):
        behind = fields(above[-1], separator)
        if len(behind) == len(first) and not any(map(_is_number, behind)):
            names, skipped = behind, marks[0]
    rows = [fields(line, separator) for line in used[1:]]
    if skipped > marks[0] and width == len(first) + 1 and rows:
        if all(len(row) <= len(first) or not row[-1] for row in rows):
            # Every row ends in a mark, and the header does not.
            names = [*first, ""]
        else:
            # R names the rows and not their column.
            names = ["index", *first]
    comments = any(line.lstrip().startswith("#") for line in lines[marks[0] :])
    _refuse_longer(path, used[skipped > marks[0] :], separator, names, comments)
    return Dialect(
        separator,
        _decimal(used[1:], separator),
        encoding,
        tuple(_filled(names)),
        skipped,
        comments=comments,
        notes=notes,
        long=frozenset(long_columns(names, rows)),
    )


def fields(line: str, separator: str) -> list[str]:
    """Cut a line, with quotes honoured.

    >>> fields('a, "b, c" ,d', ","), fields("  1  2 ", " ")
    (['a', 'b, c', 'd'], ['1', '2'])
    """
    if separator == " ":
        return next(csv.reader([" ".join(line.split())], delimiter=" "), [])
    return [
        field.strip() for field in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    ]


def check_names(names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Refuse a file that was read as one column, and one with a name that comes twice."""
    other = next((name for mark, name in _SEPARATORS.items() if mark in "".join(names[:1])), None)
    if len(names) == 1 and other is not None:
        raise TableFileError(
            f"{path} is read as one column, {names[0][:60]!r}: is it separated by {other}, with as many in each row? Separate "
            "the columns by commas, semicolons, tabs or blanks."
        )
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise TableFileError(f"{path} has more than one column {twice!r}. Rename or drop one.")


def _finished(frame: Any, dialect: Dialect) -> Any:
    """Return the frame with whole identifiers as numbers, without nameless empty columns."""
    nameless = [name for name in frame.columns if name == "index" or name.startswith("Unnamed: ")]
    empty = [name for name in nameless if frame[name].isna().all()]
    frame = split_errors(frame.drop(columns=empty))
    for long in dialect.long & set(frame.columns):
        frame[long] = whole_again(frame[long], dialect.decimal)
    frame.attrs["notes"] = dialect.notes
    name = find([str(name) for name in frame.columns], "object")
    if name is None or not len(frame) or frame[name].isna().any() or frame[name].dtype.kind != "O":
        return frame
    if frame[name].str.fullmatch(_WHOLE).all():
        frame[name] = frame[name].astype(np.int64)
    return frame


def _head(path: str | os.PathLike[str]) -> tuple[str, str, tuple[str, ...]]:
    """First lines of a file, how they are encoded, and a word about it."""
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    with opener(path, "rb") as file:
        data: bytes = file.read(_HEAD)
    notes: tuple[str, ...] = ()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text, encoding = data.decode("utf-16", "replace"), "utf-16"
    else:
        try:
            # The last letter may be cut in two.
            text, encoding = data[: -4 if len(data) == _HEAD else None].decode("utf-8-sig"), "utf-8-sig"
        except UnicodeDecodeError:
            text, encoding = data.decode("cp1252", "replace"), "cp1252"
            notes = ("the file is not UTF-8 and was read as Western European (cp1252): are its names right?",)
    if len(data) == _HEAD:
        text = text[: text.rfind("\n") + 1] or text
    if "\x00" in text:
        line = text[: text.index("\x00")].count("\n") + 1
        raise TableFileError(
            f"{path} is no table of text: it holds zero bytes, the first in line {line}. Is it whole, and is the "
            "suffix right?"
        )
    return text, encoding, notes


def _undecodable(path: str | os.PathLike[str], encoding: str) -> int:
    """Number of the first line that is not of an encoding."""
    with OPENERS.get(Path(path).suffix.lower(), open)(path, "rb") as file:
        return next((number for number, line in enumerate(file, 1) if not _decodes(line, encoding)), 0)


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_cut(path: str | os.PathLike[str], dialect: Dialect) -> None:
    """Refuse a file that ends in the middle of a row: too few fields, and no end of the line. (An archive knows by itself.)"""
    if dialect.separator == " " or dialect.encoding == "utf-16" or Path(path).suffix.lower() in OPENERS:
        return
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _HEAD))
        tail = file.read().decode(dialect.encoding, "replace")
    lines = tail.splitlines()
    # Quotes that are open go on for lines, and are refused when they are read.
    if len(lines) < 2 or tail[-1] in "\r\n" or lines[-1].count('"') % 2:
        return
    last, n = fields(lines[-1], dialect.separator), len(dialect.names)
    if len(last) < n and not lines[-1].lstrip().startswith("#"):
        raise TableFileError(
            f"{path} ends in the middle of its last row, {lines[-1][:60]!r}: {len(last)} of {n} columns "
            f"(the last is {dialect.names[len(last) - 1]}), and no end of the line. Is it whole? Fetch it again, or take that "
            "row out."
        )


def _refuse_longer(
    path: str | os.PathLike[str], lines: Sequence[str], separator: str, names: Sequence[str], comments: bool
) -> None:
    """Refuse rows with more fields than there are names: pandas drops what is beyond the names of the first ones."""
    lines = [line.partition("#")[0].rstrip() if comments else line for line in lines]
    rows: Iterable[list[str]]
    if separator == " ":
        rows = (fields(line, separator) for line in lines)
    else:
        # All at once: a cell in quotes may go on for lines.
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    for number, row in enumerate(rows, 1):
        if len(row) > len(names):
            raise TableFileError(
                f"{path}: row {number} has {len(row)} fields ({separator.join(row)[:60]!r}), and the header names "
                f"{len(names)} ({', '.join(names)[:60]}). Name every column in one line, or take away what has no name."
            )


def _suffix(path: str | os.PathLike[str]) -> str:
    plain = Path(path)
    return (Path(plain.stem) if plain.suffix.lower() in OPENERS else plain).suffix.lower()


def _separator(lines: Sequence[str], suffix: str) -> tuple[str, int]:
    """The mark that cuts most lines into equally many fields, and how many."""
    first = _FIRST.get(suffix, ",")
    for mark in (first, *(mark for mark in _SEPARATORS if mark != first)):
        widths = [len(fields(line, mark)) for line in lines]
        usual = int(np.median(widths[1:] or widths))
        equal = np.mean([width == usual for width in widths[1:] or widths])
        if usual > 1 and equal >= _EQUAL and widths[0] in (usual, usual - 1) and widths[0] > 1:
            return mark, usual
    mark = " " if first == "\t" and suffix != ".tsv" else first
    return mark, len(fields(lines[0], mark))


def _decimal(lines: Sequence[str], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell for line in lines for cell in fields(line, separator)]
    commas = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return "," if commas and not any(_DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def _filled(names: Sequence[str]) -> list[str]:
    """Names with the empty ones filled: a first one is the index of whoever wrote the table."""
    return [
        name or ("index" if not place and "index" not in names else f"Unnamed: {place}")
        for place, name in enumerate(names)
    ]


def _is_number(text: str) -> bool:
    return re.fullmatch(_NUMBER, text.replace(",", ".")) is not None or text.lower() in ("nan", "inf")

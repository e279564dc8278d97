"""New objects in batches: a file larger than memory is read a piece at a time.

A wide table is cut anywhere. In a long table the rows of an object must stay together, so the last object of a piece waits for
the next one; an object that turns up again later would be split in two and is refused, with the remedy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from badac.data import Catalogue, Layout
from badac.data.columns import recognise
from badac.data.files import kind_of, read_batches, read_frame

# Ten blocks of the judge: smaller batches cost more in Python than in arithmetic, larger ones no longer gain.
_ROWS, _LONG_ROWS = 20_480, 200_000
_SAMPLE = 1 << 16


def batches(path: str | os.PathLike[str], layout: Layout, n_rows: int | None = None) -> Iterator[Catalogue]:
    """Yield the objects of a file in batches.

    Parameters
    ----------
    path : path
        Any file that `badac.data.read` takes.
    layout : Layout
        Of the training table.
    n_rows : int, optional
        Rows read at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.job import batches, read_training
    >>> stars = pd.DataFrame({"g": [17.1, 18.0, 17.5, 18.1], "g_err": 0.1, "class": ["a", "b", "a", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "stars.csv"
    ...     stars.to_csv(path, index=False)
    ...     [len(batch.objects) for batch in batches(path, read_training(path).layout, n_rows=2)]
    [2, 2]
    """
    yield from objects_in(read_rows(path, layout, n_rows), path, layout)


def read_rows(
    path: str | os.PathLike[str],
    layout: Layout,
    n_rows: int | None = None,
    groups: Sequence[int] | None = None,
) -> Iterator[Any]:
    """Yield the rows of a file as tables, of a Parquet file those of some row groups if they are given."""
    rows = n_rows or (_LONG_ROWS if layout.form == "long" else _ROWS)
    plain = layout.form == "wide"
    return read_batches(path, rows, text=_names_by_hand(layout), plain=plain, row_groups=groups)


def name_column(names: Sequence[str], layout: Layout) -> str:
    """Return which column of a long table has the names of the objects."""
    return str(recognise(names, {**layout.columns, "label": None}, layout.pairs_in(names)).object)


def objects_in(frames: Iterator[Any], path: str | os.PathLike[str], layout: Layout) -> Iterator[Catalogue]:
    """Yield the objects in tables of a file's rows; those of a long table whole."""
    if layout.form == "long":
        frames = _whole_objects(frames, layout, Path(path).name)
    text = _names_by_hand(layout)
    objects = read_frame(layout.objects, text=text) if layout.objects else None
    start = 0
    for frame in frames:
        if not len(frame):
            continue
        with about_file(Path(path).name):
            found = layout.read(frame, objects=objects)
        if not found.named:
            found = replace(found, ids=found.ids + start)
        start += len(frame)
        yield found
    if start == 0:
        raise ValueError(f"{path} holds no rows.")


def check_readable(path: str | os.PathLike[str], layout: Layout, n_rows: int | None = None) -> None:
    """Read the first batch of a file, or of the first Parquet file of a folder: what cannot be read is said before learning.

    Raises
    ------
    ValueError
        Also if classes have columns of the objects' own table beside their points and that table names none of these objects.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.data import Layout, from_table
    >>> from badac.job import check_readable
    >>> stars = pd.DataFrame({"g": [17.1, 18.0], "g_err": 0.1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stars.drop(columns="g").to_csv(Path(folder) / "new.csv", index=False)
    ...     try:
    ...         check_readable(Path(folder) / "new.csv", Layout.of(from_table(stars)))
    ...     except ValueError as error:
    ...         print("g" in str(error))
    True
    """
    place = Path(path)
    if place.is_dir():
        inside = sorted(place.rglob("*.parquet"))
        if not inside:
            return
        place = inside[0]
    first = next(batches(place, layout, n_rows))
    columns = first.objects.columns
    if layout.beside and not any(np.isfinite(values).any() for values, _ in columns.values()):
        raise ValueError(
            f"{place.name}: no object has a value of {', '.join(layout.beside)}, which the classes are learned with: "
            f"{Path(layout.objects).name} does not name them. Give the table of the new objects, --objects FILE."
        )


def _names_by_hand(layout: Layout) -> list[str]:
    """The column of names, if somebody has said it: text, whatever it looks like."""
    said = layout.columns.get("object")
    return [said] if said else []


@contextmanager
def about_file(name: str) -> Iterator[None]:
    """Say which file a table is from that cannot be read."""
    try:
        yield
    except ValueError as error:
        if name in str(error):
            raise
        raise ValueError(f"{name}: {error}") from error


def rows_in(path: str | os.PathLike[str]) -> int:
    """Return about how many rows a file has, without reading it: counted for Parquet, from the size for CSV, else 0.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.job import rows_in
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"g": [1.0, 2.0, 3.0]}).to_parquet(Path(folder) / "stars.parquet")
    ...     rows_in(Path(folder) / "stars.parquet")
    3
    """
    kind = kind_of(path)
    if kind == "parquet":
        import pyarrow.parquet

        try:
            return int(pyarrow.parquet.ParquetFile(path).metadata.num_rows)
        except (OSError, ValueError):
            return 0
    if kind == "csv" and not str(path).endswith(".gz"):
        with open(path, "rb") as file:
            head = file.read(_SAMPLE)
        lines = head.count(b"\n")
        return int(os.path.getsize(path) * lines / len(head)) if lines and head else 0
    return 0


def _whole_objects(frames: Iterator[Any], layout: Layout, source: str) -> Iterator[Any]:
    """Cut pieces of a long table between objects."""
    import pandas

    waiting: Any = None
    finished: set[Any] = set()
    for frame in frames:
        if not len(frame):
            continue
        joined = frame if waiting is None else pandas.concat([waiting, frame])
        name = name_column([str(column) for column in joined.columns], layout)
        last = joined[name] == joined[name].iloc[-1]
        yield from _unless_seen(joined[~last], name, finished, source)
        waiting = joined[last]
    if waiting is not None:
        yield from _unless_seen(waiting, name, finished, source)


def _unless_seen(frame: Any, name: str, finished: set[Any], source: str) -> Iterator[Any]:
    if not len(frame):
        return
    here = set(frame[name].tolist())
    twice = here & finished
    if twice:
        raise ValueError(
            f"the rows of object {next(iter(twice))!r} are not together in {source}, which is read in pieces. "
            f"Sort the table by {name!r} first."
        )
    finished |= here
    yield frame

"""Batches of an Arrow table as columns of NumPy arrays, as far as they are plain numbers and text: no pandas in between.

A survey's table is read a few thousand rows at a time, and of each batch every column once. What a batch is turned into for
that costs as much as reading it. Numbers come as they are, empty cells NaN; text as an array of text. Whatever pandas would
make something else of (an index, categories, dates, lists, empty text) is left to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.cached import cached_property
from badac.data.whole_numbers import arrow_frame


@dataclass(frozen=True, eq=False)
class ArrowColumns:
    """A batch with what `badac.data.wide` asks of a table: names, types, columns.

    Attributes
    ----------
    batch : pyarrow.RecordBatch
        Of a schema that `is_plain`.
    attrs : dict
        As of a frame: units by column, the number of the first row.
    """

    batch: Any
    attrs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: Any) -> Any:
        """Return the columns of a batch, or a DataFrame of it where a cell of text or of whole numbers is empty."""
        if not any(column.null_count for column in batch.columns if _has_no_gap(column.type)):
            return cls(batch)
        return arrow_frame(batch)

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.batch.schema.names)

    @property
    def dtypes(self) -> list[Any]:
        """Types of the columns, as NumPy has them."""
        return [
            np.dtype("U") if _is_text(one) else np.dtype(one.to_pandas_dtype())
            for one in self.batch.schema.types
        ]

    @cached_property
    def _found(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return a column (n,)."""
        if name not in self._found:
            column = self.batch.column(self.columns.index(name))
            plain = column.to_numpy(zero_copy_only=False)
            self._found[name] = plain.astype(str) if plain.dtype == object else plain
        return self._found[name]


def is_plain(schema: Any) -> bool:
    """Whether all columns of an Arrow schema are plain numbers or text, and none is an index of pandas."""
    import pyarrow

    kinds = pyarrow.types
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    # A range without a name is no more than the rows' numbers.
    if any(isinstance(one, str) or one.get("name") for one in index):
        return False
    if len(set(schema.names)) < len(schema.names):
        return False
    return all(
        kinds.is_floating(one) or kinds.is_integer(one) or kinds.is_boolean(one) or _is_text(one)
        for one in schema.types
    )


def _has_no_gap(kind: Any) -> bool:
    """Whether NumPy has no empty cell of a type."""
    import pyarrow

    return _is_text(kind) or bool(pyarrow.types.is_integer(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))

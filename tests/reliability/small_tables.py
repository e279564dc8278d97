"""A small table with error bars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def small_table(n: int, seed: int, names: tuple[str, str] = ("low", "high")) -> pd.DataFrame:
    """Two classes of levels, four points with error bars; the last object is strange."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    values = 2.0 * label[:, None] + 0.3 * rng.standard_normal((n, 4))
    values[-1] += [0.0, 9.0, -9.0, 0.0]
    columns: dict[str, Any] = {"object": [f"o{i}" for i in range(n)]}
    for point in range(4):
        columns[f"y{point}"], columns[f"y{point}_err"] = values[:, point], np.full(n, 0.3)
    return pd.DataFrame({**columns, "label": np.array(names)[label]})

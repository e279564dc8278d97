"""Small tables with error bars."""

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


def straying(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, 8) of error 0.05, labels: two groups a class, members that stray at single points, so that "auto" stacks."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    height = np.where(label == 1, 1.0, -0.3) * rng.choice([-1.0, 1.0], n)
    truth = height[:, None] * np.linspace(0.2, 1.0, 8) + 0.5 * rng.standard_normal((n, 1))
    truth += 0.3 * rng.standard_t(2, (n, 8))
    return truth + 0.05 * rng.standard_normal(truth.shape), label

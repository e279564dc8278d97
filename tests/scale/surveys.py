"""Small surveys for the tests at scale: noisy lines, a few of them bent, as measurements and as a table."""

from typing import Any

import numpy as np
import pandas as pd

from badac import Measurements


def curves(n: int, seed: int, m: int = 6, strange: int = 0) -> tuple[Measurements, np.ndarray]:
    """Two classes of noisy lines, each point with an error of its own; every so many-th is bent, if `strange`."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    at = np.linspace(0.0, 1.0, m)
    truth = np.where(label == 0, 1.0, -1.0)[:, None] * at + rng.normal(0.0, 0.5, (n, 1))
    if strange:
        truth[::strange] += 4.0 * (at > 0.5)
    sigma = 0.2 * rng.uniform(0.5, 1.5, (n, m))
    return Measurements(truth + sigma * rng.standard_normal((n, m)), sigma), np.array(["up", "down"])[label]


def frame_of(objects: Measurements, label: np.ndarray | None = None) -> pd.DataFrame:
    columns: dict[str, Any] = {"name": [f"object {row}" for row in range(len(objects))]}
    for j in range(objects.n_points):
        columns[f"y{j}"], columns[f"y{j}_err"] = objects.values[:, j], objects.sigma[:, j]
    return pd.DataFrame(columns if label is None else columns | {"label": label})

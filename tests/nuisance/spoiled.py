"""Experiment 1 with what the tests spoil it by."""

from __future__ import annotations

import numpy as np

from badac import Measurements
from badac.simulate import Experiment, experiment


def curves(setting: str, n_train: int, n_test: int, seed: int) -> Experiment:
    return experiment(
        1, setting, n_train=n_train, n_test=n_test, contamination=0.0, rng=np.random.default_rng(seed)
    )


def spoiled_test(
    data: Experiment, rng: np.random.Generator, *, gain: float = 0.0, offset: float = 0.0, shift: float = 0.0
) -> Measurements:
    """Test objects with a gain, an offset and a (uniform) shift each, and the same noise as before."""
    n = data.test.n_objects
    moved = data.at - shift * rng.uniform(-1, 1, (n, 1))
    truth = np.empty(data.test.shape)
    for row, (kind, parameters) in enumerate(zip(data.test_label, data.test_parameters, strict=True)):
        family = data.recipe.families[kind]
        truth[row] = family.truth(parameters[None, : len(family.names)], moved[row])[0]
    factor = 1 + gain * rng.standard_normal((n, 1))
    values = factor * truth + offset * rng.standard_normal((n, 1)) + data.test.values - data.test_truth
    return Measurements(values, data.test.sigma, at=data.at)

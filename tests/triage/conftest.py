"""A small survey: two known classes of curves, ten waves of a kind that nobody knew, and six spiked ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from badac import BADACClassifier, Measurements

X = np.linspace(0.0, 1.0, 24)


@dataclass(frozen=True, eq=False)
class Survey:
    model: BADACClassifier
    objects: Measurements
    ids: list[str]
    truth: np.ndarray


def noisy(curve: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return curve * rng.normal(1.0, 0.15, (n, 1)) + 0.2 * rng.standard_normal((n, X.size))


def make_survey() -> Survey:
    rng = np.random.default_rng(7)
    train = np.vstack([noisy(X, 60, rng), noisy(1.0 - X, 60, rng)])
    label = np.repeat(["fall", "rise"], 60)[::-1]
    model = BADACClassifier(class_model="population", random_state=0).fit(
        Measurements(train, 0.2, at=X), label
    )
    spike = X + 3.0 * (np.arange(X.size) == 12)
    parts = [
        noisy(X, 120, rng),
        noisy(1.0 - X, 120, rng),
        noisy(np.sin(9.0 * X), 10, rng),
        noisy(spike, 6, rng),
    ]
    truth = np.repeat(["rise", "fall", "wave", "spike"], [len(part) for part in parts])
    order = rng.permutation(len(truth))
    objects = Measurements(np.vstack(parts)[order], 0.2, at=X)
    return Survey(model, objects, [f"star-{row}" for row in range(len(truth))], truth[order])


@pytest.fixture(scope="session")
def survey() -> Survey:
    return make_survey()

"""Experiment 1 with gaps: half of all points removed from training and test, and every object at 50 random times of its own.

    python -m benchmarks.gaps --n 15000

Printed: accuracy of the known classes with complete curves, with half of the points gone, and at random times; a random forest
sees the values with gaps filled by the class-blind mean of the point (half gone), or interpolated to the grid (random times).
The limit is the accuracy of whoever knows how the curves were made (`reproduction.limits.bayes_limit`), at as many points.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from badac import BADACClassifier, Measurements
from badac.classes import GaussianProcess
from badac.simulate import experiment
from reproduction.limits import generating_log_evidence

GRID = np.linspace(0.0, 1.0, 50)


def half_gone(objects: Measurements, rng: np.random.Generator) -> Measurements:
    gone = rng.random(objects.shape) < 0.5
    return Measurements(np.where(gone, np.nan, objects.values), objects.sigma, at=objects.at)


def own_times(family: Any, sigma: float, parameters: np.ndarray, rng: np.random.Generator) -> Measurements:
    """The same curves, each at 50 random times."""
    at = np.sort(rng.random((len(parameters), 50)), axis=1)
    truth = np.vstack(
        [family.truth(row[None, : len(family.names)], t)[0] for row, t in zip(parameters, at, strict=True)]
    )
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma, at=at)


def filled(objects: Measurements, centre: np.ndarray) -> np.ndarray:
    if objects.own_points:
        return np.vstack([np.interp(GRID, t, y) for t, y in zip(objects.at, objects.values, strict=True)])
    return np.where(objects.observed, objects.values, centre)


def compare(name: str, train: Measurements, label: np.ndarray, test: Measurements, truth: np.ndarray) -> None:
    models: dict[str, Any] = {
        "badac": "auto",
        "gp": GaussianProcess(),
        # The paper's speed-up: one process per class.
        "gp template": GaussianProcess(rank=0, tails=False),
    }
    for title, model in models.items():
        started = time.perf_counter()
        fitted = BADACClassifier(class_model=model, anomaly="evidence", random_state=0).fit(train, label)
        learned = time.perf_counter() - started
        accuracy = fitted.score(test, truth)
        print(
            f"{name:12s} {title:12s} {100 * accuracy:6.2f} %   fit {learned:.0f} s, "
            f"{1e6 * (time.perf_counter() - started - learned) / len(truth):.0f} us per object",
            flush=True,
        )
    centre = np.nanmean(train.values, axis=0)
    forest = RandomForestClassifier(200, random_state=0).fit(filled(train, centre), label)
    print(f"{name:12s} {'forest':12s} {100 * forest.score(filled(test, centre), truth):6.2f} %", flush=True)


def limit(data: Any, n_points: int, rng: np.random.Generator, n_batches: int = 60) -> tuple[float, float]:
    """Accuracy of the generating model, with its error, on batches of objects that share random times."""
    right = []
    for rows in np.array_split(np.arange(len(data.test_label)), n_batches):
        label, at = data.test_label[rows], np.sort(rng.random(n_points))
        values, sigma = np.empty((len(rows), n_points)), np.empty((len(rows), n_points))
        for kind, family in enumerate(data.recipe.inliers):
            own, width = label == kind, data.recipe.sigma[kind].mean
            truth = family.truth(data.test_parameters[rows][own][:, : len(family.names)], at)
            values[own] = truth + width * rng.standard_normal(truth.shape)
            sigma[own] = width
        evidence = generating_log_evidence(Measurements(values, sigma, at=at), data.recipe)
        right.append(evidence.argmax(axis=1) == label)
    found = np.concatenate(right)
    return float(found.mean()), float(found.std() / np.sqrt(len(found)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=15_000, help="training and test objects, each")
    parser.add_argument("--setting", default="printed", choices=["printed", "released"])
    chosen = parser.parse_args()
    rng = np.random.default_rng(1)
    data = experiment(1, chosen.setting, n_train=chosen.n, n_test=chosen.n, contamination=0.0, rng=rng)
    print(f"Experiment 1 {chosen.setting}, {chosen.n} + {chosen.n} objects, no anomalies")
    for points in (100, 50):
        accuracy, error = limit(data, points, rng)
        print(f"limit at {points} random times {100 * accuracy:.2f} +- {100 * error:.2f} %", flush=True)
    compare("complete", data.train, data.train_label, data.test, data.test_label)
    train, test = half_gone(data.train, rng), half_gone(data.test, rng)
    compare("half gone", train, data.train_label, test, data.test_label)
    sides = []
    for label, parameters in (
        (data.train_label, data.train_parameters),
        (data.test_label, data.test_parameters),
    ):
        values, sigma, at = (np.empty((len(label), 50)) for _ in range(3))
        for kind, family in enumerate(data.recipe.inliers):
            rows = label == kind
            part = own_times(family, data.recipe.sigma[kind].mean, parameters[rows], rng)
            values[rows], sigma[rows], at[rows] = part.values, part.sigma, part.at
        sides.append(Measurements(values, sigma, at=at))
    compare("own times", sides[0], data.train_label, sides[1], data.test_label)


if __name__ == "__main__":
    main()

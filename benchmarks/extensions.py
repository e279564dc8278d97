"""Parametric classes, nuisance parameters and shared conditions on the paper's Experiment 1: what they are worth.

parametric  true functions and priors as class models: accuracy beside the Bayes limit, and the largest error of the evidence
            against quadrature, over all test objects (anomalies too) and both classes
nuisance    test objects with gains of 20 %, offsets of 0.3 or shifts of up to 0.1: accuracy with and without the wrapper
batches     training noise with a common part per batch of 50: log-loss with and without the covariance, over seeds

One thread; CPU seconds of the process. Tables are Markdown.

Run: OMP_NUM_THREADS=1 python -m benchmarks.extensions parametric [--test 5000] [--seeds 3]
     OMP_NUM_THREADS=1 python -m benchmarks.extensions nuisance [--train 5000] [--test 5000] [--seeds 3]
     OMP_NUM_THREADS=1 python -m benchmarks.extensions batches [--train 2000] [--test 5000] [--seeds 5]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.stats import norm

from badac import BADACClassifier, Measurements
from badac.classes import LinearModel, Parametric
from badac.classes.shared_conditions import common_shapes
from badac.simulate import Experiment, experiment
from reproduction.limits import bayes_limit, generating_log_evidence

SETTINGS = ("printed", "released")


def sine(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    (frequency,) = theta
    return np.sin(frequency * at)


def parabola(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    a, b, c = theta
    return a * at**2 + b * at + c


def quadratic(at: np.ndarray) -> np.ndarray:
    return np.stack([at**2, at, np.ones_like(at)], axis=-1)


SINE = Parametric(sine, [norm(5, 2)])
PARABOLA = Parametric(parabola, [norm(0.5, 0.2), norm(0.5, 0.2), norm(0.0, 0.2)])
CLOSED = LinearModel(quadratic, [0.5, 0.5, 0.0], [0.2, 0.2, 0.2])


def draw(setting: str, train: int, test: int, seed: int, contamination: float = 0.0) -> Experiment:
    return experiment(
        1,
        setting,
        n_train=train,
        n_test=test,
        contamination=contamination,
        rng=np.random.default_rng(seed),
    )


def scores(model: BADACClassifier, objects: Measurements, label: np.ndarray) -> tuple[float, float]:
    """Accuracy in percent and log-loss in nats."""
    found = model.predict_log_proba(objects)
    return 100 * float(np.mean(found.argmax(axis=1) == label)), -float(
        np.mean(found[np.arange(len(label)), label])
    )


def parametric(train: int, test: int, seeds: int) -> None:
    print(
        "| setting | parabola as | seed | accuracy | Bayes limit | largest error (nats) | CPU ms per object |"
    )
    print("|---|---|---|---|---|---|---|")
    for setting in SETTINGS:
        for name, second in (("function", PARABOLA), ("linear model", CLOSED)):
            for seed in range(seeds):
                data = draw(setting, 20, test, seed, contamination=0.01)
                model = BADACClassifier(
                    {0: SINE, 1: second}, anomaly="evidence", priors="uniform", missingness="ignore"
                ).fit(data.train, data.train_label)
                start = time.process_time()
                found = model.log_evidence(data.test)
                spent = 1e3 * (time.process_time() - start) / test
                error = np.abs(found - generating_log_evidence(data.test, data.recipe)).max()
                normal = ~data.is_anomaly
                right = 100 * np.mean(found[normal].argmax(axis=1) == data.test_label[normal])
                limit = bayes_limit(data)
                print(
                    f"| {setting} | {name} | {seed} | {right:.2f} | {100 * limit.accuracy:.2f} +- "
                    f"{100 * limit.accuracy_error:.2f} | {error:.4f} | {spent:.2f} |",
                    flush=True,
                )


def spoil(
    data: Experiment, rng: np.random.Generator, gain: float, offset: float, shift: float
) -> Measurements:
    n = data.test.n_objects
    moved = data.at - shift * rng.uniform(-1, 1, (n, 1))
    truth = np.empty(data.test.shape)
    for row, (kind, parameters) in enumerate(zip(data.test_label, data.test_parameters, strict=True)):
        family = data.recipe.families[kind]
        truth[row] = family.truth(parameters[None, : len(family.names)], moved[row])[0]
    values = (1 + gain * rng.standard_normal((n, 1))) * truth + offset * rng.standard_normal((n, 1))
    return Measurements(values + data.test.values - data.test_truth, data.test.sigma, at=data.at)


def nuisance(train: int, test: int, seeds: int) -> None:
    print(
        "| setting | spoiled by | seed | unspoiled | spoiled, plain | spoiled, wrapped | CPU ms per object |"
    )
    print("|---|---|---|---|---|---|---|")
    kinds: dict[str, dict[str, float]] = {
        "gain 20 %, offset 0.3": {"gain": 0.2, "offset": 0.3},
        "shift up to 0.1": {"shift": 0.1},
        "all three": {"gain": 0.2, "offset": 0.3, "shift": 0.1},
    }
    for setting in SETTINGS:
        for seed in range(seeds):
            data = draw(setting, train, test, seed)
            keywords: dict[str, Any] = {
                "class_model": "population",
                "anomaly": "evidence",
                "random_state": seed,
            }
            plain = BADACClassifier(**keywords).fit(data.train, data.train_label)
            unspoiled = scores(plain, data.test, data.test_label)
            for name, widths in kinds.items():
                if len(widths) == 3 and seed:
                    continue  # A sum over shifts of sums over gains: once is enough.
                every = {"gain": 0.0, "offset": 0.0, "shift": 0.0} | widths
                spoiled = spoil(data, np.random.default_rng(1000 + seed), **every)
                wrapped = BADACClassifier(nuisance=widths, **keywords).fit(data.train, data.train_label)
                start = time.process_time()
                found = scores(wrapped, spoiled, data.test_label)
                spent = 1e3 * (time.process_time() - start) / test
                lost = scores(plain, spoiled, data.test_label)
                cells = [f"{accuracy:.2f} / {loss:.4f}" for accuracy, loss in (unspoiled, lost, found)]
                print(f"| {setting} | {name} | {seed} | {' | '.join(cells)} | {spent:.2f} |", flush=True)


def batches(train: int, test: int, seeds: int) -> None:
    print(
        "| setting | common sigma | seed | ignored | as larger error bars | covariance known | no common part |"
    )
    print("|---|---|---|---|---|---|---|")
    for setting, sigma in (("printed", 0.5), ("released", 0.1), ("released", 0.3)):
        gains = []
        for seed in range(seeds):
            data = draw(setting, train, test, seed)
            rng = np.random.default_rng(1000 + seed)
            batch = np.arange(train) // 50
            shapes = common_shapes("smooth", data.train)
            common = sigma * rng.standard_normal((batch[-1] + 1, shapes.shape[1])) @ shapes.T
            spoiled = Measurements(data.train.values + common[batch], data.train.sigma, at=data.at)
            wide = Measurements(spoiled.values, np.hypot(spoiled.sigma, sigma), at=data.at)
            found = []
            for objects, given in ((spoiled, None), (wide, None), (spoiled, batch), (data.train, None)):
                model = BADACClassifier("population", anomaly="evidence", random_state=seed)
                model.fit(objects, data.train_label, batch=given)
                found.append(scores(model, data.test, data.test_label))
            gains.append(found[0][1] - found[2][1])
            cells = " | ".join(f"{accuracy:.2f} / {loss:.4f}" for accuracy, loss in found)
            print(f"| {setting} | {sigma} | {seed} | {cells} |", flush=True)
        spread = np.std(gains, ddof=1) if len(gains) > 1 else np.nan
        print(
            f"| {setting} | {sigma} | gain in log-loss | {np.mean(gains):.4f} +- {spread:.4f} | | | |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = {"parametric": parametric, "nuisance": nuisance, "batches": batches}
    parser.add_argument("table", choices=tables)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--test", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    tables[given.table](given.train, given.test, given.seeds)


if __name__ == "__main__":
    main()

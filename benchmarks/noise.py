"""Noise models beside the Gaussian: what they cost, and what they are worth.

speed        CPU nanoseconds per point of a pair in the exact model, relative to uncorrelated Gaussian errors
experiments  the paper's Experiments 3 and 4 with the population: noise given, learned ("auto") and ignored, beside the limit
diagnose     which family `diagnose` names, over seeds, at 1,000 training curves
counts       Poisson (0.5 to 20 counts per bin) and binomial (5 to 50 trials): as counts, as Gaussian values, and a forest

One thread; CPU seconds of the process, so that a busy machine does not decide. Tables are Markdown.

Run: OMP_NUM_THREADS=1 python benchmarks/noise.py speed
     OMP_NUM_THREADS=1 python benchmarks/noise.py experiments [--size 15000] [--seeds 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from badac import BADACClassifier, Measurements
from badac.classes import Population
from badac.learned import compare_families
from badac.metrics import expected_calibration_error
from badac.noise import Binomial, Correlated, Gaussian, Noise, Outliers, PerClass, Poisson, Student
from badac.noise.model import log_mixture
from badac.simulate import experiment


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds of the best of three."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def speed(n: int, k: int, m: int) -> None:
    rng = np.random.default_rng(0)
    steps = np.arange(m) // (m // 5)
    cake = 0.1 * (1 + np.minimum.outer(steps, steps))
    print("| noise | error bars | ns per point of a pair | relative |\n|---|---|---|---|")
    for bars, sigma in (("shared", 0.3), ("each its own", rng.uniform(0.2, 0.4, (n + k, m)))):
        data = Measurements(rng.standard_normal((n + k, m)), sigma)
        objects, curves = data[:n], data[n:]
        plain = seconds(lambda o=objects, c=curves: log_mixture(Gaussian(), o, c))
        for name, noise in (
            ("gaussian", Gaussian()),
            ("correlated, one covariance", Correlated(cake)),
            ("outliers", Outliers(0.2, 5.0)),
            ("student", Student(4.0)),
        ):
            if bars != "shared" and isinstance(noise, Correlated):
                continue
            some = objects if isinstance(noise, Gaussian | Correlated) else objects[: max(1, n // 20)]
            spent = seconds(lambda o=some, c=curves, x=noise: log_mixture(x, o, c))
            each = spent / (len(some) * k * m) * 1e9
            print(f"| {name} | {bars} | {each:.2f} | {each / (plain / (n * k * m) * 1e9):.1f} |", flush=True)


def scores(label: np.ndarray, probability: np.ndarray) -> str:
    right = np.clip(probability[np.arange(len(label)), label], 1e-300, 1.0)
    accuracy = 100 * np.mean(probability.argmax(axis=1) == label)
    return (
        f"{accuracy:.2f} | {-np.log(right).mean():.4f} | {expected_calibration_error(label, probability):.4f}"
    )


def experiments(size: int, seeds: int) -> None:
    print(
        "| experiment | noise | seed | accuracy | log-loss | calibration error | CPU s |\n|---|---|---|---|---|---|---|"
    )
    steps = np.arange(100) // 20
    cake = 0.1 * (1 + np.minimum.outer(steps, steps))
    given: dict[int, Noise] = {3: Outliers(0.2, 5.0), 4: PerClass((Correlated(cake), Gaussian()))}
    for number, noise in given.items():
        for setting in ("printed", "released"):
            for seed in range(seeds):
                data = experiment(number, setting, n_train=size, n_test=size, rng=np.random.default_rng(seed))
                known = data.test_label < 2
                for name, model in (("given", noise), ("auto", "auto"), ("gaussian", "gaussian")):
                    start = time.process_time()
                    classifier = BADACClassifier(
                        Population(), noise=model, anomaly="evidence", random_state=0
                    )
                    classifier.fit(data.train, data.train_label)
                    found = scores(data.test_label[known], classifier.predict_proba(data.test[known]))
                    spent = time.process_time() - start
                    print(f"| {number} {setting} | {name} | {seed} | {found} | {spent:.0f} |", flush=True)


def diagnosed(seeds: int) -> None:
    print("| experiment | named, of seeds |\n|---|---|")
    for setting in ("printed", "released"):
        for number in (1, 2, 3, 4):
            names = []
            for seed in range(seeds):
                data = experiment(number, setting, n_train=1000, n_test=10, rng=np.random.default_rng(seed))
                names.append(compare_families(data.train, data.train_label, np.random.default_rng(seed)).best)
            counted = ", ".join(f"{name} {names.count(name)}" for name in sorted(set(names)))
            print(f"| {number} {setting} | {counted} of {seeds} |", flush=True)


def light_curves(n: int, rng: np.random.Generator, points: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Labels and links (n, points) of flares and waves."""
    at = np.linspace(0.0, 1.0, points)
    label = rng.integers(0, 2, n)
    since = np.clip((at - rng.normal(0.4, 0.05, (n, 1))) / 0.3, 0.0, None)
    flare = rng.normal(1.0, 0.3, (n, 1)) * np.exp(-since) * (since > 0) - 0.3
    wave = rng.normal(0.6, 0.2, (n, 1)) * np.sin(2 * np.pi * at + rng.normal(0.0, 0.5, (n, 1)))
    return label, rng.normal(0.0, 0.3, (n, 1)) + np.where(label[:, None] == 0, flare, wave)


def counts(size: int) -> None:
    print("| data | model | accuracy | log-loss | calibration error |\n|---|---|---|---|---|")
    cases = [("poisson", level) for level in (0.5, 2.0, 20.0)] + [("binomial", n) for n in (5, 15, 50)]
    for kind, level in cases:
        rng = np.random.default_rng(0)
        label, link = light_curves(2 * size, rng)
        if kind == "poisson":
            values, noise = rng.poisson(level * np.exp(link)).astype(float), Poisson()
            sigma = np.sqrt(np.maximum(values, 1.0))
        else:
            values, noise = (
                rng.binomial(int(level), 1 / (1 + np.exp(-link))).astype(float),
                Binomial(int(level)),
            )
            sigma = np.sqrt(np.maximum(values * (1 - values / level), 0.5))
        for name, data, model in (
            ("counts", Measurements(values), noise),
            ("gaussian", Measurements(values, sigma), Gaussian()),
        ):
            classifier = BADACClassifier(Population(), noise=model, anomaly="evidence", random_state=0)
            classifier.fit(data[:size], label[:size])
            found = scores(label[size:], classifier.predict_proba(data[size:]))
            print(f"| {kind} {level:g} | population, {name} | {found} |", flush=True)
        forest = RandomForestClassifier(500, random_state=0).fit(values[:size], label[:size])
        print(
            f"| {kind} {level:g} | forest | {scores(label[size:], forest.predict_proba(values[size:]))} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["speed", "experiments", "diagnose", "counts"])
    parser.add_argument("--size", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.what == "speed":
        speed(500, chosen.size or 2000, 100)
    elif chosen.what == "experiments":
        experiments(chosen.size or 15_000, chosen.seeds)
    elif chosen.what == "diagnose":
        diagnosed(chosen.seeds)
    else:
        counts(chosen.size or 2000)


if __name__ == "__main__":
    main()

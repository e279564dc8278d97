"""Noise models beside the Gaussian: what they cost, and what they are worth.

speed        CPU nanoseconds per point of a pair in the exact model, relative to uncorrelated Gaussian errors
experiments  the paper's Experiments 3 and 4 with the population: noise given, learned ("auto") and ignored, beside the limit
diagnose     which family `diagnose` names, over seeds, at 1,000 training curves
counts       Poisson (0.5 to 20 counts per bin) and binomial (5 to 50 trials): as counts, as Gaussian values, and a forest

One thread; CPU seconds of the process, so that a busy machine does not decide. Each table is printed and written, with
how it was measured, to its place in benchmarks/results/noise.md and docs/noise.md.

Run: OMP_NUM_THREADS=1 python -m benchmarks.noise speed
     OMP_NUM_THREADS=1 python -m benchmarks.noise experiments [--size 15000] [--seeds 5] [--numbers 3 4]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from badac import BADACClassifier, Measurements
from badac.classes import Population
from badac.metrics import expected_calibration_error
from badac.noise import Binomial, Correlated, Gaussian, Noise, Outliers, PerClass, Poisson, Student
from badac.noise.matches import log_mixture
from badac.noise_learning import compare_families
from badac.simulate import experiment
from reproduction.limits import bayes_limit
from reproduction.marked import write_into

HERE = Path(__file__).resolve().parent
PAGES = (HERE / "results" / "noise.md", HERE.parent / "docs" / "noise.md")


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds of the best of three."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


class Table:
    """Rows that are printed as they come, and written to their place in the results and the docs at the end."""

    def __init__(self, name: str, about: str, columns: str) -> None:
        self.name = name
        self.lines = [about, "", f"| {columns} |", "|" + "---|" * (columns.count("|") + 1)]
        print("\n".join(self.lines), flush=True)

    def row(self, cells: str) -> None:
        self.lines.append(f"| {cells} |")
        print(self.lines[-1], flush=True)

    def write(self) -> None:
        for path in PAGES:
            write_into(path, {f"noise:{self.name}": "\n".join(self.lines) + "\n"})


def speed(n: int, k: int) -> None:
    table = Table(
        "speed",
        f"Exact model, {n:,} objects of Experiment 3 against {k:,} curves of class 0, 100 points, CPU nanoseconds per point of "
        "a pair; relative to uncorrelated Gaussian errors on the same data. Curves that cannot matter are given up early, "
        "by every model in its own way.",
        "noise | error bars | ns per point of a pair | relative",
    )
    steps = np.arange(100) // 20
    cake = 0.1 * (1 + np.minimum.outer(steps, steps))
    for bars, setting in (("shared", "printed"), ("each its own", "released")):
        data = experiment(3, setting, n_train=3 * k, n_test=n, rng=np.random.default_rng(0))
        objects, curves = data.test, data.train[data.train_label == 0][:k]
        pairs = n * k * 100 * 1e-9
        plain = seconds(lambda o=objects, c=curves: log_mixture(Gaussian(), o, c)) / pairs
        for name, noise in (
            ("gaussian", Gaussian()),
            ("correlated, one covariance", Correlated(cake)),
            ("outliers", Outliers(0.2, 5.0)),
            ("student", Student(4.0)),
        ):
            if bars != "shared" and isinstance(noise, Correlated):
                continue
            some = objects[: max(1, n // 100)] if isinstance(noise, Student) else objects
            spent = seconds(lambda o=some, c=curves, x=noise: log_mixture(x, o, c)) / (pairs * len(some) / n)
            table.row(f"{name} | {bars} | {spent:.2f} | {spent / plain:.1f}")
    table.write()


def measured(label: np.ndarray, probability: np.ndarray) -> tuple[float, float, float]:
    """Accuracy in percent, log-loss and calibration error."""
    right = np.clip(probability[np.arange(len(label)), label], 1e-300, 1.0)
    accuracy = 100 * float(np.mean(probability.argmax(axis=1) == label))
    return accuracy, float(-np.log(right).mean()), expected_calibration_error(label, probability)


def scores(label: np.ndarray, probability: np.ndarray) -> str:
    accuracy, loss, error = measured(label, probability)
    return f"{accuracy:.2f} | {loss:.4f} | {error:.4f}"


def experiments(size: int, seeds: int, numbers: list[int], settings: list[str]) -> None:
    table = Table(
        "experiments",
        f"The paper's experiments, {size:,} training and {size:,} test curves, seeds 0 to {seeds - 1}: population with the "
        "noise given, learned and taken as Gaussian. Mean over the seeds and, of the accuracy, the least; the limit is what "
        "the generating model reaches on the same objects; CPU seconds of fit and prediction.",
        "experiment | noise | accuracy | least | limit | log-loss | calibration error | CPU s",
    )
    steps = np.arange(100) // 20
    cake = 0.1 * (1 + np.minimum.outer(steps, steps))
    given: dict[int, Noise] = {3: Outliers(0.2, 5.0), 4: PerClass((Correlated(cake), Gaussian()))}
    for number in numbers:
        for setting in settings:
            found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
            for seed in range(seeds):
                data = experiment(number, setting, n_train=size, n_test=size, rng=np.random.default_rng(seed))
                known = data.test_label < 2
                limit = 100 * bayes_limit(data).accuracy
                for name, model in (("given", given[number]), ("auto", "auto"), ("gaussian", "gaussian")):
                    start = time.process_time()
                    classifier = BADACClassifier(
                        Population(), noise=model, anomaly="evidence", random_state=0
                    )
                    classifier.fit(data.train, data.train_label)
                    probability = classifier.predict_proba(data.test[known])
                    spent = time.process_time() - start
                    one = (*measured(data.test_label[known], probability), limit, spent)
                    print(number, setting, seed, name, *(f"{x:.4f}" for x in one), flush=True)
                    found[name].append(one)
            for name, each in found.items():
                accuracy, loss, error, limit, spent = np.mean(each, axis=0)
                least = min(one[0] for one in each)
                table.row(
                    f"{number} {setting} | {name} | {accuracy:.2f} | {least:.2f} | {limit:.2f} | {loss:.4f} | {error:.4f} | "
                    f"{spent:.0f}"
                )
    table.write()


def diagnosed(seeds: int) -> None:
    table = Table(
        "diagnose",
        f"The family that `diagnose` names at 1,000 training curves, seeds 0 to {seeds - 1}.",
        "experiment | named",
    )
    for setting in ("printed", "released"):
        for number in (1, 2, 3, 4):
            names = []
            for seed in range(seeds):
                # Experiments 1 and 2 differ in their anomalies only: the same noise, other curves.
                drawn = np.random.default_rng(seed + 1000 * (number == 2))
                data = experiment(number, setting, n_train=1000, n_test=10, rng=drawn)
                names.append(compare_families(data.train, data.train_label, np.random.default_rng(seed)).best)
            counted = ", ".join(f"{name} {names.count(name)} of {seeds}" for name in sorted(set(names)))
            table.row(f"{number} {setting} | {counted}")
    table.write()


def light_curves(n: int, rng: np.random.Generator, points: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Labels and links (n, points) of flares and waves."""
    at = np.linspace(0.0, 1.0, points)
    label = rng.integers(0, 2, n)
    since = np.clip((at - rng.normal(0.4, 0.05, (n, 1))) / 0.3, 0.0, None)
    flare = rng.normal(1.0, 0.3, (n, 1)) * np.exp(-since) * (since > 0) - 0.3
    wave = rng.normal(0.6, 0.2, (n, 1)) * np.sin(2 * np.pi * at + rng.normal(0.0, 0.5, (n, 1)))
    return label, rng.normal(0.0, 0.3, (n, 1)) + np.where(label[:, None] == 0, flare, wave)


def counts(size: int, seeds: int) -> None:
    table = Table(
        "counts",
        f"{size:,} training and {size:,} test light curves of 40 bins (flares and waves), mean over seeds 0 to {seeds - 1}; "
        "the spread is the standard error of the difference of the log-loss from that of the counts.",
        "data | model | accuracy | log-loss | above counts | calibration error",
    )
    cases = [("poisson", level) for level in (0.5, 2.0, 20.0)] + [("binomial", n) for n in (5, 15, 50)]
    for kind, level in cases:
        found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        losses: dict[str, list[np.ndarray]] = defaultdict(list)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            label, link = light_curves(2 * size, rng)
            noise: Noise
            if kind == "poisson":
                values, noise = rng.poisson(level * np.exp(link)).astype(float), Poisson()
                sigma = np.sqrt(np.maximum(values, 1.0))
            else:
                trials = int(level)
                values, noise = rng.binomial(trials, 1 / (1 + np.exp(-link))).astype(float), Binomial(trials)
                sigma = np.sqrt(np.maximum(values * (1 - values / level), 0.5))
            truth = label[size:]
            for name, data, model in (
                ("population, counts", Measurements(values), noise),
                ("population, gaussian", Measurements(values, sigma), Gaussian()),
            ):
                classifier = BADACClassifier(Population(), noise=model, anomaly="evidence", random_state=0)
                classifier.fit(data[:size], label[:size])
                probability = classifier.predict_proba(data[size:])
                found[name].append(measured(truth, probability))
                losses[name].append(-np.log(np.clip(probability[np.arange(size), truth], 1e-300, 1.0)))
            forest = RandomForestClassifier(500, random_state=0).fit(values[:size], label[:size])
            probability = forest.predict_proba(values[size:])
            found["forest"].append(measured(truth, probability))
            losses["forest"].append(-np.log(np.clip(probability[np.arange(size), truth], 1e-300, 1.0)))
        for name, each in found.items():
            accuracy, loss, error = np.mean(each, axis=0)
            above = np.concatenate(losses[name]) - np.concatenate(losses["population, counts"])
            text = (
                "" if not above.any() else f"{above.mean():+.4f} +- {above.std() / np.sqrt(len(above)):.4f}"
            )
            table.row(f"{kind} {level:g} | {name} | {accuracy:.2f} | {loss:.4f} | {text} | {error:.4f}")
    table.write()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["speed", "experiments", "diagnose", "counts"])
    parser.add_argument("--size", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--numbers", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--settings", nargs="+", default=["printed", "released"])
    chosen = parser.parse_args()
    if chosen.what == "speed":
        speed(500, chosen.size or 2000)
    elif chosen.what == "experiments":
        experiments(chosen.size or 15_000, chosen.seeds, chosen.numbers, chosen.settings)
    elif chosen.what == "diagnose":
        diagnosed(chosen.seeds)
    else:
        counts(chosen.size or 1500, chosen.seeds)


if __name__ == "__main__":
    main()

"""The population beside the Bayes limit, a random forest, flat BADAC, and the clocks of anomaly detectors.

accuracy  the paper's Experiments 1, 2 and 4 as printed and 1 as released: accuracy, calibration error and log-loss of the
          population, of the same with a coarsened posterior, of the true model, of a random forest and of exact instances
digits    scikit-learn's digits with known noise: population, forest and nearest neighbours
speed     fit + evidence of both classes beside IsolationForest's and LocalOutlierFactor's fit + score; the whole classifier
          with its choice of models and its anomaly model too
profile   where the seconds of a fit go
members   cost per test object as the class grows, and its exponent; time and memory of learning from so many members

One thread; seconds are CPU seconds of the process, so that a busy machine does not decide. Nothing is told about the
generating models. Tables are Markdown; --write puts them into benchmarks/results/population.md, each under its heading, and
into their places in docs/population.md.

Run: OMP_NUM_THREADS=1 python -m benchmarks.population accuracy [--size 15000] [--seeds 5] [--trees 1000] [--flat] [--write]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from threadpoolctl import threadpool_limits

from badac import BADACClassifier, Measurements
from badac.calibration.coarsening import learn_coarsening
from badac.classes import ClassModel, Instances, Population, TrainingScales
from badac.evidence import log_evidence, training_log_evidence
from badac.metrics import classification_summary
from badac.noise import Gaussian
from badac.simulate import experiment
from reproduction.limits import generating_log_evidence
from reproduction.marked import write_into

SETTINGS = ((1, "printed"), (2, "printed"), (4, "printed"), (1, "released"))
RESULTS = Path(__file__).parent / "results" / "population.md"
PAGE = Path(__file__).parent.parent / "docs" / "population.md"
# The functions that share a fit between them.
STAGES = (
    ("choosing the rank", "rank.py", "choose_rank"),
    ("choosing smoothness", "smoothness.py", "choose_penalty"),
    ("choosing the shape", "shape.py", "choose_shape"),
    ("choosing, in all", "plan.py", "make_plan"),
    ("learning mean, factors and psi", "factor.py", "expectation_maximisation"),
    ("learning the latent density", "population.py", "finish"),
    ("learning, in all", "population.py", "learn"),
    ("left-out evidence and tails", "crossfit.py", "leave_out_evidence"),
    ("all of fit", "population.py", "fit"),
)
said: list[str] = []


def say(line: str) -> None:
    said.append(line)
    print(line, flush=True)


def write(heading: str) -> None:
    """Put what was said under its heading, in place of what was there."""
    title = "# The population prior, measured\n\nWritten by `benchmarks/population.py`; CPU seconds of one thread.\n"
    page = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else title
    sections = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    name = f"## {heading.split(',')[0]}"
    kept = [part.rstrip() + "\n" for part in sections if part.strip() and not part.startswith(name)]
    kept.append(f"## {heading}\n\n" + "\n".join(said) + "\n")
    RESULTS.write_text("\n".join([kept[0], *sorted(kept[1:])]), encoding="utf-8")
    places = {}
    for part in kept[1:]:
        title, _, table = part.partition("\n")
        what, _, how = title.removeprefix("## ").partition(", ")
        places[f"population:{what}"] = (
            f"`python -m benchmarks.population {what}`, {how}:\n\n{table.strip()}\n"
        )
    write_into(PAGE, places)


def posterior(evidence: np.ndarray) -> np.ndarray:
    return np.exp(evidence - logsumexp(evidence, axis=1, keepdims=True))


def fit(
    model: Callable[[], ClassModel], train: Measurements, label: np.ndarray, n_classes: int
) -> list[ClassModel]:
    scales = TrainingScales.of(train)
    return [
        model().fit(train[label == name], Gaussian(), np.random.default_rng(0), scales)
        for name in range(n_classes)
    ]


def row(name: str, label: np.ndarray, parts: dict[str, list[np.ndarray]], probability: np.ndarray) -> None:
    found = classification_summary(label, probability, np.arange(probability.shape[1]))
    parts.setdefault(name, []).append(np.array([found.accuracy, found.ece, found.log_loss]))


def accuracy(size: int, seeds: int, trees: int, flat: bool) -> None:
    say("| experiment | method | accuracy % | calibration error | log-loss | log-loss / limit's |")
    say("|---|---|---|---|---|---|")
    for number, setting in SETTINGS:
        parts: dict[str, list[np.ndarray]] = {}
        for seed in range(seeds):
            data = experiment(number, setting, n_train=size, n_test=size, rng=np.random.default_rng(seed))
            normal = ~data.is_anomaly
            test, label = data.test[normal], data.test_label[normal]
            row("Bayes limit", label, parts, posterior(generating_log_evidence(test, data.recipe)))
            models = fit(Population, data.train, data.train_label, 2)
            evidence = log_evidence(models, test)
            row("population", label, parts, posterior(evidence))
            left_out = training_log_evidence(models, data.train, data.train_label)
            shares = np.log(np.bincount(data.train_label) / len(data.train_label))
            coarsening = learn_coarsening(left_out, data.train_label, shares)
            row("population, coarsened", label, parts, posterior(coarsening.apply(evidence)))
            if flat:
                exact = log_evidence(fit(Instances, data.train, data.train_label, 2), test)
                row("instances (flat prior)", label, parts, posterior(exact))
            if trees:
                forest = RandomForestClassifier(trees, random_state=seed).fit(
                    data.train.values, data.train_label
                )
                row(f"random forest ({trees})", label, parts, forest.predict_proba(test.values))
        limit = np.mean([part[2] for part in parts["Bayes limit"]])
        for name, values in parts.items():
            mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
            say(
                f"| {setting} {number} | {name} | {100 * mean[0]:.2f} ± {100 * spread[0]:.2f} | {mean[1]:.4f} | "
                f"{mean[2]:.4f} | {mean[2] / limit:.3f} |",
            )


def digits(seeds: int, trees: int) -> None:
    images, label = load_digits(return_X_y=True)
    cut = int(0.6 * len(images))
    say("| noise | method | accuracy % | calibration error | log-loss |")
    say("|---|---|---|---|---|")
    for level in (0, 2, 4, 6):
        parts: dict[str, list[np.ndarray]] = {}
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            sigma = level * rng.uniform(0.3, 1.7, images.shape)
            values = images + sigma * rng.standard_normal(images.shape)
            order = rng.permutation(len(images))
            known, new = order[:cut], order[cut:]
            sides = [
                Measurements(values[side], sigma[side]) if level else Measurements(values[side])
                for side in (known, new)
            ]
            models = fit(Population, sides[0], label[known], 10)
            evidence = log_evidence(models, sides[1])
            row("population", label[new], parts, posterior(evidence))
            left_out = training_log_evidence(models, sides[0], label[known])
            coarsening = learn_coarsening(left_out, label[known], np.log(np.full(10, 0.1)))
            row("population, coarsened", label[new], parts, posterior(coarsening.apply(evidence)))
            forest = RandomForestClassifier(trees or 100, random_state=seed).fit(values[known], label[known])
            row("random forest", label[new], parts, forest.predict_proba(values[new]))
            nearest = KNeighborsClassifier().fit(values[known], label[known])
            row("nearest neighbours", label[new], parts, nearest.predict_proba(values[new]))
        for name, found in parts.items():
            mean = np.mean(found, axis=0)
            say(f"| {level} | {name} | {100 * mean[0]:.2f} | {mean[1]:.4f} | {mean[2]:.3f} |")


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def speed(size: int, seeds: int) -> None:
    say(
        "| experiment | population: fit | evidence | IsolationForest fit + score | LocalOutlierFactor fit + score | "
        "population / forest | population / LOF | BADACClassifier().fit, anomaly model included |"
    )
    say("|---|---|---|---|---|---|---|---|")
    for number, setting in SETTINGS:
        times = []
        for seed in range(seeds):
            data = experiment(number, setting, n_train=size, n_test=size, rng=np.random.default_rng(seed))
            models: list[ClassModel] = []
            learn = seconds(
                lambda data=data, models=models: models.extend(
                    fit(Population, data.train, data.train_label, 2)
                )
            )
            ask = seconds(lambda data=data, models=models: log_evidence(models, data.test))
            train, test = data.train.values, data.test.values
            forest = seconds(
                lambda train=train, test=test: IsolationForest(random_state=0).fit(train).score_samples(test)
            )
            factor = seconds(
                lambda train=train, test=test: LocalOutlierFactor(novelty=True).fit(train).score_samples(test)
            )
            whole = seconds(
                # Asked for, since it is learned when it is asked for.
                lambda data=data: (
                    BADACClassifier(random_state=0).fit(data.train, data.train_label).anomaly_model_
                )
            )
            times.append([learn, ask, forest, factor, (learn + ask) / forest, (learn + ask) / factor, whole])
        a, b, c, d, e, f, g = np.median(times, axis=0)
        say(
            f"| {setting} {number} | {a:.2f} s | {b:.2f} s | {c:.2f} s | {d:.2f} s | {e:.2f} | {f:.2f} | {g:.2f} s |"
        )


def profile(size: int) -> None:
    say("| part of the fit | printed 1 | printed 4 | released 1 |")
    say("|---|---|---|---|")
    columns = []
    for number, setting in SETTINGS[::3] + SETTINGS[2:3]:
        data = experiment(number, setting, n_train=size, n_test=2, rng=np.random.default_rng(0))
        watch = cProfile.Profile(time.process_time)
        watch.runcall(fit, Population, data.train, data.train_label, 2)
        spent = {
            (Path(file).name, name): cumulative
            for (file, _, name), (_, _, _, cumulative, _) in pstats.Stats(watch).stats.items()  # type: ignore[attr-defined]
            if "classes" in file
        }
        columns.append({stage[0]: spent.get(stage[1:], 0.0) for stage in STAGES})
    first, released, correlated = columns
    for name, *_ in STAGES:
        shares = [100 * column[name] / column["all of fit"] for column in (first, correlated, released)]
        say(f"| {name} | " + " | ".join(f"{share:.0f} %" for share in shares) + " |")


def members(largest: int, points: int) -> None:
    say("| members | fit | evidence per test object | peak memory of the process |")
    say("|---|---|---|---|")
    costs = []
    sizes = [int(count) for count in 10.0 ** np.arange(3, np.log10(largest) + 0.1)]
    at = np.linspace(0.0, 1.0, points)
    test = draw_sines(4000, at, np.random.default_rng(1))
    for count in sizes:
        class_members = draw_sines(count, at, np.random.default_rng(0))
        found: list[Population] = []
        learn = seconds(
            lambda class_members=class_members, found=found: found.append(
                Population().fit(class_members, Gaussian(), np.random.default_rng(0))
            )
        )
        ask = min(seconds(lambda found=found: found[0].log_evidence(test)) for _ in range(3)) / len(test)
        costs.append(ask)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        say(f"| {count:,} | {learn:.2f} s | {1e6 * ask:.2f} us | {peak:.2f} GB |")
    exponent = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    say(f"\nCost per test object grows with the members to the power {exponent:.2f}.")


def draw_sines(count: int, at: np.ndarray, rng: np.random.Generator) -> Measurements:
    """Noisy sines, made in place: a million of them are most of the memory that is measured."""
    values = rng.standard_normal((count, at.size))
    values *= 0.1
    for start in range(0, count, 10_000):
        part = values[start : start + 10_000]
        part += np.sin(rng.normal(5.0, 2.0, (len(part), 1)) * at)
    return Measurements(values, np.broadcast_to(np.array(0.1), values.shape))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["accuracy", "digits", "speed", "profile", "members"])
    parser.add_argument("--size", type=int, default=15_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--trees", type=int, default=0, help="of the random forest; 0 leaves it out of `accuracy`"
    )
    parser.add_argument("--flat", action="store_true", help="exact instances too (minutes)")
    parser.add_argument("--largest", type=int, default=1_000_000, help="members at most, for `members`")
    parser.add_argument("--points", type=int, default=100, help="points of a member, for `members`")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS.name}")
    given = parser.parse_args()
    with threadpool_limits(1):
        if given.what == "accuracy":
            accuracy(given.size, given.seeds, given.trees, given.flat)
        elif given.what == "digits":
            digits(given.seeds, given.trees)
        elif given.what == "speed":
            speed(given.size, given.seeds)
        elif given.what == "profile":
            profile(given.size)
        else:
            members(given.largest, given.points)
    if given.write:
        of = {
            "accuracy": f", {given.size:,} + {given.size:,} curves, {given.seeds} seeds",
            "digits": f", {given.seeds} seeds",
            "speed": f", {given.size:,} + {given.size:,} curves, median of {given.seeds} seeds",
            "profile": f", {given.size:,} curves",
            "members": f", sines of {given.points} points",
        }
        write(given.what + of[given.what])


if __name__ == "__main__":
    main()

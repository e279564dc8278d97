"""Exact BADAC beside scikit-learn's local outlier factor: the same curves, the same process, one thread.

Two classes of curves, ``sin(w x)`` and ``a x^2 + b x + c``, 100 points on [0, 1], with the two noise settings of the paper:
`released` (sigma ~ N(0.1, 0.01) at every point) and `printed` (0.5 and 0.3 by class, times U(0.8, 1.2) at every point).
LOF fits all training curves and scores all test objects; badac fits both classes and computes the log evidence of all test
objects under both, which is the same number of pairs. Seconds are CPU seconds of the process, so that a busy machine does
not decide; the speed-up by threads is by the clock.

Run: python -m benchmarks.exact [--size 15000] [--json] [--write-docs]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.neighbors import LocalOutlierFactor
from threadpoolctl import threadpool_limits

from badac import Measurements
from badac._kernels import compiled, compiled_pairs
from badac._kernels.arguments import Pairs
from badac.classes import Instances
from badac.noise import Gaussian
from reproduction.marked import write_into

POINTS = 100
PAGE = Path(__file__).resolve().parents[1] / "docs" / "speed.md"
RESULTS = Path(__file__).parent / "results"


def curves(n: int, noise: str, shared: bool, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Half of each class: measurements and labels, (n, 100) and (n,)."""
    x, half = np.linspace(0.0, 1.0, POINTS), n // 2
    sines = np.sin(rng.normal(5.0, 2.0, (half, 1)) * x)
    a, b = rng.normal(0.5, 0.2, (2, n - half, 1))
    parabolas = a * x**2 + b * x + rng.normal(0.0, 0.2, (n - half, 1))
    truth, label = np.vstack([sines, parabolas]), np.repeat([0, 1], [half, n - half])
    if noise == "released":
        sigma = rng.normal(0.1, 0.01, truth.shape)
    else:
        sigma = np.where(label == 0, 0.5, 0.3)[:, None] * rng.uniform(0.8, 1.2, truth.shape)
    if shared:  # one error vector per class
        sigma = np.where(label[:, None] == 0, sigma[:1], sigma[-1:])
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma), label


def evidence(train: Measurements, label: np.ndarray, test: Measurements, n_threads: int = 1) -> np.ndarray:
    """Fit and log evidence of both classes, (n, 2): the whole job."""
    models = [Instances().fit(train[label == name], Gaussian(), np.random.default_rng(0)) for name in (0, 1)]
    return np.column_stack([model.log_evidence(test, n_threads=n_threads) for model in models])


def outlier_factor(train: np.ndarray, test: np.ndarray) -> np.ndarray:
    return LocalOutlierFactor(novelty=True, contamination=0.01).fit(train).score_samples(test)


def measured(job: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Best CPU and clock seconds."""
    cpu = clock = float("inf")
    for _ in range(repeats):
        cpu_start, clock_start = time.process_time(), time.perf_counter()
        job()
        cpu = min(cpu, time.process_time() - cpu_start)
        clock = min(clock, time.perf_counter() - clock_start)
    return cpu, clock


def worst_error(
    train: Measurements, label: np.ndarray, test: Measurements, found: np.ndarray, n_objects: int = 12
) -> float:
    """Largest relative error of the log evidence against the definition in extended precision, on a few objects."""
    wide, worst = np.longdouble, 0.0
    for row in np.linspace(0, len(test) - 1, n_objects).astype(int):
        for name in (0, 1):
            members = train[label == name]
            variance = test.sigma[row].astype(wide) ** 2 + members.sigma.astype(wide) ** 2
            residual = test.values[row].astype(wide) - members.values.astype(wide)
            match = -0.5 * (residual**2 / variance + np.log(2 * wide(np.pi) * variance)).sum(axis=1)
            exact = match.max() + np.log(np.exp(match - match.max()).mean())
            worst = max(worst, float(abs(found[row, name] / exact - 1)))
    return worst


def share_in_double(train: Measurements, label: np.ndarray, test: Measurements) -> float:
    """Share of all pairs that were computed in double, on a part of the objects."""
    in_double = 0
    some = test[:: max(1, len(test) // 1000)]
    for name in (0, 1):
        members = train[label == name]
        shared = (members.sigma == members.sigma[0]).all()
        sigma = members.sigma[:1] if shared else members.sigma
        report = compiled_pairs.pair_logsumexp_with(
            Pairs.of(some.values, some.sigma, members.values, sigma, 0.0)
        )[1]
        in_double += report["survived"] + report["in_double"]
    return in_double / (len(some) * len(train))


def peak_memory(n_objects: int, n_curves: int, n_points: int, n_threads: int) -> float:
    """MB that the kernel needs above its inputs, in a process of its own."""
    code = f"""
import resource, threading
import numpy as np
from badac._kernels import Pairs, pair_logsumexp
rng = np.random.default_rng(0)
d, y = rng.random(({n_objects}, {n_points})), rng.random(({n_curves}, {n_points}))
d_sigma, y_sigma = np.full(d.shape, 0.1), np.full(y.shape, 0.1)
y_sigma[0] = 0.2
pair_logsumexp(Pairs.of(d[:9], d_sigma[:9], y[:99], y_sigma[:99]))
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
before, seen, done = resident(), [resident()], threading.Event()
def watch():  # getrusage's peak would be the parent's, which the child inherits
    while not done.wait(0.002):
        seen.append(resident())
watcher = threading.Thread(target=watch)
watcher.start()
pair_logsumexp(Pairs.of(d, d_sigma, y, y_sigma), n_threads={n_threads})
done.set()
watcher.join()
print(max(seen) - before)
"""
    return float(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


def compare(noise: str, size: int, repeats: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    lof_seconds = float("nan")
    for shared in (False, True):
        train, label = curves(size, noise, shared, rng)
        test, _ = curves(size, noise, shared, rng)
        if not shared:
            lof_seconds, _ = measured(lambda t=train, o=test: outlier_factor(t.values, o.values), repeats)
            rows.append({"noise": noise, "what": "LOF, fit + score", "seconds": lof_seconds, "ratio": 1.0})
        cpu, clock = measured(lambda t=train, k=label, o=test: evidence(t, k, o), repeats)
        _, clock_two = measured(lambda t=train, k=label, o=test: evidence(t, k, o, 2), repeats)
        rows.append(
            {
                "noise": noise,
                "what": "badac, errors shared by a class" if shared else "badac, errors of every point",
                "seconds": cpu,
                "ratio": cpu / lof_seconds,
                "ns_per_feature": cpu / (size * size * POINTS) * 1e9,
                "limit_ns": compiled.multiply_add_ns() * (2 if shared else 4),
                "two_threads": clock / clock_two,
                "in_double": share_in_double(train, label, test),
                "relative_error": worst_error(train, label, test, evidence(train, label, test)),
            }
        )
    return rows


def table(rows: list[dict[str, object]]) -> str:
    columns = {
        "noise": "{}", "what": "{}", "seconds": "{:.2f}", "ratio": "{:.2f}", "ns_per_feature": "{:.3f}", "limit_ns": "{:.3f}",
        "two_threads": "{:.2f}", "in_double": "{:.3f}", "relative_error": "{:.1e}",
    }  # fmt: skip
    titles = [
        "noise",
        "",
        "CPU s",
        "of LOF",
        "ns per feature of a pair",
        "limit in double",
        "2 threads",
        "in double",
        "error",
    ]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for row in rows:
        lines.append(
            "| "
            + " | ".join(form.format(row[name]) if name in row else "" for name, form in columns.items())
            + " |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=15_000, help="training curves, and as many test objects")
    parser.add_argument("--repeats", type=int, default=2, help="the best of so many")
    parser.add_argument(
        "--noise", nargs="+", default=["released", "printed"], choices=["released", "printed"]
    )
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory measurements")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write-docs", action="store_true", help="write the table of docs/speed.md")
    options = parser.parse_args()

    with threadpool_limits(1):
        rows = [row for noise in options.noise for row in compare(noise, options.size, options.repeats)]
    memory = {}
    if not options.no_memory:
        memory["15,000 x 15,000 x 100, 2 threads"] = peak_memory(15_000, 15_000, 100, 2)
        memory["70 x 1,000,000 x 30"] = peak_memory(70, 1_000_000, 30, 1)
        memory["1,000,000 x 20 x 30"] = peak_memory(1_000_000, 20, 30, 1)
        memory["500 x 300 x 20,000"] = peak_memory(500, 300, 20_000, 2)
    result = {
        "size": options.size,
        "instruction_set": compiled.levels()[0],
        "rows": rows,
        "memory_mb": memory,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "exact.json").write_text(json.dumps(result, indent=1))
    about = f"{options.size:,} training curves, {options.size:,} new objects, {POINTS} points; {result['instruction_set']}."
    if options.write_docs:
        write_into(PAGE, {"exact": f"{about}\n\n{table(rows)}"})
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{about}\n\n{table(rows)}")
    if memory:
        print("\n| objects x curves x points | MB above the inputs |\n|---|---|")
        print("\n".join(f"| {what} | {size:.0f} |" for what, size in memory.items()))


if __name__ == "__main__":
    main()

"""How much two threads gain: `fit`, p-values, `rank` and `explain` of 20,000 curves with n_jobs=1 and n_jobs=2, by the clock.

    python -m benchmarks.threads [--objects 20000] [--turns 3]
    python -m benchmarks.threads --write-docs           # and the place threads of docs/speed.md

The answers are compared, too: they must be the same to the last bit. The ratio means something on an idle machine with at least
two cores; the seconds of the processor beside it say how much work there was.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from badac import BADACClassifier
from badac.simulate import experiment
from badac.threads import one_thread_in_blas
from reproduction.marked import write_into

PAGE = Path(__file__).resolve().parents[1] / "docs" / "speed.md"
OBJECTS, TURNS = 20_000, 3


def seconds_of(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of the clock and of the processor that some work takes."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def measure(n: int, turns: int) -> list[tuple[str, dict[int, tuple[float, float]]]]:
    """Return the best times of each verb with one and two threads, taken in turns; raises if an answer differs."""
    data = experiment(1, "released", n_train=n, n_test=n, rng=np.random.default_rng(0))
    models = {jobs: BADACClassifier(random_state=0, n_jobs=jobs) for jobs in (1, 2)}
    answers: dict[str, dict[int, npt.NDArray[np.float64]]] = {
        name: {} for name in ("fit", "p-values", "rank", "explain")
    }

    def fit(jobs: int) -> None:
        # With what an anomaly is, which is learned when it is asked for.
        assert models[jobs].fit(data.train, data.train_label).anomaly_model_ is not None
        answers["fit"][jobs] = models[jobs].log_evidence(data.test[:500])

    def pvalues(jobs: int) -> None:
        # Every training object left out once, which the first ranking does.
        models[jobs].left_out_ = None
        models[jobs].prepare_pvalues()
        answers["p-values"][jobs] = models[jobs].left_out_.score

    def rank(jobs: int) -> None:
        answers["rank"][jobs] = models[jobs].rank(data.test).score

    def explain(jobs: int) -> None:
        answers["explain"][jobs] = models[jobs].explain(data.test).log_bayes_factor

    found = []
    for name, verb in (
        ("fit", fit),
        ("p-values", pvalues),
        ("rank", rank),
        ("explain", explain),
    ):
        best: dict[int, tuple[float, float]] = {}
        for _ in range(turns):
            for jobs in (1, 2):
                best[jobs] = min(best.get(jobs, (np.inf, np.inf)), seconds_of(lambda: verb(jobs)))  # noqa: B023
        np.testing.assert_array_equal(answers[name][1], answers[name][2])
        found.append((name, best))
    return found


def table(found: list[tuple[str, dict[int, tuple[float, float]]]]) -> str:
    """Return the table, in Markdown."""
    lines = [
        "| | one thread, s | of the processor | two threads, s | of the processor | ratio |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, best in found:
        (one, work), (two, more) = best[1], best[2]
        lines.append(f"| {name} | {one:.2f} | {work:.2f} | {two:.2f} | {more:.2f} | {one / two:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=OBJECTS, help="training objects, and new ones")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--write-docs", action="store_true", help="write the table of docs/speed.md")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with one_thread_in_blas():
        found = measure(given.objects, given.turns)
    text = table(found)
    print(text)
    if given.write_docs:
        said = (
            f"{given.objects:,} training and as many new curves of 100 points in two classes (Experiment 1, released), by the "
            f"clock, the best of {given.turns} turns; load of the {os.cpu_count()} cores before the run {load:.1f}."
        )
        write_into(PAGE, {"threads": f"{said}\n\n{text}"})


if __name__ == "__main__":
    main()

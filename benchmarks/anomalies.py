"""Anomalies of the paper's experiments: badac beside peers on the same objects, and what each hypothesis costs.

For every experiment and setting, the mean over seeds of MCC (1 % flagged, for everyone), AUC and rank-weighted score of
badac with defaults only, raw evidence of the exact model, LOF, isolation forest, and PyOD's ECOD and KNN where it is
installed. Seconds are CPU seconds of the process on one thread: fit plus score, badac and LOF in the same process on the
first seed. Experiment 2 also gives the share of compact anomalies of |height| > 1 whose centre lies in the strangest window.

Run: python -m benchmarks.anomalies [--size 15000] [--seeds 0 1 2 3 4] [--cells 1p 2p ...] [--kept DIR] [--write-docs]

--kept takes the peers from the results that `make reproduce ARGS="-o DIR"` keeps of the same data; those not there are
measured, except with --no-peers. --write-docs keeps what was measured in benchmarks/results/anomalies.json, other cells and
seeds as they are there, and writes the table of docs/anomalies.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from threadpoolctl import threadpool_limits

from badac import BADACClassifier
from badac.anomalies import Deviations
from badac.metrics import detection_summary
from badac.simulate import Experiment, experiment
from reproduction.marked import write_into

Score = Callable[[Experiment], np.ndarray]
CELLS = ("1p", "1r", "2p", "2r", "3p", "3r", "4p", "4r")
SETTINGS = {"p": "printed", "r": "released"}
# What `reproduction` calls them.
NAMES = {
    "raw evidence, exact": "badac-exact",
    "LOF": "lof",
    "iForest": "iforest",
    "ECOD": "ecod",
    "KNN": "knn",
}
RESULTS = Path(__file__).parent / "results" / "anomalies.json"
PAGE = Path(__file__).parents[1] / "docs" / "anomalies.md"


def raw_evidence(data: Experiment) -> np.ndarray:
    model = BADACClassifier(class_model="instances", anomaly="evidence").fit(data.train, data.train_label)
    return model.anomaly_score(data.test)


def outlier_factor(data: Experiment) -> np.ndarray:
    fitted = LocalOutlierFactor(novelty=True, contamination=0.01).fit(data.train.values)
    return -fitted.score_samples(data.test.values)


def isolation(data: Experiment) -> np.ndarray:
    return -IsolationForest(random_state=0).fit(data.train.values).score_samples(data.test.values)


def pyod_score(name: str) -> Score:
    def score(data: Experiment) -> np.ndarray:
        module = importlib.import_module(f"pyod.models.{name.lower()}")
        return np.asarray(getattr(module, name)().fit(data.train.values).decision_function(data.test.values))

    return score


def peers() -> dict[str, Score]:
    found: dict[str, Score] = {
        "raw evidence, exact": raw_evidence,
        "LOF": outlier_factor,
        "iForest": isolation,
    }
    if importlib.util.find_spec("pyod") is not None:
        found |= {name: pyod_score(name) for name in ("ECOD", "KNN")}
    return found


def kept_result(directory: Path | None, cell: str, size: int, seed: int, who: str) -> dict[str, float] | None:
    """MCC, AUC and RWS of a peer on the same data, as `make reproduce` keeps them."""
    if directory is None:
        return None
    name = f"e{cell[0]}-{SETTINGS[cell[1]]}-{size}x{size}-s{seed}-{NAMES[who]}.json"
    found = directory / "cells" / name
    return json.loads(found.read_text())["metrics"] if found.exists() else None


def measure(
    cell: str, size: int, seed: int, kept: Path | None, with_peers: bool, timed: bool
) -> list[dict[str, object]]:
    """Rows of one cell and seed: who, MCC, AUC, RWS, seconds, and the share of windows that hold the centre."""
    number = int(cell[0])
    data = experiment(number, SETTINGS[cell[1]], n_train=size, n_test=size, rng=np.random.default_rng(seed))
    common = {"cell": cell, "seed": seed, "size": size}
    rows: list[dict[str, object]] = []

    def add(who: str, score: np.ndarray, seconds: float, **more: float) -> None:
        found = detection_summary(data.is_anomaly, score, contamination=0.01)
        metrics = {"mcc": found.mcc, "auc": found.auc, "rws": found.rws}
        rows.append({**common, "who": who, **metrics, "seconds": seconds, **more})

    start = time.process_time()
    model = BADACClassifier(random_state=seed).fit(data.train, data.train_label)
    fitted = time.process_time()
    score = model.anomaly_score(data.test)
    done = time.process_time()
    more = {"fit_seconds": fitted - start}
    anomaly = model.anomaly_model_
    assert isinstance(anomaly, Deviations)
    if number == 2:
        rows_of = np.flatnonzero(data.is_anomaly)
        height, centre = data.test_parameters[rows_of, 1], data.test_parameters[rows_of, 2]
        window = model.explain(data.test[rows_of]).window
        holds = (window[:, 0] <= centre) & (centre <= window[:, 1])
        more["window"] = float(holds[np.abs(height) > 1.0].mean())
    add("badac", score, done - start, **more)
    for hypothesis in anomaly.hypotheses if timed else ():
        assert anomaly.grid is not None
        weigh, under = (
            hypothesis.adds(anomaly.grid.scales).weighed_by(anomaly.grid),
            anomaly.grid.under(data.test),
        )
        for one in under:
            _ = one.log_evidence  # what all hypotheses share is not the cost of one
        start = time.process_time()
        score = weigh(under)
        add(f"  {type(hypothesis).__name__}", score, time.process_time() - start)
    for who, run in peers().items():
        known = kept_result(kept, cell, size, seed, who)
        if known is not None:
            rows.append({**common, "who": who, **known})
        if (known is None and with_peers) or (who == "LOF" and timed):
            start = time.process_time()
            score = run(data)
            seconds = time.process_time() - start
            if known is not None:
                rows[-1]["seconds"] = seconds
            else:
                add(who, score, seconds)
    return rows


def mean_of(rows: list[dict[str, object]], cell: str, who: str, key: str) -> np.ndarray:
    """The values of one cell over the seeds that have them."""
    return np.array(
        [row[key] for row in rows if (row["cell"], row["who"]) == (cell, who) and key in row], dtype=float
    )


def table(rows: list[dict[str, object]]) -> str:
    """Markdown: one line per cell, means over seeds; badac with the standard error of the mean."""
    names = ["raw evidence, exact", "LOF", "KNN", "iForest", "ECOD"]
    lines = [
        f"| | seeds | badac | {' | '.join(names)} | seconds: badac / LOF |",
        "|---" * (len(names) + 4) + "|",
    ]
    for cell in [one for one in CELLS if mean_of(rows, one, "badac", "mcc").size]:
        line = [f"{SETTINGS[cell[1]]} {cell[0]}", str(mean_of(rows, cell, "badac", "mcc").size)]
        for who in ("badac", *names):
            numbers = [mean_of(rows, cell, who, key) for key in ("mcc", "auc", "rws")]
            if not numbers[0].size:
                line.append("")
                continue
            found = " / ".join(f"{each.mean():.3f}".replace("0.", ".", 1) for each in numbers)
            if who == "badac":
                errors = [each.std() / np.sqrt(max(each.size - 1, 1)) for each in numbers]
                found = f"**{found}** ± " + " / ".join(
                    f"{error:.3f}".replace("0.", ".", 1) for error in errors
                )
            line.append(found)
        seconds = [mean_of(rows, cell, who, "seconds") for who in ("badac", "LOF")]
        line.append(" / ".join(f"{each[0]:.1f}" if each.size else "" for each in seconds))
        lines.append(f"| {' | '.join(line)} |")
    costs = {
        name: np.concatenate([mean_of(rows, cell, f"  {name}", "seconds") for cell in CELLS])
        for name in ("SomethingElse", "Bump", "SmoothDeviation")
    }
    if costs["Bump"].size:
        told = ", ".join(f"{name} {each.min():.2f} to {each.max():.2f}" for name, each in costs.items())
        lines += ["", f"Seconds of each hypothesis, over the cells: {told}."]
    for cell in ("2p", "2r"):
        window = mean_of(rows, cell, "badac", "window")
        if window.size:
            lines += [
                "",
                f"The strangest window holds the centre of {window.mean():.1%} of the compact anomalies of |height| > 1 "
                f"({SETTINGS[cell[1]]} 2, {window.size} seeds).",
            ]
    return "\n".join(lines)


def write(rows: list[dict[str, object]]) -> None:
    """Keep the rows beside those of other cells and seeds, and write the table of the page."""
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    new = {(row["cell"], row["seed"]) for row in rows}
    every = [row for row in before if (row["cell"], row["seed"]) not in new] + rows
    RESULTS.write_text(json.dumps(every, indent=0) + "\n")
    write_into(PAGE, {"anomalies:measured": table(every)})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=15_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with threadpool_limits(limits=1):
        for seed in options.seeds:
            for cell in options.cells:
                first = seed == options.seeds[0]
                rows += measure(cell, options.size, seed, options.kept, not options.no_peers, timed=first)
                if options.write_docs:
                    write(rows)
    print(table(rows))


if __name__ == "__main__":
    main()

"""Anomalies of the paper's experiments: badac beside peers on the same objects, and what each hypothesis costs.

For every experiment and setting, the mean over seeds of MCC (1 % flagged, for everyone), AUC and rank-weighted score of
badac's default (`noise="auto"` in Experiment 3, whose error bars are wrong), its three hypotheses alone, raw evidence of the
exact model, and LOF, isolation forest, and PyOD's ECOD and KNN where it is installed. Seconds are CPU seconds of the process
on one thread: fit plus score. Experiment 2 also gives the share of compact anomalies of |height| > 1 whose centre lies in
the strangest window.

Run: python benchmarks/anomalies.py [--size 15000] [--seeds 5] [--cells 1p 2p ...] [--no-peers] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from threadpoolctl import threadpool_limits

from badac import BADACClassifier
from badac.anomalies import Deviations
from badac.metrics import detection_summary
from badac.simulate import Experiment, experiment

Score = Callable[[Experiment], np.ndarray]
CELLS = ("1p", "1r", "2p", "2r", "3p", "3r", "4p", "4r")


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


def measure(cell: str, size: int, seed: int, with_peers: bool) -> list[dict[str, object]]:
    """Rows of one cell and seed: who, MCC, AUC, RWS, seconds, and the share of windows that hold the centre."""
    number, setting = int(cell[0]), {"p": "printed", "r": "released"}[cell[1]]
    data = experiment(number, setting, n_train=size, n_test=size, rng=np.random.default_rng(seed))
    rows: list[dict[str, object]] = []

    def add(who: str, score: np.ndarray, seconds: float, **more: float) -> None:
        found = detection_summary(data.is_anomaly, score, contamination=0.01)
        rows.append(
            {
                "cell": cell,
                "seed": seed,
                "size": size,
                "who": who,
                "mcc": found.mcc,
                "auc": found.auc,
                "rws": found.rws,
            }
            | {"seconds": seconds, **more}
        )

    start = time.process_time()
    model = BADACClassifier(noise="auto" if number == 3 else "gaussian", random_state=seed)
    model.fit(data.train, data.train_label)
    fitted = time.process_time()
    score = model.anomaly_score(data.test)
    done = time.process_time()
    more = {"fit_seconds": fitted - start}
    if number == 2:
        rows_of = np.flatnonzero(data.is_anomaly)
        height, centre = data.test_parameters[rows_of, 1], data.test_parameters[rows_of, 2]
        window = model.explain(data.test[rows_of]).window
        holds = (window[:, 0] <= centre) & (centre <= window[:, 1])
        more["window"] = float(holds[np.abs(height) > 1.0].mean())
    add("badac", score, done - start, **more)
    anomaly = model.anomaly_model_
    assert isinstance(anomaly, Deviations)
    for hypothesis in anomaly.hypotheses:
        alone = replace(anomaly, hypotheses=(hypothesis,), shares=(1.0,))
        start = time.process_time()
        score = alone.log_bayes_factor(data.test)
        add(f"  {type(hypothesis).__name__}", score, time.process_time() - start)
    for who, run in peers().items() if with_peers else ():
        start = time.process_time()
        score = run(data)
        add(who, score, time.process_time() - start)
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Markdown: one line per cell and algorithm, mean over seeds and standard error of the mean."""
    groups: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for row in rows:
        groups[str(row["cell"]), str(row["who"])].append(row)
    lines = ["| cell | algorithm | MCC | AUC | RWS | seconds |", "|---|---|---|---|---|---|"]
    for (cell, who), some in groups.items():
        numbers = np.array([[row["mcc"], row["auc"], row["rws"]] for row in some], dtype=float)
        error = numbers.std(axis=0) / np.sqrt(max(len(some) - 1, 1))
        cells = [
            f"{value:.3f} ± {spread:.3f}" for value, spread in zip(numbers.mean(axis=0), error, strict=True)
        ]
        seconds = np.mean([float(str(row["seconds"])) for row in some])
        name = who.replace("  ", "&nbsp;&nbsp;")
        lines.append(f"| {cell} | {name} | {' | '.join(cells)} | {seconds:.1f} |")
        if "window" in some[0]:
            share = np.mean([float(str(row["window"])) for row in some])
            lines.append(f"| {cell} | &nbsp;&nbsp;window holds the centre | {share:.1%} | | | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=15_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with threadpool_limits(limits=1):
        for cell in options.cells:
            for seed in range(options.seeds):
                rows += measure(cell, options.size, seed, not options.no_peers)
                if options.json is not None:
                    options.json.write_text(json.dumps(rows, indent=1))
            print(table([row for row in rows if row["cell"] == cell]), flush=True)


if __name__ == "__main__":
    main()

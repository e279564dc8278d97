"""Lists with a stated share of false alarms: power, false share, bound and the probability of an anomaly, over seeds.

    python -m benchmarks.lists --cells list:printed:1:3000 peers:printed:1:1000 --seeds 100 101     runs what is not there yet
    python -m benchmarks.lists --cells bad:ties real:digits                                         (benchmarks/lists_cases.py)
    python -m benchmarks.lists --cells file:released:1:3000:1000000                                 (benchmarks/lists_files.py)
    python -m benchmarks.lists --write                                                              writes docs/lists.md

A cell is a kind, what it is about, and a seed: `list` (setting, experiment, training curves) judges 30,000 new curves, one in
a hundred an anomaly, and the first 3,000 of them; `peers` the detection of other methods on the same curves. Every cell is
kept in benchmarks/results/lists.json as soon as it is done, so a run can be stopped and taken up again, two can run side by
side, and the tables say how many seeds stand behind each row.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from badac import BADACClassifier
from badac.calibration.discoveries import discoveries, false_share_bound
from badac.calibration.pool import Pool
from badac.metrics import detection_summary
from badac.simulate import Experiment, experiment
from badac.verdicts import WITH_PVALUES
from benchmarks.lists_cases import bad_case, real_set
from benchmarks.lists_files import from_files
from benchmarks.lists_tables import places
from reproduction.marked import write_into

RESULTS = Path("benchmarks/results/lists.json")
PAGE = Path("docs/lists.md")
N_TEST, FEWER, SHARE, FDR = 30_000, 3_000, 0.01, 0.1
SMALL = (1e-4, 1e-3, 1e-2, 1e-1)

Row = dict[str, Any]


def curves(setting: str, number: int, n_train: int, seed: int, n_test: int = N_TEST) -> Experiment:
    """Return curves of an experiment of the paper, one in a hundred of the new ones an anomaly, in a random order."""
    rng = np.random.default_rng(seed)
    return experiment(number, setting, n_train=n_train, n_test=n_test, contamination=SHARE, rng=rng)  # type: ignore[arg-type]


def listed(pvalue: np.ndarray, score: np.ndarray, strange: np.ndarray, pool: Pool) -> Row:
    """Return what a list of new objects (n,) was worth, beside that of an oracle and that of counted p-values alone."""
    n = len(pvalue)
    found = discoveries(pvalue, FDR)
    alone = discoveries(np.maximum(pvalue, 1.0 / (1.0 + len(pool))), FDR)
    order = np.argsort(-score, kind="stable")
    wrong = np.cumsum(~strange[order]) / np.arange(1, n + 1)
    within = np.flatnonzero(wrong <= FDR)
    best = strange[order][: within[-1] + 1].sum() if within.size else 0
    total = max(int(strange.sum()), 1)
    return {
        "power": float(strange[found].sum() / total),
        "false": float((~strange[found]).sum() / max(found.sum(), 1)),
        "bound": false_share_bound(pool, n, int(found.sum()), float(pvalue[found].max(initial=0.0))),
        "power_pool": float(strange[alone].sum() / total),
        "false_pool": float((~strange[alone]).sum() / max(alone.sum(), 1)),
        "oracle": float(best / total),
    }


def run(setting: str, number: str, n_train: str, seed: int) -> Row:
    """Return what the lists of 30,000 and of 3,000 new curves were worth."""
    data, start = curves(setting, int(number), int(n_train), seed), time.process_time()
    model = BADACClassifier(
        noise="outliers" if number == "3" else "gaussian", anomaly_prior=SHARE, random_state=seed
    )
    model.fit(data.train, data.train_label)
    judged, strange = model.prepare_pvalues().judge(data.test), data.is_anomaly
    found = judged.verdicts(WITH_PVALUES)
    pool, proba = model.fitted_.pool, found["anomaly_proba"]
    assert pool is not None
    detected = detection_summary(strange, found.score, contamination=SHARE)
    few = slice(0, FEWER)
    # What adapt(new, anomalies=True) learns from these curves.
    adapted = judged.learned_groups().anomaly_proba(found["pvalue"])
    return {
        "many": listed(found["pvalue"], found.score, strange, pool),
        "few": listed(found["pvalue"][few], found.score[few], strange[few], pool),
        "detection": [detected.mcc, detected.auc, detected.rws],
        "uniform": [float((found["pvalue"][~strange] <= level).mean() / level) for level in SMALL],
        "proba": calibrated(proba, strange),
        "adapted": calibrated(adapted, strange),
        "seconds": time.process_time() - start,
    }


def calibrated(proba: np.ndarray, strange: np.ndarray) -> Row:
    """Return stated and true shares of anomalies by tenths of a probability (n,), and the false share of the Bayes list."""
    by_proba = np.sort(1.0 - proba)
    bayes = np.flatnonzero(np.cumsum(by_proba) / np.arange(1, len(proba) + 1) <= FDR)
    top = np.argsort(-proba, kind="stable")[: bayes[-1] + 1 if bayes.size else 0]
    decile = np.minimum((proba * 10).astype(int), 9)
    return {
        "bayes_false": float((~strange[top]).mean()) if top.size else 0.0,
        "stated": np.bincount(decile, proba, 10).tolist(),
        "true": np.bincount(decile, strange, 10).tolist(),
        "count": np.bincount(decile, minlength=10).tolist(),
    }


def peers(setting: str, number: str, n_train: str, seed: int) -> Row:
    """Return the detection of local outlier factor and nearest neighbours, on the curves of `run`, 10,000 of them."""
    from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

    data = curves(setting, int(number), int(n_train), seed, 10_000)
    train, test, strange = data.train.values, data.test.values, data.is_anomaly
    near = NearestNeighbors(n_neighbors=5).fit(train)
    scores = {
        "LOF": -LocalOutlierFactor(novelty=True).fit(train).score_samples(test),
        "KNN": near.kneighbors(test)[0][:, -1],
    }
    found = {name: detection_summary(strange, one, contamination=SHARE) for name, one in scores.items()}
    return {name: [one.mcc, one.auc, one.rws] for name, one in found.items()}


KINDS = {"list": run, "peers": peers, "bad": bad_case, "real": real_set, "file": from_files}


def kept() -> dict[str, Row]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(key: str, row: Row) -> None:
    """Add a row to the file, whoever else writes to it."""
    RESULTS.parent.mkdir(exist_ok=True)
    with (Path(tempfile.gettempdir()) / "badac-lists.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = {**kept(), key: row}
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="*", default=[])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for seed in asked.seeds:
        for cell in asked.cells:
            key = f"{cell}:{seed}"
            if key in kept():
                continue
            kind, *about = cell.split(":")
            row = KINDS[kind](*about, seed)
            keep(key, row)
            print(key, row, flush=True)
    if asked.write:
        write_into(PAGE, places(kept()))


if __name__ == "__main__":
    main()

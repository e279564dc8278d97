"""Lists with a stated share of false alarms: power, false share, bound and the probability of an anomaly, over seeds.

    python -m benchmarks.lists --cells printed:1:3000 released:4:3000 --seeds 100 101      runs what is not there yet
    python -m benchmarks.lists --write                                                     writes docs/lists.md

Every cell (setting, experiment, training objects, seed) is kept in benchmarks/results/lists.json as soon as it is done, so
a run can be stopped and taken up again, and the tables say how many seeds stand behind each row.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from badac import BADACClassifier
from badac.calibration.discoveries import discoveries, false_share_bound
from badac.metrics import detection_summary
from badac.simulate import experiment
from reproduction.marked import write_into

RESULTS = Path("benchmarks/results/lists.json")
PAGE = Path("docs/lists.md")
N_TEST, SHARE, FDR = 30_000, 0.01, 0.1


def run(setting: str, number: int, n_train: int, seed: int) -> dict[str, float]:
    """Return what one list of 30,000 new curves, one in a hundred an anomaly, was worth."""
    rng = np.random.default_rng(seed)
    data = experiment(number, setting, n_train=n_train, n_test=N_TEST, contamination=SHARE, rng=rng)
    noise = "outliers" if number == 3 else "gaussian"
    model = BADACClassifier(noise=noise, anomaly_prior=SHARE, random_state=seed).fit(
        data.train, data.train_label
    )
    found, strange = model.verdicts(data.test, pvalues=True), data.is_anomaly
    pool = model.fitted_.pool
    assert pool is not None
    listed = discoveries(found["pvalue"], FDR)
    last = float(found["pvalue"][listed].max(initial=0.0))
    counted = np.maximum(found["pvalue"], 1.0 / (1.0 + len(pool)))
    alone = discoveries(counted, FDR)
    order = np.argsort(-found.score, kind="stable")
    wrong = np.cumsum(~strange[order]) / np.arange(1, N_TEST + 1)
    within = np.flatnonzero(wrong <= FDR)
    best = strange[order][: within[-1] + 1].sum() / strange.sum() if within.size else 0.0
    detected = detection_summary(strange, found.score, contamination=SHARE)
    proba = found["anomaly_proba"]
    by_proba = np.sort(1.0 - proba)
    bayes = np.flatnonzero(np.cumsum(by_proba) / np.arange(1, N_TEST + 1) <= FDR)
    cut = bayes[-1] + 1 if bayes.size else 0
    top = np.argsort(-proba, kind="stable")[:cut]
    sure = proba > 0.5
    return {
        "power": float(strange[listed].sum() / strange.sum()),
        "false": float((~strange[listed]).sum() / max(listed.sum(), 1)),
        "bound": false_share_bound(pool, N_TEST, int(listed.sum()), last),
        "power_pool": float(strange[alone].sum() / strange.sum()),
        "false_pool": float((~strange[alone]).sum() / max(alone.sum(), 1)),
        "oracle": float(best),
        "mcc": detected.mcc,
        "auc": detected.auc,
        "rws": detected.rws,
        "stated": float(proba[sure].mean()) if sure.any() else 0.0,
        "true": float(strange[sure].mean()) if sure.any() else 0.0,
        "bayes_false": float((~strange[top]).mean()) if cut else 0.0,
    }


def table(results: dict[str, dict[str, float]]) -> str:
    """Return the rows of the document, means over seeds, the standard error of the false share behind it."""
    cells: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for key, row in results.items():
        cells.setdefault(tuple(key.split(":")[:3]), []).append(row)
    lines = [
        "| curves | training | seeds | list: power / false share | bound | exceeded | p not below 1/(pool + 1) "
        "| oracle | MCC / AUC / RWS | p > .5: stated / true | Bayes list: false share |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (setting, number, n), rows in sorted(
        cells.items(), key=lambda one: (one[0][0], one[0][1], int(one[0][2]))
    ):
        mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
        error = float(np.std([row["false"] for row in rows], ddof=min(1, len(rows) - 1))) / np.sqrt(len(rows))
        over = sum(row["false"] > row["bound"] for row in rows)
        lines.append(
            f"| {setting} {number} | {int(n):,} | {len(rows)} | {mean['power']:.2f} / {mean['false']:.3f} ± {error:.3f} "
            f"| {mean['bound']:.2f} | {over} of {len(rows)} | {mean['power_pool']:.2f} / {mean['false_pool']:.3f} "
            f"| {mean['oracle']:.2f} | {mean['mcc']:.3f} / {mean['auc']:.3f} / {mean['rws']:.3f} "
            f"| {mean['stated']:.2f} / {mean['true']:.2f} | {mean['bayes_false']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="*", default=[])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in asked.seeds:
        for cell in asked.cells:
            key = f"{cell}:{seed}"
            if key in results:
                continue
            setting, number, n = cell.split(":")
            results[key] = run(setting, int(number), int(n), seed)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            print(key, results[key], flush=True)
    if asked.write:
        write_into(PAGE, {"lists": table(results)})


if __name__ == "__main__":
    main()

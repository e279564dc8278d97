"""How near to 0 and 1 probabilities may come: the share of objects that no class explains, where none of them was seen.

    python -m benchmarks.certainty                     # seeds 500 to 502
    python -m benchmarks.certainty --write-docs        # and the place default:certainty of docs/default.md

The paper's curves, few to thousands of them. Every share is tried on one fit whose posterior is the evidence as it is
(`badac.calibration.coarsening`);
fits that temper the evidence have learned their share, and have one loss throughout.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from badac import BADACClassifier
from badac.simulate import experiment
from reproduction.marked import write_into

PAGE = Path(__file__).resolve().parents[1] / "docs" / "default.md"
CELLS = (("printed", 1), ("released", 1), ("printed", 4), ("released", 4))
SIZES = (60, 300, 1000, 4000)
ALLOWED = (0.0, 0.1, 0.5, 1.0, 3.0)
N_NEW = 6000


def losses(setting: str, number: int, n_train: int, seed: int) -> list[float]:
    """Log-loss of new known curves, for each number of objects that is allowed for."""
    data = experiment(number, setting, n_train=n_train, n_test=N_NEW, rng=np.random.default_rng(seed))
    model = BADACClassifier(random_state=0).fit(data.train, data.train_label)
    new, label = data.test[~data.is_anomaly], data.test_label[~data.is_anomaly]
    rows = np.arange(len(label))
    found = model.fitted_.calibration
    if found.ensemble is not None or found.coarsening.exponent != 1.0:
        return [float(-model.predict_log_proba(new)[rows, label].mean())] * len(ALLOWED)
    evidence, out = model.log_evidence(new), []
    for allowed in ALLOWED:
        coarsening = replace(found.coarsening, contaminated=allowed / (n_train + 1) / evidence.shape[1])
        terms = coarsening.apply(evidence) + model.fitted_.log_prior
        out.append(float((np.logaddexp.reduce(terms, axis=1) - terms[rows, label]).mean()))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[500, 501, 502])
    parser.add_argument("--write-docs", action="store_true")
    arguments = parser.parse_args()
    lines = [
        "| curves to learn from | " + " | ".join(f"{allowed:g}" for allowed in ALLOWED) + " |",
        "|---" * (1 + len(ALLOWED)) + "|",
    ]
    for setting, number in CELLS:
        for n_train in SIZES:
            mean = np.mean([losses(setting, number, n_train, seed) for seed in arguments.seeds], axis=0)
            lines.append(
                f"| {setting} {number}, {n_train:,} | " + " | ".join(f"{each:.4f}" for each in mean) + " |"
            )
            print(lines[-1], flush=True)
    if arguments.write_docs:
        write_into(PAGE, {"default:certainty": "\n".join(lines)})


if __name__ == "__main__":
    main()

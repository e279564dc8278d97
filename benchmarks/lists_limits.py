"""Whose fault it is that few training curves find less: detection with parts of the model replaced by what made the curves.

    python -m benchmarks.lists_limits --seeds 500 501 502 503 504 505 --write      writes docs/lists.md
    python -m benchmarks.lists_limits --pvalues --seeds 550 551 552 --write        and what true p-values would list

    python -m benchmarks.lists_limits --ends --seeds 540 541 542 543 544 --write   and what ends of families are worth

Printed 1 with 1,000 training curves. The anomaly model stays as it is; the known classes are ours, or as they were made, or the
sines have their family given and only the density of the frequency is learned from the members. For lists (printed 4, 12,000
training curves) it is the left-out training curves that are replaced, by 300,000 new known ones.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from badac import BADACClassifier
from badac.anomalies import Deviations
from badac.anomalies.family_ends import LEAST_MEMBERS
from badac.metrics import detection_summary
from badac.simulate import Experiment, experiment
from badac.verdicts import WITH_PVALUES
from benchmarks.lists import PAGE, SHARE, curves, listed
from benchmarks.lists_tables import table
from reproduction.limits import generating_log_evidence
from reproduction.marked import write_into

N_TRAIN = 1000
# Objects below this log Bayes factor are at no list's end: they keep it.
_ASKED = -1.0
_GRID = np.arange(-12.0, 22.0, 0.01)
_BANDWIDTHS = (0.1, 0.2, 0.35, 0.6, 1.0)


def rows(seed: int) -> dict[str, list[float]]:
    """Return MCC, area under the curve and rank-weighted score by who says what the known classes are."""
    data = curves("printed", 1, N_TRAIN, seed)
    model = BADACClassifier(noise="gaussian", anomaly_prior=SHARE, random_state=seed)
    model.fit(data.train, data.train_label)
    ours, test = model.anomaly_model_, model.fitted_.in_units(data.test)
    assert isinstance(ours, Deviations) and ours.grid is not None
    factor = ours.log_bayes_factor(test)
    top = np.flatnonzero(factor > _ASKED)
    under = ours.grid.under(test[top])
    anomaly = logsumexp(np.stack([one(under) for one in ours._weigh], axis=1) + np.log(ours.shares), axis=1)
    true = generating_log_evidence(data.test[top], data.recipe) - np.log(2.0)
    second = np.logaddexp(under[1].log_prior + under[1].log_evidence, _unseen(ours, test[top], 1))

    def scored(log_known: np.ndarray) -> list[float]:
        score = factor.copy()
        score[top] = anomaly - log_known
        found = detection_summary(data.is_anomaly, score, contamination=SHARE)
        return [found.mcc, found.auc, found.rws]

    frequency = data.train_parameters[data.train_label == 0, 0]
    without = replace(ours, grid=replace(ours.grid, isolated=()))
    plain = detection_summary(data.is_anomaly, without.log_bayes_factor(test), contamination=SHARE)
    whole = detection_summary(data.is_anomaly, factor, contamination=SHARE)
    return {
        "ours without isolated members and ends": [plain.mcc, plain.auc, plain.rws],
        "ours": [whole.mcc, whole.auc, whole.rws],
        "sines as sines, density of the frequency from the members' true ones; parabolas ours": scored(
            np.logaddexp(_sines(data, top, density(frequency)), second)
        ),
        "sines as they were made, parabolas ours": scored(np.logaddexp(true[:, 0], second)),
        "both as they were made": scored(np.logaddexp(true[:, 0], true[:, 1])),
    }


_LIST = ("printed", 4, 12_000)
_KNOWN_CURVES = 300_000


def lists(seed: int) -> dict[str, list[float]]:
    """Return power and false share of lists by p-values from left-out training curves, by true ones, and by an oracle's cut."""
    setting, number, n_train = _LIST
    data = curves(setting, number, n_train, seed)
    model = BADACClassifier(noise="gaussian", anomaly_prior=SHARE, random_state=seed)
    model.fit(data.train, data.train_label)
    found = model.prepare_pvalues().judge(data.test).verdicts(WITH_PVALUES)
    rng = np.random.default_rng([seed, 1])
    known = experiment(number, "printed", n_train=4, n_test=_KNOWN_CURVES, contamination=0.0, rng=rng).test
    reference = np.sort(model.anomaly_score(known))
    as_strange = len(reference) - np.searchsorted(reference, found.score, side="left")
    true = (1.0 + as_strange) / (1.0 + len(reference))
    pool = model.fitted_.pool
    assert pool is not None
    ours, best = (listed(one, found.score, data.is_anomaly, pool) for one in (found["pvalue"], true))
    return {
        "p-values from the left-out training curves": [ours["power"], ours["false"]],
        "true ones, from 300,000 more known curves": [best["power"], best["false"]],
        "oracle": [ours["oracle"], np.nan],
    }


_WITH_ENDS = (
    ("printed", 1, 300),
    ("printed", 1, 1000),
    ("printed", 1, 3000),
    ("printed", 2, 1000),
    ("printed", 4, 3000),
    ("released", 1, 3000),
    ("released", 4, 3000),
)


def ends(seed: int) -> dict[str, list[float]]:
    """Return MCC and rank-weighted score of each experiment, without and with members beyond the ends of families."""
    found = {}
    for setting, number, n_train in _WITH_ENDS:
        data = curves(setting, number, n_train, seed)
        both: list[float] = []
        for least in (n_train + 1, LEAST_MEMBERS):
            with patch("badac.anomalies.isolated.LEAST_MEMBERS", least):
                model = BADACClassifier(noise="gaussian", anomaly_prior=SHARE, random_state=seed)
                score = model.fit(data.train, data.train_label).anomaly_score(data.test)
            detected = detection_summary(data.is_anomaly, score, contamination=SHARE)
            both += [detected.mcc, detected.rws]
        found[f"{setting} {number}, {n_train:,}"] = both
    return found


def _unseen(ours: Deviations, objects: object, index: int) -> np.ndarray:
    assert ours.grid is not None
    mean = ours.grid.classes[index].factor.mean
    found = [one.log_evidence(objects) for one in ours.grid.unseen if np.array_equal(one.mean, mean)]  # type: ignore[arg-type]
    return np.asarray(logsumexp(found, axis=0))


def _sines(data: Experiment, top: np.ndarray, log_density: np.ndarray) -> np.ndarray:
    """Log of prior times evidence (t,) of sines whose frequency has this log density (g,) on the grid."""
    values, sigma = data.test.values[top], data.test.sigma[top][:, :1]
    curve = np.sin(np.outer(_GRID, data.test.at))
    square = (values**2).sum(axis=1, keepdims=True) - 2.0 * values @ curve.T + (curve**2).sum(axis=1)
    match = -0.5 * square / sigma**2 - values.shape[1] * np.log(sigma * np.sqrt(2.0 * np.pi))
    return np.asarray(logsumexp(match + log_density + np.log(_GRID[1] - _GRID[0]), axis=1) - np.log(2.0))


def density(known: np.ndarray) -> np.ndarray:
    """Log density (g,) of a number on the grid, by kernels around known ones (n,); one in n + 1 is three times as wide."""
    n, widths = len(known), np.array(_BANDWIDTHS) * known.std()
    away = known[:, None] - known
    left = np.array([(norm.pdf(away / h).sum(axis=1) - norm.pdf(0.0)) / (h * (n - 1)) for h in widths])
    weight = np.full(len(widths), 1.0 / len(widths))
    for _ in range(500):  # EM
        share = weight[:, None] * left
        weight = ((share / share.sum(axis=0)).sum(axis=1) + 1.0 / len(widths)) / (n + 1.0)
    kernels = [norm.pdf((_GRID[:, None] - known) / h).mean(axis=1) / h for h in widths]
    wide = norm.pdf(_GRID, known.mean(), 3.0 * known.std())
    return np.asarray(np.log((n * weight @ np.array(kernels) + wide) / (n + 1.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[500])
    parser.add_argument("--pvalues", action="store_true")
    parser.add_argument("--ends", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    measured = lists if asked.pvalues else ends if asked.ends else rows
    found = [measured(seed) for seed in asked.seeds]
    mean = {name: np.mean([one[name] for one in found], axis=0) for name in found[0]}
    lines = [
        [name, f"{len(found)}", " / ".join(f"{number:.3f}" for number in row if np.isfinite(number))]
        for name, row in mean.items()
    ]
    if asked.pvalues:
        place, text = "true p-values", table(["list cut by", "seeds", "power / false share"], lines)
    elif asked.ends:
        place, text = (
            "ends",
            table(["curves, training", "seeds", "MCC / RWS without / MCC / RWS with"], lines),
        )
    else:
        place, text = "limits", table(["known classes", "seeds", "MCC / AUC / RWS"], lines)
    print(text)
    if asked.write:
        write_into(Path(PAGE), {place: text})


if __name__ == "__main__":
    main()

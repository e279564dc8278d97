"""Lists where things go wrong, and on real tables: what they hold, and what is said. Cells of benchmarks/lists.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from badac import BADACClassifier
from badac.data.measurements import Measurements
from badac.simulate import experiment
from benchmarks.triage_sets import find

Row = dict[str, Any]
Case = tuple[Measurements, np.ndarray, Measurements, np.ndarray]
FDR, LEVELS = 0.1, (0.001, 0.01, 0.05, 0.1, 0.5)


def _curves(seed: int, share: float = 0.01, n_train: int = 2000, n_test: int = 3000) -> Case:
    rng = np.random.default_rng(seed)
    data = experiment(1, "released", n_train=n_train, n_test=n_test, contamination=share, rng=rng)
    return data.train, data.train_label, data.test, data.is_anomaly


def _changed(
    test: Measurements, values: np.ndarray | None = None, sigma: np.ndarray | None = None
) -> Measurements:
    return Measurements(
        test.values if values is None else values, test.sigma if sigma is None else sigma, at=test.at
    )


def _no_anomalies(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    return train, label, test[~strange], strange[~strange]


def _all_anomalies(seed: int) -> Case:
    train, label, test, strange = _curves(seed, 0.5)
    return train, label, test[strange], strange[strange]


def _one_class(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    # Of the other class there is none among the new ones either.
    of_first = np.random.default_rng(seed)
    data = experiment(1, "released", n_train=2000, n_test=3000, contamination=0.01, rng=of_first)
    kept = data.test_label != 1
    return train[label == 0], label[label == 0], test[kept], strange[kept]


def _twenty_members(seed: int) -> Case:
    return _curves(seed, n_train=40)


def _ties(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    return train, label, _changed(test, np.round(test.values), np.full(test.shape, 0.3)), strange


def _halved_errors(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    return train, label, _changed(test, sigma=0.5 * test.sigma), strange


def _doubled_errors(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    return train, label, _changed(test, sigma=2.0 * test.sigma), strange


def _noisier(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    extra = np.random.default_rng(seed + 1).normal(0.0, 3.0, test.shape) * test.sigma
    return train, label, _changed(test, test.values + extra, np.sqrt(10.0) * test.sigma), strange


def _shifted(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    return train, label, _changed(test, test.values + 0.2), strange


def _scaled(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    return train, label, _changed(test, 1.3 * test.values, 1.3 * test.sigma), strange


def _lacking(seed: int, gaps: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]) -> Case:
    train, label, test, strange = _curves(seed)
    lacking = gaps(np.random.default_rng(seed + 1), test.shape)
    return train, label, _changed(test, np.where(lacking, np.nan, test.values)), strange


def _gaps(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    values = test.values.copy()
    values[:, 40:70] = np.nan
    return train, label, _changed(test, values), strange


def _scattered_gaps(seed: int) -> Case:
    return _lacking(seed, lambda rng, shape: rng.random(shape) < 1.0 / 3.0)


def _own_stretches(seed: int) -> Case:
    def stretch(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        since = np.arange(shape[1]) - rng.integers(70, size=(shape[0], 1))
        return np.asarray((since >= 0) & (since < 30))

    return _lacking(seed, stretch)


def _half_missing(seed: int) -> Case:
    return _lacking(seed, lambda _, shape: np.broadcast_to(np.arange(shape[1]) % 2 == 1, shape))


def _noisy_lack(seed: int) -> Case:
    train, label, test, strange = _curves(seed)
    level = test.sigma.mean(axis=1, keepdims=True)
    lacking = np.random.default_rng(seed + 1).random(test.shape) < 0.5 * (level > np.median(level))
    return train, label, _changed(test, np.where(lacking, np.nan, test.values)), strange


CASES: dict[str, Callable[[int], Case]] = {
    "no anomalies": _no_anomalies,
    "all anomalies": _all_anomalies,
    "one class": _one_class,
    "twenty members a class": _twenty_members,
    "values rounded to ties": _ties,
    "error bars halved": _halved_errors,
    "error bars doubled": _doubled_errors,
    "noisier objects": _noisier,
    "values shifted by 2 sigma": _shifted,
    "values 1.3 times as large": _scaled,
    "a third of the points missing": _gaps,
    "a third of the points missing, anywhere": _scattered_gaps,
    "a third of the points missing, a stretch of each curve's own": _own_stretches,
    "every other point missing": _half_missing,
    "half of the points missing in the noisier half": _noisy_lack,
}


def bad_case(name: str, seed: int) -> Row:
    """Return what the list of a case holds and says; the model never saw such a case."""
    train, label, test, strange = CASES[name](seed)
    model = BADACClassifier(random_state=seed).fit(train, label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.rank(test, fdr=FDR)
    rows = found.objects
    return {
        "listed": len(rows),
        "false": float((~strange[rows]).mean()) if len(rows) else 0.0,
        "words": found.why,
        "bound": found.false_share_bound,
    }


def real_set(name: str, seed: int) -> Row:
    """Return how uniform p-values of known objects of a real table are, and lists when each class is left out."""
    found_set = find(name)
    if found_set is None:
        raise SystemExit(f"the data of {name} are not there")
    common = ~np.isin(found_set.label, found_set.rare)
    objects, label = found_set.objects[common], found_set.label[common]
    rng = np.random.default_rng(seed)
    train = rng.permuted(np.arange(len(label)) % 2 == 0)
    pvalue = (
        BADACClassifier(random_state=seed)
        .fit(objects[train], label[train])
        .verdicts(objects[~train], pvalues=True)["pvalue"]
    )
    shares = [float((pvalue <= level).mean()) for level in LEVELS]
    errors = [
        float(np.sqrt(level * (1 - level) * (1 / train.sum() + 1 / (~train).sum()))) for level in LEVELS
    ]
    lists = []
    for left_out in np.unique(label):
        strange = label == left_out
        known = train & ~strange
        model = BADACClassifier(random_state=seed).fit(objects[known], label[known])
        # A tenth of the new objects are of the class that nobody has seen.
        new = np.flatnonzero(~train & ~strange)
        some = rng.permutation(np.flatnonzero(~train & strange))[: max(len(new) // 9, 1)]
        rows = np.concatenate([new, some])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.rank(objects[rows], fdr=FDR).objects
        right = strange[rows][found]
        lists.append(
            {
                "class": str(left_out),
                "power": float(right.sum() / len(some)),
                "false": float((~right).mean()) if len(found) else 0.0,
            }
        )
    return {"known": int(train.sum()), "uniform": list(zip(shares, errors, strict=True)), "lists": lists}

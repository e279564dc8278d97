"""Three real data sets, clean and noisy: badac beside a random forest, on the same splits.

    python -m benchmarks.real                        # fixed splits, all sets, all models
    python -m benchmarks.real --sets asas --cross-validate --strange
    python -m benchmarks.real --cross-validate --write-docs     # the tables of docs/light_curves.md
    python -m benchmarks.real --sets osc --models badac --states 24     # what chance of the fit does to the fixed split

Stars (ASAS, folded grid), X-ray sources (Chandra, catalogue with gaps) and supernovae (OSC, ready grid and raw light curves).
Rare classes are left out of training. "noisy" adds known noise to the test objects: per object U(0, 2) times the inter-quartile
range of each feature in the training set. Peers: a random forest, and one trained on noise-augmented copies with the
errors as further features; and the figures stated for PRF (Reis et al. 2019) on the same fixed splits, with other draws of the
added noise. Printed per model: accuracy / log-loss / calibration error (15 bins of the largest probability) and seconds of the
processor; with --strange the AUC of the rare classes and the mean AUC when each class in turn is left out of training.
--write-docs keeps what was measured in benchmarks/results/real.json, other sets and models as they are there, and writes
the tables of docs/light_curves.md from it.

The data are looked for in ../shared/data beside the repository; a set that is absent is skipped with a word.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import LocalOutlierFactor

from badac import BADACClassifier, Measurements
from badac.classes import GaussianProcess
from badac.data import Peaks, add_noise, align_at_peak, read
from badac.metrics import expected_calibration_error
from badac.writing import write_whole
from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "real.json", ROOT / "docs" / "light_curves.md"
TITLES = {
    "asas": "stars (ASAS, folded grid)",
    "chandra": "X-ray sources (Chandra)",
    "osc": "supernovae (OSC, ready grid)",
    "osc_raw": "supernovae (raw light curves)",
}
COLUMNS = ("badac", "forest", "augmented forest", "PRF, as stated")
# Accuracy, log-loss, calibration error.
PRF = {
    "asas": {"clean": (0.805, 0.576, 0.095), "noisy": (0.410, 1.44, 0.121)},
    "chandra": {"clean": (0.907, 0.253, 0.045), "noisy": (0.731, 0.661, 0.095)},
    "osc": {"clean": (0.812, 0.472, 0.095), "noisy": (0.763, 0.634, 0.063)},
}
RARE = {
    "asas": ("ACV", "BCEP"),
    "chandra": ("CV", "HMXB", "LMXB", "NS"),
    "osc": ("IIb", "IIn", "Ia-pec", "Ibn", "SLSN"),
    "osc_raw": ("IIb", "IIn", "Ia-pec", "Ibn", "SLSN"),
}
COPIES = 5


@dataclass(frozen=True, eq=False)
class Split:
    """Objects to learn from and to be asked about, with the spread (m,) or per band that noise is scaled by."""

    train: Measurements
    train_label: np.ndarray
    test: Measurements
    test_label: np.ndarray


@dataclass(frozen=True, eq=False)
class DataSet:
    name: str
    objects: Measurements
    label: np.ndarray
    is_train: np.ndarray

    @property
    def common(self) -> np.ndarray:
        return ~np.isin(self.label, RARE[self.name])

    def fixed(self) -> Split:
        train, test = self.common & self.is_train, self.common & ~self.is_train
        return Split(self.objects[train], self.label[train], self.objects[test], self.label[test])

    def folds(self, n_repeats: int = 3) -> Iterator[Split]:
        rows = np.flatnonzero(self.common)
        parts = RepeatedStratifiedKFold(n_splits=5, n_repeats=n_repeats, random_state=0)
        for train, test in parts.split(rows, self.label[rows]):
            a, b = rows[train], rows[test]
            yield Split(self.objects[a], self.label[a], self.objects[b], self.label[b])


# -- the sets --------------------------------------------------------------------------------------------------------


def load(name: str) -> DataSet | None:
    folder = {"asas": "asas_variables", "chandra": "chandra_xray_sources"}.get(name, "osc_sn_bvri")
    if not (DATA / folder).is_dir():
        print(f"{name}: skipped, there is no {DATA / folder}")
        return None
    import pandas as pd

    if name == "osc_raw":
        return supernovae(DATA / folder)
    table = {"asas": "folded_grid", "chandra": "table", "osc": "grid"}[name]
    path = DATA / folder / f"{table}.parquet"
    # The X-ray table has every measurement twice, as it was taken and made ready: the latter, x_..., are meant.
    ready = [name for name in pd.read_parquet(path).columns if name.startswith("x_")]
    found = read(path, features=ready) if name == "chandra" else read(path)
    split = pd.read_parquet(path, columns=["split"])["split"]
    objects = found.objects
    if name == "asas":
        objects = Measurements(objects.values, objects.sigma, at=(np.arange(20) + 0.5) / 20)
    if name == "osc":
        days = [float(feature.split("_")[2]) for feature in found.features]
        bands = ["BVRI".index(feature.split("_")[1]) for feature in found.features]
        objects = Measurements(objects.values, objects.sigma, at=days, band=bands)
    assert found.label is not None
    return DataSet(name, objects, found.label, np.asarray(split == "train"))


def supernovae(folder: Path) -> DataSet:
    """Raw light curves in units of the V-band peak, days from it; the peak is the catalogue's brightest V point."""
    import pandas as pd

    found = read(
        folder / "light_curves.parquet", labels=folder / "objects.parquet", bands=("B", "V", "R", "I")
    )
    table = pd.read_parquet(folder / "objects.parquet").set_index("object_id").loc[found.ids]
    peaks = Peaks(np.asarray(table["peak_mjd"]), 10 ** (-0.4 * (np.asarray(table["peak_mag"]) - 25.0)))
    assert found.label is not None
    return DataSet(
        "osc_raw",
        align_at_peak(found.objects, peaks=peaks),
        found.label,
        np.asarray(table["split"] == "train"),
    )


def spread(train: Measurements) -> np.ndarray:
    """Inter-quartile range of each feature, (m,); of each band, for objects with points of their own."""
    if not train.own_points:
        return np.subtract(*np.nanpercentile(train.values, [75, 25], axis=0))
    assert train.band is not None
    return np.array(
        [
            np.subtract(*np.percentile(train.values[train.band == b], [75, 25]))
            for b in range(train.band.max() + 1)
        ]
    )


def noisier(objects: Measurements, ranges: np.ndarray, rng: np.random.Generator) -> Measurements:
    """Add known noise: U(0, 2) per object times the feature's range."""
    per_point = ranges if not objects.own_points else ranges[np.maximum(objects.band, 0)]
    added = rng.uniform(0.0, 2.0, (objects.n_objects, 1)) * per_point
    return add_noise(objects, added, rng)


# -- the models: each takes a split and returns (classes, probability of the test objects, strangeness) ---------------

Answer = tuple[np.ndarray, np.ndarray, np.ndarray]


def forest(split: Split, rng: np.random.Generator) -> Answer:
    model = RandomForestClassifier(500, random_state=int(rng.integers(2**31)))
    model.fit(split.train.values, split.train_label)
    p = one_more_vote(model.predict_proba(split.test.values))
    return model.classes_, p, 1.0 - p.max(axis=1)


def augmented_forest(split: Split, rng: np.random.Generator) -> Answer:
    ranges = spread(split.train)
    copies = [split.train] + [noisier(split.train, ranges, rng) for _ in range(COPIES - 1)]
    model = RandomForestClassifier(500, random_state=int(rng.integers(2**31)), min_samples_leaf=2)
    model.fit(np.vstack([features(copy) for copy in copies]), np.tile(split.train_label, COPIES))
    p = one_more_vote(model.predict_proba(features(split.test)))
    return model.classes_, p, 1.0 - p.max(axis=1)


def one_more_vote(p: np.ndarray) -> np.ndarray:
    """A class that none of 500 trees voted for is not impossible: one more vote, shared by all classes."""
    return (500.0 * p + 1.0 / p.shape[1]) / 501.0


def features(objects: Measurements) -> np.ndarray:
    return np.hstack([objects.values, np.where(objects.observed, objects.sigma, np.nan)])


def bayes(**parameters: Any) -> Callable[[Split, np.random.Generator], Answer]:
    def run(split: Split, rng: np.random.Generator) -> Answer:
        model = BADACClassifier(random_state=int(rng.integers(2**31)), **parameters)
        model.fit(split.train, split.train_label)
        return model.classes_, model.predict_proba(split.test), model.anomaly_score(split.test)

    return run


MODELS: dict[str, Callable[[Split, np.random.Generator], Answer]] = {
    "forest": forest,
    "augmented forest": augmented_forest,
    "badac": bayes(),
    "badac, gaps ignored": bayes(missingness="ignore"),
    "badac gp": bayes(class_model="gp"),
    "badac gp periodic": bayes(class_model=GaussianProcess(kernel="periodic")),
}


def applies(model: str, name: str) -> bool:
    """Whether a model can be asked: forests and grid models need a grid, processes an order of the points."""
    if name == "osc_raw":
        return model in ("badac", "badac gp")
    if model == "badac gp periodic":
        return name == "asas"
    return not (model == "badac gp" and name in ("chandra", "asas"))


# -- what is measured ------------------------------------------------------------------------------------------------


def measure(truth: np.ndarray, classes: np.ndarray, p: np.ndarray) -> tuple[float, float, float]:
    clipped = np.clip(p, 1e-15, 1.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    accuracy = float((classes[p.argmax(axis=1)] == truth).mean())
    return (
        accuracy,
        float(log_loss(truth, clipped, labels=classes)),
        float(expected_calibration_error(truth, clipped, classes=classes, n_bins=15)),
    )


def classify(data: DataSet, names: list[str], *, folds: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in names:
        run, rows, seconds = MODELS[name], {"clean": [], "noisy": []}, time.process_time()
        for number, split in enumerate(data.folds(folds) if folds else [data.fixed()]):
            rng = np.random.default_rng([7, number])
            noisy = noisier(split.test, spread(split.train), np.random.default_rng([11, number]))
            both = replace(split, test=_stacked(split.test, noisy))
            classes, p, _ = run(both, rng)
            n = split.test.n_objects
            rows["clean"].append(measure(split.test_label, classes, p[:n]))
            rows["noisy"].append(measure(split.test_label, classes, p[n:]))
        seconds = time.process_time() - seconds
        out[name] = {"seconds": seconds}
        for key, value in rows.items():
            accuracy, log_loss_, calibration = np.mean(value, axis=0).tolist()
            # Repeats of the folds see the same objects: they are worth the number of objects, not of repeats.
            error = float(np.std([row[0] for row in value]) / np.sqrt(min(len(value), 5)))
            if not folds:
                error = float(np.sqrt(accuracy * (1.0 - accuracy) / n))
            out[name][key] = [accuracy, log_loss_, calibration, error]
        text = "   ".join(f"{key} {cell(out[name][key])}" for key in rows)
        print(f"  {name:20s} {text}   {seconds:6.1f} s", flush=True)
    return out


def over_states(data: DataSet, names: list[str], n_states: int) -> dict[str, Any]:
    """Mean and scatter of the log-loss on the fixed split when nothing but the generator of the fit differs."""
    split = data.fixed()
    noisy = noisier(split.test, spread(split.train), np.random.default_rng([11, 0]))
    both, n = replace(split, test=_stacked(split.test, noisy)), split.test.n_objects
    out: dict[str, Any] = {}
    for name in names:
        answers = [MODELS[name](both, np.random.default_rng([7, state]))[:2] for state in range(n_states)]
        out[name] = {"states": n_states}
        for key, part in (("clean", slice(None, n)), ("noisy", slice(n, None))):
            losses = [measure(split.test_label, classes, p[part])[1] for classes, p in answers]
            out[name][key] = [float(np.mean(losses)), float(np.std(losses, ddof=1))]
            print(
                f"  {name:20s} {key} log-loss {out[name][key][0]:.4f}, scatter of one fit {out[name][key][1]:.4f}, "
                f"the first {losses[0]:.4f}",
                flush=True,
            )
    return out


def cell(figures: list[float] | tuple[float, ...]) -> str:
    """Accuracy, with its standard error where there is one, log-loss and calibration error."""
    accuracy, log_loss_, calibration = (f"{figure:.3f}".removeprefix("0") for figure in figures[:3])
    error = f" +- {figures[3]:.3f}".replace("0.", ".") if len(figures) > 3 else ""
    return f"{accuracy}{error} / {log_loss_} / {calibration}"


def _stacked(first: Measurements, second: Measurements) -> Measurements:
    from badac.data import concatenate

    return concatenate([first, second])


def strange(data: DataSet, names: list[str]) -> dict[str, Any]:
    """AUC of the rare classes, and the mean AUC over the known classes when each is left out of training."""
    split = data.fixed()
    rare = data.objects[~data.common]
    out: dict[str, Any] = {}
    for name in [*names, *([] if data.name == "osc_raw" else ["isolation forest", "LOF"])]:
        rng = np.random.default_rng(3)
        started = time.perf_counter()
        mixed = replace(split, test=_stacked(split.test, rare))
        is_rare = np.r_[np.zeros(split.test.n_objects), np.ones(rare.n_objects)]
        of_rare = roc_auc_score(is_rare, _strangeness(name, mixed, rng))
        left_out = []
        for label in np.unique(split.train_label):
            known = split.train_label != label
            without = replace(split, train=split.train[known], train_label=split.train_label[known])
            left_out.append(roc_auc_score(split.test_label == label, _strangeness(name, without, rng)))
        out[name] = {"rare": float(of_rare), "left out": float(np.mean(left_out))}
        print(
            f"  {name:20s} rare {of_rare:.3f}   left out {np.mean(left_out):.3f}   "
            f"{time.perf_counter() - started:6.1f} s",
            flush=True,
        )
    return out


def _strangeness(name: str, split: Split, rng: np.random.Generator) -> np.ndarray:
    if name in MODELS:
        return MODELS[name](split, rng)[2]
    centre = np.nanmedian(split.train.values, axis=0)
    unit = np.maximum(spread(split.train), 1e-12)
    train, test = (
        np.where(side.observed, (side.values - centre) / unit, 0.0) for side in (split.train, split.test)
    )
    if name == "LOF":
        return -LocalOutlierFactor(n_neighbors=20, novelty=True).fit(train).score_samples(test)
    return -IsolationForest(random_state=0).fit(train).score_samples(test)


# -- what is kept, and written into the page -------------------------------------------------------------------------


def keep(results: dict[str, Any]) -> dict[str, Any]:
    """Merge what was measured into what was measured before, and return all of it."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, parts in results.items():
        for part, models in parts.items():
            kept.setdefault(name, {}).setdefault(part, {}).update(models)
    write_whole(RESULTS, json.dumps(kept, indent=1) + "\n")
    return kept


def table(kept: dict[str, Any], part: str) -> str:
    """A table of accuracies for one way to split: sets and noise down, models across."""
    lines = [
        "| set | | badac | random forest | forest on noise-augmented copies | PRF, as stated |",
        "|---|---|---|---|---|---|",
    ]
    for name, title in TITLES.items():
        models = dict(kept.get(name, {}).get(part, {}))
        if part == "fixed" and name in PRF:
            models["PRF, as stated"] = PRF[name]
        if "badac" not in models:
            continue
        for key in ("clean", "noisy"):
            cells = [cell(models[model][key]) if model in models else "" for model in COLUMNS]
            lines.append(f"| {title if key == 'clean' else ''} | {key} | {' | '.join(cells)} |")
    return "\n".join(lines)


def strange_table(kept: dict[str, Any]) -> str:
    """AUC of rare classes and of classes left out."""
    columns = ("badac", "forest", "isolation forest", "LOF")
    lines = [f"| rare / left out | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for name, title in TITLES.items():
        models = kept.get(name, {}).get("strange", {})
        if "badac" in models:
            cells = [
                f"{models[model]['rare']:.2f} / {models[model]['left out']:.2f}" if model in models else ""
                for model in columns
            ]
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def states_words(kept: dict[str, Any]) -> str:
    """What chance of the fit does to the log-loss of the fixed split."""
    parts = []
    for name, title in TITLES.items():
        found = kept.get(name, {}).get("states", {}).get("badac")
        if found is not None:
            clean, noisy = (
                " +- ".join(f"{x:.3f}".removeprefix("0") for x in found[k]) for k in ("clean", "noisy")
            )
            parts.append(f"{title} {clean} clean, {noisy} noisy ({found['states']} fits)")
    return (
        "The log-loss on a fixed split depends on the generator of the fit (`random_state`) too. Mean and scatter of single "
        "fits: " + "; ".join(parts) + "."
    )


def write_page(kept: dict[str, Any]) -> None:
    parts = {"fixed": table(kept, "fixed"), "folds": table(kept, "folds"), "strange": strange_table(kept)}
    options = {"fixed": "", "folds": " --cross-validate", "strange": " --strange --no-classes"}
    places = {}
    for part, lines in parts.items():
        if lines.count("\n") < 2:
            lines = (
                f"Not measured with this version: `python -m benchmarks.real{options[part]} --write-docs`."
            )
        places[f"real:{part}"] = f"\n{lines}\n"
    write_into(PAGE, places | {"real:states": states_words(kept)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(RARE), choices=list(RARE))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--cross-validate", type=int, nargs="?", const=3, default=0, metavar="REPEATS")
    parser.add_argument(
        "--states", type=int, default=0, help="only the log-loss of the fixed split over so many fits"
    )
    parser.add_argument("--strange", action="store_true", help="also the AUC of rare and left-out classes")
    parser.add_argument("--no-classes", action="store_true", help="only --strange")
    parser.add_argument(
        "--write-docs", action="store_true", help="keep the figures, and write the page's tables"
    )
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    for name in chosen.sets:
        data = load(name)
        if data is None:
            continue
        names = [model for model in chosen.models if applies(model, name)]
        print(f"{name}: {data.objects}")
        results[name] = {}
        if chosen.states:
            results[name]["states"] = over_states(data, names, chosen.states)
        elif not chosen.no_classes:
            print(
                f"  accuracy / log-loss / calibration error, {'cross-validated' if chosen.cross_validate else 'fixed split'}"
            )
            part = "folds" if chosen.cross_validate else "fixed"
            results[name][part] = classify(data, names, folds=chosen.cross_validate)
        if chosen.strange:
            print("  AUC")
            results[name]["strange"] = strange(data, names)
        if chosen.write_docs:
            write_page(keep({name: results[name]}))


if __name__ == "__main__":
    main()

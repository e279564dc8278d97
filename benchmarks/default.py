"""The default beside the usual models on tables of every kind: `BADACClassifier()` as it comes, every peer in the same run.

    python -m benchmarks.default                                   # all tables, seeds 0-4, what is not measured yet
    python -m benchmarks.default --tables moons cells --seeds 100 101 --print
    python -m benchmarks.default --noise --seeds 500               # noise="auto" beside the default
    python -m benchmarks.default --adapted --seeds 0 1 2           # the default, adapted to the objects that it judges
    python -m benchmarks.default --again badac forest              # these two again, the other models' figures stay
    python -m benchmarks.default --only LightGBM boosting          # nobody else is asked
    python -m benchmarks.default --write-docs                      # the tables of docs/default.md

The UCR sets are files that aeon brings. To have them without it and what it depends on:

    pip download --no-deps aeon && python -m zipfile -e aeon-*.whl aeon_files
    PYTHONPATH=aeon_files python -m benchmarks.default --tables UCR

Peers: a random forest of 500 trees; extra trees, LightGBM (if installed) and histogram gradient boosting with the errors as
further features and four noisy copies of every training object; k nearest neighbours; extreme deconvolution with eight
components (astroML, if installed and --xd) in up to eight columns; naive Bayes for counts. Peers' probabilities have one more
vote, so that none is ever zero. Figures: accuracy, log-loss with its standard error, calibration error (15 bins) and what it
would be by chance if the stated probabilities were right (the mean of 40 draws of the truth from them), CPU seconds of
learning and judging. They are kept in benchmarks/results/default.json, one entry per table, seed and model, and are measured
once: a second run goes on where the first stopped. Those of ``--noise`` are kept in benchmarks/results/default_noise.json,
those of ``--adapted`` in benchmarks/results/default_adapted.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from badac import BADACClassifier, Measurements
from badac.metrics import expected_calibration_error
from badac.writing import write_whole
from benchmarks.default_tables import TABLES, Table
from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "default.json", ROOT / "docs" / "default.md"
NOISE_RESULTS = ROOT / "benchmarks" / "results" / "default_noise.json"
ADAPTED_RESULTS = ROOT / "benchmarks" / "results" / "default_adapted.json"
# Tables whose new objects differ from the training's in something that `adapt` looks for.
TO_ADAPT_TO = ("errors half too small in new objects (2)", "unequal classes (4)")
COPIES = 4
BEYOND_CHANCE = (
    0.01  # of a calibration error, where it is not told from chance in tables of some hundred objects
)
DRAWS = 40  # of truths, for the calibration error by chance: it is then known to a twentieth of itself
Answer = Callable[[Table, int], np.ndarray]


def badac(table: Table, seed: int) -> np.ndarray:
    noise = {"noise": "poisson"} if table.counted else {}
    model = BADACClassifier(**noise, random_state=seed).fit(table.train, table.label)
    return np.asarray(model.predict_proba(table.test))


def badac_learning_noise(table: Table, seed: int) -> np.ndarray:
    model = BADACClassifier(noise="auto", random_state=seed).fit(table.train, table.label)
    return np.asarray(model.predict_proba(table.test))


def badac_adapted(table: Table, seed: int) -> np.ndarray:
    noise = {"noise": "poisson"} if table.counted else {}
    model = BADACClassifier(**noise, random_state=seed).fit(table.train, table.label)
    return np.asarray(model.adapt(table.test).predict_proba(table.test))


def values_of(objects: Measurements) -> np.ndarray:
    """Values, or the logarithm of the rates of counts, gaps NaN."""
    if objects.exposure is None:
        return np.asarray(objects.values)
    typical = float(np.median(objects.exposure))
    return np.asarray(np.log1p(objects.values / objects.exposure * typical))


def with_errors(objects: Measurements) -> np.ndarray:
    """Values and errors side by side."""
    errors = np.where(objects.observed, objects.sigma, np.nan)
    return np.hstack([values_of(objects), np.log(errors + 1e-12) if objects.counted else errors])


def copies(table: Table, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training objects and noisy copies, with errors as features: noise up to the spread of each column."""
    train, rng = table.train, np.random.default_rng(seed)
    parts = [with_errors(train)]
    for _ in range(COPIES):
        if train.counted:
            share = rng.uniform(0.2, 1.0, (train.n_objects, 1))
            thin = rng.binomial(np.nan_to_num(train.values).astype(np.int64), share).astype(float)
            assert train.exposure is not None
            parts.append(with_errors(Measurements(thin, exposure=share * train.exposure)))
            continue
        spread = np.nanstd(train.values, axis=0)
        level = rng.uniform(0.0, 1.0, (train.n_objects, 1)) * spread
        worse = train.values + level * rng.standard_normal(train.shape)
        parts.append(
            with_errors(Measurements(worse, np.hypot(np.where(train.observed, train.sigma, 1.0), level)))
        )
    return np.vstack(parts), np.tile(table.label, COPIES + 1)


def forest(table: Table, seed: int) -> np.ndarray:
    model = RandomForestClassifier(500, random_state=seed).fit(values_of(table.train), table.label)
    return _voted(model.predict_proba(values_of(table.test)), 500)


def extra_trees(table: Table, seed: int) -> np.ndarray:
    model = ExtraTreesClassifier(500, min_samples_leaf=3, random_state=seed).fit(*copies(table, seed))
    return _voted(model.predict_proba(with_errors(table.test)), 500)


def boosting(table: Table, seed: int) -> np.ndarray:
    model = HistGradientBoostingClassifier(random_state=seed, max_iter=60).fit(*copies(table, seed))
    return _voted(model.predict_proba(with_errors(table.test)), 500)


def lightgbm(table: Table, seed: int) -> np.ndarray:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=60, random_state=seed, verbose=-1, n_jobs=1).fit(*copies(table, seed))
    return _voted(np.asarray(model.predict_proba(with_errors(table.test))), 500)


def nearest(table: Table, seed: int) -> np.ndarray:
    k = int(np.clip(np.sqrt(len(table.label)), 3, 30))
    model = make_pipeline(
        SimpleImputer(keep_empty_features=True),
        StandardScaler(),
        KNeighborsClassifier(min(k, len(table.label))),
    )
    model.fit(values_of(table.train), table.label)
    return _voted(model.predict_proba(values_of(table.test)), k)


def naive_bayes(table: Table, seed: int) -> np.ndarray:
    model = MultinomialNB().fit(np.nan_to_num(table.train.values), table.label)
    return _voted(model.predict_proba(np.nan_to_num(table.test.values)), 500)


def extreme_deconvolution(table: Table, seed: int) -> np.ndarray:
    from astroML.density_estimation import XDGMM

    columns = []
    for each in range(table.label.max() + 1):
        rows = table.label == each
        full = np.stack([np.diag(row**2) for row in table.train.sigma[rows]])
        size = int(min(8, rows.sum() // 5))
        model = XDGMM(max(size, 1), max_iter=60, random_state=seed).fit(table.train.values[rows], full)
        new = np.stack([np.diag(row**2) for row in table.test.sigma])
        log = model.logprob_a(table.test.values, new)
        columns.append(np.logaddexp.reduce(log, axis=1) + np.log(rows.mean()))
    joint = np.column_stack(columns)
    return _voted(np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)), 500)


def _voted(p: np.ndarray, votes: int) -> np.ndarray:
    return (votes * p + 1.0 / p.shape[1]) / (votes + 1.0)


def noises(table: Table, *, xd: bool) -> dict[str, Answer]:
    """Return the default noise and the learned one; of counts nothing is learned."""
    del xd
    return {} if table.counted else {"badac": badac, "noise auto": badac_learning_noise}


def adapting(table: Table, *, xd: bool) -> dict[str, Answer]:
    """Return the default, and the default adapted to the objects that it judges."""
    del table, xd
    return {"badac": badac, "adapted": badac_adapted}


def models(table: Table, *, xd: bool) -> dict[str, Answer]:
    """Return who can be asked about a table."""
    found: dict[str, Answer] = {"badac": badac, "forest": forest, "extra trees": extra_trees}
    if importlib.util.find_spec("lightgbm"):
        found["LightGBM"] = lightgbm
    found |= {"boosting": boosting, "k nearest": nearest}
    if table.counted:
        found["naive Bayes"] = naive_bayes
    complete = table.train.complete and table.test.complete and not table.counted
    if xd and complete and table.train.n_points <= 8 and importlib.util.find_spec("astroML"):
        found["extreme deconvolution"] = extreme_deconvolution
    return found


def measure(answer: Answer, table: Table, seed: int) -> dict[str, float]:
    """Return the figures of one model on one table."""
    start = time.process_time()
    p = np.clip(answer(table, seed), 1e-12, 1.0)
    seconds = time.process_time() - start
    loss = -np.log(p[np.arange(len(table.truth)), table.truth])
    return {
        "accuracy": float((p.argmax(axis=1) == table.truth).mean()),
        "loss": float(loss.mean()),
        "error": float(loss.std() / np.sqrt(len(loss))),
        "calibration": float(expected_calibration_error(table.truth, p, classes=np.arange(p.shape[1]))),
        "by_chance": calibration_by_chance(p),
        "seconds": seconds,
    }


def calibration_by_chance(p: np.ndarray) -> float:
    """Return the calibration error to expect of probabilities (n, k) that are right: truths are drawn from them."""
    rng = np.random.default_rng(0)
    upper = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    drawn = [(rng.random((len(p), 1)) > upper).sum(axis=1) for _ in range(DRAWS)]
    classes = np.arange(p.shape[1])
    return float(np.mean([expected_calibration_error(truth, p, classes=classes) for truth in drawn]))


def run(
    names: list[str],
    seeds: list[int],
    *,
    xd: bool,
    keep: bool,
    kept_in: tuple[Path, Callable[..., dict[str, Answer]]] = (RESULTS, models),
    again: Sequence[str] = (),
    only: Sequence[str] = (),
) -> dict[str, Any]:
    """Measure what is not measured yet, and the models in `again` once more; if any are named in `only`, these alone.

    `kept_in` is the file of the figures, and who is asked about a table.
    """
    path, everyone = kept_in
    results: dict[str, Any] = json.loads(path.read_text()) if keep and path.exists() else {}
    for seed in seeds:
        for name in names:
            own = results.setdefault(name, {}).setdefault(str(seed), {})
            try:
                table = TABLES[name](seed)
            except (FileNotFoundError, ImportError) as missing:
                print(f"{name}: skipped, {missing}")
                continue
            for model, answer in everyone(table, xd=xd).items():
                if (model in own and model not in again) or (only and model not in only):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    own[model] = measure(answer, table, seed)
                f = own[model]
                print(
                    f"{name:28} {seed:4} {model:22} {f['accuracy']:.3f} / {f['loss']:.3f} +- {f['error']:.3f} / "
                    f"{f['calibration']:.3f}   {f['seconds']:.1f} s",
                    flush=True,
                )
                if keep:
                    write_whole(path, json.dumps(results, indent=1))
    return results


def summary(results: dict[str, Any]) -> tuple[list[tuple[str, ...]], dict[str, float], int]:
    """Return rows of the table, the mean rank of each model by log-loss, and the rows that are not lost."""
    rows, ranks, held = [], {}, 0
    for name, by_seed in results.items():
        # A row that was interrupted is not a row yet.
        seeds = [one for one in by_seed.values() if {"badac", "forest", "boosting", "k nearest"} <= set(one)]
        if not seeds:
            continue
        everyone = [model for model in seeds[0] if all(model in one for one in seeds)]
        mean = {
            model: {
                key: float(np.mean([one[model][key] for one in seeds]))
                for key in ("accuracy", "loss", "error", "calibration", "seconds")
            }
            for model in everyone
        }
        peers = sorted(
            (model for model in everyone if model != "badac"), key=lambda model: mean[model]["loss"]
        )
        best, own = mean[peers[0]], mean["badac"]
        error = float(np.sqrt(np.mean([one["badac"]["error"] ** 2 for one in seeds]) / len(seeds)))
        good = own["loss"] <= best["loss"] + 2.0 * error
        held += good
        order = sorted(everyone, key=lambda model: mean[model]["loss"])
        for model in everyone:
            ranks.setdefault(model, []).append(1.0 + order.index(model))
        rows.append(
            (
                name,
                _cell(own),
                f"{peers[0]}: {_cell(best)}",
                "" if good else "lost",
                _mean_of(seeds, "by_chance"),
                f"{own['seconds']:.1f}",
                f"{mean['forest']['seconds']:.1f}",
                str(len(seeds)),
            )
        )
    return rows, {model: float(np.mean(each)) for model, each in ranks.items()}, held


def bars(results: dict[str, Any]) -> str:
    """Say on how many tables accuracy, calibration and CPU hold what is asked of them."""
    held = {"accuracy": 0, "calibration": 0, "seconds": 0, "chance": 0}
    counted = {"accuracy": 0, "calibration": 0, "seconds": 0}
    cost: dict[str, float] = {}
    for name, by_seed in results.items():
        seeds = [one for one in by_seed.values() if {"badac", "forest", "boosting", "k nearest"} <= set(one)]
        if not seeds:
            continue
        peers = [model for model in seeds[0] if model != "badac" and all(model in one for one in seeds)]

        def mean(model: str, key: str, seeds: list[Any] = seeds) -> float:
            return float(np.mean([one[model][key] for one in seeds]))

        best = max(peers, key=lambda model: mean(model, "accuracy"))
        if len(seeds) > 2:
            counted["accuracy"] += 1
            lead = np.array([one["badac"]["accuracy"] - one[best]["accuracy"] for one in seeds])
            held["accuracy"] += bool(lead.mean() >= -2.0 * lead.std(ddof=1) / np.sqrt(len(lead)))
        least = min(mean(model, "calibration") for model in peers)
        counted["calibration"] += 1
        kept = mean("badac", "calibration") <= max(0.03, 0.5 * least)
        held["calibration"] += kept
        known = [one["badac"] for one in seeds if "by_chance" in one["badac"]]
        beyond = np.array([one["calibration"] - one["by_chance"] for one in known])
        held["chance"] += kept or bool(beyond.size and beyond.mean() <= BEYOND_CHANCE)
        counted["seconds"] += 1
        cost[name] = mean("badac", "seconds") / mean("forest", "seconds")
        held["seconds"] += cost[name] <= 1.0
    dearest = max(cost, key=lambda name: cost[name])
    accuracy = (
        f"Accuracy best, or within two standard errors (over seeds) of the best peer's, on {held['accuracy']} of "
        f"{counted['accuracy']} tables with three seeds or more."
        if counted["accuracy"]
        else "Accuracy is not judged: no table has three seeds, from which its error would come."
    )
    return (
        f"{accuracy} Calibration error at most 0.03, or half the best peer's, on "
        f"{held['calibration']} of {counted['calibration']}; there, or at most {BEYOND_CHANCE} above what chance gives right "
        f"probabilities, on {held['chance']}. CPU at most that of the forest on {held['seconds']} of "
        f"{counted['seconds']}: {np.median(list(cost.values())):.2f} times it in the middle, {cost[dearest]:.2f} times at most "
        f"({dearest})."
    )


def noise_words(results: dict[str, Any]) -> str:
    """Say what learning the noise gains, loses and costs."""
    rows = [
        (name, one["badac"], one["noise auto"])
        for name, by_seed in results.items()
        for one in by_seed.values()
        if {"badac", "noise auto"} <= set(one)
    ]
    change = np.array([after["loss"] - before["loss"] for _, before, after in rows])
    cost = np.array([after["seconds"] / before["seconds"] for _, before, after in rows])
    worst, best = int(change.argmax()), int(change.argmin())
    seeds = sorted({int(seed) for by_seed in results.values() for seed in by_seed})
    names = sorted({name for name, _, _ in rows})
    return (
        f'`noise="auto"` is not the default: on {len(names)} of these tables (seeds {", ".join(map(str, seeds))}; {len(rows)} '
        f"fits) its log-loss differs from the default's by {change.mean():+.3f} on average, at worst by "
        f"{change[worst]:+.3f} ({rows[worst][0]}), at best by {change[best]:+.3f} ({rows[best][0]}), and it takes "
        f"{np.median(cost):.1f} times the CPU in the middle, {cost.max():.1f} times at most ({rows[int(cost.argmax())][0]}): "
        "every family of noise is fitted to every class before any is chosen, and where one is taken there is no stack, which "
        "real classes need more. "
        "Whoever doubts the error bars says it."
    )


def adapted_words(results: dict[str, Any]) -> str:
    """Say what adapting to the new objects gains where they differ from the training's, and what it costs elsewhere."""
    gained, elsewhere = [], []
    seeds = sorted({int(seed) for by_seed in results.values() for seed in by_seed})
    for name, by_seed in results.items():
        both = [one for one in by_seed.values() if {"badac", "adapted"} <= set(one)]
        if not both:
            continue
        mean = {
            model: {key: float(np.mean([one[model][key] for one in both])) for key in both[0][model]}
            for model in ("badac", "adapted")
        }
        if name in TO_ADAPT_TO:
            gained.append(f"{name} {_cell(mean['badac'])} -> {_cell(mean['adapted'])}")
        else:
            elsewhere.append((mean["adapted"]["loss"] - mean["badac"]["loss"], name))
    (best, best_name), (worst, worst_name) = min(elsewhere), max(elsewhere)
    return (
        f"`model.adapt(new)` before the new objects are judged (seeds {', '.join(map(str, seeds))}): {'; '.join(gained)}. On "
        f"{len(elsewhere)} other tables, whose new objects are like the training's, the log-loss changes by "
        f"{np.mean([change for change, _ in elsewhere]):+.4f} on average, at worst by {worst:+.3f} ({worst_name}), at best by "
        f"{best:+.3f} ({best_name})."
    )


def _mean_of(seeds: Sequence[Any], key: str) -> str:
    """Return badac's figure as the table has it; empty where it was not measured."""
    known = [one["badac"][key] for one in seeds if key in one["badac"]]
    return f"{np.mean(known):.3f}" if known else ""


def _cell(figures: dict[str, float]) -> str:
    return f"{figures['accuracy']:.3f} / {figures['loss']:.3f} / {figures['calibration']:.3f}"


def write_page(results: dict[str, Any]) -> None:
    """Write the table and what it comes to into docs/default.md."""
    rows, ranks, held = summary(results)
    head = ("table", "badac", "best peer by log-loss", "", "by chance", "CPU s", "forest's", "seeds")
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    order = sorted(ranks, key=lambda model: ranks[model])
    words = (
        ("" if len(rows) == len(TABLES) else f"Measured so far: {len(rows)} of {len(TABLES)} tables. ")
        + "The last column says on how many seeds. Log-loss best, or within two standard errors of the best peer, on "
        f"{held} of these {len(rows)}. Mean rank by log-loss: "
        + ", ".join(f"{model} {ranks[model]:.1f}" for model in order)
        + ". "
        + bars(results)
    )
    places = {"default:table": "\n".join(lines), "default:words": words}
    if NOISE_RESULTS.exists():
        places["default:noise"] = noise_words(json.loads(NOISE_RESULTS.read_text()))
    if ADAPTED_RESULTS.exists():
        places["default:adapted"] = adapted_words(json.loads(ADAPTED_RESULTS.read_text()))
    write_into(PAGE, places)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=[""], help="tables whose name contains one of these")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--xd", action="store_true", help="with extreme deconvolution: minutes a table")
    parser.add_argument(
        "--noise", action="store_true", help='noise="auto" beside the default noise, and no peers'
    )
    parser.add_argument(
        "--adapted", action="store_true", help="the default adapted to the new objects, and no peers"
    )
    parser.add_argument("--again", nargs="*", default=[], help="models to be measured once more")
    parser.add_argument(
        "--only", nargs="*", default=[], help="models to be asked; everyone, if none is named"
    )
    parser.add_argument("--print", action="store_true", help="keep nothing")
    parser.add_argument("--write-docs", action="store_true", help="write docs/default.md from what is kept")
    chosen = parser.parse_args()
    if chosen.write_docs:
        write_page(json.loads(RESULTS.read_text()))
        return
    names = [name for name in TABLES if any(part in name for part in chosen.tables)]
    kept_in: tuple[Path, Callable[..., dict[str, Answer]]] = (RESULTS, models)
    if chosen.noise or chosen.adapted:
        kept_in = (NOISE_RESULTS, noises) if chosen.noise else (ADAPTED_RESULTS, adapting)
    run(
        names,
        chosen.seeds,
        xd=chosen.xd,
        keep=not chosen.print,
        kept_in=kept_in,
        again=chosen.again,
        only=chosen.only,
    )


if __name__ == "__main__":
    main()

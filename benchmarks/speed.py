"""Every step of the walk beside its arithmetic limit and beside other detectors: one table, made in one run.

    python benchmarks/speed.py                       # 15,000 training and 15,000 new curves of 100 points
    python benchmarks/speed.py --objects 3000        # smaller
    python benchmarks/speed.py --write-docs          # also the table and the figure of docs/speed.md

The curves are the paper's Experiment 1 as released; those with bad points, where the noise is learned, its Experiment 3. Times
are seconds of the processor on one thread, the best of some turns in which all take part, so that a busy machine slows everyone
alike; the ratios are what to read. The limit of a step is the number of multiply-adds that its formula needs, at the rate that
a large matrix product reaches in the same run: nothing is allowed for loading, storing, logarithms or Python. The limit of the
exact equation is that of every pair; it may be beaten by not looking at pairs that cannot matter. Peers
that are not installed (LightGBM; pyod for ECOD) are left out with a word.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor

ROOT = Path(__file__).resolve().parents[1]
if not __package__:  # run as a file: the other folders of the repository are beside this one's
    sys.path.insert(0, str(ROOT))

from badac import BADACClassifier, Measurements
from badac.anomalies.bump import Bump
from badac.anomalies.curves_on_a_grid import OnGridCurves
from badac.anomalies.sequence import SmoothCurves
from badac.plots.style import PAGE as PAGE_WIDTH
from badac.plots.style import PALETTE, new_axes, rendered
from badac.simulate import experiment
from badac.writing import write_whole
from reproduction.marked import write_into

PAGE, IMAGE = ROOT / "docs" / "speed.md", ROOT / "docs" / "images" / "speed.png"
TURNS = 3
FIT, OBJECTS = "fit", "new objects"


@dataclass
class Step:
    """One thing that is timed.

    Attributes
    ----------
    name : str
    what : {"fit", "new objects"}
    job : callable
    operations : float or None
        Multiply-adds of the formula, for all objects; None where there is no such number.
    ours : bool
    seconds : float
        Of the processor, the best so far.
    """

    name: str
    what: str
    job: Callable[[], object]
    operations: float | None = None
    ours: bool = False
    seconds: float = float("inf")

    def run(self) -> None:
        start = time.process_time()
        self.job()
        self.seconds = min(self.seconds, time.process_time() - start)


def evidence_operations(model: BADACClassifier, m: int) -> float:
    """Multiply-adds of the evidence of one object under all classes."""
    assert model.anomaly_model_ is not None
    total = 0.0
    for summary in model.anomaly_model_.grid.classes:
        rank, components = summary.factor.rank, len(summary.mixture.weights)
        packed = rank * (rank + 1) / 2
        total += m * (5 + packed + rank) + components * (rank**3 / 6 + rank**2)
    return total


def anomaly_operations(model: BADACClassifier, m: int) -> float:
    """Multiply-adds of the hypotheses about one object that only the class of most factors may have been."""
    assert model.anomaly_model_ is not None
    grid, hypotheses = model.anomaly_model_.grid, model.anomaly_model_.hypotheses
    summary = max(grid.classes, key=lambda one: one.factor.rank)
    rank, components = summary.factor.rank, len(summary.mixture.weights)
    total = evidence_operations(model, m)
    for one in hypotheses:
        if isinstance(one, Bump):
            shapes, _ = grid.visible(one.adds(grid.scales))
            asked, bumps = min(one.components, components), shapes.shape[1]
            total += len(shapes.height) * (1 + rank + asked) + bumps * asked * (rank**2 / 2 + 2 * rank)
            continue
        curves = SmoothCurves(one.lengths)
        alone = type(one).__name__ == "SomethingElse"
        own = OnGridCurves.of(curves, grid.scales.where, None if alone else summary.factor.factors)
        left = 0 if alone else rank
        total += m * (own.products.shape[1] + own.columns.shape[1])
        for power in own.powers:
            total += ((power.size + left) ** 3 - left**3) / 6 + (0 if alone else components * rank**3 / 6)
    return total


def rate(turns: int = TURNS) -> float:
    """Multiply-adds a second of a large matrix product, in double precision on one thread."""
    a = np.random.default_rng(0).standard_normal((700, 700))
    best = float("inf")
    for _ in range(turns):
        start = time.process_time()
        for _ in range(4):
            a @ a
        best = min(best, time.process_time() - start)
    return 4 * 700.0**3 / best


def steps(n: int, *, whole: bool = True) -> list[Step]:
    """What is timed, for n training and n new objects; the fits come before what needs them.

    Unless it is the `whole` walk, what takes longest is left out: explanations, diagnoses, learned noise, the exact equation.
    """
    data = experiment(1, "released", n_train=n, n_test=n, rng=np.random.default_rng(0))
    train, label, new = data.train, data.train_label, data.test
    m = train.n_points
    kept: dict[str, Any] = {}

    def fit(name: str, make: Callable[[], Any], *arguments: Any, whole: bool = True) -> Callable[[], None]:
        def job() -> None:
            # What an anomaly is is learned when it is asked for: of a whole fit that is timed too.
            kept[name] = make().fit(*arguments)
            if whole:
                _ = getattr(kept[name], "anomaly_model_", None)

        return job

    population = BADACClassifier("population", anomaly="evidence", random_state=0)
    default = BADACClassifier(random_state=0).fit(train, label)
    kept["default"] = default
    anomaly = default.anomaly_model_
    assert anomaly is not None
    out = [
        Step("badac: populations", FIT, fit("population", lambda: population, train, label), ours=True),
        Step(
            "badac: default",
            FIT,
            fit("classes", lambda: BADACClassifier(random_state=0), train, label, whole=False),
            ours=True,
        ),
        Step(
            "badac: default, anomaly included", FIT, fit("default", lambda: default, train, label), ours=True
        ),
        # Once a model, and kept in its file: what probabilities and p-values of new objects are compared with.
        Step("badac: left-out objects for p-values", FIT, lambda: default.prepare_pvalues(), ours=True),
        Step(
            "badac: evidence",
            OBJECTS,
            lambda: default.log_evidence(new),
            n * evidence_operations(default, m),
            ours=True,
        ),
        Step(
            "badac: anomaly",
            OBJECTS,
            lambda: anomaly.log_bayes_factor(new),
            n * anomaly_operations(default, m),
            ours=True,
        ),
        Step("badac: rank", OBJECTS, lambda: default.rank(new), ours=True),
    ]
    if whole:
        out.append(Step("badac: explain", OBJECTS, lambda: default.explain(new), ours=True))
        out.append(Step("badac: diagnose", FIT, lambda: default.diagnose(train, label), ours=True))
        out += _learned_noise(n, kept, fit)
        instances = BADACClassifier("instances", anomaly="evidence").fit(train, label)
        # A difference, a sum of variances, a square, a quotient, and a logarithm that is counted as one.
        out.append(
            Step(
                "badac: exact equation",
                OBJECTS,
                lambda: instances.log_evidence(new),
                5.0 * n * n * m,
                ours=True,
            )
        )
    return out + _peers(train, label, new, kept, fit)


def _learned_noise(n: int, kept: dict[str, Any], fit: Callable[..., Callable[[], None]]) -> list[Step]:
    """The default on curves with bad points, whose share and width are learned."""
    data = experiment(3, "released", n_train=n, n_test=n, rng=np.random.default_rng(0))
    name = "badac: noise learned"

    def make() -> BADACClassifier:
        return BADACClassifier(noise="auto", random_state=0)

    return [
        Step(f"{name}, anomaly included", FIT, fit(name, make, data.train, data.train_label), ours=True),
        Step(f"{name}, evidence", OBJECTS, lambda: kept[name].log_evidence(data.test), ours=True),
        Step(f"{name}, anomaly", OBJECTS, lambda: kept[name].anomaly_score(data.test), ours=True),
    ]


def _peers(
    train: Measurements,
    label: np.ndarray,
    new: Measurements,
    kept: dict[str, Any],
    fit: Callable[..., Callable[[], None]],
) -> list[Step]:
    makers: dict[str, tuple[Callable[[], Any], str, tuple[Any, ...]]] = {
        "LOF": (lambda: LocalOutlierFactor(novelty=True), "score_samples", (train.values,)),
        "isolation forest": (lambda: IsolationForest(random_state=0), "score_samples", (train.values,)),
        "random forest": (
            lambda: RandomForestClassifier(random_state=0),
            "predict_proba",
            (train.values, label),
        ),
    }
    if importlib.util.find_spec("pyod") is None:
        print("ECOD is left out: pyod is not installed")
    else:
        from pyod.models.ecod import ECOD

        makers["ECOD"] = (ECOD, "decision_function", (train.values,))
    if importlib.util.find_spec("lightgbm") is None:
        print("LightGBM is left out: it is not installed")
    else:
        from lightgbm import LGBMClassifier

        makers["LightGBM"] = (
            lambda: LGBMClassifier(n_jobs=1, verbose=-1),
            "predict_proba",
            (train.values, label),
        )
    out = []
    for name, (make, score, arguments) in makers.items():
        out.append(Step(name, FIT, fit(name, make, *arguments)))
        out.append(Step(name, OBJECTS, lambda name=name, score=score: getattr(kept[name], score)(new.values)))
    return out


def measure(n: int, turns: int = TURNS, *, whole: bool = True) -> list[Step]:
    """Time everything, in turns."""
    found = steps(n, whole=whole)
    for _ in range(turns):
        for step in found:
            step.run()
    return found


def table(found: list[Step], n: int, peak: float) -> str:
    """Return the table, in Markdown."""
    of = {(step.name, step.what): step.seconds for step in found}
    lines = [
        "| | step | µs an object | limit, µs | times the limit | times LOF | times isolation forest |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for step in found:
        limit = None if step.operations is None else step.operations / peak
        row = [
            step.name,
            step.what,
            f"{1e6 * step.seconds / n:.2f}",
            "" if limit is None else f"{1e6 * limit / n:.2f}",
            "" if limit is None else f"{step.seconds / limit:.1f}",
            f"{step.seconds / of['LOF', step.what]:.2f}",
            f"{step.seconds / of['isolation forest', step.what]:.2f}",
        ]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


@dataclass(frozen=True)
class Bar:
    """A bar that was set for some steps together: at most so many times what other steps of the same run take.

    Attributes
    ----------
    of, beside : tuple of (name, what)
        Steps whose times are added.
    most : float
    """

    of: tuple[tuple[str, str], ...]
    beside: tuple[tuple[str, str], ...]
    most: float = 1.0


_FOREST = (("isolation forest", FIT), ("isolation forest", OBJECTS))
_LOF = (("LOF", FIT), ("LOF", OBJECTS))
_FIT, _EVIDENCE = ("badac: default, anomaly included", FIT), ("badac: evidence", OBJECTS)
_LEARNED = "badac: noise learned"
BARS = {
    "fit of the default and evidence, beside an isolation forest's fit and scores": Bar(
        (("badac: default", FIT), _EVIDENCE), _FOREST
    ),
    "the same, what an anomaly is learned too": Bar((_FIT, _EVIDENCE), _FOREST),
    "p-values, beside the fit": Bar((("badac: left-out objects for p-values", FIT),), (_FIT,)),
    "diagnose, beside the fit": Bar((("badac: diagnose", FIT),), (_FIT,)),
    "learned noise, fit and evidence, beside LOF's fit and scores": Bar(
        ((f"{_LEARNED}, anomaly included", FIT), (f"{_LEARNED}, evidence", OBJECTS)), _LOF
    ),
}


def ratios(found: list[Step]) -> str:
    """Return the bars that were set and what this run says of them, in Markdown."""
    of = {(step.name, step.what): step.seconds for step in found}
    lines = ["| | times | bar |", "|---|---:|---:|"]
    for name, bar in BARS.items():
        if set(bar.of) <= set(of):
            ratio = sum(of[step] for step in bar.of) / sum(of[step] for step in bar.beside)
            lines.append(f"| {name} | {ratio:.2f} | {bar.most:g} |")
    return "\n".join(lines)


def draw(found: list[Step], n: int, peak: float) -> None:
    """Draw the times of new objects as bars, with the limit as a mark."""
    shown = sorted((step for step in found if step.what == OBJECTS), key=lambda step: -step.seconds)
    axes = new_axes(None, width=PAGE_WIDTH, height=0.38 * PAGE_WIDTH)
    for place, step in enumerate(shown):
        axes.barh(place, 1e6 * step.seconds / n, color=PALETTE["blue" if step.ours else "grey"], height=0.62)
        if step.operations is not None:
            limit = 1e6 * step.operations / peak / n
            axes.plot([limit, limit], [place - 0.42, place + 0.42], color=PALETTE["ink"], linewidth=1.2)
    axes.set_yticks(range(len(shown)), [step.name for step in shown])
    axes.set_xscale("log")
    axes.set_xlabel("microseconds of one processor per new object; the mark is the arithmetic limit")
    write_whole(IMAGE, rendered(axes.figure, "png"))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=15_000, help="training objects, and new ones")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table and figure of docs/speed.md"
    )
    given = parser.parse_args()
    peak = rate()
    found = measure(given.objects, given.turns)
    peak = max(peak, rate())
    text, bars = table(found, given.objects, peak), ratios(found)
    print(text, bars, sep="\n\n")
    if given.write_docs:
        said = (
            f"{given.objects:,} training and as many new curves of 100 points (Experiment 1, released), one thread; a matrix "
            f"product reached {peak / 1e9:.1f} billion multiply-adds a second in the same run."
        )
        write_into(PAGE, {"speed": f"{said}\n\n{text}", "ratios": bars})
        draw(found, given.objects, peak)


if __name__ == "__main__":
    main()

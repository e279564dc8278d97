"""How time and memory grow with objects, members, points and classes: their exponents, and what is worse than linear.

    python -m benchmarks.scaling --most-seconds 10   # a few minutes of one core
    python -m benchmarks.scaling --write-docs        # also the table and the figure of docs/speed.md

Each curve changes one number and keeps the others. Times are seconds of the processor on one thread, the best of some turns (of
what takes ten seconds and more, one). An exponent is the slope of log time over log size between the two largest sizes, where
what every call costs alike (Python, rank and shape chosen on subsamples) no longer counts: 1 is linear. Memory is the largest
that NumPy held at a time beyond the data. Every size is kept as it is made (results/scaling.json); sizes are measured, smallest
first, while they can be expected to take less than `--most-seconds`. Files of 10^6 and 10^7 objects are those of
`python -m benchmarks.throughput`.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots.style import LINE_COLOURS, LINE_MARKERS, PAGE, legend, new_axes, rendered
from badac.writing import write_whole
from reproduction.marked import write_into

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT, IMAGE = ROOT / "docs" / "speed.md", ROOT / "docs" / "images" / "scaling.png"
RESULTS = ROOT / "benchmarks" / "results"
TURNS, LONG = 2, 10.0
MEMBERS, POINTS, CLASSES, OBJECTS = 1000, 50, 2, 2000


@dataclass
class Curve:
    """Seconds and bytes by the size of one thing.

    Attributes
    ----------
    what : str
        What is done, and what grows.
    job : callable
        From a size to a function that does it, the data made beforehand.
    sizes : sequence of int
    why : str
        Why the exponent is what it is.
    """

    what: str
    job: Callable[[int], Callable[[], object]]
    sizes: Sequence[int]
    why: str

    def measure(self, size: int, turns: int = TURNS) -> tuple[float, int]:
        """Return seconds and the largest memory in bytes."""
        job = self.job(size)
        best = float("inf")
        for _ in range(turns):
            start = time.process_time()
            job()
            best = min(best, time.process_time() - start)
            if best > LONG:
                break
        tracemalloc.start()
        job()
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return best, memory


def curves(n: int, classes: int, points: int, seed: int = 0) -> tuple[Measurements, np.ndarray]:
    """Noisy curves of classes that differ in phase and bend, each with a member's own amplitude and drift."""
    rng = np.random.default_rng(seed)
    label = rng.integers(classes, size=n)
    x = np.linspace(0.0, 1.0, points)
    phase = np.linspace(0.0, 2.0 * np.pi, classes, endpoint=False)[label][:, None]
    size = 1.0 + 0.2 * rng.standard_normal((n, 1))
    truth = size * np.sin(6.0 * x + phase) + 0.3 * rng.standard_normal((n, 1)) * x
    sigma = 0.1 * rng.uniform(0.5, 1.5, (n, points))
    return Measurements(truth + sigma * rng.standard_normal((n, points)), sigma), label


def fitted(classes: int = CLASSES, points: int = POINTS, members: int = MEMBERS) -> BADACClassifier:
    return BADACClassifier(random_state=0).fit(*curves(members * classes, classes, points))


def of_objects(n: int) -> Callable[[], object]:
    model, new = fitted(), curves(n, CLASSES, POINTS, seed=1)[0]
    model.prepare_pvalues()
    return lambda: model.rank(new)


def of_members(n: int) -> Callable[[], object]:
    training, label = curves(n * CLASSES, CLASSES, POINTS)
    return lambda: BADACClassifier(random_state=0).fit(training, label).anomaly_model_


def of_members_exactly(n: int) -> Callable[[], object]:
    training, label = curves(n * CLASSES, CLASSES, POINTS)
    model = BADACClassifier("instances", anomaly="evidence").fit(training, label)
    new = curves(500, CLASSES, POINTS, seed=1)[0]
    return lambda: model.log_evidence(new)


def of_points(m: int) -> Callable[[], object]:
    model, new = fitted(points=m, members=300), curves(OBJECTS, CLASSES, m, seed=1)[0]
    return lambda: model.anomaly_score(new)


def of_points_fit(m: int) -> Callable[[], object]:
    training, label = curves(600, CLASSES, m)
    return lambda: BADACClassifier(random_state=0).fit(training, label).anomaly_model_


def of_classes(k: int) -> Callable[[], object]:
    model, new = fitted(classes=k, members=60), curves(OBJECTS, k, POINTS, seed=1)[0]
    return lambda: model.anomaly_score(new)


CURVES = (
    Curve("rank, p-values included: objects", of_objects, (1000, 10_000, 100_000), "blocks of 2,048 objects"),
    Curve(
        "fit: members of a class",
        of_members,
        (100, 1000, 10_000, 100_000, 1_000_000),
        "rank and shape are chosen on subsamples, the EM and the leave-one-out pass over all members",
    ),
    Curve(
        "exact equation, 500 objects: members of a class",
        of_members_exactly,
        (100, 1000, 10_000, 100_000),
        "every pair of object and member; fewer where bounds settle blocks of them",
    ),
    Curve(
        "anomaly score: points",
        of_points,
        (2, 10, 50, 250, 500, 1000, 5000),
        "sums over the points; memory is that of blocks of objects",
    ),
    Curve(
        "fit, 600 members: points",
        of_points_fit,
        (2, 10, 50, 250, 500, 1000, 5000),
        "sums over the points; memory is the members and random orders of the columns, some copies of each",
    ),
    Curve(
        "anomaly score: classes",
        of_classes,
        (2, 10, 50, 200, 1000),
        "every class is asked for its evidence; hypotheses only of classes that an object may belong to",
    ),
)


FILES = Curve(
    "badac rank FILE, report included: objects",
    lambda n: lambda: None,
    (),
    "batches of 20,480 objects; more than half a million verdicts are sorted on disk",
)


def exponent(sizes: Sequence[int], numbers: Sequence[float]) -> float:
    """Slope of the logarithms between the two largest sizes."""
    return float(np.log(numbers[-1] / numbers[-2]) / np.log(sizes[-1] / sizes[-2]))


Measured = dict[str, dict[int, tuple[float, int]]]
"""Seconds and bytes by size, of each curve."""


def measured(turns: int, most: float) -> Measured:
    """Measure what can be expected to take less than `most` seconds, and return all that is kept."""
    for curve in CURVES:
        for size in curve.sizes:
            before = kept().get(curve.what, {})
            sizes, seconds = list(before), [one[0] for one in before.values()]
            slope = max(exponent(sizes, seconds), 1.0) if len(sizes) > 1 else 1.0
            if size in sizes:
                continue
            if sizes and seconds[-1] * (size / sizes[-1]) ** slope > most:
                print(f"{curve.what}: {size:,} and more are left out", flush=True)
                break
            now = curve.measure(size, turns)
            print(f"{curve.what}: {size:,} in {now[0]:.3g} s, {now[1] / 1e6:.0f} MB", flush=True)
            keep(curve.what, size, now)
    return kept()


def kept() -> Measured:
    """Return what was measured so far, files of `benchmarks.throughput` included."""
    path, files = RESULTS / "scaling.json", RESULTS / "throughput_files.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    out = {
        what: {
            int(size): (one[0], one[1]) for size, one in sorted(sizes.items(), key=lambda item: int(item[0]))
        }
        for what, sizes in found.items()
    }
    runs = json.loads(files.read_text()).values() if files.exists() else ()
    now = (one for one in runs if not one.get("superseded"))
    for one in sorted(now, key=lambda one: -one["cpu_seconds"]):
        place = out.setdefault(FILES.what, {})
        place[one["objects"]] = (one["cpu_seconds"], one["max_memory_megabytes"] * 1_000_000)
    if FILES.what in out:
        out[FILES.what] = dict(sorted(out[FILES.what].items()))
    return out


def keep(what: str, size: int, now: tuple[float, int]) -> None:
    """Keep a size of a curve."""
    path = RESULTS / "scaling.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found.setdefault(what, {})[str(size)] = now
    path.write_text(json.dumps(found, indent=1) + "\n")


def table(found: Measured) -> str:
    """Return the table, in Markdown."""
    lines = [
        "| what grows | from | to | seconds at most | exponent of time | of memory | why |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for curve in (*CURVES, FILES):
        sizes = list(found.get(curve.what, {}))
        if len(sizes) < 2:
            continue
        seconds, memory = zip(*found[curve.what].values(), strict=True)
        lines.append(
            f"| {curve.what} | {sizes[0]:,} | {sizes[-1]:,} | {seconds[-1]:.2g} | "
            f"{exponent(sizes, seconds):.2f} | {exponent(sizes, memory):.2f} | {curve.why} |"
        )
    return "\n".join(lines)


def draw(found: Measured) -> None:
    """Draw seconds over size, all curves in one figure."""
    axes = new_axes(None, width=PAGE, height=0.5 * PAGE)
    shown = [curve for curve in (*CURVES, FILES) if len(found.get(curve.what, {})) > 1]
    for number, curve in enumerate(shown):
        axes.plot(
            list(found[curve.what]),
            [seconds for seconds, _ in found[curve.what].values()],
            color=LINE_COLOURS[number % len(LINE_COLOURS)],
            marker=LINE_MARKERS[number % len(LINE_MARKERS)],
            label=curve.what,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("objects, members, points or classes")
    axes.set_ylabel("seconds of one processor")
    legend(axes, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    write_whole(IMAGE, rendered(axes.figure, "png"))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table and figure of docs/speed.md"
    )
    parser.add_argument("--most-seconds", type=float, default=100.0, help="for one size")
    parser.add_argument("--again", action="store_true", help="forget what was kept")
    given = parser.parse_args()
    if given.again:
        (RESULTS / "scaling.json").unlink(missing_ok=True)
    found = measured(given.turns, given.most_seconds)
    text = table(found)
    print(text)
    if given.write_docs:
        write_into(DOCUMENT, {"scaling": text})
        draw(found)


if __name__ == "__main__":
    main()

"""How long a decision of a triage session takes, end to end, and what memory a large session needs.

    python -m benchmarks.triage_speed                       # 10^5 objects of 100 points, 60 looks
    python -m benchmarks.triage_speed --write-docs          # the sentence of docs/triage.md

Simulated curves of two known classes with a new kind and an artefact among them. A decision is `say` (rank and value shown, the
line written and synchronised to the disk) and the `next` object; also what the page asks for then, `Desk.view` of one object.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from badac import BADACClassifier, Measurements
from badac.triage import Session
from badac.triage.view import Desk
from reproduction.marked import write_into

PAGE = Path(__file__).resolve().parents[1] / "docs" / "triage.md"


def curves(
    rng: np.random.Generator, n: int, points: int, new: float = 0.0
) -> tuple[Measurements, np.ndarray]:
    """Return curves with errors, and what each is; a share `new` are waves or spikes."""
    x = np.linspace(0.0, 1.0, points)
    kind = rng.choice(4, n, p=[0.5 - new, 0.5 - new, new, new])
    size = rng.normal(1.0, 0.15, (n, 1))
    shapes = np.stack([x, 1.0 - x, np.sin(9.0 * x), x + 3.0 * np.exp(-(((x - 0.4) / 0.02) ** 2))])
    sigma = rng.uniform(0.1, 0.4, (n, 1)) * np.ones(points)
    values = size * shapes[kind] + sigma * rng.standard_normal((n, points))
    return Measurements(values, sigma, at=x), np.array(["rise", "fall", "wave", "spike"])[kind]


def measure(n: int, points: int, looks: int) -> dict[str, float]:
    """Return seconds (wall clock and processor) of decisions, and the peak of memory in GB."""
    rng = np.random.default_rng(1)
    train, label = curves(rng, 600, points)
    new, truth = curves(rng, n, points, new=0.001)
    model = BADACClassifier("template", random_state=0).fit(train, label)
    table = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    verdicts = {"wave": "new", "spike": "artefact"}
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        session = Session(model, new, Path(folder) / "looks.jsonl")
        opened = time.process_time() - start
        wall, cpu, view = [], [], []
        desk = Desk.of(session)
        row = int(session.next()[0])
        for _ in range(looks):
            clock, processor = time.perf_counter(), time.process_time()
            session.say(row, verdicts.get(str(truth[row]), "class"), str(truth[row]))
            row = int(session.next()[0])
            wall.append(time.perf_counter() - clock)
            cpu.append(time.process_time() - processor)
            processor = time.process_time()
            desk.view(row)
            view.append(time.process_time() - processor)
        found = session.figures().found
    return {
        "objects": n,
        "points": points,
        "looks": looks,
        "found": found,
        "opened": opened,
        "decision": float(np.median(cpu)),
        "slowest": float(np.percentile(cpu, 95)),
        "wall": float(np.median(wall)),
        "view": float(np.median(view)),
        "table": table,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def words(found: dict[str, float]) -> str:
    """Return what was measured as a sentence."""
    ms = {name: f"{1000 * found[name]:.0f} ms" for name in ("decision", "slowest", "view")}
    return (
        f"At {found['objects']:,} objects of {found['points']} points a decision, from the key to the next object, its line on "
        f"the disk included, takes {ms['decision']} of the processor (95 %: {ms['slowest']}; median of {found['looks']:.0f} "
        f"looks), and what the page shows of the next object {ms['view']} more. Opening takes {found['opened']:.0f} s, and "
        f"memory reaches {found['memory']:.1f} GB, {found['table']:.1f} GB of it for the table and the model."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--looks", type=int, default=60)
    parser.add_argument("--write-docs", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measure(asked.objects, asked.points, asked.looks)
    print(words(found), f"\nWall clock: {1000 * found['wall']:.0f} ms; found {found['found']:.0f}.")
    if asked.write_docs:
        write_into(PAGE, {"triage speed": words(found)})


if __name__ == "__main__":
    main()

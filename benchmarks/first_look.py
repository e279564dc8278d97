"""How long one waits for the first look: start-up, explain and diagnose, beside the fit and the ranking of the same run.

    python -m benchmarks.first_look        writes the table into docs/tutorial.md

The spectra have 400 points; the figures before are those of commit 0f1e4e2 on another machine, so that the ratios to the fit
and to the ranking of the same run are what can be compared. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

from badac import BADACClassifier, save
from badac.data import from_table
from badac.job.explaining import explained, find_object
from badac.simulate.surveys import spectra
from reproduction.marked import write_into

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
_BEFORE = {"start-up": "2.4", "explain one spectrum": "65", "diagnose / fit": "5.6 (48.7 against 8.7)"}


def timed(what: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    start = process_time()
    what()
    return process_time() - start


def start_up() -> float:
    """CPU seconds of `badac --version` in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = str(Path(sys.executable).with_name("badac"))
    subprocess.run([command, "--version"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured() -> dict[str, float]:
    """Return CPU seconds by what is waited for."""
    made = spectra(360, 175, np.random.default_rng(0), 400)
    training = from_table(made.train)
    new = from_table(made.new)
    model = BADACClassifier(random_state=0, n_jobs=1)
    out = {"start-up": min(start_up() for _ in range(3))}
    out["fit"] = timed(lambda: model.fit(training.objects, training.label))
    out["rank 175 spectra"] = timed(lambda: model.rank(new.objects))
    out["diagnose"] = timed(lambda: model.diagnose(training.objects, training.label))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place)
        made.new.to_parquet(path / "new.parquet")
        save(model, path / "model.badac")
        name = str(new.ids[7])
        out["explain one spectrum"] = timed(
            lambda: explained(model, find_object(model, path / "new.parquet", name))
        )
    return out


def table(found: dict[str, float]) -> str:
    """Return the table of the page."""
    rows = ["| CPU seconds | before | now |", "|---|---|---|"]
    rows.append(f"| `badac --version` | {_BEFORE['start-up']} | {found['start-up']:.2f} |")
    rows.append(
        f"| explain one spectrum of 400 points | {_BEFORE['explain one spectrum']} | {found['explain one spectrum']:.2f} |"
    )
    rows.append(
        f"| diagnose / fit | {_BEFORE['diagnose / fit']} | {found['diagnose'] / found['fit']:.2f} "
        f"({found['diagnose']:.1f} against {found['fit']:.1f}) |"
    )
    rows.append(f"| rank 175 such spectra | 15 | {found['rank 175 spectra']:.2f} |")
    return "\n".join(rows)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    said = table(measured())
    print(said)
    write_into(PAGE, {"first-look": said})

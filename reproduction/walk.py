"""The walk: through which files of badac a call goes, in which order, and how deep.

A profiler notes every Python function of badac that is entered. A file belongs to the walk if one of its functions was called,
and stands where its first call stands; importing a module is not calling it. The depth is the largest number of badac's
functions that were waiting for one another. `walk` starts an interpreter of its own: what an earlier call left in a cache would
not be called again.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import badac

WALKS = ("fit", "rank", "cli-rank")
"""`BADACClassifier().fit`, its `rank`, and ``badac rank TRAIN NEW`` on the command line."""

_ROOT = os.path.dirname(badac.__file__) + os.sep
# A comprehension is a function of its own before Python 3.12 only.
_NOT_CALLED = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})
# Small enough to be quick, large enough for every part of a fit, some of which need left-out objects.
_OBJECTS = 300
# The command cross-validates and draws besides, and goes through the same files with fewer objects.
_OBJECTS_OF_THE_COMMAND = 100


@dataclass(frozen=True)
class Step:
    """A file of the walk, relative to the package, and the first of its functions to be called."""

    path: str
    function: str


@dataclass(frozen=True)
class Walk:
    """The files that a call goes through, in the order of their first function, and how deep its calls are nested."""

    steps: tuple[Step, ...]
    depth: int

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.steps)

    @property
    def packages(self) -> tuple[str, ...]:
        """First-level packages and modules, in order."""
        return tuple(dict.fromkeys(path.split("/")[0].removesuffix(".py") for path in self.files))


def walk(what: str) -> Walk:
    """Run one of `WALKS` on curves of the paper's Experiment 1, as printed, seed 0, and follow it."""
    if what not in WALKS:
        raise ValueError(f"the walk must be one of {', '.join(WALKS)}: got {what!r}.")
    return _taken("cli" if what == "cli-rank" else "estimator")[what]


@cache
def _taken(who: str) -> dict[str, Walk]:
    """Take the walks of the estimator, or that of the command line, in an interpreter of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "reproduction.walk", who],
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        what: Walk(tuple(Step(**step) for step in found["steps"]), found["depth"])
        for what, found in json.loads(done.stdout).items()
    }


def _walks_of_the_estimator() -> dict[str, Walk]:
    import numpy as np

    from badac import BADACClassifier
    from badac.simulate import experiment

    data = experiment(1, "printed", n_train=_OBJECTS, n_test=_OBJECTS, rng=np.random.default_rng(0))
    model = BADACClassifier(random_state=0)
    fitted = follow(lambda: model.fit(data.train, data.train_label))
    return {"fit": fitted, "rank": follow(lambda: model.rank(data.test))}


def _walk_of_the_command() -> Walk:
    # What others' packages do while they are imported is not followed, but every step of it would be looked at.
    for name in ("astropy.table", "matplotlib.figure", "pandas", "pyarrow.parquet"):
        import_module(name)
    from badac.cli.app import app

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
        drawn, out = f"{folder}/drawn", f"{folder}/out"
        with contextlib.redirect_stdout(said):
            size = str(_OBJECTS_OF_THE_COMMAND)
            app(["simulate", "1", "-o", drawn, "-n", size, "-f", "csv"], standalone_mode=False)
            command = ["rank", f"{drawn}/train.csv", f"{drawn}/new.csv", "-o", out, "-j", "1", "--show", "1"]
            command += ["--folds", "2"]
            found = follow(lambda: app(command, standalone_mode=False))
        if not Path(out, "report.html").exists():
            raise RuntimeError(f"badac rank wrote no report: {said.getvalue()}")
    return found


def follow(call: Callable[[], Any]) -> Walk:
    """Call it and return the walk."""
    steps: dict[str, Step] = {}
    places: dict[CodeType, str | None] = {}
    depth = deepest = importing = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest, importing
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code not in places:
            places[code] = _place(code)
        path = places[code]
        if path is None:
            return
        change = 1 if event == "call" else -1
        if code.co_name == "<module>":
            importing += change
        elif not importing:
            depth += change
            deepest = max(deepest, depth)
            if path not in steps:
                steps[path] = Step(path, code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Walk(tuple(steps.values()), deepest)


def _place(code: CodeType) -> str | None:
    """The file of a function, relative to badac; None where it is not badac's."""
    if not code.co_filename.startswith(_ROOT) or code.co_name in _NOT_CALLED:
        return None
    return code.co_filename.removeprefix(_ROOT).replace(os.sep, "/")


if __name__ == "__main__":
    asked = sys.argv[1]
    walked = {"cli-rank": _walk_of_the_command()} if asked == "cli" else _walks_of_the_estimator()
    print(json.dumps({what: asdict(one) for what, one in walked.items()}))

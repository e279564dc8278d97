"""What is public is listed on one page, documented with an example that runs, and nothing else is within reach by accident."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import badac
from reproduction.public_names import PAGE, PUBLIC, homes, page

OBJECTS = {
    name: getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
    for name in homes().values()
}
DOCUMENTED = sorted(name for name, value in OBJECTS.items() if callable(value))


def test_the_page_lists_what_is_public() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m reproduction.public_names"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_star_brings_the_public_names_alone(name: str) -> None:
    found: dict[str, object] = {}
    exec(f"from {name} import *", found)
    del found["__builtins__"]
    assert sorted(found) == sorted(import_module(name).__all__)


@pytest.mark.parametrize("name", [name for name in PUBLIC if hasattr(import_module(name), "__path__")])
def test_a_package_shows_its_public_names_and_its_modules_alone(name: str) -> None:
    package = import_module(name)
    shown = {key: getattr(package, key) for key in dir(package) if not key.startswith("_")}
    leaked = [
        key
        for key, value in shown.items()
        if key not in package.__all__
        and not (isinstance(value, ModuleType) and value.__name__ == f"{name}.{key}")
    ]
    assert not leaked


def test_a_name_that_is_not_public_is_refused_in_words() -> None:
    with pytest.raises(AttributeError, match="no attribute 'classifier'"):
        badac.classifier  # noqa: B018


def test_a_public_name_has_a_docstring_with_an_example() -> None:
    without = [name for name in DOCUMENTED if ">>>" not in (inspect.getdoc(OBJECTS[name]) or "")]
    assert not without, "a docstring with an example, which runs as a test, is missing here"


SCRIPT = """
import numpy as np

import badac
from badac import BADACClassifier, Measurements, Ranking
from badac.classes import Population
from badac.metrics import rank_weighted_score
from badac.noise import Gaussian
from badac.simulate import experiment
from badac.triage import Session

data = experiment(1, "released", n_train=20, n_test=10, rng=np.random.default_rng(0))
new: Measurements = data.test[:5]
model = BADACClassifier(Population(), noise=Gaussian(), random_state=0).fit(data.train, data.train_label)
ranking: Ranking = model.rank(new, fdr=0.1)
first = int(ranking.objects[0])
good: float = rank_weighted_score(data.is_anomaly, model.anomaly_score(data.test), 3)
badac.save(model, "model.badac")
session = Session(badac.load("model.badac"), new)
session.say(first, "new", "flash")
"""


def test_types_are_complete_for_who_uses_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-error-summary",
            "--config-file=pyproject.toml",
            str(script),
        ],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[1],  # where `make lint` has left what it knows of the packages
    )
    assert done.returncode == 0, done.stdout + done.stderr

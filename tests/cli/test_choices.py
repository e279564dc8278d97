"""The command line takes every word that the estimator takes, and lists it."""

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from badac.cli.app import app
from badac.cli.options import WORDS, _complete
from badac.data import Measurements
from badac.estimators.choices import words
from badac.job.simulated import to_frame

RUN = CliRunner(env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"})


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    label = np.repeat(["up", "down"], 12)
    values = np.random.default_rng(0).normal((label == "up")[:, None], 0.1, (24, 3))
    path = tmp_path_factory.mktemp("table") / "train.csv"
    to_frame(Measurements(values, 0.1), "star-", label).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("verb", ["fit", "rank", "evaluate"])
@pytest.mark.parametrize("option", ["class_model", "noise"])
def test_help_and_errors_list_what_is_registered(verb, option, train):
    listed = RUN.invoke(app, [verb, "--help"]).output
    assert "|".join(words(option)) in listed
    wrong = [
        verb,
        str(train),
        *([str(train)] if verb == "rank" else []),
        f"--{option.replace('_', '-')}",
        "magic",
    ]
    done = RUN.invoke(app, wrong)
    assert done.exit_code == 2
    assert f"'magic' is not one of {', '.join(words(option))}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("word", words("class_model"))
def test_fit_takes_every_class_model_of_the_estimator(word, train, tmp_path):
    settings = ["--class-model", word, "--folds", "0", "--no-diagnose", "-j", "1"]
    done = RUN.invoke(app, ["fit", str(train), "-o", str(tmp_path / "model.badac"), *settings])
    assert done.exit_code == 0, done.output


def test_words_are_completed():
    assert _complete("class_model")("sub") == ["subclasses"]


@pytest.mark.parametrize("option", ["class_model", "noise"])
def test_words_of_the_help_are_those_of_the_registry(option):
    assert words(option) == WORDS[option]


@pytest.mark.parametrize("arguments", [["--version"], ["rank", "--help"]])
def test_version_and_help_import_no_model(arguments):
    """Neither `badac --version`, nor a verb's help, nor the shell's completion waits for numpy."""
    probe = (
        f"import sys; sys.argv = {['badac', *arguments]!r}\n"
        "from badac.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sorted(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout
    assert "badac.cli.app" in found.split()
    assert not {"numpy", "scipy", "sklearn", "pandas", "badac.classes"} & set(found.split())

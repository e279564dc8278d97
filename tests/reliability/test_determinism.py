"""The same bits: with one thread and several, in two processes, after save and load; across instruction sets to a tolerance."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_tables import straying

import badac
from badac import BADACClassifier
from badac._kernels import NUMPY, using

# Sums in vectors of other widths round otherwise, some 1e-13 a sum, and EM goes on from there.
ACROSS = 1e-6


def answers(n_jobs: int) -> np.ndarray:
    """Probabilities and scores of a model learned anew, from the table alone."""
    rng = np.random.default_rng(5)
    label = np.repeat(["a", "b"], 40)
    values = rng.standard_normal((80, 6)) + 2.0 * (label == "b")[:, None]
    model = BADACClassifier("population", random_state=0, n_jobs=n_jobs).fit(values, label, X_err=0.3)
    new = rng.standard_normal((50, 6)) + 1.0
    return np.hstack([model.predict_proba(new, X_err=0.3), model.anomaly_score(new, X_err=0.3)[:, None]])


def answers_of_the_default(n_jobs: int) -> np.ndarray:
    """Every class model on trial, the stack and its trees, and members left out: probabilities, scores and p-values."""
    values, label = straying(160, 1)
    model = BADACClassifier(random_state=0, n_jobs=n_jobs).fit(values, label, X_err=0.05)
    assert model.ensemble_ is not None
    new = straying(30, 2)[0]
    asked = (model.anomaly_score, model.anomaly_pvalue)
    return np.column_stack([model.predict_proba(new, X_err=0.05), *(ask(new, X_err=0.05) for ask in asked)])


def in_another_process(n_jobs: int) -> str:
    code = f"import test_determinism as t; print(t.bits(t.answers_of_the_default({n_jobs})))"
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here, env=os.environ
    )
    return done.stdout.strip()


def bits(found: np.ndarray) -> str:
    return hashlib.sha256(found.tobytes()).hexdigest()


def test_threads_and_processes_change_no_bit() -> None:
    alone = answers_of_the_default(1)
    assert bits(alone) == bits(answers_of_the_default(3)) == in_another_process(2)


def test_save_and_load_change_no_bit(tmp_path: Path, small_model: BADACClassifier) -> None:
    badac.save(small_model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac")
    new = np.random.default_rng(0).standard_normal((40, 4))
    for ask in ("predict_proba", "anomaly_score", "anomaly_pvalue"):
        found, expected = (getattr(one, ask)(new, X_err=0.3) for one in (again, small_model))
        assert bits(found) == bits(expected), ask


def test_instruction_sets_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learned and judged with each, from the first sum on."""
    levels = pytest.importorskip("badac._kernels.compiled", reason="the core is not built here").levels()
    found = {}
    for level in levels:
        monkeypatch.setenv("BADAC_SIMD", level)
        found[level] = answers(1)
    for level in levels[1:]:
        np.testing.assert_allclose(found[level], found[levels[0]], rtol=ACROSS, atol=ACROSS, err_msg=level)
    # The definitions in NumPy, which every level is held to.
    with using(NUMPY):
        np.testing.assert_allclose(answers(1), found[levels[0]], rtol=ACROSS, atol=ACROSS)

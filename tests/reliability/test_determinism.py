"""The same bits: with one thread and several, in two processes, after save and load; across instruction sets to a tolerance."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import badac
from badac import BADACClassifier

CODE = """
import hashlib, sys
import numpy as np
from badac import BADACClassifier
rng = np.random.default_rng(5)
label = np.repeat(["a", "b"], 40)
values = rng.standard_normal((80, 6)) + 2.0 * (label == "b")[:, None]
model = BADACClassifier("population", random_state=0, n_jobs=int(sys.argv[1])).fit(values, label, X_err=0.3)
new = rng.standard_normal((50, 6)) + 1.0
found = np.hstack([model.predict_proba(new, X_err=0.3), model.anomaly_score(new, X_err=0.3)[:, None]])
if len(sys.argv) > 2:
    np.save(sys.argv[2], found)
print(hashlib.sha256(found.tobytes()).hexdigest())
"""
# Sums in vectors of other widths round otherwise, some 1e-13 a sum, and EM goes on from there.
ACROSS = 1e-6


def run(*words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout.strip()


def test_threads_and_processes_change_no_bit() -> None:
    assert run("1") == run("3") == run("1")


def test_save_and_load_change_no_bit(tmp_path: Path, small_model: BADACClassifier) -> None:
    badac.save(small_model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac")
    new = np.random.default_rng(0).standard_normal((40, 4))
    for ask in ("predict_proba", "anomaly_score"):
        found, expected = (getattr(one, ask)(new, X_err=0.3) for one in (again, small_model))
        assert hashlib.sha256(found.tobytes()).digest() == hashlib.sha256(expected.tobytes()).digest()


def test_instruction_sets_agree(tmp_path: Path) -> None:
    levels = pytest.importorskip("badac._kernels.compiled", reason="the core is not built here").levels()
    found = []
    for level in levels:
        run("1", str(tmp_path / level), BADAC_SIMD=level)
        found.append(np.load(tmp_path / f"{level}.npy"))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=ACROSS, atol=ACROSS)

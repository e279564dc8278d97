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
from badac import BADACClassifier, Measurements
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


def straying_points(n_jobs: int) -> tuple[BADACClassifier, Measurements]:
    """On a grid, every class model on trial, the stack and its trees."""
    values, label = straying(160, 1)
    model = BADACClassifier(random_state=0, n_jobs=n_jobs).fit(values, label, X_err=0.05)
    assert model.ensemble_ is not None
    return model, Measurements(straying(30, 2)[0], 0.05)


def curves(n_jobs: int) -> tuple[BADACClassifier, Measurements]:
    """At times of their own, in two bands, with a column beside them."""
    rng = np.random.default_rng(3)
    label = np.arange(70) % 2
    at = np.sort(rng.uniform(-20.0, 60.0, (70, 9)), axis=1)
    decay = np.where(label == 0, 12.0, 40.0)[:, None]
    truth = 10.0 * np.where(at < 0.0, np.exp(at / 5.0), np.exp(-at / decay))
    band = np.broadcast_to(np.arange(9) % 2, at.shape)
    objects = Measurements(truth + 0.5 * rng.standard_normal(at.shape), 0.5, at=at, band=band)
    objects = objects.with_columns({"z": (0.5 * label + 0.2 * rng.standard_normal(70), np.full(70, 0.1))})
    return BADACClassifier(random_state=0, n_jobs=n_jobs).fit(objects[10:], label[10:]), objects[:10]


def counts(n_jobs: int) -> tuple[BADACClassifier, Measurements]:
    """Counts, whose likelihood is approximated about each object."""
    rng = np.random.default_rng(4)
    label = np.arange(60) % 2
    rate = np.exp(1.0 + 0.8 * label[:, None] * np.linspace(0.0, 1.0, 4) + 0.3 * rng.standard_normal((60, 4)))
    counted = Measurements(rng.poisson(rate).astype(float))
    model = BADACClassifier(noise="poisson", random_state=0, n_jobs=n_jobs).fit(counted[20:], label[20:])
    return model, counted[:20]


CASES = {"straying_points": straying_points, "curves": curves, "counts": counts}


def asked(model: BADACClassifier, new: Measurements) -> np.ndarray:
    """Probabilities, scores and p-values, the latter from members left out."""
    return np.column_stack([model.predict_proba(new), model.anomaly_score(new), model.anomaly_pvalue(new)])


def in_another_process(case: str, n_jobs: int) -> str:
    code = f"import test_determinism as t; print(t.bits(t.asked(*t.CASES[{case!r}]({n_jobs}))))"
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here, env=os.environ
    )
    return done.stdout.strip()


def bits(found: np.ndarray) -> str:
    return hashlib.sha256(found.tobytes()).hexdigest()


@pytest.mark.parametrize("case", CASES)
def test_threads_processes_and_files_change_no_bit(case: str, tmp_path: Path) -> None:
    model, new = CASES[case](1)
    alone = asked(model, new)
    assert np.isfinite(alone).all()
    badac.save(model, tmp_path / "model.badac")
    assert bits(asked(badac.load(tmp_path / "model.badac"), new)) == bits(alone)
    assert in_another_process(case, 2) == bits(alone)
    model.set_params(n_jobs=3)
    assert bits(asked(model, new)) == bits(alone)


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

"""Labels that a session exports are coniferest's own: its forest learns from them (``make interoperability-coniferest``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier, Measurements
from badac.triage import Session
from badac.triage.exports import write_export


@pytest.mark.filterwarnings("default")  # a third-party package with deprecations of its own
def test_a_forest_of_coniferest_learns_from_what_was_said(tmp_path: Path) -> None:
    label = pytest.importorskip("coniferest.label", reason="needs coniferest: pip install coniferest").Label
    forest = pytest.importorskip("coniferest.aadforest").AADForest
    rng = np.random.default_rng(3)
    values = rng.standard_normal((60, 4)) + 3.0 * (np.arange(60) % 2)[:, None]
    values[:5] += 12.0
    model = BADACClassifier("template", random_state=0).fit(values[5:], np.arange(5, 60) % 2, X_err=0.3)
    session = Session(
        model, Measurements(values, 0.3), tmp_path / "looks.jsonl", ids=[f"o{i}" for i in range(60)]
    )
    for row in range(5):
        session.say(row, "new", "far")
    for row in range(5, 9):
        session.say(row, "artefact", "spike")
    assert write_export(tmp_path / "looks.jsonl", tmp_path / "labels.csv", "coniferest") == 9
    told = pd.read_csv(tmp_path / "labels.csv", dtype={"object": str})
    rows = [int(name[1:]) for name in told["object"]]
    found = np.array([label(one) for one in told["label"]])
    assert set(found[np.array(rows) < 5]) == {label.ANOMALY} and set(found[np.array(rows) >= 5]) == {
        label.REGULAR
    }
    learned = forest(n_trees=20, random_seed=0).fit_known(values, values[rows], found)
    score = learned.score_samples(values)
    assert score[:5].max() < np.median(score)  # low is strange there

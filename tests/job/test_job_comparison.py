"""A file's list is that of `rank(fdr=)`: its promise, why there is none, and how the objects differ from the training's."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier
from badac.comparison import ListWarning
from badac.comparison.turns import some_rows
from badac.job import (
    Found,
    RankOptions,
    Settings,
    learn,
    rank_file,
    read_training,
    report_page,
    write_results,
)
from badac.job.report import headline

pytestmark = pytest.mark.usefixtures("one_drawing")

X = np.linspace(0.0, 1.0, 8)


def table(n: int, seed: int, *, factor: float = 1.0, n_odd: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    truth = np.sin((3.0 + 3.0 * label[:, None]) * X) + 0.1 * rng.standard_normal((n, 1))
    values = truth + 0.2 * rng.standard_normal((n, 8))
    values[:n_odd] += 3.0 * np.sin(25.0 * X)
    columns = {"object": [f"o{row}" for row in range(n)], "label": np.array(["up", "down"])[label]}
    for column in range(8):
        columns |= {f"y{column}": values[:, column], f"y{column}_err": np.full(n, 0.2 * factor)}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> BADACClassifier:
    path = tmp_path_factory.mktemp("train") / "train.csv"
    table(400, 1).to_csv(path, index=False)
    return learn(read_training(path), Settings(class_model="template", folds=0, diagnose=False))


def ranked(model: BADACClassifier, new: pd.DataFrame, folder: Path, **options: float) -> Found:
    path = folder / "new.csv"
    new.drop(columns="label").to_csv(path, index=False)
    return rank_file(model, path, RankOptions(n_rows=70, **options))


def test_a_file_in_batches_has_the_list_of_rank(model: BADACClassifier, tmp_path: Path) -> None:
    new = table(300, 2, n_odd=15)
    found = ranked(model, new, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed = model.rank(new.drop(columns=["label", "object"]), fdr=0.1)
    assert found.n_discoveries == len(listed) >= 15
    assert found.expected_false_alarms == pytest.approx(listed.expected_false_alarms)
    assert found.false_share_bound == listed.false_share_bound
    assert found.why == listed.why == ""
    whole = model.compare(new.drop(columns=["label", "object"]))
    assert found.comparison is not None and found.comparison.promise_holds
    np.testing.assert_allclose(found.comparison.pvalue, whole.pvalue)
    assert "at 90 % confidence, no more than" in headline(found)
    assert "No difference from the training found" in report_page(found).render()


def test_halved_error_bars_in_the_new_table_alone_are_said(model: BADACClassifier, tmp_path: Path) -> None:
    new = table(300, 3, factor=0.5)
    found = ranked(model, new, tmp_path)
    assert "error bars of the new objects are too small" in found.why
    assert np.isnan(found.expected_false_alarms) and found.false_share_bound == 1.0
    with pytest.warns(ListWarning):
        listed = model.rank(new.drop(columns=["label", "object"]), fdr=0.1)
    assert listed.why == found.why and len(listed) == found.n_discoveries
    assert "cannot be promised" in headline(found)
    folder = tmp_path / "results"
    folder.mkdir()
    write_results(found, folder)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["why"] == found.why and summary["expected_false_alarms"] is None
    assert "error bars" in [one["what"] for one in summary["compared"]["differences"]]
    assert summary["compared"]["error_scale"] == pytest.approx(2.0, rel=0.2)
    text = (folder / "report.html").read_text()
    assert "How they differ" in text and "Histogram of p-values" in text


def test_an_empty_list_says_why(model: BADACClassifier, tmp_path: Path) -> None:
    found = ranked(model, table(300, 4), tmp_path, fdr=0.001)
    assert found.n_discoveries == 0 and "no list at 0.001" in found.why
    assert found.why in headline(found)


def test_the_same_rows_are_compared_however_a_table_is_cut() -> None:
    rows = some_rows(5000, 100)
    assert len(set(rows.tolist())) == 100 and rows.max() < 5000
    # Spread over the table: the mean row is the middle to 4 standard errors.
    assert abs(rows.mean() - 2500.0) < 4.0 * 5000.0 / np.sqrt(12.0 * 100.0)
    # The first of a longer table that are rows of the shorter one, in the same order.
    longer = some_rows(10_000, 10_000)
    np.testing.assert_array_equal(longer[longer < 5000][:100], rows)

"""One partition, judged by a pure function; and the Spark example that is made of it."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from surveys import curves, frame_of

from badac import BADACClassifier, Measurements
from badac.calibration.discoveries import discoveries, expected_false_alarms
from badac.dask import Tally
from badac.partition import BadRows, identity_of, judge, lean

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_verdicts_are_the_models_own(model: BADACClassifier, survey: Measurements) -> None:
    found = judge(frame_of(survey).set_index("name"), model, pvalues=True)
    assert found.index[3] == "object 3"
    np.testing.assert_array_equal(found["class"], model.predict(survey))
    np.testing.assert_allclose(found[["proba_down", "proba_up"]], model.predict_proba(survey), rtol=1e-12)
    np.testing.assert_allclose(found["score"], model.anomaly_score(survey), rtol=1e-12)
    np.testing.assert_array_equal(found["pvalue"], model.anomaly_pvalue(survey))


@pytest.mark.parametrize("pvalues", [False, True])
def test_an_empty_partition_has_the_types_of_a_full_one(
    model: BADACClassifier, survey: Measurements, pvalues: bool
) -> None:
    table = frame_of(survey)
    pd.testing.assert_frame_equal(
        judge(table[:0], model, pvalues=pvalues), judge(table, model, pvalues=pvalues)[:0]
    )


def test_nullable_and_arrow_columns_are_read(model: BADACClassifier, survey: Measurements) -> None:
    table = frame_of(survey).drop(columns="name")
    expected = judge(table, model)
    for dtype in ("Float64", "double[pyarrow]"):
        pd.testing.assert_frame_equal(judge(table.astype(dtype), model), expected)


def test_a_model_without_errors_takes_values_alone() -> None:
    objects, label = curves(80, seed=11)
    model = BADACClassifier("template", random_state=0).fit(objects.values, label)
    table = pd.DataFrame(objects.values.copy(), columns=[f"y{j}" for j in range(6)])
    np.testing.assert_array_equal(
        judge(table.assign(name="a"), model)["class"], model.predict(objects.values)
    )
    table.loc[5, "y2"] = -np.inf
    with pytest.raises(BadRows, match="the table: 1 of 80 rows .* row 5: infinite value, at point 2"):
        judge(table, model)


def test_a_lean_model_says_the_same_and_is_small(model: BADACClassifier, survey: Measurements) -> None:
    small = lean(model)
    assert len(model.training_) == 300 and len(small.training_) == 0
    # All but the thousand training objects that gaps are compared with, which are all here, and their labels.
    assert len(pickle.dumps(small)) < len(pickle.dumps(model))
    sent = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(sent.anomaly_pvalue(survey), model.anomaly_pvalue(survey))
    np.testing.assert_array_equal(sent.predict_proba(survey), model.predict_proba(survey))
    assert lean(small).anomaly_pvalue(survey).shape == (200,)


def test_models_are_called_by_what_they_learned(model: BADACClassifier) -> None:
    objects, label = curves(300, seed=1)
    again = BADACClassifier("template", random_state=0, n_jobs=2).fit(objects, label)
    other = BADACClassifier("template", random_state=0, anomaly_prior=0.02).fit(objects, label)
    assert identity_of(again) == identity_of(model) != identity_of(other)


@pytest.mark.parametrize("fdr", [0.05, 0.3, 0.9])
def test_tallies_give_the_list_of_all_pvalues(fdr: float, rng: np.random.Generator) -> None:
    # Ties everywhere, as among ranks.
    pvalue = np.concatenate([rng.integers(1, 40, 300) / 40.0, rng.integers(1, 3, 60) / 400.0])
    rng.shuffle(pvalue)
    parts = [Tally.of(part, fdr) for part in np.split(pvalue, [10, 10, 120, 300])]
    total = parts[4] + (parts[0] + parts[1]) + (parts[3] + parts[2])
    found = discoveries(pvalue, fdr)
    assert total.listed(fdr) == found.sum() > 0
    assert total.cut_off(fdr) == pvalue[found].max()
    assert total.expected_false_alarms(fdr) == expected_false_alarms(pvalue, found)
    nothing = Tally.of(np.ones(5), fdr)
    assert (nothing.cut_off(fdr), nothing.listed(fdr), nothing.expected_false_alarms(fdr)) == (-1.0, 0, 0.0)


def test_the_spark_example_judges_columns_of_lists(model: BADACClassifier, survey: Measurements) -> None:
    spec = importlib.util.spec_from_file_location("spark_udf", EXAMPLES / "spark_udf.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    values, sigma = (pd.Series(list(array)) for array in (survey.values, survey.sigma))
    found = example.verdicts(lean(model, pvalues=False), values, sigma)
    np.testing.assert_array_equal(found["class"], model.predict(survey))
    np.testing.assert_allclose(found["anomaly_proba"], model.anomaly_proba(survey), rtol=1e-12)
    nothing = example.verdicts(model, values[:0], sigma[:0])
    pd.testing.assert_series_equal(nothing.dtypes, found.dtypes)
    assert [part.split()[0] for part in example.SCHEMA.split(", ")] == list(found.columns)

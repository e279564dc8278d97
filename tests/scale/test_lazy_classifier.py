"""The verbs on a cluster give what the model gives."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from surveys import curves, frame_of

from badac import BADACClassifier, Measurements
from badac.calibration.discoveries import discoveries
from badac.classes import GaussianProcess
from badac.comparison import ListWarning
from badac.dask import LazyClassifier, cut_off
from badac.estimators.choices import words
from badac.partition import BadRows, lean

VERBS = (
    "log_evidence",
    "predict_log_proba",
    "predict_proba",
    "predict",
    "score_samples",
    "anomaly_score",
    "anomaly_proba",
    "anomaly_pvalue",
)


def on(client: Any, *lazy: Any) -> list[Any]:
    # One by one: dask warns of frames and arrays in one call.
    return [future.result(timeout=300) for future in [client.compute(one) for one in lazy]]


def agree(found: Any, expected: np.ndarray) -> None:
    found = np.asarray(found)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
    else:
        # Sums over another number of rows at a time may be done in another order.
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_every_verb_on_frames_and_arrays_is_the_models_own(
    client: Any, model: BADACClassifier, survey: Measurements
) -> None:
    frame = dd.from_pandas(frame_of(survey), npartitions=5)
    values, sigma = (da.from_array(a, chunks=(64, 3)) for a in (survey.values, survey.sigma))
    lazy = LazyClassifier(model)
    asked = [getattr(lazy, verb)(frame) for verb in VERBS]
    asked += [getattr(lazy, verb)(values, X_err=sigma) for verb in VERBS]
    assert all(dask.is_dask_collection(one) for one in asked)
    answers = on(client, *asked)
    for verb, answer in zip(2 * VERBS, answers, strict=True):
        agree(answer, getattr(model, verb)(survey))
    for one, answer in zip(asked[: len(VERBS)], answers, strict=False):
        assert (one.dtype if answer.ndim == 1 else one.dtypes.iloc[0]) == (
            answer.dtype if answer.ndim == 1 else answer.dtypes.iloc[0]
        )


def test_gaps_that_training_lacks_leave_order_and_pvalues_in_step(client: Any, survey: Measurements) -> None:
    assert np.isnan(survey.values).any()
    own = BADACClassifier("population", random_state=0).fit(*curves(300, seed=1))
    assert not own.pvalues_ready
    frame = dd.from_pandas(frame_of(survey), npartitions=5)
    # The score of an object with an unusual gap asks for left-out objects, whoever asks for it.
    score, table = on(
        client, LazyClassifier(own).anomaly_score(frame), LazyClassifier(own).verdicts(frame, pvalues=True)
    )
    agree(score, own.anomaly_score(survey))
    agree(table["pvalue"], own.anomaly_pvalue(survey))
    in_order = table.sort_values("score", ascending=False, kind="stable")
    assert (np.diff(in_order["pvalue"]) >= -1e-12).all()
    assert (np.diff(in_order["anomaly_proba"]) <= 1e-12).all()


@pytest.mark.parametrize("name", words("class_model"))
def test_every_class_model_ranks_alike_on_a_cluster(client: Any, survey: Measurements, name: str) -> None:
    objects, label = curves(60, seed=3)
    # The factors of a process take their time to be found, and are not what is tested here.
    chosen = GaussianProcess(rank=0) if name == "gp" else name
    model = BADACClassifier(chosen, random_state=0).fit(objects, label)
    # Ready for p-values, so that no worker has to learn another model for them.
    model = lean(model)
    frame = dd.from_pandas(frame_of(survey), npartitions=4)
    lazy = LazyClassifier(model)
    evidence, proba, top, listed = on(
        client,
        lazy.log_evidence(frame),
        lazy.predict_proba(frame),
        lazy.rank(frame, n=30),
        lazy.rank(frame, fdr=0.2),
    )
    agree(evidence, model.log_evidence(survey))
    agree(proba, model.predict_proba(survey))
    expected = model.rank(survey)
    np.testing.assert_array_equal(top.index, expected.objects[:30])
    np.testing.assert_allclose(top["score"], expected.score[:30], rtol=1e-9)
    np.testing.assert_array_equal(top["class"], expected.label[:30])
    expected = model.rank(survey, fdr=0.2)
    np.testing.assert_array_equal(listed.index, expected.objects)
    # In the tail p-values follow the score, which partitions of another size round otherwise.
    np.testing.assert_allclose(listed["pvalue"], expected.pvalue, rtol=1e-9)


def test_ties_keep_the_order_of_the_data(client: Any, model: BADACClassifier, survey: Measurements) -> None:
    lazy = LazyClassifier(model)
    frame = dd.from_pandas(frame_of(survey), npartitions=7)
    everything, last = on(client, lazy.rank(frame, n=1000), cut_off(lazy.verdicts(frame), 0.3))
    expected = model.rank(survey)
    assert (np.diff(expected.score) == 0).sum() >= 10
    np.testing.assert_array_equal(everything.index, expected.objects)
    np.testing.assert_array_equal(everything["rank"], np.arange(1, len(survey) + 1))
    pvalue = model.anomaly_pvalue(survey)
    assert last == pvalue[discoveries(pvalue, 0.3)].max()


def test_rows_of_an_array_are_numbered_through(
    client: Any, model: BADACClassifier, survey: Measurements
) -> None:
    values = da.from_array(survey.values, chunks=(30, 6))
    top, table = on(
        client,
        LazyClassifier(model).rank(values, X_err=da.from_array(survey.sigma, chunks=(50, 6)), n=5),
        LazyClassifier(model).verdicts(values, X_err=0.3, pvalues=False),
    )
    np.testing.assert_array_equal(top.index, model.rank(survey).objects[:5])
    np.testing.assert_array_equal(table.index, np.arange(len(survey)))


def test_empty_partitions_are_empty_answers(
    client: Any, model: BADACClassifier, survey: Measurements
) -> None:
    frame = dd.from_pandas(frame_of(survey), npartitions=4)
    few = frame[frame["y0"] > 1.2]
    lazy = LazyClassifier(model)
    kept = np.flatnonzero(survey.values[:, 0] > 1.2)
    proba, top = on(client, lazy.predict_proba(few), lazy.rank(few, n=3))
    agree(proba, model.predict_proba(survey[kept]))
    np.testing.assert_array_equal(top.index, kept[model.rank(survey[kept]).objects[:3]])
    nothing, none_found = on(client, lazy.rank(frame[frame["y0"] > 1e9], n=3), lazy.rank(frame, fdr=1e-6))
    assert len(nothing) == len(none_found) == 0
    assert list(nothing.columns) == list(top.columns)


def test_a_worker_fetches_the_model_once(client: Any, model: BADACClassifier, survey: Measurements) -> None:
    frame = dd.from_pandas(frame_of(survey), npartitions=20)
    lazy = LazyClassifier(lean(model))
    # The cluster is that of the other tests too, whose fetches of the same model are not this one's.
    client.run(lambda dask_worker: dask_worker.transfer_incoming_log.clear())
    on(client, lazy.verdicts(frame), lazy.predict_proba(frame), lazy.log_evidence(frame))
    logs = client.run(
        lambda dask_worker: [list(entry["keys"]) for entry in dask_worker.transfer_incoming_log]
    )
    for log in logs.values():
        fetched = [str(key) for keys in log for key in keys if str(key).startswith("badac-")]
        assert len(fetched) == len(set(fetched))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="y3"), "5 value columns were found"),
        (lambda frame: frame.drop(columns="y3_err"), "5 value columns were found"),
        (lambda frame: frame.assign(y1=frame["name"]), "'y1' must hold numbers"),
        (lambda frame: frame.assign(z=1.0, z_err=1.0), "7 value columns were found"),
    ],
)
def test_wrong_columns_are_told_while_the_graph_is_built(
    model: BADACClassifier, survey: Measurements, change: Any, message: str
) -> None:
    frame = dd.from_pandas(change(frame_of(survey)), npartitions=2)
    for verb in ("predict_proba", "verdicts", "rank"):
        with pytest.raises(ValueError, match=message):
            getattr(LazyClassifier(model), verb)(frame)


def test_named_columns_must_be_there(model: BADACClassifier, survey: Measurements) -> None:
    frame = dd.from_pandas(frame_of(survey), npartitions=2)
    names = [f"y{j}" for j in range(6)]
    assert LazyClassifier(model, names).predict(frame).npartitions == 2
    with pytest.raises(ValueError, match="lacks the column 'nope'"):
        LazyClassifier(model, [*names[:5], "nope"]).predict(frame)
    with pytest.raises(ValueError, match="'y5' has no error column"):
        LazyClassifier(model, names).predict(frame.drop(columns="y5_err"))


def test_wrong_arrays_are_told_while_the_graph_is_built(model: BADACClassifier, survey: Measurements) -> None:
    lazy = LazyClassifier(model)
    values = da.from_array(survey.values, chunks=(100, 6))
    for X, X_err, message in (
        (values[:, :5], 0.1, "the points of the training"),
        (values, None, "fitted with errors"),
        (values, values[:, :3], "the shape of `X`"),
        (values, np.ones(3), "a row of 6"),
        (values[values[:, 0] > 0], 0.1, "compute_chunk_sizes"),
        (values.astype(str), 0.1, "must hold numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            lazy.predict(X, X_err=X_err)
    with pytest.raises(TypeError, match="dask DataFrame or array"):
        lazy.predict(survey.values, X_err=0.1)
    with pytest.raises(TypeError, match="fitted BADACClassifier"):
        LazyClassifier(object())  # type: ignore[arg-type]


def test_bad_rows_are_named_with_their_partition(
    client: Any, model: BADACClassifier, survey: Measurements
) -> None:
    table = frame_of(survey).set_index("name")
    table.loc["object 130", "y2_err"] = -0.5
    table.loc["object 131", "y4"] = np.inf
    frame = dd.from_pandas(table, npartitions=4, sort=False)
    number = int(np.searchsorted(np.cumsum([len(part) for part in frame.partitions]), 130, side="right"))
    with pytest.raises(
        BadRows, match=f"partition {number}: 2 of .* row object 130: negative error.*object 131: inf"
    ):
        on(client, LazyClassifier(model).predict_proba(frame))
    values = survey.values.copy()
    values[130, 2] = -np.inf
    with pytest.raises(BadRows, match="block 2: 1 of 64 rows .* row 130: infinite value, at point 2"):
        on(client, LazyClassifier(model).predict(da.from_array(values, chunks=(64, 6)), X_err=0.1))


def test_nothing_computes_inside_a_call(model: BADACClassifier) -> None:
    def read(number: int) -> pd.DataFrame:
        raise AssertionError("computed")

    meta = frame_of(curves(2, seed=0)[0])[:0]
    frame = dd.from_map(read, [0, 1], meta=meta)
    lazy = LazyClassifier(model)
    for verb in (*VERBS, "verdicts", "rank"):
        getattr(lazy, verb)(frame)
    lazy.rank(frame, fdr=0.1)


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_a_lazy_list_promises_what_one_process_promises(
    client: Any, model: BADACClassifier, survey: Measurements, factor: float
) -> None:
    new = Measurements(survey.values, factor * survey.sigma)
    ready = deepcopy(model).prepare_pvalues()
    lazy = LazyClassifier(ready)
    frame = dd.from_pandas(frame_of(new), npartitions=3)
    values, sigma = (da.from_array(each, chunks=(40, 6)) for each in (new.values, new.sigma))
    of_frame, of_array, compared = on(
        client,
        lazy.promise(frame, fdr=0.2),
        lazy.promise(values, X_err=sigma, fdr=0.2),
        lazy.compare(frame),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ListWarning)
        expected = ready.rank(new, fdr=0.2)
    for found in (of_frame, of_array):
        np.testing.assert_allclose(found.expected_false_alarms, expected.expected_false_alarms, rtol=1e-9)
        np.testing.assert_allclose(found.false_share_bound, expected.false_share_bound, rtol=1e-9)
        assert found.why == expected.why
    assert str(compared) == str(ready.compare(new))
    # With error bars half as large the promise is refused, and it is said that they are too small.
    assert factor == 1.0 or "error bars of the new objects are too small" in of_frame.why

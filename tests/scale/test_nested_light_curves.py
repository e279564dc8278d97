"""Light curves nested in a catalogue, as LSDB hands them over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier
from badac.classes import GaussianProcess
from badac.data import from_long
from badac.lsdb import NestedColumns, judge_light_curves

BANDS = ("g", "r")


def long_table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rising and falling light curves in two bands, every object at its own times."""
    rng = np.random.default_rng(seed)
    rows = []
    label = rng.integers(0, 2, n)
    for number in range(n):
        count = int(rng.integers(5, 12))
        time = np.sort(rng.uniform(0.0, 1.0, count))
        flux = (1.0 if label[number] else -1.0) * time + rng.normal(0.0, 0.3)
        error = rng.uniform(0.05, 0.15, count)
        rows.append(
            pd.DataFrame(
                {
                    "oid": number,
                    "time": time,
                    "flux": flux + error * rng.standard_normal(count),
                    "flux_err": error,
                    "band": rng.choice(BANDS, count),
                }
            )
        )
    return pd.concat(rows, ignore_index=True), np.array(["fall", "rise"])[label]


@pytest.fixture(scope="module")
def curves_model() -> BADACClassifier:
    table, label = long_table(20, seed=1)
    return BADACClassifier(GaussianProcess(rank=0), anomaly="tophat", random_state=0).fit(
        from_long(table, bands=BANDS).objects, label
    )


def nested(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """One row an object, its light curve a table in a cell: what remains of nested-pandas without nested-pandas."""
    tables = [part.drop(columns="oid").reset_index(drop=True) for _, part in table.groupby("oid")]
    column = pd.Series(tables, index=[f"star {row}" for row in range(n)], dtype=object)
    return pd.DataFrame({"ra": np.linspace(10.0, 80.0, n), "dec": 0.0, "lc": column})


def test_nested_light_curves_are_judged_as_long_tables_are(curves_model: BADACClassifier) -> None:
    table, _ = long_table(30, seed=2)
    found = judge_light_curves(nested(table, 30), curves_model, bands=BANDS)
    expected = curves_model.predict_proba(from_long(table, bands=BANDS).objects)
    assert found.index.tolist() == [f"star {row}" for row in range(30)]
    np.testing.assert_allclose(found[["proba_fall", "proba_rise"]], expected, rtol=1e-9)


def test_an_empty_partition_gives_an_empty_frame_of_the_right_types(curves_model: BADACClassifier) -> None:
    frame = nested(long_table(5, seed=3)[0], 5)
    found = judge_light_curves(frame[:0], curves_model, bands=BANDS)
    full = judge_light_curves(frame, curves_model, bands=BANDS)
    assert len(found) == 0
    pd.testing.assert_series_equal(found.dtypes, full.dtypes)


def test_an_object_without_a_point_has_no_verdict(curves_model: BADACClassifier) -> None:
    frame = nested(long_table(5, seed=4)[0], 5)
    frame.iat[2, 2] = frame.iat[2, 2][:0]
    found = judge_light_curves(frame, curves_model, bands=BANDS)
    assert found["score"].isna().tolist() == [False, False, True, False, False]
    assert judge_light_curves(frame[2:3], curves_model, bands=BANDS)["class"].isna().all()


def test_wrong_nests_are_told(curves_model: BADACClassifier) -> None:
    frame = nested(long_table(4, seed=5)[0], 4)
    with pytest.raises(ValueError, match="no column 'curve' of light curves"):
        judge_light_curves(frame, curves_model, bands=BANDS, columns=NestedColumns(nested="curve"))
    with pytest.raises(ValueError, match="no field 'mag'"):
        judge_light_curves(frame, curves_model, bands=BANDS, columns=NestedColumns(flux="mag"))
    with pytest.raises(ValueError, match="`bands` must be given"):
        judge_light_curves(frame, curves_model)
    with pytest.raises(ValueError, match="never seen in training: r"):
        judge_light_curves(frame, curves_model, bands=("g", "i"))
    grid = BADACClassifier("template").fit([[0.0], [1.0]], [0, 1], X_err=0.1)
    with pytest.raises(ValueError, match="fitted on a common grid"):
        judge_light_curves(frame, grid, bands=BANDS)


@pytest.mark.lsdb
@pytest.mark.filterwarnings("default")  # third-party packages with deprecations of their own
def test_lsdb_catalogues_are_judged_partition_by_partition(curves_model: BADACClassifier) -> None:
    lsdb = pytest.importorskip("lsdb", reason="needs lsdb and nested-pandas: pip install lsdb")
    nested_pandas: Any = pytest.importorskip("nested_pandas", reason="needs nested-pandas")
    table, _ = long_table(40, seed=6)
    objects = pd.DataFrame(
        {"oid": np.arange(40), "ra": np.linspace(10.0, 300.0, 40), "dec": np.linspace(-60.0, 60.0, 40)}
    )
    frame = nested_pandas.NestedFrame(objects).set_index("oid")
    frame = frame.join_nested(table.set_index("oid"), "lc")
    expected = judge_light_curves(frame, curves_model, bands=BANDS)
    np.testing.assert_allclose(
        expected[["proba_fall", "proba_rise"]],
        curves_model.predict_proba(from_long(table, bands=BANDS).objects),
        rtol=1e-9,
    )
    catalog = lsdb.from_dataframe(
        nested_pandas.NestedFrame(frame.reset_index()), ra_column="ra", dec_column="dec", partition_rows=10
    )
    assert catalog.npartitions > 1
    lazy = catalog.map_partitions(judge_with_name, model=curves_model)
    found = lazy.compute()
    assert len(found) == 40
    found = found.set_index("oid").sort_index()
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-9)
    assert found["class"].tolist() == expected["class"].tolist()


def judge_with_name(frame: Any, model: BADACClassifier) -> Any:
    return judge_light_curves(frame, model, bands=BANDS).assign(oid=frame["oid"])

"""Long tables: what is recognised, what is refused, what is left out, and that nothing is lost without a word."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from badac.data import from_long
from badac.data.columns import recognise

pandas = pytest.importorskip("pandas")
NAN = float("nan")


def rows(**changes: Any) -> Any:
    columns: dict[str, Any] = {
        "object_id": ["a", "a", "b", "b", "c"],
        "time": [1.0, 2.0, 1.0, 3.0, 5.0],
        "band": ["g", "r", "g", "g", "r"],
        "flux": [10.0, 11.0, 20.0, 21.0, 30.0],
        "flux_err": [0.1, 0.2, 0.3, 0.4, 0.5],
    }
    return pandas.DataFrame(columns | changes)


def total(found: Any) -> int:
    return int(found.objects.observed.sum())


def test_padded_curves() -> None:
    found = from_long(rows())
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.bands == ("g", "r")
    np.testing.assert_array_equal(found.objects.values, [[10, 11], [20, 21], [30, NAN]])
    np.testing.assert_array_equal(found.objects.at, [[1, 2], [1, 3], [5, NAN]])
    assert found.objects.band.tolist() == [[0, 1], [0, 0], [1, -1]]
    assert not found.losses
    assert "single point (c)" in str(found.losses)


@pytest.mark.parametrize(
    ("names", "expected", "source"),
    [
        ("oid mjd filtercode mag magerr", "oid mjd filtercode mag magerr", "ZTF"),
        ("objectId jd fid magpsf sigmapsf", "objectId jd fid magpsf sigmapsf", "ZTF alerts"),
        ("oid jd filter forcediffimflux forcediffimfluxunc",) * 2 + ("ZTF forced",),
        ("diaObjectId midpointMjdTai band psfFlux psfFluxErr",) * 2 + ("Rubin",),
        ("SNID MJD FLT FLUXCAL FLUXCALERR",) * 2 + ("SNANA",),
        ("event time band magnitude e_magnitude",) * 2 + ("OSC",),
    ],
)
def test_survey_names(names: str, expected: str, source: str) -> None:
    roles = recognise([*names.split(), "ra", "dec"])
    found = [roles.object, roles.time, roles.band, roles.value, roles.error]
    assert found == expected.split()
    assert source in str(roles)
    assert roles.quantity == ("magnitude" if "mag" in roles.value.lower() else "flux")


def test_flux_is_preferred_and_can_be_overridden() -> None:
    names = ["id", "t", "mag", "mag_err", "flux", "flux_err"]
    assert recognise(names).value == "flux"
    assert recognise(names, {"value": "mag"}).error == "mag_err"
    assert recognise(names, {"value": "flux", "error": "mag_err"}).error == "mag_err"


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        ("time flux flux_err", {}, "No column for the object was recognised.*columns={'object': ...}"),
        ("id flux flux_err", {}, "No column for the time"),
        ("id time flux", {}, "column of errors was recognised.*Columns: id, time, flux"),
        ("id time flux flux_err", {"time": "mjd"}, "There is no column 'mjd' for the time"),
        ("id time flux flux_err", {"when": "time"}, "roles object, time, band"),
    ],
)
def test_what_is_not_recognised_is_named(names: str, columns: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recognise(names.split(), columns)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"flux_err": [0.1, NAN, 0.3, 0.4, 0.5]}, r"1 row left out: no error \(NaN\) .*\(object a, row 1\)"),
        ({"flux_err": [0.1, -0.2, 0.3, 0.4, 0.5]}, "1 row left out: negative error"),
        ({"flux_err": [0.1, float("inf"), 0.3, 0.4, 0.5]}, "infinite error"),
        ({"flux": [10.0, NAN, 20.0, 21.0, 30.0]}, "no value"),
        ({"time": [1.0, NAN, 1.0, 3.0, 5.0]}, "no time"),
    ],
)
def test_unusable_rows_are_left_out_and_counted(changes: dict[str, Any], reason: str) -> None:
    found = from_long(rows(**changes))
    assert total(found) == 4
    assert re.search(reason, str(found.losses))
    assert found.losses


def test_zero_errors_are_exact_and_said() -> None:
    found = from_long(rows(flux_err=[0.0, 0.2, 0.3, 0.4, 0.5]))
    assert total(found) == 5
    assert found.objects.sigma[0, 0] == 0
    assert "1 row has error 0, taken as exact" in str(found.losses)


def test_unsorted_times_are_sorted_and_said() -> None:
    found = from_long(rows(time=[2.0, 1.0, 1.0, 3.0, 5.0]))
    assert found.objects.values[0].tolist() == [11.0, 10.0]
    assert "they were sorted" in str(found.losses)


def test_duplicate_rows_are_dropped_but_a_second_value_is_kept() -> None:
    again = pandas.concat([rows(), rows()[:1]])
    found = from_long(again)
    assert total(found) == 5
    assert "1 row left out: the same measurement twice" in str(found.losses)
    other = from_long(rows(time=[1.0, 1.0, 1.0, 3.0, 5.0], band=["g", "g", "g", "g", "r"]))
    assert total(other) == 5
    assert "1 row has the object, band and time of another row" in str(other.losses)


def test_object_without_a_usable_point_is_named() -> None:
    found = from_long(rows(flux=[10.0, 11.0, 20.0, 21.0, NAN]))
    assert found.ids.tolist() == ["a", "b"]
    assert "1 object left out: no usable point (c)" in str(found.losses)
    with pytest.raises(ValueError, match="no object has a usable point"):
        from_long(rows(flux=[NAN] * 5))


def test_band_never_seen_in_training() -> None:
    with pytest.raises(ValueError, match="never seen in training: r in 2 rows of 2 objects; known are g"):
        from_long(rows(), bands=["g"])
    found = from_long(rows(), bands=["g"], unknown_band="drop")
    assert total(found) == 3
    assert "2 rows left out: band never seen" in str(found.losses)
    assert from_long(rows(), bands=["r", "g"]).objects.band[0].tolist() == [1, 0]


def test_labels_in_the_table_or_beside_it() -> None:
    found = from_long(rows(label=["x", "x", "y", "y", None]))
    assert found.label.tolist() == ["x", "y"]
    assert "1 object left out: not in the table of labels (c)" in str(found.losses)
    with pytest.raises(ValueError, match="object a has 'x' and 'y'"):
        from_long(rows(label=["x", "y", "y", "y", "x"]))
    beside = from_long(rows()).with_labels(["a", "c", "z"], [1, 2, 3])
    assert beside.label.tolist() == [1, 2]
    assert "labelled, but without measurements (z)" in str(beside.losses)
    assert "not in the table of labels (b)" in str(beside.losses)
    with pytest.raises(ValueError, match="no object is in both tables"):
        from_long(rows()).with_labels(["A", "B"], [1, 2])
    with pytest.raises(ValueError, match="'a' has 1 in row 0 of the table of labels and 2 in row 1"):
        from_long(rows()).with_labels(["a", "a"], [1, 2])


def test_magnitudes_become_fluxes() -> None:
    table = pandas.DataFrame({"id": [1], "mjd": [0.0], "mag": [25.0], "magerr": [0.1]})
    found = from_long(table, fluxes=True)
    assert found.objects.values[0, 0] == pytest.approx(1.0)
    assert found.objects.sigma[0, 0] == pytest.approx(0.4 * np.log(10) * 0.1)
    assert from_long(table).objects.values[0, 0] == 25.0


def test_text_where_numbers_belong() -> None:
    with pytest.raises(ValueError, match="Column 'flux' must hold numbers"):
        from_long(rows(flux=["a"] * 5))
    with pytest.raises(ValueError, match="must name the object of every row: row 1"):
        from_long(rows(object_id=["a", None, "b", "b", "c"]))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("as_text", [False, True])
def test_dates_become_modified_julian_days(zone: str | None, as_text: bool) -> None:
    days = pandas.to_timedelta([0.5, 1.5, 0.5, 2.5, 4.5], unit="D")
    dates = pandas.Series(pandas.Timestamp("2026-01-01", tz="UTC") + days)
    dates = dates.dt.tz_localize(None) if zone is None else dates.dt.tz_convert(zone)
    found = from_long(rows(time=dates.astype(str) if as_text else dates))
    np.testing.assert_allclose(found.objects.at[:2], 61041.0 + np.array([[0.5, 1.5], [0.5, 2.5]]), atol=1e-6)
    assert "the dates in 'time' were taken as modified Julian days (UTC)" in str(found.losses)
    assert from_long(rows(time=days)).objects.at[0].tolist() == [0.5, 1.5]


def test_a_time_that_is_neither_number_nor_date_is_refused() -> None:
    with pytest.raises(ValueError, match="Column 'time' must hold times, as numbers or as dates"):
        from_long(rows(time=["1.0", "soon", "2.0", "3.0", "4.0"]))


@pytest.mark.parametrize("bands", [None, ["g", "r"]])
def test_rows_without_a_band_are_left_out_and_counted(bands: list[str] | None) -> None:
    found = from_long(rows(band=["g", None, "g", "g", "r"]), bands=bands)
    assert found.bands == ("g", "r")
    assert total(found) == 4
    assert "1 row left out: no band (object a, row 1)" in str(found.losses)

"""Errors of two sides, and intervals: which columns belong together, and one standard deviation from them."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier
from badac.data import from_table, pair_columns
from badac.data.error_sides import two_sides

pd = pytest.importorskip("pandas")


def pairs(*names: str, pair: object = ()) -> list[tuple[str, ...]]:
    return [one.columns for one in pair_columns(names, pair).pairs]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ("mass_err_plus", "mass_err_minus"),
        ("mass_errp", "mass_errm"),
        ("masserr1", "masserr2"),
        ("massErrUp", "massErrLow"),
        ("mass_uperr", "mass_loerr"),
        ("err_mass_upper", "err_mass_lower"),
        ("upper_error_mass", "lower_error_mass"),
        ("mass_pos_err", "mass_neg_err"),
        ("eplus_mass", "eminus_mass"),
        ("mass_unc_hi", "mass_unc_lo"),
        ("E_mass", "e_mass"),
        ("mass_upper", "mass_lower"),
        ("mass_hilim", "mass_lolim"),
        ("mass84", "mass16"),
        ("mass_p84", "mass_p16"),
    ],
)
def test_the_sides_of_a_value(upper: str, lower: str) -> None:
    for names in (["mass", upper, lower], [lower, "mass", upper]):
        assert pairs(*names, "z", "z_err") == [("mass", upper, lower), ("z", "z_err")]


def test_columns_that_are_errors_of_other_values_are_no_sides() -> None:
    assert pairs("flux1", "err1", "flux2", "err2") == [("flux1", "err1"), ("flux2", "err2")]
    assert pairs("u", "e_u", "l", "e_l") == [("u", "e_u"), ("l", "e_l")]
    assert pairs("y_1", "y_err_1", "y_2", "y_err_2", "y", "y_err") == [
        ("y_1", "y_err_1"),
        ("y_2", "y_err_2"),
        ("y", "y_err"),
    ]
    found = pair_columns(["x", "x_upper", "x_upper_err", "x_lower", "x_lower_err", "x_err"])
    assert [one.columns for one in found.pairs] == [
        ("x", "x_err"),
        ("x_upper", "x_upper_err"),
        ("x_lower", "x_lower_err"),
    ]


def test_points_of_a_curve_are_no_percentiles() -> None:
    points = [f"y{number}" for number in range(100)]
    assert two_sides(points) == []
    assert pairs(*points) == []
    assert pairs("y16", "y50", "y84", "y2", "y98") == [("y50", "y84", "y16")]


def test_a_value_with_an_error_of_its_own_keeps_it() -> None:
    found = pair_columns(["g", "g_err", "g_err_plus", "g_err_minus", "g_upper", "g_lower"])
    assert [one.columns for one in found.pairs] == [("g", "g_err")]
    assert set(found.also) == {"g_err_plus", "g_err_minus", "g_upper", "g_lower"}
    assert found.stray == ()


def test_one_side_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="looks like an error column"):
        from_table(pd.DataFrame({"g": [1.0], "g_err_plus": [0.1]}))


def test_half_of_the_interval_is_one_standard_deviation() -> None:
    table = pd.DataFrame(
        {
            "name": ["a", "b", "c"],
            "mass": [1.0, 2.0, 3.0],
            "masserr1": [0.3, 0.2, 0.1],
            "masserr2": [-0.1, -0.2, np.nan],
            "teff": [5000.0, 6000.0, 7000.0],
            "teff_lower": [4900.0, 6100.0, 6900.0],
            "teff_upper": [5300.0, 6200.0, 7100.0],
        }
    )
    before = table.copy()
    found = from_table(table)
    assert "mass with the mean of masserr2 and masserr1" in found.recognised
    np.testing.assert_allclose(found.objects.sigma, [[0.2, 200.0], [0.2, np.inf], [np.inf, 100.0]])
    said = str(found.losses)
    assert (
        "2 cells left out: no error (NaN) for a measured value (row 1, column teff, row 2, column mass)"
        in said
    )
    assert "in 2 cells one side of the error is more than twice the other" in said
    pd.testing.assert_frame_equal(table, before)


def test_what_the_names_do_not_tell_is_said() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "hi_a": [0.2, 0.2], "lo_a": [0.4, 0.4]})
    np.testing.assert_allclose(from_table(table, pair=["*=hi_*,lo_*"]).objects.sigma, 0.3)
    ends = table.assign(hi_a=table.a + 0.2, lo_a=table.a - 0.4)
    np.testing.assert_allclose(from_table(ends, pair=["a=hi_a,lo_a:bounds"]).objects.sigma, 0.3)
    with pytest.raises(ValueError, match="two sides of an error"):
        from_table(table, pair=["a=hi_a:bounds"])
    with pytest.raises(ValueError, match="there is no 'low_a'"):
        from_table(table, pair=["a=hi_a,low_a"])


def test_bounds_that_are_none_are_refused() -> None:
    table = pd.DataFrame({"a": [5.0, 6.0, 7.0], "a_upper": [0.2, 0.2, 0.2], "a_lower": [0.1, 0.1, 0.1]})
    with pytest.raises(ValueError, match=r"no bounds of 'a'.*pair=\['a=a_upper,a_lower'\]"):
        from_table(table)
    np.testing.assert_allclose(from_table(table, pair=["a=a_upper,a_lower"]).objects.sigma, 0.15)


def test_marks_of_missing_errors() -> None:
    table = pd.DataFrame(
        {"a": [5.0, -99.0, 7.0], "a_errp": [0.2, -99.0, 0.2], "a_errm": [-0.2, -99.0, -99.0]}
    )
    np.testing.assert_allclose(from_table(table, missing=-99).objects.sigma[:, 0], [0.2, np.inf, np.inf])


def test_tables_without_errors_keep_all_columns() -> None:
    table = pd.DataFrame({"a": [5.0, 6.0], "a_upper": [5.2, 6.2], "a_lower": [4.0, 5.0]})
    assert from_table(table, errors="none").features == ("a", "a_upper", "a_lower")


def test_long_tables_and_columns_beside_curves() -> None:
    rows = pd.DataFrame(
        {
            "id": [1, 1, 2, 2],
            "mjd": [1.0, 2.0, 1.0, 2.0],
            "rate": [3.0, 4.0, 5.0, 6.0],
            "rate_errp": 0.3,
            "rate_errn": -0.1,
        }
    )
    objects = pd.DataFrame({"id": [1, 2], "z": [0.1, 0.2], "z_upper": [0.12, 0.24], "z_lower": [0.08, 0.2]})
    found = from_table(rows, objects=objects, columns=["z"])
    assert "error = rate_errp and rate_errn (two sides)" in found.recognised
    np.testing.assert_allclose(found.objects.sigma, 0.2)
    np.testing.assert_allclose(found.objects.columns["z"][1], [0.02, 0.02])


def test_units_of_both_sides() -> None:
    table = pytest.importorskip("astropy.table").QTable
    units = pytest.importorskip("astropy.units")
    given = {
        "r": [1.0, 2.0] * units.m,
        "r_err_plus": [2.0, 4.0] * units.cm,
        "r_err_minus": [4.0, 4.0] * units.cm,
    }
    np.testing.assert_allclose(from_table(table(given)).objects.sigma[:, 0], [0.03, 0.04])
    with pytest.raises(ValueError, match="must have one unit"):
        from_table(table(given | {"r_err_minus": [0.04, 0.04] * units.m}))


def test_a_model_reads_new_tables_alike() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat(["giant", "dwarf"], 40)
    truth = np.where(label == "giant", 2.0, 1.0)[:, None] + 0.1 * rng.standard_normal((80, 3))
    table = pd.DataFrame({"label": label})
    for column, name in enumerate(("rade", "mass", "teq")):
        table[name] = truth[:, column] + 0.1 * rng.standard_normal(80)
        table[f"{name}err1"], table[f"{name}err2"] = 0.12, -0.08
    training = from_table(table)
    model = BADACClassifier(random_state=0).fit(training.objects, training.label)
    by_table = BADACClassifier(random_state=0).fit(table.drop(columns="label"), label)
    plain = table.drop(columns="label")
    np.testing.assert_array_equal(by_table.predict_proba(plain), model.predict_proba(training.objects))
    shuffled = plain[list(reversed(plain.columns))]
    np.testing.assert_array_equal(by_table.predict_proba(shuffled), by_table.predict_proba(plain))

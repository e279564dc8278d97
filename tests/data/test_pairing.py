"""Which column is the error of which, by names alone."""

from __future__ import annotations

import pytest

from badac.data import pair_columns
from badac.data.column_sorts import sort_of_name


def pairs(*names: str, pair: object = ()) -> list[str]:
    return [str(one) for one in pair_columns(names, pair).pairs]  # type: ignore[arg-type]


def test_capitals_separators_and_order_do_not_matter() -> None:
    assert pairs("G_ERR", "g", "Flux R", "Flux R error") == ["g with G_ERR", "Flux R with Flux R error"]
    assert pairs("g", "G", "g_err", "G_err") == ["g with g_err", "G with G_err"]
    assert pairs("x_B_-10", "x_B_+10", "e_B_-10", "e_B_+10") == [
        "x_B_-10 with e_B_-10",
        "x_B_+10 with e_B_+10",
    ]
    assert pairs("raw_Fs", "raw_e_Fs", "raw_Fm", "raw_e_Fm") == [
        "raw_Fs with raw_e_Fs",
        "raw_Fm with raw_e_Fm",
    ]
    assert pairs("flux+1", "flux-1", "flux-1_err", "flux+1_err") == [
        "flux+1 with flux+1_err",
        "flux-1 with flux-1_err",
    ]


def test_the_mark_that_fits_most_values_wins() -> None:
    names = [
        "parallax",
        "parallax_error",
        "parallax_over_error",
        "pmra",
        "pmra_error",
        "pmdec",
        "pmdec_error",
    ]
    found = pair_columns(names)
    assert [one.error for one in found.pairs] == ["parallax_error", "pmra_error", "pmdec_error"]
    assert found.also == {"parallax_over_error": "parallax"}
    assert pairs("j_m", "j_cmsig", "j_msigcom", "j_snr") == ["j_m with j_msigcom"]


def test_a_standard_deviation_comes_before_what_it_is_computed_from() -> None:
    assert pairs("g", "g_ivar", "g_snr", "g_err") == ["g with g_err"]
    assert pairs("g", "g_snr", "g_ivar") == ["g with g_ivar (ivar)"]


def test_a_value_whose_name_has_a_mark() -> None:
    assert pairs("sigma_v", "sigma_v_err", "teff", "teff_err") == [
        "sigma_v with sigma_v_err",
        "teff with teff_err",
    ]


def test_a_quantity_with_sigma_inside_is_no_stray() -> None:
    assert pair_columns(["parallax", "parallax_error", "astrometric_sigma5d_max"]).checked().stray == ()


def test_displacements_are_errors_only_if_most_values_have_one() -> None:
    assert pairs("g", "r", "dg", "dr") == ["g with dg", "r with dr"]
    assert pairs("x", "dx", "y", "z", "t", "w") == []
    assert pairs("g", "dg") == []
    assert pairs("ra", "dec", "g", "g_err") == ["g with g_err"]


def test_features_of_light_curves_are_no_pairs() -> None:
    assert pairs("mean", "std", "skew") == []
    assert pairs("g_mean", "g_std", "g_skew") == []


def test_positions_are_no_features_unless_they_are_named() -> None:
    found = pair_columns(["ra", "ra_error", "dec", "dec_error", "parallax", "parallax_error"])
    assert [one.value for one in found.pairs] == ["parallax"]
    assert found.stray == ()
    assert [one.value for one in found.positions] == ["ra", "dec"]
    assert pairs("ra", "ra_error", pair=["ra=ra_error"]) == ["ra with ra_error"]
    assert pairs("b", "b_err", "v", "v_err") == ["b with b_err", "v with v_err"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["x", "e_x", "x_e"], "'x' could be the value of 'e_x' or 'x_e'.*pair="),
        (["flux_g", "mag_g", "err_g"], "'err_g' could be the error of 'flux_g' or 'mag_g'"),
        (["g", "g_err", "zErr"], "Column 'zErr' looks like an error column, but no value was found"),
        (["psf_u", "psf_g", "uerr", "gerr"], "Columns uerr, gerr look like error columns"),
        (["g", "e_g", "r", "e_r", "e_z"], "Column 'e_z' looks like an error column"),
    ],
)
def test_doubt_stops_and_says_what_to_say(names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair_columns(names).checked()


def test_what_is_said_comes_first() -> None:
    assert pairs("psf_u", "noise_u", "psf_g", "noise_g", pair=["psf_*=noise_*"]) == [
        "psf_u with noise_u",
        "psf_g with noise_g",
    ]
    assert pairs("f", "w", pair=["f=w:ivar"]) == ["f with w (ivar)"]
    assert pairs("f", "w_ivar", pair={"f": "w_ivar"}) == ["f with w_ivar (ivar)"]
    assert pairs("g", "g_err", "redshift", pair=["redshift="]) == ["g with g_err", "redshift (exact)"]
    assert pair_columns(["g", "g_err", "sigma_v"], ["=sigma_v"]).checked().others == ("sigma_v",)
    assert pairs("a_x_1", "a_y_2", "e_x_1", "e_y_2", "t_x", pair=["a_*_*=e_*_*"]) == [
        "a_x_1 with e_x_1",
        "a_y_2 with e_y_2",
    ]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (["psfMag_*=err_*"], "fits no columns: there is no 'psfMag_\\*'. Near names: psf_u"),
        (["psf_u=noise"], "there is no 'noise'"),
        (["psf_u"], "takes 'VALUE=ERROR'"),
        (["psf_*=noise_u"], "as many stars on both sides"),
        (["psf_u=noise_u", "psf_u=noise_g"], "uses the column 'psf_u' twice"),
    ],
)
def test_a_pair_that_fits_nothing_is_refused(pair: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair_columns(["psf_u", "noise_u", "noise_g"], pair)


def test_one_text_is_no_list_of_pairs() -> None:
    with pytest.raises(TypeError, match="must be a list"):
        pair_columns(["a", "b"], "a=b")


def test_sorts_of_columns() -> None:
    sorts = {
        "coordinate": ["ra", "DEC", "RAJ2000", "ra_icrs", "glon", "htmID", "ALPHA_J2000"],
        "identifier": ["source_id", "objID", "tile_name", "plate"],
        "flag": ["rd_flg", "quality_flag", "FLAGS", "zwarn_flag"],
        "time": ["mjd", "epoch"],
        "number": ["psfMag_u", "redshift", "grid", "decay"],
    }
    for sort, names in sorts.items():
        assert {sort_of_name(name) for name in names} == {sort}, names


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["flux", "flux_err (%)"], ("flux", "flux_err (%)", "percent")),
        (["flux (mJy)", "flux_%_err"], ("flux (mJy)", "flux_%_err", "percent")),
        (["x", "x_err_rel"], ("x", "x_err_rel", "relative")),
        (["x", "x_1sigma_pct"], ("x", "x_1sigma_pct", "percent")),
        (["age (Ma)", "age 2σ"], ("age (Ma)", "age 2σ", "two_sigma")),
        # Both in per cent: points of it.
        (["humidity (%)", "humidity err (%)"], ("humidity (%)", "humidity err (%)", "sigma")),
        (["humidity (%)", "humidity err"], ("humidity (%)", "humidity err", "sigma")),
        (["SiO2 (wt%)", "SiO2 err (wt%)"], ("SiO2 (wt%)", "SiO2 err (wt%)", "sigma")),
        (["SiO2 (wt%)", "SiO2 err (%)"], ("SiO2 (wt%)", "SiO2 err (%)", "percent")),
        (["Na (mg/L)", "Na_err"], ("Na (mg/L)", "Na_err", "sigma")),
    ],
)
def test_what_an_error_holds_may_be_qualified_and_its_value_have_a_unit(
    names: list[str], expected: tuple[str, str, str]
) -> None:
    found = pair_columns(names)
    assert [(pair.value, pair.error, pair.kind) for pair in found.pairs] == [expected]
    # What is said by hand is understood by the same rule.
    said = pair_columns([*names, "other"], pair=[f"{names[0]}={names[1]}"])
    assert said.pairs[0].kind == expected[2]


@pytest.mark.parametrize(
    "names",
    [
        ["flux (Jy)", "flux_err (mJy)"],  # another unit than its value's
        ["Na (mg/L)", "Na (mmol/L)", "Na_err"],  # of which of them?
        ["T", "T ± (k=2)"],  # a coverage factor that no rule knows
    ],
)
def test_errors_in_doubt_are_refused_in_words(names: list[str]) -> None:
    with pytest.raises(ValueError, match="looks like an error column, but no value was found"):
        pair_columns(names).checked()


def test_a_sulphur_line_is_no_error_of_potassium() -> None:
    assert not pair_columns(["K", "K2s", "label"]).pairs

"""Each kind of data has its picture, with the names and units of its table."""

import numpy as np
import pytest

from badac import Measurements
from badac.data import Axis, Description
from badac.data.description import KINDS
from badac.plots import ClassBand, ObjectDisplay
from badac.plots.pictures import PICTURES
from badac.plots.style import LINE_COLOURS, rendered

rng = np.random.default_rng(5)


def display(objects: Measurements, about: Description, **more: object) -> ObjectDisplay:
    at = (
        np.arange(float(objects.n_points))
        if objects.at is None
        else np.broadcast_to(objects.at, objects.shape)[0]
    )
    bands = [("", ClassBand(at, np.ones(at.size), np.full(at.size, 0.1)))]
    if objects.band is not None:
        number = np.broadcast_to(objects.band, objects.shape)[0]
        numbers = [number == which for which in np.unique(number[number >= 0]).tolist()]
        bands = [
            (about.band(place), ClassBand(at[rows], np.ones(rows.sum()), np.full(rows.sum(), 0.1)))
            for place, rows in enumerate(numbers)
        ]
    return ObjectDisplay(objects, "quiet", bands, about=about, **more)


def test_every_kind_of_table_has_a_picture() -> None:
    assert set(PICTURES) == set(KINDS)


def test_a_catalogue_shows_named_columns_and_no_line_through_them() -> None:
    about = Description("catalogue", features=("parallax", "bp_rp", "pmra"), units={"pmra": "mas/yr"})
    one = Measurements([[5.0, 1.2, np.nan]], sigma=[[0.1, 0.0, 0.3]])
    ax = display(one, about, pull=np.array([6.5, -0.4, np.nan]), window=np.zeros(2)).plot().ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "parallax",
        "bp_rp",
    ]  # the missing one is not drawn
    assert ax.get_xlabel() == "pull from class quiet [sigma]"
    assert all(len(line.get_xdata()) <= 2 for line in ax.lines)
    beside = [text.get_text() for text in ax.texts]
    assert "5 ± 0.1  (1)" in beside and "1.2  (1)" in beside  # an exact value has no bar
    with_unit = display(Measurements([[1.0, 1.0, 2.0]], sigma=0.1), about, pull=np.zeros(3)).plot().ax_
    assert with_unit.get_yticklabels()[2].get_text() == "pmra [mas/yr]"


def test_of_many_columns_the_furthest_are_shown_and_the_rest_is_counted() -> None:
    pull = rng.standard_normal(200)
    pull[77] = 9.0
    about = Description("catalogue", features=tuple(f"gene {i}" for i in range(200)))
    ax = display(Measurements(rng.random((1, 200)), sigma=0.1), about, pull=pull).plot().ax_
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[0] == "gene 77" and len(names) == 14
    assert ax.get_title(loc="left") == "the 14 furthest of 200 columns"


def light_curve() -> Measurements:
    at = np.sort(rng.uniform(59000.0, 59100.0, (1, 30)))
    band = np.tile([0, 1, 2], 10)[None, :]
    return Measurements(18.0 + 0.1 * rng.standard_normal((1, 30)), sigma=0.05, at=at, band=band)


def test_a_light_curve_has_a_colour_a_line_and_a_name_for_each_band() -> None:
    about = Description("light curve", Axis("mjd", "d"), Axis("magnitude", "mag"), bands=("g", "r", "i"))
    ax = display(light_curve(), about, window=np.array([59010.0, 59020.0])).plot().ax_
    assert ax.yaxis_inverted()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mjd [d]", "magnitude [mag]")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["strangest window", "class quiet", "g", "r", "i"]
    lines = [line for line in ax.lines if len(line.get_xdata()) == 10 and line.get_linestyle() == "-"]
    assert [line.get_color() for line in lines] == list(LINE_COLOURS[:3])


def test_fluxes_stand_upright() -> None:
    about = Description("light curve", Axis("mjd"), Axis("flux"), bands=("g", "r", "i"))
    assert not display(light_curve(), about).plot().ax_.yaxis_inverted()


def test_a_light_curve_with_a_period_is_folded_and_one_in_phase_is_left_alone() -> None:
    one = light_curve()
    about = Description("light curve", Axis("mjd", "d"), Axis("magnitude"), bands=("g", "r", "i"))
    folded = display(one, about, period=2.5, window=np.array([59010.0, 59020.0])).plot().ax_
    assert folded.get_xlabel() == "phase"
    points = np.concatenate([bar.lines[0].get_xdata() for bar in folded.containers])
    np.testing.assert_allclose(np.sort(points), np.sort((one.at[0] / 2.5) % 1.0))
    in_phase = display(one, about.in_phase(), period=2.5).plot().ax_
    drawn = np.concatenate([bar.lines[0].get_xdata() for bar in in_phase.containers])
    np.testing.assert_allclose(np.sort(drawn), one.at[0])


def test_a_spectrum_runs_over_its_wavelengths() -> None:
    wave = np.linspace(3800.0, 9200.0, 400)
    about = Description("spectrum", Axis("wavelength", "Angstrom"), Axis("flux"))
    values = rng.standard_normal((1, 400))
    values[0, 50:60] = np.nan
    ax = display(Measurements(values, sigma=0.1, at=wave), about).plot().ax_
    assert ax.get_xlabel() == "wavelength [Angstrom]"
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"object", "class quiet"}
    few = display(Measurements(values[:, :20], sigma=0.1, at=wave[:20]), about).plot().ax_
    assert len(few.containers) == 1  # points with error bars


def test_counts_are_bars() -> None:
    about = Description("counts", features=("a", "b", "c"))
    ax = (
        display(
            Measurements([[3.0, 0.0, 7.0]]), about, pull=np.array([0.1, -2.0, 4.0]), window=np.full(2, 2.0)
        )
        .plot()
        .ax_
    )
    assert [bar.get_height() for bar in ax.containers[0]] == [3.0, 0.0, 7.0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_without_any_point_can_be_drawn(kind: str) -> None:
    nothing = Measurements(np.full((1, 4), np.nan), sigma=0.1, at=np.arange(4.0))
    made = display(nothing, Description(kind), pull=np.full(4, np.nan), window=np.full(2, np.nan)).plot()
    assert rendered(made.figure_, "png").startswith(b"\x89PNG")

"""Points are called by their column, band or wavelength, with the units of the table."""

import numpy as np
import pytest

from badac import Measurements
from badac.data import Axis, Description

GRID = Measurements([[1.0, 2.0, 3.0]], sigma=0.1)


def test_a_column_is_called_by_its_name() -> None:
    about = Description("catalogue", features=("u", "g", "r"), units={"g": "mag"})
    assert about.point(GRID, 0, 1) == "g"
    assert about.window(GRID, [1.0, 1.0]) == "at g"
    assert about.window(GRID, [0.0, 2.0]) == "from u to r"
    assert about.value(18.25, 1) == "18.25 mag"


def test_columns_and_points_without_names_have_numbers() -> None:
    assert Description("catalogue").point(GRID, 0, 1) == "column 1"
    assert Description("grid curve").point(GRID, 0, 1) == "point 1"


def test_a_wavelength_has_its_unit() -> None:
    spectrum = Measurements(np.ones((1, 400)), sigma=0.1, at=np.linspace(3800.0, 9200.0, 400))
    about = Description("spectrum", Axis("wavelength", "Angstrom"))
    assert about.window(spectrum, [6540.2, 6588.4]) == "between wavelength 6540 and 6588 Angstrom"
    assert about.point(spectrum, 0, 0) == "wavelength 3800 Angstrom"


def test_a_point_of_a_light_curve_has_its_band_and_time() -> None:
    curve = Measurements([[1.0, 2.0]], sigma=0.1, at=[[59000.25, 59010.5]], band=[[1, 0]])
    about = Description("light curve", Axis("mjd"), bands=("g", "r"))
    assert about.point(curve, 0, 0) == "band r at mjd 59000.25"
    assert about.window(curve, [59000.25, 59000.75]) == "between mjd 59000.25 and 59000.75"
    assert about.window(curve, [np.nan, np.nan]) == ""


def test_it_survives_a_model_file() -> None:
    about = Description("light curve", Axis("mjd", "d"), Axis("flux"), ("g", "r"), (), {})
    assert Description.from_dict(about.as_dict()) == about


def test_what_nobody_described_is_told_from_its_form() -> None:
    assert Description.of_objects(GRID).kind == "grid curve"
    assert Description.of_objects(GRID, ordered=False).kind == "catalogue"
    own = Measurements([[1.0, 2.0]], sigma=0.1, at=[[0.0, 1.0]])
    assert Description.of_objects(own).kind == "light curve"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="`kind` must be one of"):
        Description("photograph")

"""Cells that hold spectra or light curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from badac import BADACClassifier
from badac.data import from_frame, from_table, read
from badac.data.files import read_batches

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_ragged_lists_with_wavelengths_of_their_own(tmp_path: Path) -> None:
    frame = pandas.DataFrame(
        {
            "id": ["a", "b"],
            "flux": [[1.0, 2.0, 3.0], [4.0]],
            "ivar": [[1.0, 0.0, 4.0], [1.0]],
            "wave": [[10.0, 11.0, 12.0], [11.5]],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    for found in (from_table(frame), read(tmp_path / "t.parquet")):
        assert found.objects.own_points
        np.testing.assert_array_equal(found.objects.at, [[10, 11, 12], [11.5, np.nan, np.nan]])
        np.testing.assert_array_equal(found.objects.observed, [[True, False, True], [True, False, False]])
        assert found.objects.sigma[0].tolist() == [1.0, np.inf, 0.5]
        assert (
            found.recognised
            == "table of vectors, one row per object: flux with ivar (ivar), wave along the points"
        )


def test_variable_length_arrays_of_fits(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    ragged = {
        name: np.array([np.array(cells[0]), np.array(cells[1])], dtype=object)
        for name, cells in {
            "FLUX": ([1.0, 2.0], [3.0]),
            "FLUX_ERR": ([0.1, 0.1], [0.1]),
            "WAVE": ([5.0, 6.0], [5.5]),
        }.items()
    }
    columns = [fits.Column(name, "PD()", array=array) for name, array in ragged.items()]
    fits.BinTableHDU.from_columns([*columns, fits.Column("ID", "K", array=[7, 8])]).writeto(
        tmp_path / "v.fits"
    )
    found = read(tmp_path / "v.fits")
    assert found.ids.tolist() == [7, 8]
    np.testing.assert_array_equal(found.objects.at, [[5, 6], [5.5, np.nan]])


def test_light_curves_in_cells() -> None:
    frame = pandas.DataFrame(
        {
            "id": [1, 2],
            "type": ["x", "y"],
            "ra": [10.0, 20.0],
            "mjd": [[3.0, 1.0, 2.0], [5.0]],
            "band": [["g", "r", "g"], ["r"]],
            "flux": [[1.0, 2.0, 3.0], [4.0]],
            "flux_err": [[0.1, 0.1, 0.1], [0.2]],
        }
    )
    found = from_table(frame)
    assert found.kind == "light curve" and found.bands == ("g", "r")
    np.testing.assert_array_equal(found.objects.at, [[1, 2, 3], [5, np.nan, np.nan]])
    assert found.objects.band is not None and found.objects.band[0].tolist() == [1, 0, 0]
    assert found.label is not None and found.label.tolist() == ["x", "y"]
    assert found.carried["ra"].tolist() == [10.0, 20.0]
    assert found.recognised.startswith("table of vectors, one row per object: object = id, time = mjd")
    with pytest.raises(ValueError, match="must hold vectors of one length in each row"):
        from_table(frame.assign(flux=[[1.0], [2.0]]))


def test_one_error_for_a_whole_spectrum_and_sentinels() -> None:
    frame = pandas.DataFrame(
        {
            "flux": [np.array([1.0, 2.0, -999.0, 1.5]), np.array([3.0, 2.5, 2.0, 1.0])],
            "flux_err": [0.1, 0.2],
            "sky": [np.zeros(4)] * 2,
        }
    )
    found = from_table(frame, missing=[-999])
    assert found.objects.sigma[1].tolist() == [0.2] * 4
    assert not found.objects.observed[0, 2]
    assert "1 column left out: vectors that are neither values nor errors (sky)" in str(found.losses)
    assert found.objects.at is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"flux": [[1.0, 2.0], [3.0]], "flux_err": [[1.0, 1.0], [1.0]]},
            "different lengths.*each needs its coordinates",
        ),
        (
            {"flux": [[1.0, 2.0]], "flux_err": [[1.0]]},
            "must hold vectors of one length: the longest have 2 and 1",
        ),
        (
            {"flux": [[1.0, 2.0]], "flux_err": [[1.0, 1.0]], "wave": [[1.0]]},
            "'flux' and 'wave' must hold vectors of one length",
        ),
        ({"flux": [[1.0, 2.0]], "model": [[1.0, 1.0]]}, "none has a column of errors beside it"),
        ({"flux": [["a", "b"]], "flux_err": [[1.0, 1.0]]}, "Column 'flux' must hold vectors of numbers"),
        ({"flux": [[1.0, 2.0]], "ivar": [[0.0, 0.0]]}, "no value has a usable error bar"),
    ],
)
def test_what_is_wrong_with_vectors_is_said(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_table(pandas.DataFrame(columns))


def test_errors_by_what_they_hold() -> None:
    frame = pandas.DataFrame({"flux": [np.array([1.0, 2.0])], "flux_err": [np.array([4.0, 0.0])]})
    assert from_table(frame, errors="ivar").objects.sigma.tolist() == [[0.5, np.inf]]
    wide = pandas.DataFrame({"g": [1.0, 2.0], "g_err": [4.0, 0.0], "r": [1.0, 1.0], "r_err": [0.25, 1.0]})
    found = from_table(wide, errors="ivar")
    assert found.objects.sigma.tolist() == [[0.5, 2.0], [np.inf, 1.0]]
    assert not found.losses
    assert from_table(wide, errors="variance").objects.sigma[0].tolist() == [2.0, 0.5]
    assert from_table(wide, errors="percent").objects.sigma[0].tolist() == [0.04, 0.0025]
    with pytest.raises(ValueError, match="`errors` must be one of sigma"):
        from_table(wide, errors="sd")


def test_npz_with_coordinates(tmp_path: Path) -> None:
    """`at` was dropped without a word."""
    values = np.arange(6.0).reshape(2, 3)
    np.savez(
        tmp_path / "a.npz",
        values=values,
        sigma=np.full((2, 3), 0.1),
        at=[1.0, 2.0, 4.0],
        label=["x", "y"],
        seed=3,
    )
    found = read(tmp_path / "a.npz")
    assert found.objects.at is not None and found.objects.at.tolist() == [1.0, 2.0, 4.0]
    np.testing.assert_array_equal(found.objects.values, values)
    assert found.label is not None and found.label.tolist() == ["x", "y"]
    assert "arrays of the file that were not used: seed ()" in str(found.losses)
    np.savez(tmp_path / "b.npz", values=values, sigma=np.full((2, 3), 0.1), at=[1.0, 2.0])
    found = read(tmp_path / "b.npz")
    assert found.features == ("x0", "x1", "x2")
    assert "arrays of the file that were not used: at (2,)" in str(found.losses)


def test_batches_of_vectors_hold_one_batch(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": range(7), "flux": [np.ones(4)] * 7, "ivar": [np.ones(4)] * 7})
    frame.to_parquet(tmp_path / "t.parquet")
    found = [from_table(batch) for batch in read_batches(tmp_path / "t.parquet", 3)]
    assert [len(one) for one in found] == [3, 3, 1]
    assert found[2].ids.tolist() == [6]


def test_spectra_can_be_learned(rng: np.random.Generator) -> None:
    flux = np.concatenate([rng.normal(0, 1, (20, 6)), rng.normal(4, 1, (20, 6))])
    frame = pandas.DataFrame(
        {"flux": list(flux), "ivar": [np.full(6, 100.0)] * 40, "wave": [np.arange(6.0)] * 40}
    )
    found = from_table(frame)
    model = BADACClassifier(random_state=0, anomaly="tophat").fit(found.objects, np.repeat([0, 1], 20))
    assert (model.predict(from_frame(frame)) == np.repeat([0, 1], 20)).mean() > 0.9


def test_short_vectors_are_values_of_their_own() -> None:
    frame = pandas.DataFrame({"PSFMAG": [np.arange(5.0)] * 2, "PSFMAGERR": [np.full(5, 0.1)] * 2})
    found = from_table(frame)
    assert found.kind == "catalogue" and found.features[1] == "PSFMAG[1]" and found.objects.band is None


def test_a_vector_beside_single_values_is_left_out() -> None:
    frame = pandas.DataFrame({"g": [1.0, 2.0], "g_err": 0.1, "covariance": [np.eye(2).ravel()] * 2})
    found = from_table(frame)
    assert found.features == ("g",)
    assert "1 column left out: vectors in a table of single values (covariance)" in str(found.losses)
    assert from_frame(frame).n_points == 1


@pytest.mark.parametrize("where", ["image", "table"])
def test_wavelengths_in_an_extension_of_their_own(where: str, tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    table = pytest.importorskip("astropy.table").Table
    spectra = fits.table_to_hdu(table({"flux": np.ones((2, 9)), "ivar": np.ones((2, 9))}))
    axis = np.linspace(3.5, 3.9, 9)
    other = (
        fits.ImageHDU(axis, name="LOGLAM") if where == "image" else fits.table_to_hdu(table({"loglam": axis}))
    )
    fits.HDUList([fits.PrimaryHDU(), spectra, other]).writeto(tmp_path / "t.fits")
    found = read(tmp_path / "t.fits")
    assert found.kind == "spectrum"
    np.testing.assert_allclose(found.objects.at, 10**axis)

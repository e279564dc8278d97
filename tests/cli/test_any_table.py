"""Any table on the command line: names, shapes, files, labels apart, gaps, units; what travels, and what is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from badac import BADACClassifier, load
from badac.cli.app import app
from badac.cli.table_options import TABLE_OPTIONS, ErrorsChoice
from badac.data.conventions import ERRORS
from badac.data.files import read_frame

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
from conventions import FILES, LONGS, STYLES, VECTORS, Style, spectra, wide_columns, write

pytestmark = pytest.mark.usefixtures("one_drawing")
RUN = CliRunner()
QUICK = ["--class-model", "template", "--folds", "0", "--no-diagnose", "-j", "1"]
N = 24


def run(*words: object) -> Any:
    return RUN.invoke(app, [str(word) for word in words])


def said(done: Any) -> str:
    return " ".join(done.output.split())


def fitted(path: Path, *words: object, quick: list[str] = QUICK) -> tuple[BADACClassifier, str]:
    """Fit on a file by the command line; the model and what was said."""
    model = path.with_suffix(".badac")
    done = run("fit", path, "-o", model, "--overwrite", *quick, *words)
    assert done.exit_code == 0, done.output
    return load(model), said(done)


def stars(n: int = N, seed: int = 0, scale: float = 1.0) -> pd.DataFrame:
    """Two kinds of stars by three colours, with what a catalogue has besides."""
    rng = np.random.default_rng(seed)
    kind = np.array(["dwarf", "giant"] * (n // 2))
    table: dict[str, Any] = {
        "star": [f"HD {seed}{row:03d}" for row in range(n)],
        "ra": rng.uniform(0, 360, n),
        "dec": rng.uniform(-90, 90, n),
        "flag": rng.integers(0, 2, n),
        "night": pd.Timestamp("2026-01-31") + pd.to_timedelta(np.arange(n), unit="D"),
        "kind": kind,
    }
    for band in "ugr":
        table[band] = scale * (np.where(kind == "dwarf", 14.0, 17.0) + rng.normal(0, 0.3, n))
        table[f"{band}_err"] = scale * rng.uniform(0.05, 0.1, n)
    return pd.DataFrame(table)


NAMED = ("--label", "kind", "-c", "object=star")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training table, new tables, and a model."""
    folder = tmp_path_factory.mktemp("tables")
    stars().to_csv(folder / "train.csv", index=False)
    stars(seed=1).drop(columns="kind").to_csv(folder / "new.csv", index=False)
    fitted(folder / "train.csv", *NAMED)
    return folder


# -- names, shapes and files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES[:18], ids=lambda style: style.error.format("g"))
def test_name_styles_in_three_kinds_of_files(style: Style, tmp_path: Path) -> None:
    columns, values, sigma, features = wide_columns(style)
    columns["class"] = np.array(["star", "galaxy"] * (len(values) // 2))
    for kind in ("CSV", "Parquet", "FITS"):
        model, words = fitted(write(columns, tmp_path / f"table{FILES[kind]}"))
        assert model.feature_names_in_.tolist() == features
        np.testing.assert_allclose(model.training_.values, values)
        np.testing.assert_allclose(model.training_.sigma, sigma)
        assert "carried along: ra, dec" in words


@pytest.mark.parametrize("long", LONGS[:4], ids=lambda long: long.whose)
def test_light_curves_in_three_kinds_of_files(long: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names, n, m = long.names, 10, 8
    at = np.sort(rng.uniform(0, 50, (n, m)), axis=1)
    value = 10 + (np.arange(n) % 2)[:, None] * np.sin(at) + 0.1 * rng.standard_normal(at.shape)
    columns = dict(
        zip(
            names,
            (
                np.repeat(np.arange(n), m),
                at.ravel(),
                np.tile(["g", "r"], n * m // 2),
                value.ravel(),
                np.full(n * m, 0.1),
            ),
            strict=True,
        )
    )
    columns["class"] = np.repeat(np.where(np.arange(n) % 2, "wave", "flat"), m)
    for kind in ("CSV", "Parquet", "VOTable"):
        quick = ["--class-model", "gp", *QUICK[2:]]
        model, words = fitted(write(columns, tmp_path / f"curves{FILES[kind]}"), quick=quick)
        assert model.layout_["form"] == "long" and tuple(model.layout_["bands"]) == ("g", "r")
        np.testing.assert_allclose(model.training_.values, value)
        assert f"time = {names[1]}" in words


@pytest.mark.parametrize("vector", VECTORS[:2], ids=lambda one: one.what)
def test_spectra_in_three_kinds_of_files(vector: Any, tmp_path: Path) -> None:
    flux, sigma = spectra()
    columns = {
        "specobjid": np.arange(len(flux)),
        **vector.make(flux, sigma),
        "class": np.array(["a", "b"] * (len(flux) // 2)),
    }
    for kind in ("Parquet", "FITS", "ECSV"):
        path = write(columns, tmp_path / f"spectra{FILES[kind]}")
        model, words = fitted(path)
        np.testing.assert_allclose(model.training_.sigma, sigma)
        assert "table of vectors" in words and "along the points" in words
        done = run("rank", path.with_suffix(".badac"), path, "-o", tmp_path / kind, "--show", "1", "-j", "1")
        assert done.exit_code == 0, done.output
        assert len(read_frame(tmp_path / kind / "ranking.parquet")) == len(flux)


def test_inverse_variances_by_a_word(tmp_path: Path) -> None:
    frame = stars()
    frame[["u_err", "g_err", "r_err"]] = frame[["u_err", "g_err", "r_err"]] ** -2.0
    frame.loc[0, "u_err"] = 0.0
    frame.to_parquet(tmp_path / "t.parquet")
    model, words = fitted(tmp_path / "t.parquet", *NAMED, "--errors", "ivar")
    np.testing.assert_allclose(model.training_.sigma[1:], stars()[["u_err", "g_err", "r_err"]][1:])
    assert np.isinf(model.training_.sigma[0, 0])
    assert "errors are ivar" in words


def test_the_words_for_errors_are_those_of_the_reader() -> None:
    assert tuple(ErrorsChoice) == ERRORS


@pytest.mark.parametrize("verb", ["fit", "rank", "evaluate", "diagnose", "explain"])
def test_every_verb_that_reads_tables_has_the_options(verb: str) -> None:
    import typer.main

    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    assert set(TABLE_OPTIONS) <= {parameter.name for parameter in command.params}


# -- what is said by hand ------------------------------------------------------------------------------------------------


def test_pairs_gaps_and_columns_by_hand_hold_for_new_tables_too(tmp_path: Path) -> None:
    def odd(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.rename(columns={f"{band}_err": f"noise_{band}" for band in "ugr"})
        frame = frame.rename(columns={band: f"psf_{band}" for band in "ugr"})
        frame.loc[3, "psf_u"] = 77.0
        return frame

    odd(stars()).to_csv(tmp_path / "train.csv", index=False)
    odd(stars(seed=1)).to_csv(tmp_path / "new.csv", index=False)
    train = tmp_path / "train.csv"
    alone = run("fit", train, "-o", tmp_path / "m.badac", *QUICK, *NAMED)
    assert alone.exit_code == 1 and "has no error columns" in said(alone)
    words = ("--pair", "psf_*=noise_*", "--missing", "77", "--columns", "psf_u, psf_g")
    model, told = fitted(train, *NAMED, *words)
    assert model.feature_names_in_.tolist() == ["psf_u", "psf_g"]
    assert np.isnan(model.training_.values[3, 0])
    assert "77 means missing: psf_u in 1 cell" in told
    done = run("rank", tmp_path / "train.badac", tmp_path / "new.csv", "-o", tmp_path / "out", "--show", "1")
    assert done.exit_code == 0, done.output
    assert "77 means missing: psf_u in 1 cell" in said(done)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--pair", "flux_*=noise_*"], "`pair` 'flux_*=noise_*' fits no columns"),
        (["-c", "object=starr"], "There is no column 'starr' for the object. Did you mean 'star'?"),
        (["-c", "band=ra"], "which only a long table has"),
        (["--columns", "flux_*"], "no column is called 'flux_*' (--columns)"),
        (["--columns", "u,flag"], "the column 'flag' (--columns) has no error column"),
        (["--fold"], "only curves with times can be folded"),
        (["--labels", "absent.csv"], "absent.csv does not exist"),
    ],
)
def test_what_matches_nothing_is_refused(words: list[str], told: str, place: Path, tmp_path: Path) -> None:
    done = run("fit", place / "train.csv", "-o", tmp_path / "m.badac", *QUICK, "--label", "kind", *words)
    assert done.exit_code == 1, done.output
    assert told in said(done)
    assert not list(tmp_path.iterdir())


def test_tables_that_cannot_be_meant_are_refused(place: Path, tmp_path: Path) -> None:
    frame = stars()
    frame.assign(u_err=np.nan, g_err=np.nan, r_err=np.nan).to_csv(tmp_path / "a.csv", index=False)
    done = run("fit", tmp_path / "a.csv", "-o", tmp_path / "m.badac", *QUICK, *NAMED)
    assert done.exit_code == 1 and "no value has a usable error bar" in said(done)
    frame.assign(z_error=0.1).to_csv(tmp_path / "b.csv", index=False)
    done = run("fit", tmp_path / "b.csv", "-o", tmp_path / "m.badac", *QUICK, *NAMED)
    assert done.exit_code == 1 and "'z_error' looks like an error column" in said(done)
    new = stars(seed=2).rename(columns={"u": "U", "u_err": "U_err", "g": "G", "g_err": "G_err"})
    new.to_csv(tmp_path / "other.csv", index=False)
    done = run("rank", place / "train.badac", tmp_path / "other.csv", "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "lacks 2 of the 3 columns that the model was fitted on" in said(done) and "U for u?" in said(done)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"u": ["12.1", "oops", *["13"] * (N - 2)]},
            "t.parquet: Column 'u' must hold numbers: got 'oops' in row 1.",
        ),
        (
            {"u": [{"value": 1.0, "error": 0.1}] * N},
            "t.parquet: Column 'u' must hold numbers: got a nested record with error, value",
        ),
        (
            {"kind": [0.5, 1.5] * (N // 2)},
            "t.parquet: the column 'kind' holds fractions, such as 0.5 of object HD 0000",
        ),
    ],
)
def test_cells_that_are_none_are_named_by_file_column_and_row(change: Any, told: str, tmp_path: Path) -> None:
    stars().assign(**change).to_parquet(tmp_path / "t.parquet")
    done = run("fit", tmp_path / "t.parquet", "-o", tmp_path / "m.badac", *QUICK, *NAMED)
    assert done.exit_code == 1, done.output
    assert told in said(done)


# -- labels apart --------------------------------------------------------------------------------------------------------


def curves(n: int, seed: int, *, transient: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Repeating stars with periods, or transients, as a long table, and a table of their labels."""
    rng = np.random.default_rng(seed)
    m = 40
    at = np.sort(rng.uniform(0, 60, (n, m)), axis=1)
    period = rng.uniform(0.5, 0.9, n)
    sharp = np.arange(n) % 2
    phase = 2 * np.pi * at / period[:, None]
    flux = 10 + np.sin(phase) + sharp[:, None] * 0.8 * np.cos(2 * phase)
    if transient:
        flux = 1 + 50 * np.exp(
            -0.5 * ((at - rng.uniform(20, 40, (n, 1))) / np.where(sharp, 3.0, 6.0)[:, None]) ** 2
        )
    rows = pd.DataFrame(
        {
            "object_id": np.repeat(np.arange(n) + 1000 * seed, m),
            "mjd": at.ravel(),
            "flux": (flux + 0.1 * rng.standard_normal(at.shape)).ravel(),
            "flux_err": 0.1,
        }
    )
    about = pd.DataFrame(
        {
            "object_id": np.arange(n) + 1000 * seed,
            "ra": rng.uniform(0, 360, n),
            "dec": rng.uniform(-90, 90, n),
            "period": period,
            "target": np.where(sharp, 90, 42),
        }
    )
    return rows, about


GP = ["--class-model", "gp", *QUICK[2:]]


def test_labels_apart_for_every_verb_that_learns_or_evaluates(tmp_path: Path) -> None:
    for name, seed in (("train", 1), ("held", 2)):
        rows, about = curves(12, seed)
        rows.to_parquet(tmp_path / f"{name}.parquet")
        about.to_csv(tmp_path / f"{name}_objects.csv", index=False)
    apart = ("--labels", tmp_path / "train_objects.csv", "--label", "target", "--period", "period")
    model, words = fitted(tmp_path / "train.parquet", *apart, quick=GP)
    assert model.classes_.tolist() == [42, 90]
    assert "periods from period" in words and "folded" in words
    assert model.layout_["preparation"]["fold"]
    held = ("--labels", tmp_path / "held_objects.csv", "--label", "target")
    found = run("evaluate", tmp_path / "train.badac", tmp_path / "held.parquet", *held, "--json", "-j", "1")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["classification"]["n_objects"] == 12
    done = run(
        "evaluate", tmp_path / "train.parquet", *apart, "--class-model", "gp", "--folds", "2", "-j", "1"
    )
    assert done.exit_code == 0, done.output
    done = run(
        "rank", tmp_path / "train.badac", tmp_path / "held.parquet", "-o", tmp_path / "out", "--show", "1",
        "--period", tmp_path / "held_objects.csv", "-j", "1",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "periods from held_objects.csv" in said(done)
    again = run("rank", tmp_path / "train.badac", tmp_path / "held.parquet", "-o", tmp_path / "no")
    assert again.exit_code == 1 and "neither a column" in said(again) and "--period" in said(again)


def test_evaluate_says_that_objects_were_in_training(place: Path) -> None:
    done = run("evaluate", place / "train.badac", place / "train.csv", "--label", "kind", "-j", "1")
    assert done.exit_code == 0, done.output
    assert "24 of 24 objects were in the training (HD 0000," in said(done)
    stars(seed=3).to_csv(place / "held.csv", index=False)
    done = run("evaluate", place / "train.badac", place / "held.csv", "--label", "kind", "-j", "1")
    assert "were in the training" not in said(done)


# -- light curves before the model -----------------------------------------------------------------------------------------


def test_a_hint_where_curves_repeat_or_rise_once_and_nothing_was_said(tmp_path: Path) -> None:
    for name, transient, hint in (("stars", False, "--find-period"), ("novae", True, "--align peak")):
        rows, about = curves(10, 3, transient=transient)
        path = tmp_path / f"{name}.csv"
        rows.merge(about[["object_id", "target"]], on="object_id").to_csv(path, index=False)
        _, words = fitted(path, quick=GP)
        assert hint in words
    model, words = fitted(tmp_path / "novae.csv", "--align", "peak", quick=GP)
    assert "aligned at the peak" in words and "rise and fade" not in words
    assert float(np.nanmax(model.training_.values)) == 1.0


def test_periods_are_found(tmp_path: Path) -> None:
    rows, about = curves(8, 4)
    rows.to_csv(tmp_path / "curves.csv", index=False)
    about.drop(columns="period").to_csv(tmp_path / "objects.csv", index=False)
    model, words = fitted(
        tmp_path / "curves.csv", "--labels", tmp_path / "objects.csv", "--find-period", "--mag", quick=GP
    )
    assert "periods found" in words
    assert model.layout_["preparation"]["quantity"] == "magnitude"
    assert model.training_.at is not None and float(np.nanmax(model.training_.at)) < 1.0


# -- what travels, and where to ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "suffix"),
    [("csv", "csv"), ("parquet", "parquet"), ("fits", "fits"), ("votable", "vot"), ("ecsv", "ecsv")],
)
def test_columns_that_are_no_features_reach_the_ranking(
    form: str, suffix: str, place: Path, tmp_path: Path
) -> None:
    done = run(
        "rank",
        place / "train.badac",
        place / "new.csv",
        "-o",
        tmp_path / "out",
        "--format",
        form,
        "--show",
        "1",
        "-j",
        "1",
    )
    assert done.exit_code == 0, done.output
    found = read_frame(tmp_path / "out" / f"ranking.{suffix}", text=["object"]).sort_values("object")
    new = stars(seed=1)
    assert found["object"].tolist() == new["star"].tolist()
    np.testing.assert_allclose(found["ra"], new["ra"])
    assert found["flag"].tolist() == new["flag"].tolist()
    assert [str(day)[:10] for day in found["night"]] == new["night"].dt.strftime("%Y-%m-%d").tolist()


def test_the_labels_of_a_new_table_travel_under_a_name_of_their_own(place: Path, tmp_path: Path) -> None:
    stars(seed=5).rename(columns={"kind": "class"}).to_csv(tmp_path / "new.csv", index=False)
    done = run(
        "rank", place / "train.badac", tmp_path / "new.csv", "-o", tmp_path / "out", "--show", "1", "-j", "1"
    )
    assert done.exit_code == 0, done.output
    found = read_frame(tmp_path / "out" / "ranking.parquet")
    assert (found["class"] == found["class_in_table"]).mean() > 0.9


def test_names_that_come_again_in_another_batch_are_said(place: Path, tmp_path: Path) -> None:
    frame = stars(seed=6)
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "new.csv", index=False)
    done = run(
        "rank",
        place / "train.badac",
        tmp_path / "new.csv",
        "-o",
        tmp_path / "out",
        "--batch",
        "10",
        "--show",
        "1",
    )
    assert done.exit_code == 0, done.output
    assert "1 name came more than once (HD 6000)" in said(done)


# -- units -------------------------------------------------------------------------------------------------------------------


def test_a_scaled_table_is_said_before_the_ranking(place: Path, tmp_path: Path) -> None:
    stars(seed=7, scale=1000.0).to_csv(tmp_path / "new.csv", index=False)
    done = run(
        "rank", place / "train.badac", tmp_path / "new.csv", "-o", tmp_path / "out", "--show", "1", "-j", "1"
    )
    assert done.exit_code == 0, done.output
    words = said(done)
    assert "values are about 1000 times the training's in 3 of 3 columns (u, g, r)" in words
    assert words.index("1000 times") < words.index("compared with 2 known classes")


def test_units_are_converted_or_refused(tmp_path: Path) -> None:
    from astropy import units
    from astropy.table import QTable

    def table(unit: Any, factor: float, seed: int) -> QTable:
        frame = stars(seed=seed).drop(columns="night")
        found = QTable.from_pandas(frame)
        for name in ("u", "g", "r", "u_err", "g_err", "r_err"):
            found[name] = np.asarray(frame[name]) * factor * unit
        return found

    table(units.Jy, 1.0, 0).write(tmp_path / "train.fits")
    table(units.mJy, 1000.0, 1).write(tmp_path / "new.ecsv")
    table(units.m, 1.0, 1).write(tmp_path / "metres.ecsv")
    model, _ = fitted(tmp_path / "train.fits", *NAMED)
    assert model.layout_["units"] == {"u": "Jy", "g": "Jy", "r": "Jy"}
    done = run("rank", tmp_path / "train.badac", tmp_path / "new.ecsv", "-o", tmp_path / "out", "--show", "1")
    assert done.exit_code == 0, done.output
    assert "times the training's" not in said(done)
    found = read_frame(tmp_path / "out" / "ranking.parquet")
    assert (found["class"] == found["kind"]).mean() > 0.9
    done = run("rank", tmp_path / "train.badac", tmp_path / "metres.ecsv", "-o", tmp_path / "no")
    assert done.exit_code == 1 and "does not convert to Jy" in said(done)


def test_coordinates_of_an_npz_that_do_not_fit_are_said(tmp_path: Path) -> None:
    frame = stars()
    np.savez(
        tmp_path / "t.npz",
        values=frame[["u", "g", "r"]],
        sigma=frame[["u_err", "g_err", "r_err"]],
        label=frame["kind"].to_numpy(str),
        at=np.arange(5.0),
    )
    _, words = fitted(tmp_path / "t.npz")
    assert "arrays of the file that were not used: at (5,)" in words


# -- waiting -----------------------------------------------------------------------------------------------------------------


def test_long_steps_say_so_in_a_pipe_unless_quiet(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from badac.cli import speech

    monkeypatch.setattr(speech, "LONG", 0.0)
    command = ("fit", place / "train.csv", "-o", tmp_path / "m.badac", "--overwrite", *QUICK, *NAMED)
    done = run(*command)
    for words in (
        "Reading train.csv",
        "Learning 2 classes from 24 objects",
        "Learning class dwarf from 12 objects",
        " s",
    ):
        assert words in done.stderr
    assert "Learning" not in run(*command, "--quiet").stderr
    assert "Learning" not in done.stdout


def test_no_time_left_is_shown_before_it_is_known() -> None:
    from rich.progress import Task

    from badac.cli.speech import TimeLeft

    now = [100.0]
    task = Task(0, "x", 1000.0, 0.0, _get_time=lambda: now[0])  # type: ignore[arg-type]
    task.start_time = 98.5
    assert str(TimeLeft().render(task)) == ""
    task.completed = 100.0
    assert str(TimeLeft().render(task)) == ""
    now[0] = 108.5
    assert str(TimeLeft().render(task)) == "about 90 s left" or "min left" in str(TimeLeft().render(task))

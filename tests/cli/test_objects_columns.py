"""--columns with light curves: columns of the objects' own table beside the curves, remembered by the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from badac import load
from badac.cli.app import app
from badac.data import Catalogue, from_table
from badac.job import Record, TableOptions
from badac.job.batches import batches
from badac.job.record import layout_of

pytestmark = pytest.mark.usefixtures("one_drawing")
RUN = CliRunner()
QUICK = ["--class-model", "gp", "--folds", "0", "--no-diagnose", "-j", "1", "-q"]
POINTS = 6


def run(*words: object) -> Any:
    return RUN.invoke(app, [str(word) for word in words])


def said(done: Any) -> str:
    return " ".join(done.output.split())


def write_objects(folder: Path, name: str, n: int, seed: int) -> tuple[Path, Path]:
    """Curves that tell nothing of the class, and a table of the objects whose redshift tells it."""
    rng = np.random.default_rng(seed)
    ids = [f"SN{seed}{row:03d}" for row in range(n)]
    kind = np.array(["near", "far"])[np.arange(n) % 2]
    time = np.sort(rng.uniform(0, 1, (n, POINTS)), axis=1)
    flux = np.sin(3 * time) + 0.1 * rng.standard_normal(time.shape)
    points = pd.DataFrame({"object_id": np.repeat(ids, POINTS), "time": time.ravel(), "flux": flux.ravel()})
    points["flux_err"] = 0.1
    redshift = np.where(kind == "near", 0.2, 0.6) + 0.03 * rng.standard_normal(n)
    redshift[3] = np.nan
    table = pd.DataFrame(
        {"object_id": ids, "type": kind, "host_photoz": redshift, "ra": rng.uniform(0, 360, n)}
    )
    table["host_photoz_err"] = 0.03
    points.to_parquet(folder / f"{name}.parquet")
    # The order of the two tables is not the same: they are joined by name.
    table.sample(frac=1.0, random_state=seed).to_csv(folder / f"{name}_objects.csv", index=False)
    return folder / f"{name}.parquet", folder / f"{name}_objects.csv"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("beside")
    train, objects = write_objects(folder, "train", 16, 1)
    new, new_objects = write_objects(folder, "new", 12, 2)
    model = folder / "model.badac"
    done = run("fit", train, "--labels", objects, "--columns", "host_photoz", "-o", model, *QUICK)
    assert done.exit_code == 0, done.output
    return {
        "train": train,
        "objects": objects,
        "new": new,
        "new_objects": new_objects,
        "model": model,
        "folder": folder,
    }


def test_the_model_learns_with_the_column_and_remembers_it(files):
    model = load(files["model"])
    assert model.beside_.names == ("host_photoz",)
    record = Record.of(model)
    assert record is not None and tuple(record.layout.beside) == ("host_photoz",)
    assert "beside the points: host_photoz +- host_photoz_err" in record.recognised
    frame = pd.read_parquet(files["new"])
    asked = from_table(frame, objects=str(files["new_objects"]), columns=["host_photoz"]).objects
    column = asked.columns["host_photoz"]
    known = ~np.isnan(column.values)
    called = model.predict(asked)
    assert (called[known] == np.where(column.values < 0.4, "near", "far")[known]).all()


def test_rank_reads_the_column_of_new_objects_and_agrees_with_python(files):
    out = files["folder"] / "results"
    done = run("rank", files["model"], files["new"], "--labels", files["new_objects"], "-o", out, "-j", "1")
    assert done.exit_code == 0, done.output
    assert "no effect" not in said(done) and "not used" not in said(done)
    ranking = pd.read_parquet(out / "ranking.parquet").set_index("object")
    frame = pd.read_parquet(files["new"])
    found = from_table(frame, objects=str(files["new_objects"]), columns=["host_photoz"])
    called = load(files["model"]).predict(found.objects)
    assert ranking.loc[list(found.ids), "class"].tolist() == called.tolist()


def test_small_batches_and_objects_that_the_table_lacks(files):
    table = pd.read_csv(files["new_objects"])
    short = files["folder"] / "short.csv"
    table[table["object_id"] != "SN2011"].to_csv(short, index=False)
    layout = TableOptions(labels=str(short)).over(layout_of(load(files["model"])))
    parts = list(batches(files["new"], layout, 25))
    assert len(parts) > 3 and sum(len(part) for part in parts) == 12
    # The last object is a batch of its own, and the table of the objects does not have it.
    assert "1 objects are not in the table of the objects: they have no host_photoz" in str(parts[-1].losses)
    asked = Catalogue.together(parts)
    expected = table.set_index("object_id")["host_photoz"].reindex(list(asked.ids)).to_numpy().copy()
    expected[-1] = np.nan
    np.testing.assert_allclose(asked.objects.columns["host_photoz"].values, expected)


def test_absent_columns_are_named_in_one_sentence(files):
    out = files["folder"] / "none"
    done = run("rank", files["model"], files["new"], "-o", out, "-j", "1")
    assert done.exit_code != 0 and "Traceback" not in done.output
    assert "beside the points (host_photoz)" in said(done) and "--objects FILE" in said(done)
    lacking = files["folder"] / "lacking.csv"
    pd.read_csv(files["new_objects"])[["object_id", "type", "ra"]].to_csv(lacking, index=False)
    done = run("rank", files["model"], files["new"], "--labels", lacking, "-o", out, "-j", "1")
    assert done.exit_code != 0 and "has no column host_photoz" in said(done)


def test_evaluate_of_a_model_and_by_cross_validation(files):
    words = ("--labels", files["new_objects"], "--json", "-j", "1")
    done = run("evaluate", files["model"], files["new"], *words)
    assert done.exit_code == 0, done.output
    # All but the one object without a redshift, which is a coin's throw.
    assert json.loads(done.stdout)["classification"]["accuracy"] >= 11 / 12
    table = ("--labels", files["objects"], "--columns", "host_photoz", "--class-model", "gp")
    done = run("evaluate", files["train"], *table, "--folds", "2", "--json", "-j", "1")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["classification"]["accuracy"] >= 15 / 16


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--columns", "type"), "holds the labels"),
        (("--columns", "object_id"), "holds the names of the objects"),
        (("--columns", "photoz"), "no column is called 'photoz' (--columns)"),
    ],
)
def test_columns_that_cannot_count_are_refused(files, words, sentence):
    out = files["folder"] / "refused.badac"
    done = run("fit", files["train"], "--labels", files["objects"], *words, "-o", out, *QUICK)
    assert done.exit_code != 0 and sentence in said(done)


def test_without_a_table_of_the_objects_it_says_where_columns_come_from(files):
    done = run("fit", files["train"], "--columns", "host_photoz", "-o", files["folder"] / "x.badac", *QUICK)
    assert done.exit_code != 0 and "--labels FILE" in said(done)


def test_one_step_takes_the_table_of_the_new_objects(files):
    out = files["folder"] / "one_step"
    words = ("rank", files["train"], files["new"], "--labels", files["objects"], "--columns", "host_photoz")
    done = run(*words, "--objects", files["new_objects"], "-o", out, *QUICK)
    assert done.exit_code == 0, done.output
    ranking = pd.read_parquet(out / "ranking.parquet").set_index("object")
    known = pd.read_csv(files["new_objects"]).set_index("object_id")
    # Its other columns travel along, and the redshift tells the class of whoever has one.
    np.testing.assert_allclose(ranking["ra"], known.loc[ranking.index, "ra"])
    measured = known.loc[ranking.index, "host_photoz"].notna()
    assert (ranking["class"] == known.loc[ranking.index, "type"])[measured].all()


def test_one_step_says_before_it_learns_that_the_new_objects_are_nowhere(files):
    out = files["folder"] / "nowhere"
    done = run(
        "rank", files["train"], files["new"], "--labels", files["objects"], "--columns", "host_photoz",
        "-o", out, *(word for word in QUICK if word != "-q"),
    )  # fmt: skip
    assert done.exit_code != 0 and "--objects FILE" in said(done) and "train_objects.csv" in said(done)
    assert "Learning" not in said(done) and not out.exists()


def test_the_table_of_new_objects_is_refused_where_none_are_read(files):
    done = run("fit", files["train"], "--labels", files["objects"], "--objects", files["objects"], *QUICK)
    assert done.exit_code != 0 and "--labels FILE" in said(done)


def write_periodic(folder: Path, name: str, n: int, seed: int) -> tuple[Path, Path]:
    """Stars whose shape shows in phase alone, with periods in a table of their own."""
    rng = np.random.default_rng(seed)
    ids, kind = [f"V{seed}{row:03d}" for row in range(n)], np.array(["saw", "sine"])[np.arange(n) % 2]
    period = rng.uniform(0.4, 0.9, n)
    time = np.sort(rng.uniform(0, 50, (n, 40)), axis=1)
    phase = time / period[:, None] % 1.0
    shape = np.where((kind == "saw")[:, None], 2 * phase - 1, np.sin(2 * np.pi * phase))
    rows = pd.DataFrame({"oid": np.repeat(ids, 40), "mjd": time.ravel(), "flux": shape.ravel()})
    rows["flux_err"] = 0.1
    rows["flux"] += 0.1 * rng.standard_normal(len(rows))
    rows.to_csv(folder / f"{name}.csv", index=False)
    table = pd.DataFrame({"oid": ids, "class": kind, "period": period})
    table.to_csv(folder / f"{name}_stars.csv", index=False)
    return folder / f"{name}.csv", folder / f"{name}_stars.csv"


def test_periods_of_new_objects_come_from_their_own_table(tmp_path):
    train, stars = write_periodic(tmp_path, "known", 24, 1)
    new, new_stars = write_periodic(tmp_path, "later", 10, 2)
    words = ("rank", train, new, "--labels", stars, "--period", "period", "-o", tmp_path / "out")
    quick = ("--class-model", "population", *QUICK[2:])
    done = run(*words, *quick)
    assert done.exit_code != 0 and "--objects FILE" in said(done) and not (tmp_path / "out").exists()
    done = run(*words, "--objects", new_stars, *quick)
    assert done.exit_code == 0, done.output
    ranking = pd.read_parquet(tmp_path / "out" / "ranking.parquet").set_index("object")
    truth = pd.read_csv(new_stars).set_index("oid")
    assert (ranking["class"] == truth.loc[ranking.index, "class"]).mean() >= 0.9
    done = run("explain", tmp_path / "out", "--rank", "1", "--objects", new_stars, "-j", "1")
    assert done.exit_code == 0, done.output


def test_labels_that_cannot_be_read_are_named_by_their_own_file(
    tmp_path: Path, files: dict[str, Path]
) -> None:
    table = tmp_path / "kinds.csv"
    pd.read_csv(files["objects"])[["object_id", "ra", "host_photoz"]].to_csv(table, index=False)
    done = run("fit", files["train"], "--labels", table, *QUICK, "-o", tmp_path / "m.badac")
    assert done.exit_code != 0
    assert "kinds.csv: the table of labels needs a column" in said(done)


def test_what_to_do_next_names_the_table_of_the_objects_only_where_it_counts(
    tmp_path: Path, files: dict[str, Path]
) -> None:
    quick = [word for word in QUICK if word != "-q"]
    for extra, expected in (
        ([], False),
        (["--columns", "host_photoz", "--objects", files["new_objects"]], True),
    ):
        folder = tmp_path / f"out{len(extra)}"
        done = run(
            "rank", files["train"], files["new"], "--labels", files["objects"], *extra, *quick, "-o", folder
        )
        assert done.exit_code == 0, done.output
        assert ("--objects" in said(done).split("Next: badac explain")[1]) is expected

"""What was said goes out and comes in: verdicts, labels of coniferest and Astronomaly, `fit --verdicts`, `rank --verdicts`."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from badac import load
from badac.cli.app import app
from badac.triage import Session
from badac.triage.exports import read_labels, take_labels, training_table, verdict_table, write_export
from badac.triage.verdict_files import read_verdicts


@pytest.fixture(scope="module")
def folder(survey, tmp_path_factory):
    """Tables and a model as the command line makes them, and a session about them."""
    from badac.store import save

    where = tmp_path_factory.mktemp("survey")
    for name, objects, more in (
        ("train", survey.model.training_, {"label": survey.model.training_label_}),
        ("new", survey.objects, {}),
    ):
        columns = {f"f_{k:02d}": objects.values[:, k] for k in range(24)}
        columns |= {f"f_{k:02d}_err": objects.sigma[:, k] for k in range(24)}
        ids = survey.ids if name == "new" else [f"known-{k}" for k in range(len(objects))]
        pandas.DataFrame({"object": ids, **more, **columns}).to_csv(where / f"{name}.csv", index=False)
    save(survey.model, where / "model.badac")
    session = Session(survey.model, survey.objects, where / "looks.jsonl", survey.ids)
    for row in np.flatnonzero(survey.truth == "wave"):
        session.say(int(row), "new", "wave")
    for row in np.flatnonzero(survey.truth == "spike"):
        session.say(int(row), "artefact", "spike")
    session.say(int(np.flatnonzero(survey.truth == "rise")[0]), "unsure")
    return where


def ran(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def test_verdict_table_has_what_holds(survey):
    session = Session(survey.model, survey.objects, ids=survey.ids)
    session.say(0, "new", "wave")
    session.say(1, "class", "rise")
    session.undo()
    found = verdict_table(session.statements)
    assert (found["object"], found["said"], found["name"]) == (["star-0"], ["new"], ["wave"])
    objects, labels = training_table(session)
    assert labels.tolist() == ["wave"] and objects.n_objects == 1


@pytest.mark.parametrize(
    ("form", "column", "wave", "spike", "unsure"),
    [
        ("coniferest", "label", -1, 1, 0),
        ("astronomaly", "human_label", 5, 0, -1),
    ],
)
def test_labels_of_others_go_out_and_come_in(survey, folder, tmp_path, form, column, wave, spike, unsure):
    path = tmp_path / "labels.csv"
    assert write_export(folder / "looks.jsonl", path, form) == 17
    with path.open(newline="") as file:
        found = {row["object"]: int(row[column]) for row in csv.DictReader(file)}
    by_truth = {str(survey.truth[survey.ids.index(name)]): label for name, label in found.items()}
    assert by_truth == {"wave": wave, "spike": spike, "rise": unsure}
    session = Session(survey.model, survey.objects, ids=survey.ids)
    taken = take_labels(session, read_labels(path, form), form)
    assert taken == (
        17 if form == "coniferest" else 16
    )  # Astronomaly has no word for "looked at, cannot tell"
    assert session.figures().found == 10


def test_export_by_the_command_line(folder, tmp_path):
    ran("triage", folder / "looks.jsonl", "--export", tmp_path / "verdicts.csv")
    said, _ = read_verdicts(tmp_path / "verdicts.csv")
    assert sum(what == ("new", "wave") for what in said.values()) == 10
    wrong = CliRunner().invoke(
        app, ["triage", str(folder / "looks.jsonl"), "--export", "x.csv", "--as", "pdf"]
    )
    assert wrong.exit_code == 1 and "must be one of" in wrong.output


def test_fit_learns_the_kind_that_was_named(folder, tmp_path):
    options = [
        "--folds",
        0,
        "--no-diagnose",
        "--class-model",
        "template",
        "--jobs",
        1,
        "-o",
        tmp_path / "m.badac",
    ]
    lost = CliRunner().invoke(
        app, ["fit", str(folder / "train.csv"), "--verdicts", str(folder / "looks.jsonl"), *map(str, options)]
    )
    assert lost.exit_code == 1 and "--verdicts-table" in lost.output  # the session was not begun from a file
    ran(
        "fit",
        folder / "train.csv",
        "--verdicts",
        folder / "looks.jsonl",
        "--verdicts-table",
        folder / "new.csv",
        *options,
    )
    assert load(tmp_path / "m.badac").classes_.tolist() == ["fall", "rise", "wave"]


def test_rank_leaves_out_what_was_explained(folder, tmp_path):
    found = ran(
        "rank",
        folder / "model.badac",
        folder / "new.csv",
        "--verdicts",
        folder / "looks.jsonl",
        "--show",
        2,
        "--json",
        "--jobs",
        1,
        "-o",
        tmp_path / "ranking",
    )
    frame = pandas.read_parquet(tmp_path / "ranking" / "ranking.parquet")
    said, _ = read_verdicts(folder / "looks.jsonl")
    gone = {name for name, (what, _) in said.items() if what == "artefact"}
    assert len(gone) == 6 and not gone & set(frame["object"]) and len(frame) == 250
    assert "discoveries" in json.loads(found[found.index("{") : found.rindex("}") + 1])


def test_bad_verdicts_are_told_apart(tmp_path):
    table = tmp_path / "verdicts.csv"
    table.write_text("object,what\na,new\n")
    with pytest.raises(ValueError, match="object, said and name"):
        read_verdicts(table)
    table.write_text("object,said,name\na,nice,\n")
    with pytest.raises(ValueError, match="'nice' is not one of"):
        read_verdicts(table)
    with pytest.raises(FileNotFoundError):
        read_verdicts(tmp_path / "none.csv")
    (tmp_path / "l.csv").write_text("object,label\na,1\n")
    with pytest.raises(ValueError, match="human_label"):
        read_labels(tmp_path / "l.csv", "astronomaly")

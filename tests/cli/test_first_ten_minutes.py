"""A new user's first ten minutes: what goes wrong says what is wrong and what to do, and leaves nothing half-written."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from badac import __version__
from badac.cli.app import app
from badac.data import Measurements
from badac.job.simulated import to_frame

pytestmark = pytest.mark.usefixtures("one_drawing")
RUN = CliRunner()
QUICK = ["--class-model", "template", "--folds", "2", "--no-diagnose", "-j", "1"]
RANK = ["rank", "--show", "1", "-j", "1"]


def objects(n, seed):
    """Two kinds of curves of eight points; the last object is like neither."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(n) < 0.5, "rising", "falling")
    slope = np.where(label == "rising", 1.0, -1.0)[:, None] * rng.normal(1.0, 0.1, (n, 1))
    truth = slope * np.linspace(0.0, 3.0, 8)
    truth[-1] = [0, 0, 9, 9, -9, -9, 0, 0]
    sigma = rng.uniform(0.1, 0.3, truth.shape)
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma), label


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    train, label = objects(120, 1)
    to_frame(train[:-1], "known-", label[:-1]).to_csv(place / "train.csv", index=False)
    new, truth = objects(60, 2)
    to_frame(new, "new-").to_csv(place / "new.csv", index=False)
    to_frame(new, "new-", np.append(truth[:-1], "zigzag")).to_csv(place / "held.csv", index=False)
    return place


@pytest.fixture(scope="module")
def model(tables):
    done = RUN.invoke(app, ["fit", str(tables / "train.csv"), "-o", str(tables / "model.badac"), *QUICK])
    assert done.exit_code == 0, done.output
    return tables / "model.badac"


def said(done):
    return " ".join(done.stderr.split())


def left(folder):
    """What lies in a folder, hidden or not."""
    return sorted(entry.name for entry in folder.iterdir())


# -- what works ----------------------------------------------------------------------------------------------------------


@pytest.mark.drawn
def test_two_files_are_enough(tables, tmp_path):
    done = RUN.invoke(
        app, [*RANK, str(tables / "train.csv"), str(tables / "new.csv"), "-o", str(tmp_path / "out"), *QUICK]
    )
    assert done.exit_code == 0, done.output
    assert "wide table, one row per object: object = object, label = label, 8 values with errors" in said(
        done
    )
    assert "2 classes: falling" in said(done)
    assert left(tmp_path) == ["out"]
    assert left(tmp_path / "out") == ["model.badac", "ranking.parquet", "report.html", "summary.json"]
    ranking = pd.read_parquet(tmp_path / "out" / "ranking.parquet")
    assert list(ranking.columns) == [
        "rank", "object", "anomaly_proba", "pvalue", "score", "class", "class_proba", "pvalue_kind",
        "proba_falling", "proba_rising",
    ]  # fmt: skip
    assert ranking["object"][0] == "new-59"
    assert ranking["rank"].tolist() == list(range(1, 61))
    assert np.allclose(ranking["proba_falling"] + ranking["proba_rising"], 1.0, atol=1e-6)


def test_options_about_the_training_are_not_dropped_without_a_word(tables, model, tmp_path):
    command = [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out")]
    done = RUN.invoke(app, [*command, "--noise", "student", "--seed", "3"])
    assert done.exit_code == 0, done.output
    assert "--noise, --seed have no effect" in " ".join(done.stderr.split())
    done = RUN.invoke(app, ["evaluate", str(model), str(tables / "train.csv"), "--folds", "2", "-j", "1"])
    assert done.exit_code == 0, done.output
    assert "--folds has no effect" in " ".join(done.stderr.split())
    done = RUN.invoke(app, [*command, "--overwrite"])
    assert "no effect" not in done.stderr


def test_a_model_file_gives_the_same_ranking_in_small_batches_and_as_csv(tables, model, tmp_path):
    command = [*RANK, str(model), str(tables / "new.csv"), "-j", "1"]
    for name, extra in (("one", []), ("many", ["--batch", "7", "--format", "csv"])):
        done = RUN.invoke(app, [*command, "-o", str(tmp_path / name), *extra])
        assert done.exit_code == 0, done.output
    one, many = (
        pd.read_parquet(tmp_path / "one" / "ranking.parquet"),
        pd.read_csv(tmp_path / "many" / "ranking.csv"),
    )
    pd.testing.assert_frame_equal(one, many, check_dtype=False, rtol=1e-5)
    assert "badac rank" in (tmp_path / "many" / "report.html").read_text()


def test_json_alone_on_standard_output(tables, model, tmp_path):
    done = RUN.invoke(
        app, [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out"), "--json", "--quiet"]
    )
    found = json.loads(done.stdout)
    assert found["n_objects"] == 60
    assert found["strangest"][0]["object"] == "new-59"
    assert sum(found["classes"].values()) == 60
    assert done.stderr == ""


def test_explain_names_the_points(tables, model, tmp_path):
    figure = tmp_path / "strange.png"
    done = RUN.invoke(
        app, ["explain", str(model), str(tables / "new.csv"), "new-59", "-o", str(figure), "-j", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "x002" in done.stdout or "x003" in done.stdout or "x004" in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")
    absent = RUN.invoke(app, ["explain", str(model), str(tables / "new.csv"), "new-60"])
    assert absent.exit_code == 1
    assert "has no object 'new-60'. Near it: new-" in said(absent)


def test_evaluate_counts_unknown_labels_as_anomalies(tables, model):
    done = RUN.invoke(app, ["evaluate", str(model), str(tables / "held.csv"), "--json", "-j", "1"])
    found = json.loads(done.stdout)
    assert found["classification"]["n_objects"] == 59
    assert found["classification"]["accuracy"] > 0.95
    assert found["detection"]["n_anomalies"] == 1
    assert found["detection"]["unknown"] == ["zigzag"]
    assert found["detection"]["auc"] == 1.0


def test_evaluate_cross_validates_a_table(tables):
    done = RUN.invoke(
        app, ["evaluate", str(tables / "train.csv"), "--folds", "2", "--class-model", "template", "-j", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "119 objects of known classes, cross-validated in 2 folds" in done.stdout


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_simulated_tables_go_straight_into_the_job(form, tmp_path):
    done = RUN.invoke(app, ["simulate", "1", "-n", "200", "-o", str(tmp_path / "sim"), "-f", form])
    assert done.exit_code == 0, done.output
    assert left(tmp_path / "sim") == sorted([f"train.{form}", f"new.{form}", "truth.csv"])
    assert f"badac rank {tmp_path / 'sim'}" in done.stderr.replace("\n", "")


@pytest.mark.parametrize("suffix", [".parquet", ".fits", ".npz"])
def test_every_kind_of_file(tables, suffix, tmp_path):
    paths = []
    for name in ("train", "new"):
        frame = pd.read_csv(tables / f"{name}.csv")
        paths.append(tmp_path / f"{name}{suffix}")
        if suffix == ".parquet":
            frame.to_parquet(paths[-1])
        elif suffix == ".fits":
            from astropy.table import Table

            Table.from_pandas(frame).write(paths[-1])
        else:
            values = frame.filter(regex=r"^x\d+$").to_numpy()
            columns = {"label": frame["label"].to_numpy(str)} if "label" in frame else {}
            np.savez(
                paths[-1],
                values=values,
                sigma=frame.filter(like="_err").to_numpy(),
                at=np.arange(8.0),
                **columns,
            )
    done = RUN.invoke(app, [*RANK, *map(str, paths), "-o", str(tmp_path / "out"), *QUICK])
    assert done.exit_code == 0, done.output
    ranking = pd.read_parquet(tmp_path / "out" / "ranking.parquet")
    assert str(ranking["object"][0]) == ("59" if suffix == ".npz" else "new-59")


# -- what goes wrong -----------------------------------------------------------------------------------------------------


def changed(tables, tmp_path, change):
    frame = change(pd.read_csv(tables / "train.csv"))
    path = tmp_path / "changed.csv"
    frame.to_csv(path, index=False)
    return path


WRONG = {
    "label misspelled": (lambda f: f, ["--label", "labell"], "has no column 'labell'. Did you mean 'label'?"),
    "label not recognised": (lambda f: f.rename(columns={"label": "kind_of"}), [], "Name it with --label COLUMN"),
    "no error columns": (
        lambda f: f[[c for c in f if not c.endswith("_err")]],
        [],
        "has no error columns: badac needs one standard deviation beside each value, named like it with _err at the end "
        "(x000 and x000_err)",
    ),
    "labels empty": (lambda f: f.assign(label=None), [], "no object has a label"),
    "an identifier as label": (lambda f: f, ["--label", "object"], "names or numbers, not classes"),
    "text among numbers": (lambda f: f.assign(x003="broken"), [], "Column 'x003' must hold numbers"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_table_is_explained(what, tables, tmp_path):
    change, extra, words = WRONG[what]
    path = changed(tables, tmp_path, change)
    for verb in (
        ["fit", str(path), "-o", str(tmp_path / "m.badac")],
        [*RANK, str(path), str(tables / "new.csv"), "-o", str(tmp_path / "out")],
    ):
        done = RUN.invoke(app, [*verb, *QUICK, *extra])
        assert done.exit_code == 1, done.output
        assert words in said(done)
        assert left(tmp_path) == ["changed.csv"]


def test_values_without_errors_can_be_ranked_on_request(tables, tmp_path):
    for name in ("train", "new"):
        frame = pd.read_csv(tables / f"{name}.csv")
        frame[[c for c in frame if not c.endswith("_err")]].to_csv(tmp_path / f"{name}.csv", index=False)
    done = RUN.invoke(
        app,
        [
            "rank",
            str(tmp_path / "train.csv"),
            str(tmp_path / "new.csv"),
            "-o",
            str(tmp_path / "out"),
            "--errors",
            "none",
            *QUICK,
        ],
    )
    assert done.exit_code == 0, done.output
    assert pd.read_parquet(tmp_path / "out" / "ranking.parquet")["object"][0] == "new-59"


def test_some_labels_missing_are_left_out_and_said(tables, tmp_path):
    path = changed(tables, tmp_path, lambda f: f.assign(label=f["label"].where(f.index >= 5)))
    done = RUN.invoke(app, ["fit", str(path), "-o", str(tmp_path / "m.badac"), *QUICK])
    assert done.exit_code == 0, done.output
    assert "5 objects left out: no label (known-000" in said(done)


def test_one_class_still_ranks_and_says_so(tables, tmp_path):
    path = changed(tables, tmp_path, lambda f: f[f["label"] == "rising"])
    done = RUN.invoke(app, [*RANK, str(path), str(tables / "new.csv"), "-o", str(tmp_path / "out"), *QUICK])
    assert done.exit_code == 0, done.output
    assert "Only one class, 'rising'" in said(done)
    assert "one class only" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.slow
def test_variances_are_told_from_errors(tables, tmp_path):
    def squared(frame):
        errors = [c for c in frame if c.endswith("_err")]
        return frame.assign(**{c: frame[c] ** 2 for c in errors})

    path = changed(tables, tmp_path, squared)
    done = RUN.invoke(app, ["diagnose", str(path), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["looks_like_variances"]
    assert "--errors variance" in found["advice"]
    done = RUN.invoke(app, ["diagnose", str(path), "--errors", "variance", "--json"])
    assert not json.loads(done.stdout)["looks_like_variances"]


def test_columns_of_the_training_that_the_new_table_lacks(tables, model, tmp_path):
    frame = pd.read_csv(tables / "new.csv")
    frame.drop(columns=["x003", "x003_err"]).to_csv(tmp_path / "less.csv", index=False)
    done = RUN.invoke(
        app, [*RANK, str(model), str(tmp_path / "less.csv"), "-o", str(tmp_path / "out"), "-j", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "columns of the training that are missing here: x003" in said(done)
    frame[["object"]].assign(other=1.0).to_csv(tmp_path / "none.csv", index=False)
    done = RUN.invoke(app, [*RANK, str(model), str(tmp_path / "none.csv"), "-o", str(tmp_path / "no")])
    assert done.exit_code == 1
    assert "none of the training's columns is here" in said(done)
    assert not (tmp_path / "no").exists()


def test_a_corrupt_parquet(tables, model, tmp_path):
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 but not really")
    for command in (
        ["fit", str(bad), "-o", str(tmp_path / "m.badac")],
        [*RANK, str(model), str(bad), "-o", str(tmp_path / "out")],
    ):
        done = RUN.invoke(app, command)
        assert done.exit_code == 1
        assert "bad.parquet cannot be read as parquet" in said(done)
        assert "Is it whole, and is the suffix right?" in said(done)
        assert "Traceback" not in done.output
    assert left(tmp_path) == ["bad.parquet"]


def test_a_parquet_that_breaks_off_half_way(tables, model, tmp_path):
    """Its end is whole but a page in the middle is not: the first batches are scored before it shows."""
    new = pd.read_csv(tables / "new.csv")
    whole = tmp_path / "whole.parquet"
    pd.concat([new] * 50, ignore_index=True).to_parquet(whole, row_group_size=500, compression="zstd")
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = np.random.default_rng(3).bytes(2000)
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(bytes(data))
    before = left(tmp_path)
    done = RUN.invoke(
        app, [*RANK, str(model), str(bad), "-o", str(tmp_path / "out"), "--batch", "500", "-j", "1"]
    )
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert left(tmp_path) == before


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("absent.csv", "absent.csv does not exist"),
        ("new.xlsx", "save the sheet as CSV"),
        ("new.doc", "names no kind of table"),
    ],
)
def test_a_file_that_is_not_there_or_no_table(new, words, tables, tmp_path):
    done = RUN.invoke(
        app, [*RANK, str(tables / "train.csv"), str(tmp_path / new), "-o", str(tmp_path / "out")]
    )
    assert done.exit_code == 1
    assert words in said(done)
    assert left(tmp_path) == []


def test_an_existing_folder_is_not_touched_without_a_word(tables, model, tmp_path):
    command = [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out"), "-j", "1"]
    assert RUN.invoke(app, command).exit_code == 0
    before = (tmp_path / "out" / "report.html").stat().st_mtime_ns
    done = RUN.invoke(app, command)
    assert done.exit_code == 1
    assert "holds earlier results" in said(done) and "--overwrite" in said(done)
    assert (tmp_path / "out" / "report.html").stat().st_mtime_ns == before
    assert RUN.invoke(app, [*command, "--overwrite"]).exit_code == 0
    assert (tmp_path / "out" / "report.html").stat().st_mtime_ns != before
    assert left(tmp_path) == ["out"]
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    done = RUN.invoke(app, [*command, "--overwrite"])
    assert done.exit_code == 1
    assert "holds other files (thesis.tex)" in said(done)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years of work"


def test_a_file_in_place_of_the_folder(tables, model, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = RUN.invoke(app, [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "is a file: the results need a folder" in said(done)
    assert (tmp_path / "out").read_text() == "mine"


def test_no_permission_to_write_is_found_out_before_the_work(tables, model, tmp_path, monkeypatch):
    # The user of the tests may be allowed everything, so the system's answer is given here.
    monkeypatch.setattr(os, "access", lambda path, mode, **kwargs: not mode & os.W_OK)
    for command in (
        [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out")],
        ["fit", str(tables / "train.csv"), "-o", str(tmp_path / "m.badac")],
    ):
        done = RUN.invoke(app, command)
        assert done.exit_code == 1
        assert "cannot be written to. Give another" in said(done)
    assert left(tmp_path) == []


def test_a_full_disk_leaves_nothing(tables, model, tmp_path, monkeypatch):
    from badac.job import results

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "write_whole", full)
    done = RUN.invoke(
        app, [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out"), "-j", "1"]
    )
    assert done.exit_code == 1
    assert "No space left on device" in said(done)
    assert left(tmp_path) == []


def test_a_table_where_a_model_is_wanted(tables):
    done = RUN.invoke(app, ["explain", str(tables / "train.csv"), str(tables / "new.csv"), "new-1"])
    assert done.exit_code == 1
    assert "is not a model. Make one with: badac fit" in said(done)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--fdr", "2"], "--fdr is a share between 0 and 1"),
        (["--column", "name"], "--column takes ROLE=NAME"),
        (["--errors", "guess"], "guess"),
    ],
)
def test_a_wrong_option_has_exit_code_2(wrong, words, tables, model, tmp_path):
    done = RUN.invoke(app, [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out"), *wrong])
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert left(tmp_path) == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_half_way_leaves_nothing(tables, model, tmp_path):
    many = tmp_path / "many.csv"
    new = pd.read_csv(tables / "new.csv")
    pd.concat([new] * 400, ignore_index=True).to_csv(many, index=False)
    command = [
        sys.executable, "-c",
        "import badac.job.ranking as r; from badac.cli import main; score = r.score_batch\n"
        "def slow(model, batch):\n    print('scoring', flush=True); import time; time.sleep(0.2); return score(model, batch)\n"
        "r.score_batch = slow; main()",
        *RANK, str(model), str(many), "-o", str(tmp_path / "out"), "--batch", "20", "-j", "1",
    ]  # fmt: skip
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    for _ in range(3):
        assert running.stdout.readline() == "scoring\n"
    os.killpg(running.pid, signal.SIGINT)
    _, words = running.communicate(timeout=60)
    assert running.returncode == 130, words
    assert "Interrupted" in words
    assert "Traceback" not in words
    assert left(tmp_path) == ["many.csv"]


def test_an_interruption_while_writing_leaves_the_old_results(tables, model, tmp_path, monkeypatch):
    from badac.job import results

    command = [*RANK, str(model), str(tables / "new.csv"), "-o", str(tmp_path / "out"), "-j", "1"]
    assert RUN.invoke(app, command).exit_code == 0
    before = (tmp_path / "out" / "report.html").read_bytes()

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "write_whole", interrupted)
    done = RUN.invoke(app, [*command, "--overwrite"])
    assert done.exit_code == 130
    assert left(tmp_path) == ["out"]
    assert (tmp_path / "out" / "report.html").read_bytes() == before


def test_help_of_every_verb_shows_an_example():
    for verb in ("fit", "rank", "explain", "evaluate", "diagnose", "simulate", "demo"):
        told = RUN.invoke(app, [verb, "--help"])
        assert told.exit_code == 0
        assert f"$ badac {verb}" in told.stdout


def test_the_version():
    assert __version__ in RUN.invoke(app, ["--version"]).stdout


def test_help_is_quick_to_import():
    code = "import sys; import badac.cli.app; print([m for m in ('matplotlib', 'sklearn.ensemble') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_replaced_without_a_word(tables, model, tmp_path):
    kept = tmp_path / "model.badac"
    kept.write_bytes(model.read_bytes())
    again = ["fit", str(tables / "held.csv"), "-o", str(kept), *QUICK]
    done = RUN.invoke(app, again)
    assert done.exit_code == 1 and "is there already" in said(done) and "--overwrite" in said(done)
    assert kept.read_bytes() == model.read_bytes()
    assert RUN.invoke(app, [*again, "--overwrite"]).exit_code == 0
    assert kept.read_bytes() != model.read_bytes()
    figure = tmp_path / "why.png"
    figure.write_text("somebody's")
    one = ["explain", str(model), str(tables / "new.csv"), "new-01", "-j", "1", "-o"]
    done = RUN.invoke(app, [*one, str(figure)])
    assert done.exit_code == 1 and "is there already" in said(done)
    assert figure.read_text() == "somebody's"
    done = RUN.invoke(app, [*one, str(tmp_path / "nowhere" / "why.png")])
    assert done.exit_code == 1 and "there is no folder" in said(done)
    assert left(tmp_path) == ["model.badac", "why.png"]


def test_a_table_of_a_header_alone(tables, model, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text((tables / "new.csv").read_text().splitlines()[0] + "\n")
    done = RUN.invoke(app, [*RANK, str(model), str(empty), "-o", str(tmp_path / "results")])
    assert done.exit_code == 1 and "holds no rows" in said(done)
    assert left(tmp_path) == ["empty.csv"]


def test_names_that_are_not_unique_and_objects_without_a_value(tables, model, tmp_path):
    frame = pd.read_csv(tables / "new.csv")
    frame["object"] = "same"
    frame.loc[0, frame.columns[1:]] = np.nan
    frame.to_csv(tmp_path / "odd.csv", index=False)
    done = RUN.invoke(app, ["explain", str(model), str(tmp_path / "odd.csv"), "same", "-j", "1"])
    assert done.exit_code == 0, done.output
    assert "60 objects are called 'same': this is the first of them" in said(done)
    assert "(p-value 1)." in done.stdout and "Nothing was measured" in done.stdout


def test_labels_beside_a_gap_are_those_of_the_model(tables, tmp_path):
    frame = pd.read_csv(tables / "train.csv")
    frame["label"] = (frame["label"] == "rising").astype(int)
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.assign(label=frame["label"].where(frame.index > 3)).to_csv(tmp_path / "held.csv", index=False)
    place = str(tmp_path / "model.badac")
    assert RUN.invoke(app, ["fit", str(tmp_path / "train.csv"), "-o", place, *QUICK]).exit_code == 0
    done = RUN.invoke(app, ["evaluate", place, str(tmp_path / "held.csv"), "-j", "1", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["classification"]["accuracy"] > 0.9


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_who_has_enough_hears_no_complaint(tables, model):
    command = [sys.executable, "-c", "from badac.cli import main; main()"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        done = subprocess.run(
            [*command, "evaluate", str(model), str(tables / "held.csv"), "--json", "-j", "1"],
            stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")

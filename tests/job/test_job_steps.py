"""The steps of the main job: reading alike, scoring by batches, merging, folders that are whole or absent."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from badac import load, save
from badac.dask.parts import Run, judge_piece
from badac.dask.pieces import pieces
from badac.data import Measurements
from badac.estimators.classifier import TrainingSupportWarning
from badac.job import (
    Layout,
    RankOptions,
    Record,
    Settings,
    batches,
    learn,
    merge,
    rank_file,
    read_training,
    report_page,
    rows_in,
    score_batch,
)
from badac.job.explaining import explained, find_object
from badac.job.folder import output_folder
from badac.job.learning import Split, cross_validate
from badac.job.ranking import strangest
from badac.job.record import layout_of
from badac.job.simulated import simulate, to_frame

pytestmark = pytest.mark.usefixtures("one_drawing")


def table(n, seed, points=5):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    truth = label[:, None] + rng.normal(0.0, 0.2, (n, 1)) + np.zeros(points)
    sigma = rng.uniform(0.1, 0.2, truth.shape)
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma), label


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    objects, label = table(100, 0)
    to_frame(objects, "a-", label).to_parquet(folder / "train.parquet")
    to_frame(table(50, 1)[0], "b-").to_parquet(folder / "new.parquet")
    return folder


@pytest.fixture(scope="module")
def model(place):
    settings = Settings(class_model="template", folds=2, diagnose=False)
    return learn(read_training(place / "train.parquet"), settings)


def long_table(objects, label=None):
    """Rows of measurements, shuffled within each object's own."""
    n, m = objects.shape
    frame = pd.DataFrame(
        {
            "object_id": np.repeat([f"s{row}" for row in range(n)], m),
            "mjd": np.tile(np.arange(m, dtype=float), n) + np.repeat(np.linspace(0.0, 0.4, n), m),
            "band": np.tile(np.where(np.arange(m) % 2, "g", "r"), n),
            "flux": objects.values.ravel(),
            "flux_err": objects.sigma.ravel(),
        }
    )
    return frame if label is None else frame.assign(label=np.repeat(label, m))


def test_batches_and_merge_are_the_whole(place, model):
    layout = Record.of(model).layout
    whole = merge([score_batch(model, batch) for batch in batches(place / "new.parquet", layout)])
    pieces = merge([score_batch(model, batch) for batch in batches(place / "new.parquet", layout, 7)])
    assert whole.ids.tolist() == pieces.ids.tolist()
    # A batch only changes the order of sums within the kernels.
    np.testing.assert_allclose(whole.score, pieces.score, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(whole.pvalue, pieces.pvalue, rtol=1e-9)
    assert np.all(np.diff(whole.score) <= 0)


def test_scoring_a_batch_is_pure(place, model):
    batch = next(batches(place / "new.parquet", Record.of(model).layout))
    first, second = score_batch(model, batch), score_batch(model, batch)
    assert set(first.quantities) == {"object", "proba", "anomaly_proba", "pvalue", "extrapolated", "score"}
    for name in first.quantities:
        np.testing.assert_array_equal(first[name], second[name])


def test_the_strangest_are_kept_whole(place, model):
    layout = Record.of(model).layout
    kept = None
    for batch in batches(place / "new.parquet", layout, 9):
        kept = strangest(kept, batch, score_batch(model, batch).score, 4)
    found = rank_file(model, place / "new.parquet", RankOptions(n_shown=4))
    assert kept[0].ids.tolist() == found.ranking.ids[:4].tolist() == found.shown.ids.tolist()
    everything = next(batches(place / "new.parquet", layout))
    row = int(found.shown.ids[0].partition("-")[2])
    np.testing.assert_array_equal(found.shown.objects.values[0], everything.objects.values[row])


def test_a_record_travels_with_the_model_file(place, model, tmp_path):
    save(model, tmp_path / "m.badac")
    kept, before = Record.of(load(tmp_path / "m.badac")), Record.of(model)
    assert kept.layout == before.layout
    assert kept.counts == {"0": 50, "1": 50}
    np.testing.assert_array_equal(kept.cross_validation.proba, before.cross_validation.proba)
    assert kept.cross_validation.summary.n_objects == 100
    assert kept.cross_validation.confusion.sum() == 100
    found = rank_file(load(tmp_path / "m.badac"), place / "new.parquet")
    np.testing.assert_array_equal(found.ranking.score, rank_file(model, place / "new.parquet").ranking.score)


def test_objects_without_names_are_numbered_through_all_batches(tmp_path):
    frame = to_frame(table(25, 2)[0], "x").drop(columns="object")
    frame.to_csv(tmp_path / "new.csv", index=False)
    ids = np.concatenate([batch.ids for batch in batches(tmp_path / "new.csv", Layout(), 10)])
    assert ids.tolist() == list(range(25))
    assert rows_in(tmp_path / "new.csv") == pytest.approx(25, rel=0.15)


def test_long_tables_are_cut_between_objects(tmp_path):
    objects, label = table(20, 3)
    frame = long_table(objects, label)
    frame.to_csv(tmp_path / "train.csv", index=False)
    training = read_training(tmp_path / "train.csv")
    assert training.layout.form == "long"
    assert training.layout.bands == ("g", "r")
    frame.drop(columns="label").to_csv(tmp_path / "new.csv", index=False)
    found = list(batches(tmp_path / "new.csv", training.layout, 13))
    assert sum(len(batch) for batch in found) == 20
    assert all(batch.objects.observed.sum(axis=1).tolist() == [5] * len(batch) for batch in found)
    scattered = pd.concat([frame.iloc[:50], frame.iloc[:2]]).drop(columns="label")
    scattered.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match="are not together in bad.csv"):
        list(batches(tmp_path / "bad.csv", training.layout, 13))


def test_variances_become_standard_deviations():
    objects, _ = table(10, 4)
    frame = to_frame(objects.with_sigma(objects.sigma**2), "a")
    np.testing.assert_allclose(Layout(errors="variance").read(frame).objects.sigma, objects.sigma)


def test_cross_validation_judges_every_object_once_and_never_by_itself():
    objects, label = table(30, 5)
    code = label.astype(np.int64)
    split = Split.of(code, 5, np.random.default_rng(0))
    seen = []

    class Spy:
        def fit(self, members, labels):
            self.values = set(members.values[:, 0].tolist())

        def predict_proba(self, others):
            assert not self.values & set(others.values[:, 0].tolist())
            seen.extend(others.values[:, 0].tolist())
            return np.full((len(others), 2), 0.5)

    cross_validate(Spy(), objects, label, split, np.random.default_rng(1))
    assert sorted(seen) == sorted(objects.values[:, 0].tolist())
    with pytest.raises(ValueError, match="one class only"):
        Split.of(np.zeros(5, dtype=np.int64), 3, np.random.default_rng(0))


def test_a_folder_is_whole_or_absent(tmp_path):
    with suppress(KeyboardInterrupt), output_folder(tmp_path / "deep" / "out") as working:
        (working / "report.html").write_text("half")
        raise KeyboardInterrupt
    assert list((tmp_path / "deep").iterdir()) == []
    with output_folder(tmp_path / "deep" / "out") as working:
        (working / "report.html").write_text("whole")
    assert (tmp_path / "deep" / "out" / "report.html").read_text() == "whole"
    assert (tmp_path / "deep" / "out").stat().st_mode & 0o077 == (tmp_path / "deep").stat().st_mode & 0o077


def test_simulated_digits_lack_the_nine_in_training_only():
    drawn = simulate("digits", seed=1)
    assert 9 not in drawn.train_label
    assert 0 < drawn.is_anomaly.sum() < 0.05 * len(drawn.truth)
    with pytest.raises(ValueError, match="one of 1, 2, 3, 4, digits"):
        simulate("5")


@pytest.fixture(scope="module")
def curves(tmp_path_factory):
    """A model of light curves at their own times in two bands, and a table of them."""
    folder = tmp_path_factory.mktemp("curves")
    objects, label = table(40, 6)
    long_table(objects, label).to_csv(folder / "train.csv", index=False)
    settings = Settings(class_model="gp", folds=0, diagnose=False)
    return learn(read_training(folder / "train.csv"), settings), folder / "train.csv"


def test_an_object_with_points_of_its_own_is_explained_and_drawn_by_band(curves):
    model, path = curves
    found = explained(model, find_object(model, path, "s3"))
    assert {"hypothesis", "window", "points"} <= set(found.numbers())
    assert any("strangest" in line for line in found.lines())
    display = found.display.plot()
    assert [name for name, _ in display.bands] == ["g", "r"]
    assert all(len(band.at) == len(band.mean) > 0 for _, band in display.bands)
    assert np.isfinite(display.window).all()


def test_curves_outside_the_times_of_the_training_are_said(curves, tmp_path):
    """Nothing is known of them there: a note names them, on a cluster too."""
    model, path = curves
    table = pd.read_csv(path).drop(columns="label")
    few = table[table["object_id"].isin([f"s{row}" for row in range(6)])].copy()
    few.to_csv(tmp_path / "within.csv", index=False)
    # Two wholly outside, before and after; of a third all points but one.
    few.loc[few["object_id"] == "s1", "mjd"] -= 1000.0
    few.loc[few["object_id"] == "s4", "mjd"] += 1000.0
    third = few.index[few["object_id"] == "s2"]
    few.loc[third[1:], "mjd"] += 1000.0
    few.to_csv(tmp_path / "away.csv", index=False)

    told: list[str] = []
    found = rank_file(model, tmp_path / "away.csv", RankOptions(n_shown=2, n_rows=12), say=told.append)
    (note,) = (note for note in found.notes if "times of the training" in note)
    assert note in told
    assert note.startswith("2 objects have no point between 0 and 4.4")
    assert note.endswith("s1, s4")

    few.to_parquet(tmp_path / "away.parquet", index=False)
    run = Run(layout_of(model), str(tmp_path))
    (piece,) = pieces(tmp_path / "away.parquet", run.layout)
    assert note in judge_piece(model, piece, run).notes
    calm = rank_file(model, tmp_path / "within.csv", RankOptions(n_shown=2))
    assert not any("times of the training" in note for note in calm.notes)

    # Whoever asks in Python is warned, once for all of them.
    new = layout_of(model).read(few).objects
    with pytest.warns(
        TrainingSupportWarning, match="2 objects have no point between 0 and 4.4.* object 1, object 4$"
    ):
        model.predict_proba(new)
    with pytest.warns(TrainingSupportWarning, match="2 objects"):
        model.rank(new)
    model.predict_proba(layout_of(model).read(pd.read_csv(tmp_path / "within.csv")).objects)


def test_an_explanation_that_fails_says_so(curves, monkeypatch):
    """Neither the report nor `badac explain` may take an error for "there is nothing to explain"."""
    model, path = curves
    found = rank_file(model, path, RankOptions(n_shown=2))

    def broken(self, X, **named):
        raise ValueError("the explanation is broken")

    monkeypatch.setattr(type(model), "explain", broken)
    with pytest.raises(ValueError, match="the explanation is broken"):
        report_page(found)
    with pytest.raises(ValueError, match="the explanation is broken"):
        explained(model, find_object(model, path, "s3"))

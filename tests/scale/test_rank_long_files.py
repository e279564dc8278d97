"""Long tables on a cluster: one file, cut between row groups, gives the ranking of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_nested_light_curves import long_table
from test_rank_files import same

from badac import BADACClassifier
from badac.dask import rank_files
from badac.dask.pieces import pieces
from badac.job import Layout, RankOptions, Settings, batches, learn, rank_file, read_training
from badac.job.record import layout_of


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> BADACClassifier:
    table, label = long_table(60, seed=1)
    path = tmp_path_factory.mktemp("long") / "train.csv"
    table.assign(label=label[table["oid"]]).to_csv(path, index=False)
    return learn(read_training(path), Settings(folds=2, diagnose=False))


def written(path: Path, *, names: str = "number") -> Path:
    """90 light curves of 5 to 11 rows in row groups of 40, most of which begin within an object; one spans three of them."""
    table, _ = long_table(90, seed=2)
    dense = pd.concat([table[table["oid"] == 40]] * 12)
    dense["time"] = np.linspace(0.0, 1.0, len(dense))
    table = pd.concat([table[table["oid"] < 40], dense, table[table["oid"] > 40]], ignore_index=True)
    if names == "text":
        table["oid"] = [f"star {number:03d}" for number in table["oid"]]
    table.to_parquet(path, row_group_size=40, index=False)
    return path


@pytest.mark.parametrize("names", ["number", "text"])
def test_a_long_file_is_cut_between_row_groups_and_objects_stay_whole(
    client: Any, learned: BADACClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    path = written(tmp_path / "new.parquet", names=names)
    monkeypatch.setattr("badac.dask.files.pieces", lambda path, layout: pieces(path, layout, n_rows=100))
    found = rank_files(learned, path, tmp_path / "out", client, RankOptions(fdr=0.3))
    assert len(list(Path(found.parts).glob("part-*.parquet"))) > 3
    same(found, rank_file(learned, path, RankOptions(fdr=0.3)))


def test_every_object_is_in_one_piece_whole(learned: BADACClassifier, tmp_path: Path) -> None:
    path, layout = written(tmp_path / "new.parquet"), layout_of(learned)
    whole = pd.read_parquet(path).groupby("oid").size()
    cut = pieces(path, layout, n_rows=1)
    counts = {
        int(name): int(seen)
        for piece in cut
        for _, batch in piece.batches(layout, 25)
        for name, seen in zip(batch.ids, batch.objects.observed.sum(axis=1), strict=True)
    }
    assert len(cut) > 8 and sum(piece.n_rows for piece in cut) == len(pd.read_parquet(path))
    assert counts == {int(name): int(size) for name, size in whole.items()}


def test_a_file_that_is_not_sorted_stays_one_piece(learned: BADACClassifier, tmp_path: Path) -> None:
    table, _ = long_table(30, seed=3)
    parts = [part for _, part in table.groupby("oid")]
    path = tmp_path / "new.parquet"
    pd.concat(parts[::-1]).to_parquet(path, row_group_size=40, index=False)
    (piece,) = pieces(path, layout_of(learned), n_rows=1)
    assert sum(len(batch) for _, batch in piece.batches(layout_of(learned))) == 30


def test_objects_called_by_numbers_from_0_keep_their_names(learned: BADACClassifier, tmp_path: Path) -> None:
    path = written(tmp_path / "new.parquet")
    names = [name for batch in batches(path, layout_of(learned), 100) for name in batch.ids.tolist()]
    assert names == list(range(90))
    wide = pd.DataFrame({"object": np.arange(50), "g": 1.0, "g_err": 0.1})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    layout = Layout(features=("g",))
    assert [n for batch in batches(tmp_path / "wide.csv", layout, 20) for n in batch.ids.tolist()] == list(
        range(50)
    )
    wide.drop(columns="object").to_csv(tmp_path / "wide.csv", index=False)
    assert [n for batch in batches(tmp_path / "wide.csv", layout, 20) for n in batch.ids.tolist()] == list(
        range(50)
    )

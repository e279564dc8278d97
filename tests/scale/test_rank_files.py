"""Files to files on a cluster: the same ranking, whatever happens on the way."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pandas as pd
import pytest
from surveys import curves, frame_of

from badac import BADACClassifier, Measurements
from badac.dask import cluster, rank_files
from badac.dask.files import is_private
from badac.dask.parts import BAD_ROWS, Part, Run, judge_piece, keep_parts
from badac.dask.pieces import Piece, files_of, pieces
from badac.job import Layout, RankOptions, Record, rank_file
from badac.job.record import versions
from badac.locks import Locked
from badac.partition import BadRows


@pytest.fixture(scope="session")
def trained(model: BADACClassifier) -> BADACClassifier:
    """The model with a record of its table, as `badac fit` makes it."""
    layout = Layout(features=tuple(f"y{j}" for j in range(6)))
    Record(layout, "train.csv", "label", "", {}, (), {}, 0.0, versions()).attach(model)
    return model


@pytest.fixture
def folder(tmp_path: Path, survey: Measurements) -> Path:
    """The survey in three files, the second in two row groups."""
    table = frame_of(survey)
    where = tmp_path / "survey"
    where.mkdir()
    for number, (first, last) in enumerate(((0, 70), (70, 150), (150, 200))):
        table[first:last].to_parquet(where / f"night-{number}.parquet", row_group_size=40, index=False)
    return where


def one_file(folder: Path) -> Path:
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
    path = folder.parent / "whole.parquet"
    whole.to_parquet(path, index=False)
    return path


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.ranking.ids, expected.ranking.ids)
    for name in ("proba", "anomaly_proba", "pvalue", "score"):
        np.testing.assert_allclose(
            getattr(found.ranking, name), getattr(expected.ranking, name), rtol=1e-6, err_msg=name
        )
    assert (found.n_discoveries, found.counts) == (expected.n_discoveries, expected.counts)
    assert found.expected_false_alarms == pytest.approx(expected.expected_false_alarms, nan_ok=True)
    assert (found.false_share_bound, found.why) == (expected.false_share_bound, expected.why)
    np.testing.assert_allclose(found.comparison.pvalue, expected.comparison.pvalue)
    assert found.comparison.differences == expected.comparison.differences
    np.testing.assert_array_equal(found.shown.ids, expected.shown.ids)
    np.testing.assert_array_equal(found.shown.objects.values, expected.shown.objects.values)


def test_the_ranking_of_a_folder_is_that_of_one_file(
    client: Any, trained: BADACClassifier, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("badac.dask.files.pieces", lambda path, layout: pieces(path, layout, n_rows=30))
    seen: list[int] = []
    found = rank_files(trained, folder, folder.parent / "out", client, RankOptions(fdr=0.3), done=seen.append)
    same(found, rank_file(trained, one_file(folder), RankOptions(fdr=0.3)))
    assert sum(seen) == found.n_objects == 200
    results = folder.parent / "results"
    results.mkdir()
    keep_parts(found, results)
    parts = pd.read_parquet(results / "verdicts")
    assert len(parts) == 200 and len(list((results / "verdicts").iterdir())) == 6
    assert {"object", "score", "pvalue", "class", "proba_up"} <= set(parts.columns)
    assert not Path(found.parts).exists()


def test_a_ranking_may_hold_the_strangest_only(client: Any, trained: BADACClassifier, folder: Path) -> None:
    found = rank_files(trained, folder, folder.parent / "out", client, RankOptions(fdr=0.3, n_ranked=25))
    expected = rank_file(trained, one_file(folder), RankOptions(fdr=0.3))
    np.testing.assert_array_equal(found.ranking.ids, expected.ranking.ids[:25])
    assert (found.n_objects, found.n_discoveries, found.counts) == (
        200,
        expected.n_discoveries,
        expected.counts,
    )
    assert "the 25 strangest" in found.notes[0]


def test_what_somebody_has_explained_is_neither_ranked_nor_listed(
    client: Any, trained: BADACClassifier, folder: Path
) -> None:
    options = RankOptions(fdr=0.3, n_ranked=25, n_shown=4)
    all_of_them = rank_files(trained, folder, folder.parent / "out", client, options)
    options = replace(options, without=frozenset(map(str, all_of_them.ranking.ids[:3].tolist())))
    found = rank_files(trained, folder, folder.parent / "out", client, options)
    assert (found.n_objects, found.n_without) == (197, 3)
    np.testing.assert_array_equal(found.ranking.ids[:22], all_of_them.ranking.ids[3:25])
    expected = rank_file(trained, one_file(folder), replace(options, n_ranked=200))
    assert (found.n_discoveries, found.counts) == (expected.n_discoveries, expected.counts)
    np.testing.assert_array_equal(found.shown.ids, expected.shown.ids)
    everything = frozenset(map(str, expected.ranking.ids.tolist())) | options.without
    with pytest.raises(ValueError, match="nothing is left to rank"):
        rank_files(trained, folder, folder.parent / "out", client, replace(options, without=everything))


def test_an_interrupted_run_goes_on_where_it_stopped(
    client: Any, trained: BADACClassifier, folder: Path
) -> None:
    def interrupt(n: int) -> None:
        if n:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank_files(trained, folder, folder.parent / "out", client, done=interrupt)
    (parts,) = folder.parent.glob(".out.parts-*")
    finished = {path: path.stat().st_mtime_ns for path in parts.glob("part-*.parquet")}
    assert finished
    seen: list[int] = []
    found = rank_files(trained, folder, folder.parent / "out", client, done=seen.append)
    assert seen[0] > 0 and sum(seen) == 200
    assert all(path.stat().st_mtime_ns == before for path, before in finished.items())
    same(found, rank_file(trained, one_file(folder)))


def test_parts_of_other_data_or_models_are_not_taken_up(
    client: Any, trained: BADACClassifier, folder: Path, survey: Measurements
) -> None:
    first = rank_files(trained, folder, folder.parent / "out", client)
    frame_of(survey[::-1])[:70].to_parquet(folder / "night-0.parquet", index=False)
    second = rank_files(trained, folder, folder.parent / "out", client)
    assert first.parts != second.parts


def test_a_part_is_whole_or_absent(
    trained: BADACClassifier, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layout = Layout(features=tuple(f"y{j}" for j in range(6)))
    run = Run(layout, str(tmp_path))
    monkeypatch.setattr("pyarrow.parquet.write_table", lambda table, file: (file.write(b"half"), 1 / 0))
    with pytest.raises(RuntimeError, match=r"partition 0 \(night-0"):
        judge_piece(trained, pieces(folder, layout)[0], run)
    assert list(tmp_path.glob("part-*")) == list(tmp_path.glob(".part-*")) == []


def test_bad_rows_stop_the_run_with_their_names_or_are_listed(
    client: Any, trained: BADACClassifier, folder: Path, survey: Measurements
) -> None:
    table = pd.read_parquet(folder / "night-1.parquet")
    table.loc[3, "y2_err"], table.loc[60, "y0"] = -1.0, np.inf
    table.to_parquet(folder / "night-1.parquet", row_group_size=40, index=False)
    with pytest.raises(BadRows, match=r"partition 1 \(night-1.*row 73: negative error.*--on-error report"):
        rank_files(trained, folder, folder.parent / "out", client)
    found = rank_files(trained, folder, folder.parent / "out", client, RankOptions(on_error="report"))
    listed = pd.read_csv(Path(found.parts) / BAD_ROWS)
    assert listed["object"].tolist() == ["object 73", "object 130"]
    assert listed["row"].tolist() == [73, 130]
    assert "negative error" in listed["reason"][0] and "infinite value" in listed["reason"][1]
    assert found.n_objects == 198 and "2 rows" in found.notes[0]
    kept = np.setdiff1d(np.arange(200), [73, 130])
    ranking = trained.rank(survey[kept])
    np.testing.assert_array_equal(found.ranking.ids, [f"object {row}" for row in kept[ranking.objects]])


def test_a_file_that_cannot_be_read_is_named_or_listed(
    client: Any, trained: BADACClassifier, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pieces(folder, Layout(features=tuple(f"y{j}" for j in range(6))))
    # Lost between the look at the footers and the reading.
    (folder / "night-2.parquet").rename(folder.parent / "lost.parquet")
    lost = Piece(2, str(folder / "night-2.parquet"), (0,), 150, 50)
    assert str(lost) == str(whole[2]).replace("0 to 1", "0 to 0")
    run = Run(Layout(features=tuple(f"y{j}" for j in range(6))), str(folder.parent))
    with pytest.raises(
        RuntimeError, match=r"partition 2 \(night-2.parquet, row groups 0 to 0\).*No such file"
    ):
        judge_piece(trained, lost, run)
    part = judge_piece(trained, lost, Run(run.layout, run.folder, "report"))
    assert isinstance(part, Part) and "No such file" in part.failure


def test_wrong_files_are_told_before_anything_is_read(
    client: Any, trained: BADACClassifier, folder: Path, survey: Measurements
) -> None:
    table = frame_of(survey)
    table.assign(y1=table["name"]).to_parquet(folder / "night-9.parquet")
    with pytest.raises(ValueError, match=r"night-9.parquet: .*'y1' must hold numbers"):
        rank_files(trained, folder, folder.parent / "out", client)
    (folder / "night-9.parquet").write_bytes(b"not a table")
    with pytest.raises(ValueError, match=r"night-9.parquet cannot be read"):
        rank_files(trained, folder, folder.parent / "out", client)
    table[["name"]].to_parquet(folder / "night-9.parquet")
    with pytest.raises(ValueError, match=r"night-9.parquet: none of the training's columns"):
        rank_files(trained, folder, folder.parent / "out", client)
    with pytest.raises(ValueError, match="no Parquet files"):
        files_of(_empty(folder))
    with pytest.raises(ValueError, match="`on_error` must be one of"):
        RankOptions(on_error="ignore")
    assert not list(folder.parent.glob(".out.parts-*"))


def _empty(folder: Path) -> Path:
    path = folder.parent / "empty"
    path.mkdir()
    return path


def test_the_run_survives_a_worker(trained: BADACClassifier, folder: Path) -> None:
    for number in range(4):
        frame_of(curves(80, seed=10 + number)[0]).to_parquet(folder / f"night-{number}.parquet", index=False)
    expected = rank_file(trained, one_file(folder))
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs=50,
        ) as local,
        distributed.Client(local, set_as_default=False) as own,
    ):
        killed: list[int] = []

        def kill(n: int) -> None:
            # In the middle of the run: a worker that has more to do.
            if n and not killed:
                killed.extend(own.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        found = rank_files(trained, folder, folder.parent / "out", own, RankOptions(n_rows=20), done=kill)
        assert killed and killed[0] not in own.run(os.getpid).values()
    same(found, expected)


@pytest.mark.skipif(not is_private(), reason="the package cryptography is absent: clusters are not private")
def test_a_cluster_of_our_own_is_for_its_user_alone() -> None:
    with cluster(workers=1) as own:
        address = own.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        assert "//127.0.0.1:" in own.dashboard_link
        with pytest.raises(ValueError, match="no scheduler answers"), cluster(scheduler=address):
            raise AssertionError


def test_a_stopped_run_says_nothing_of_tasks_that_nobody_asked(client: Any, caplog: Any) -> None:
    """Tracebacks beside "Interrupted." are no news; any other exception that nobody heard of is."""
    with cluster(scheduler=client.scheduler.address):
        pass

    async def nobody_asks(error: Exception) -> None:
        async def failing() -> None:
            raise error

        task = asyncio.ensure_future(failing())
        await asyncio.sleep(0)
        del task
        gc.collect()

    asyncio.run(nobody_asks(distributed.client.AllExit()))
    asyncio.run(nobody_asks(ValueError("lost")))
    heard = [record.exc_info for record in caplog.records if record.name == "asyncio" and record.exc_info]
    assert [type(found[1]) for found in heard] == [ValueError]


def test_two_runs_into_one_folder_do_not_meet(client: Any, trained: BADACClassifier, folder: Path) -> None:
    """The second is refused while the first is at work, and takes nothing of it away."""
    told = []

    def second(n: int) -> None:
        if n and not told:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()

    def run() -> None:
        try:
            rank_files(trained, folder, folder.parent / "out", client)
        except Locked as busy:
            told.append(str(busy))

    found = rank_files(trained, folder, folder.parent / "out", client, done=second)
    assert len(told) == 1 and "is being written by" in told[0]
    same(found, rank_file(trained, one_file(folder)))


@pytest.mark.parametrize("damage", ["truncated", "empty", "noise", "footer"])
def test_a_damaged_part_is_redone_and_said(
    client: Any, trained: BADACClassifier, folder: Path, damage: str
) -> None:
    first = rank_files(trained, folder, folder.parent / "out", client)
    part = Path(first.parts) / "part-000001.parquet"
    whole = part.read_bytes()
    ruined = {"truncated": whole[: len(whole) // 2], "empty": b"", "noise": b"PAR1" + b"\xff" * 100 + b"PAR1"}
    # All but the footer is gone: only who reads the columns notices.
    part.write_bytes(ruined.get(damage, b"PAR1" + b"\0" * 200 + whole[204:]))
    again = rank_files(trained, folder, folder.parent / "out", client)
    same(again, first)
    assert any("part-000001.parquet is damaged" in note and "judged again" in note for note in again.notes)


def test_a_cluster_is_started_or_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster(workers=1) as own:
        assert len(own.scheduler_info()["workers"]) == 1
        assert own.submit(sum, [1, 2]).result(timeout=60) == 3
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as running,
        cluster(scheduler=running.scheduler_address) as other,
    ):
        assert other.submit(sum, [1, 2]).result(timeout=60) == 3
    monkeypatch.setattr("badac.dask.files.ANSWERS_WITHIN", 1)
    with (
        pytest.raises(ValueError, match="no scheduler answers at 'tcp://127.0.0.1:1'"),
        cluster(scheduler="tcp://127.0.0.1:1"),
    ):
        pass

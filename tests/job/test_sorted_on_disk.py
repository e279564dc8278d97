"""A ranking that is sorted on disk is the one that is sorted in memory, row by row and byte by byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier
from badac.data.rows import more_than_once, packed
from badac.job import RankOptions, merge, rank_file, write_results
from badac.job.sorted_on_disk import SortedOnDisk
from badac.ranking import Ranking
from badac.verdicts import Verdicts

CLASSES = np.array(["a", "b"])


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_ROWS_OF_A_RUN", 60), ("_ROWS_OF_A_PIECE", 25), ("_SAMPLED", 4)):
        monkeypatch.setattr(f"badac.job.sorted_on_disk.{name}", value)


def batches(*, scores: int = 40, seed: int = 0, distinct: bool = True) -> list[Verdicts]:
    """Verdicts of batches of 7 to 30 objects with many ties, names of growing length, and two columns that travel along."""
    rng = np.random.default_rng(seed)
    out, begun = [], 0
    for number in range(25):
        n = int(rng.integers(7, 31))
        score = rng.integers(0, scores, n) / 3.0
        score[rng.random(n) < 0.05] = np.nan
        names = np.array([f"o{(begun + row) if distinct else rng.integers(300)}" for row in range(n)])
        quantities = {
            "score": score,
            "proba": rng.random((n, 2)).astype(np.float32),
            "pvalue": rng.random(n),
            "extrapolated": rng.random(n) < 0.5,
            "object": packed(names) if number != 3 else names,
        }
        when = np.datetime64("2026-01-01") + rng.integers(0, 99, n)
        carried = {"ra": rng.random(n), "when": when, **({"only_here": score} if number == 20 else {})}
        out.append(Verdicts(CLASSES, quantities, carried))
        begun += n
    return out


def added(parts: list[Verdicts], folder: Path | None = None) -> SortedOnDisk:
    out = SortedOnDisk(folder)
    for part in parts:
        out.add(part)
    return out


def check_same(found: Ranking, expected: Ranking) -> None:
    np.testing.assert_array_equal(found.objects, expected.objects)
    got, wanted = found.columns(per_class=True), expected.columns(per_class=True)
    assert list(got) == list(wanted)
    for name, column in wanted.items():
        assert got[name].dtype == column.dtype, name
        np.testing.assert_array_equal(got[name], column, err_msg=name)


@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("scores", [1, 3, 40, 10**9])
def test_the_ranking_is_that_of_all_in_memory(tmp_path: Path, scores: int) -> None:
    sorted_ = added(batches(scores=scores), tmp_path)
    found = sorted_.ranking()
    assert not found.score.flags.writeable, "not from the disk"
    check_same(found, merge(batches(scores=scores)))
    sorted_.release()
    check_same(found, merge(batches(scores=scores)))
    assert not list(tmp_path.iterdir()), "files have no names"


def test_few_objects_never_touch_the_disk(tmp_path: Path) -> None:
    found = added(batches(), tmp_path / "missing").ranking()
    check_same(found, merge(batches()))


@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("late", [False, True])
def test_a_table_with_python_objects_stays_in_memory(late: bool) -> None:
    def carrying() -> list[Verdicts]:
        parts = batches()
        return [
            part.carrying({"list": np.array([[1]] * len(part) + [None], dtype=object)[:-1]})
            if not late or number > 15
            else part
            for number, part in enumerate(parts)
        ]

    check_same(added(carrying()).ranking(), merge(carrying()))


@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("distinct", [True, False])
def test_names_that_come_twice_are_said_in_the_same_words(distinct: bool) -> None:
    sorted_ = added(batches(distinct=distinct))
    found = sorted_.ranking()
    expected = more_than_once(merge(batches(distinct=distinct)).verdicts["object"])
    assert sorted_.names_more_than_once(found) == expected
    assert bool(expected) != distinct


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_files_are_the_same_byte_by_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    rng = np.random.default_rng(0)

    def table(n: int) -> pd.DataFrame:
        g = rng.choice([17.0, 18.0], n) + 0.1 * rng.standard_normal(n)
        return pd.DataFrame(
            {"id": [f"star-{row}" for row in range(n)], "ra": rng.random(n), "g": g, "g_err": 0.1}
        )

    training = table(60)
    model = BADACClassifier("template", random_state=0).fit(
        training[["g", "g_err"]], np.where(training["g"] > 17.5, "b", "a")
    )
    new = table(1000)
    new.loc[[5, 700], "g"] = 25.0
    new.to_parquet(tmp_path / "new.parquet")
    written = []
    for small in (False, True):
        if small:
            for name, value in (("_ROWS_OF_A_RUN", 150), ("_ROWS_OF_A_PIECE", 40), ("_SAMPLED", 4)):
                monkeypatch.setattr(f"badac.job.sorted_on_disk.{name}", value)
        found = rank_file(model, tmp_path / "new.parquet", RankOptions(n_rows=100, scratch=tmp_path))
        assert found.ranking.score.flags.writeable != small
        folder = tmp_path / f"out{small}"
        folder.mkdir()
        write_results(replace(found, seconds=1.0), folder, form)
        written.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert written[0].keys() == written[1].keys()
    for name, content in written[0].items():
        assert content == written[1][name], name

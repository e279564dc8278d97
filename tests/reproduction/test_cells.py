"""What is planned, and that a cell's data follow from the cell."""

import numpy as np
import pytest

from reproduction.algorithms import ALGORITHMS
from reproduction.cells import Cell, Size, plan
from reproduction.published import SECONDS, TITLES, published


@pytest.mark.parametrize(
    ("text", "n", "trees"),
    [
        ("small", 1500, 200),
        ("medium", 5000, 1000),
        ("paper", 15000, 1000),
        ("300", 300, 200),
        ("15,000", 15000, 1000),
    ],
)
def test_sizes(text, n, trees):
    assert Size.parse(text) == Size(n, n, trees)


@pytest.mark.parametrize("text", ["", "large", "-5", "1e4", "10"])
def test_a_wrong_size_is_explained(text):
    with pytest.raises(ValueError, match="size must be"):
        Size.parse(text)


def test_only_the_paper_s_size_has_no_caveat():
    assert Size.parse("paper").caveat == ""
    assert "200 trees" in Size.parse("small").caveat
    assert "trees" not in Size.parse("medium").caveat


def test_a_plan_holds_everything_once():
    cells = plan(Size.parse("small"), n_seeds=2)
    installed = [name for name, algorithm in ALGORITHMS.items() if algorithm.installed]
    assert len(cells) == len(set(cells)) == 4 * 2 * 2 * len(installed)
    assert len({cell.name for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    "wrong", [{"experiments": (5,)}, {"settings": ("imagined",)}, {"algorithms": ("magic",)}, {"n_seeds": 0}]
)
def test_what_does_not_exist_cannot_be_planned(wrong):
    with pytest.raises(ValueError, match="must be"):
        plan(Size.parse("small"), **wrong)


def test_data_follow_from_the_cell():
    cell = Cell(3, "printed", 7, "lof", Size(200, 300, 10))
    first, second = cell.data(), cell.data()
    assert first.train.shape == (200, 100)
    assert first.is_anomaly.sum() == 3
    np.testing.assert_array_equal(first.test.values, second.test.values)
    other = Cell(3, "printed", 8, "lof", Size(200, 300, 10)).data()
    assert not np.array_equal(first.test.values, other.test.values)


def test_the_published_numbers_are_complete():
    for number in TITLES:
        assert set(published(number, "badac-exact")) == {"mcc", "auc", "rws", "accuracy"}
        assert set(published(number, "lof")) == set(published(number, "iforest")) == {"mcc", "auc", "rws"}
        assert set(published(number, "forest")) == {"accuracy"}
        assert published(number, "badac") == {}
    for parts in SECONDS.values():
        if parts[0] is not None:
            assert parts[0] + parts[1] == pytest.approx(parts[2])

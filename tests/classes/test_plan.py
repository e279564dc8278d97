"""How many factors a population has, and in how many parts its members are held out."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.classes.population.plan import make_plan
from badac.classes.population.rank import parts_of
from badac.training import TrainingScales


def members(n: int, m: int, factors: int = 2) -> Measurements:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((n, factors)) @ rng.standard_normal((factors, m))
    return Measurements(truth + 0.1 * rng.standard_normal((n, m)), 0.1)


@pytest.mark.parametrize(
    ("n", "m", "few", "parts"),
    [
        (3, 2, False, 3),
        (50, 4, False, 5),
        (51, 4, False, 3),
        (90, 64, False, 5),
        (90, 64, True, 3),
        (501, 300, False, 3),
    ],
)
def test_members_that_are_many_for_their_columns_are_held_out_in_thirds(
    n: int, m: int, few: bool, parts: int
) -> None:
    assert parts_of(members(n, m), few=few) == parts


@pytest.mark.parametrize(("between", "rank"), [((0, np.inf), 2), ((3, np.inf), 3), ((1, 1), 1), ((4, 4), 4)])
def test_factors_are_as_many_as_held_out_members_ask_for_within_what_is_known(
    between: tuple[int, float], rank: int
) -> None:
    some = members(60, 12)
    plan = make_plan(
        some, TrainingScales.of(some), np.random.default_rng(1), shape="gaussian", between=between
    )
    assert plan.rank == rank

"""A tiny reproduction that the tests of this folder share."""

import pytest

from reproduction.cells import Size, plan
from reproduction.report import Reproduction
from reproduction.results import run_cell

TINY = Size(200, 200, 10)


@pytest.fixture(scope="session")
def tiny_results():
    """Experiments 1 and 4, two seeds, a few algorithms, at the smallest size."""
    cells = plan(
        TINY,
        experiments=(1, 4),
        settings=("released",),
        n_seeds=2,
        algorithms=("badac-exact", "badac", "lof", "forest", "limit"),
    )
    return [run_cell(cell) for cell in cells]


@pytest.fixture(scope="session")
def tiny_run(tiny_results):
    return Reproduction(tiny_results, TINY, 'make reproduce ARGS="1 4"', skipped=("ecod",))

"""The paper, reproduced: its four experiments, every table and every figure, in two settings.

    cells -> algorithms -> results -> tables, figures -> report

A cell is one algorithm on one experiment with one seed. Its result is kept on disk as soon as it is there. Tables, figures,
report and documentation are all made from the same results. On the command line this is ``badac reproduce``.
"""

from badac.paper.algorithms import ALGORITHMS, Algorithm, Answer
from badac.paper.cells import Cell, Size, not_installed, plan
from badac.paper.published import SECONDS, SETTINGS, TITLES, published
from badac.paper.results import METRICS, Result, run_cell
from badac.paper.run import Outcome, run_cells
from badac.paper.tables import Row, rows_of

__all__ = [  # noqa: RUF022  (reading order)
    "TITLES",
    "SETTINGS",
    "published",
    "SECONDS",
    "Algorithm",
    "ALGORITHMS",
    "Answer",
    "Size",
    "Cell",
    "plan",
    "not_installed",
    "METRICS",
    "Result",
    "run_cell",
    "Outcome",
    "run_cells",
    "Row",
    "rows_of",
]

"""The paper, reproduced: its four experiments, every table and every figure, in two settings. Part of the repository, not of
the wheel.

    cells -> algorithms (limits, density) -> results -> tables, figures -> report

A cell is one algorithm on one experiment with one seed. Its result is kept on disk as soon as it is there. Tables, figures,
report and documentation are all made from the same results. Run it with ``make reproduce`` (``python -m reproduction``).

Beside it live the scripts that write measured numbers into documents (`marked`, `readme`) and the one that measures the source
tree itself and the walk of a call through it (`tree`, `walk`).
"""

"""The evidence over the number of subclasses, as it is drawn."""

import numpy as np

from badac.classes import Division
from badac.plots import SubclassesDisplay


def test_the_curve_rises_by_the_gaps_and_marks_the_chosen_number() -> None:
    division = Division(np.zeros(4, dtype=np.int64), np.zeros(3), np.array([40.0, 20.0, 3.0]))
    display = SubclassesDisplay.from_division(division).plot()
    assert display.ax_.lines[0].get_xdata().tolist() == [1, 2, 3, 4]
    assert display.ax_.lines[0].get_ydata().tolist() == [0.0, 40.0, 60.0, 63.0]
    assert list(display.ax_.lines[1].get_xdata()) == [3] and display.number == 3
    # One more would have had to reach the dashed line.
    assert list(display.ax_.lines[2].get_ydata()) == [75.0, 75.0]


def test_one_gaussian_is_one_subclass() -> None:
    whole = Division(np.zeros(4, dtype=np.int64), np.zeros(1), np.zeros(0))
    assert SubclassesDisplay.from_division(whole).plot(with_legend=False).ax_.get_legend() is None
    assert whole.number == 1

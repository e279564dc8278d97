r"""Cells of text that hold a value together with its error, as papers print them: split into columns of numbers.

    1.2 ± 0.1      1.2 +/- 0.1      1.2 \pm 0.1           one error
    1.2 +0.3 -0.1  1.2 (+0.3/-0.1)  $1.2^{+0.3}_{-0.1}$   two sides (`badac.data.error_sides`)
    1.23(4)        6.674(15)e-11                          the last digits' error

A column is split only if all its filled cells are of such a form, and never one of names or labels.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.columns import find

_UNSIGNED = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = rf"[-+]?{_UNSIGNED}"
_OPEN, _CLOSE = r"\s*[({\[]?\s*", r"\s*[)}\]]?\s*"
_ONE = re.compile(rf"({_NUMBER})\s*(?:±|\+/-|\+-|\\pm)\s*({_NUMBER})")
_TWO = re.compile(
    rf"({_NUMBER})\s*(?:\^|\s|\(|\{{|\[)\s*{_OPEN}\+\s*({_UNSIGNED}){_CLOSE}[,;/_]?{_OPEN}-\s*({_UNSIGNED}){_CLOSE}"
)
_DIGITS = re.compile(r"([-+]?\d+(?:\.(\d*))?)\((\d+(?:\.\d+)?)\)((?:[eE][-+]?\d+)?)")


def split_errors(frame: Any) -> Any:
    """Return a frame whose columns of text with errors are columns of numbers: values, and their errors behind them.

    Parameters
    ----------
    frame : DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> split_errors(pd.DataFrame({"x": ["1.2 ± 0.1", "2+/-0.2"]})).to_dict("list")
    {'x': [1.2, 2.0], 'x_err': [0.1, 0.2]}
    >>> split_errors(pd.DataFrame({"x": ["1.2 +0.3 -0.1", "2.50(3)"]})).to_dict("list")
    {'x': [1.2, 2.5], 'x_err_plus': [0.3, 0.03], 'x_err_minus': [0.1, 0.03]}
    """
    names = [str(name) for name in frame.columns]
    of_objects = {find(names, role) for role in ("object", "label")}
    for name in [
        name for name in frame.columns if frame[name].dtype.kind == "O" and str(name) not in of_objects
    ]:
        numbers = _numbers(frame[name])
        if numbers is None:
            continue
        place = list(frame.columns).index(name)
        errors = {"_err": numbers[:, 1]}
        if not np.array_equal(numbers[:, 1], numbers[:, 2], equal_nan=True):
            errors = {"_err_plus": numbers[:, 1], "_err_minus": numbers[:, 2]}
        frame = frame.assign(**{name: numbers[:, 0]})
        for further, (ending, column) in enumerate(errors.items(), 1):
            frame.insert(place + further, f"{name}{ending}", column)
    return frame


def _numbers(column: Any) -> npt.NDArray[np.float64] | None:
    """Return (n, 3): value, upper and lower error of each cell, NaN where it is empty; None if one has another form."""
    found = np.full((len(column), 3), np.nan)
    filled = np.asarray(column.notna())
    if not filled.any():
        return None
    for row in np.flatnonzero(filled):
        cell = column.iloc[row]
        three = value_with_errors(cell) if isinstance(cell, str) else None
        if three is None:
            return None
        found[row] = three
    return found


def value_with_errors(text: str) -> tuple[float, float, float] | None:
    """Return value, upper and lower error of a text, or None if it has another form.

    >>> value_with_errors("$6.674^{+0.015}_{-0.013}$"), value_with_errors("6.674(15)e-11"), value_with_errors("J0042(1)")
    ((6.674, 0.015, 0.013), (6.674e-11, 1.5e-13, 1.5e-13), None)
    """
    plain = text.replace("−", "-").strip().strip("$").strip()
    one = _ONE.fullmatch(plain)
    if one is not None:
        error = float(one[2])
        return float(one[1]), error, error
    two = _TWO.fullmatch(plain)
    if two is not None:
        return float(two[1]), float(two[2]), float(two[3])
    digits = _DIGITS.fullmatch(plain)
    if digits is None:
        return None
    value, decimals, last, power = digits[1], digits[2] or "", digits[3], digits[4]
    # The digits in brackets stand below the last ones of the value; with a point of their own they are what they say.
    error = float(f"{last}{power}") if "." in last else float(f"{last}e{int(power[1:] or 0) - len(decimals)}")
    return float(f"{value}{power}"), error, error

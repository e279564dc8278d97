"""What points are measured along: names of wavelengths and times, and logarithms undone."""

from __future__ import annotations

import numpy as np

from badac.data.error_marks import key_of, word_set, words
from badac.data.validation import FloatArray

WAVELENGTHS = word_set(
    "wavelength wavelengths wave waves lambda lam lamb loglam loglambda logwave logwavelength frequency freq energy wavenumber"
)
TIMES = word_set("time times mjd jd hjd bjd hmjd obsmjd midpointmjdtai phase t")
AXES = WAVELENGTHS | TIMES | {"at"}
"""In lower case, without separators."""


def axis_name(name: str) -> str:
    """Return the name of an axis without that of its arm (B_WAVELENGTH: wavelength), or "" if it is none."""
    if key_of(name) in AXES:
        return key_of(name)
    last = "".join(words(name)[-1]) if len(words(name)) > 1 else ""
    return last if last in AXES - {"t", "at"} else ""


def is_axis(name: str) -> bool:
    """Whether a column holds the coordinates of points."""
    return bool(axis_name(name))


def undo_logarithm(name: str, numbers: FloatArray) -> FloatArray:
    """Return wavelengths where a column holds their decimal logarithms (loglam)."""
    return np.asarray(10.0**numbers) if axis_name(name).startswith("log") else numbers

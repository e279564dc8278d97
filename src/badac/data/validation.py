"""What input is accepted, and what the refusal says: what, where, what was got, and the fix.

Every check here raises `ValueError` or `TypeError` with a message built from the check itself, so that the two cannot
disagree. Nothing is changed in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def as_real(array: Any, name: str) -> FloatArray:
    """Return the array as float64, without a copy where it already is; refuse what is not a real number.

    Masked cells become NaN.
    """
    if hasattr(array, "toarray"):
        raise ValueError(
            f"`{name}` must be dense: got {type(array).__name__}. Use .toarray(); an empty cell is then 0, not missing."
        )
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        mask = np.ma.getmaskarray(array)
        return np.where(mask, np.nan, as_real(np.where(mask, 0, np.ma.getdata(array)), name))
    try:
        found = np.asarray(array)
    except ValueError as error:
        raise ValueError(
            f"`{name}` must be a rectangular array: its rows have different lengths. Pad the short ones with NaN "
            "(a NaN value is a missing point)."
        ) from error
    if np.iscomplexobj(found):
        raise ValueError(
            f"`{name}` must be real: complex data not supported (got {found.dtype}). "
            "Pass real and imaginary parts as separate points."
        )
    if found.dtype.kind in "mM":
        raise ValueError(
            f"`{name}` must hold numbers: got {found.dtype}, dates. Turn them into days or seconds since a date of your choice."
        )
    if found.dtype.kind not in "fiub":
        try:
            # Python reads 1_000 as a number; in a table it is text.
            if any(isinstance(cell, str) and "_" in cell for cell in found.ravel().tolist()):
                raise ValueError("an underscore in a cell")
            found = found.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`{name}` must hold numbers: got {found.dtype} ({error}). Encode the column or leave it out."
            ) from error
    return np.asarray(found, dtype=np.float64)


def is_number(value: Any) -> bool:
    """Whether a parameter is a real number: no text, nothing, and no truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def smallest(array: FloatArray) -> float:
    """Return the smallest number that is not NaN (infinity if there is none), without a temporary of the array's size."""
    return float(np.fmin.reduce(array, axis=None, initial=np.inf))


def largest(array: FloatArray) -> float:
    """Return the largest number that is not NaN (minus infinity if there is none)."""
    return float(np.fmax.reduce(array, axis=None, initial=-np.inf))


def any_nan(array: FloatArray) -> bool:
    """Whether there is a NaN, without a temporary of the array's size (minimum propagates NaN)."""
    return bool(array.size) and bool(np.isnan(np.min(array)))


def refuse(bad: BoolArray, array: FloatArray, requirement: str, fix: str) -> None:
    """Raise if any cell of an (n, m) array is bad, naming the first one and how many there are."""
    if not bad.any():
        return
    row, column = (int(index) for index in np.argwhere(bad)[0])
    more = int(bad.sum()) - 1
    others = f" (and {more} more)" if more else ""
    raise ValueError(
        f"{requirement}: got {array[row, column]} at object {row}, point {column}{others}. {fix}"
    )


def check_values(values: Any) -> FloatArray:
    """Return the values as (n, m) float64; NaN is a missing point, infinity an error."""
    array = as_real(values, "values")
    if array.ndim != 2:
        raise ValueError(
            f"`values` must have two dimensions, objects x points: got shape {array.shape}. "
            "Reshape your data: one object is values[np.newaxis, :], one point per object is values[:, np.newaxis]."
        )
    if array.shape[1] == 0:
        raise ValueError(f"`values` must have at least one point per object: got shape {array.shape}.")
    if array.size and (smallest(array) == -np.inf or largest(array) == np.inf):
        refuse(np.isinf(array), array, "`values` must be finite (inf found)", "Use NaN for a missing point.")
    return array


def check_sigma(sigma: Any, values: FloatArray) -> FloatArray:
    """Return the standard deviations broadcast to (n, m): >= 0 where measured, infinite = missing."""
    array = as_real(sigma, "sigma")
    if array.shape != values.shape:
        if array.ndim > 1 and not (array.ndim == 2 and array.shape[0] == 1):
            raise ValueError(
                f"`sigma` must have the shape of `values`, {values.shape}: got {array.shape}. "
                f"A scalar or one row of {values.shape[1]} is shared by all objects."
            )
        try:
            array = np.broadcast_to(array, values.shape)
        except ValueError:
            raise ValueError(
                f"`sigma` must have the shape of `values`, {values.shape}, or be a scalar or one row of "
                f"{values.shape[1]}: got shape {array.shape}."
            ) from None
    if any_nan(array):
        refuse(
            np.isnan(array) & ~np.isnan(values),
            array,
            "`sigma` must be a number where a value is measured",
            "Make the value NaN too if the point is missing, or give its standard deviation.",
        )
    if smallest(array) < 0:
        refuse(
            (array < 0) & ~np.isnan(values),
            array,
            "`sigma` must be >= 0 where measured",
            "It is one standard deviation; 0 means exact, infinity means missing.",
        )
    return array


def check_covariance(covariance: Any, values: FloatArray) -> FloatArray:
    """Return the covariance, shared (m, m) or per object (n, m, m): symmetric and positive definite."""
    array = as_real(covariance, "covariance")
    n, m = values.shape
    if array.shape not in ((m, m), (n, m, m)):
        raise ValueError(
            f"`covariance` must have shape ({m}, {m}), shared by all objects, or ({n}, {m}, {m}): got {array.shape}."
        )
    stack = array[np.newaxis] if array.ndim == 2 else array
    for index, matrix in enumerate(stack):
        where = "" if array.ndim == 2 else f" of object {index}"
        if not np.isfinite(matrix).all():
            raise ValueError(
                f"`covariance`{where} must be finite. For a missing point set its value to NaN and leave its "
                "row and column as they are."
            )
        scale = np.sqrt(np.abs(np.diagonal(matrix)))
        asymmetry = np.abs(matrix - matrix.T)
        if (asymmetry > 1e-8 * np.maximum(np.outer(scale, scale), np.finfo(float).tiny)).any():
            j, k = (int(i) for i in np.unravel_index(np.argmax(asymmetry), asymmetry.shape))
            raise ValueError(
                f"`covariance`{where} must be symmetric: got {matrix[j, k]} at ({j}, {k}) but {matrix[k, j]} at "
                f"({k}, {j}). Use (C + C.T) / 2 if the difference is rounding."
            )
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0])
            raise ValueError(
                f"`covariance`{where} must be positive definite: its smallest eigenvalue is {smallest:.3g}. "
                "Add the measurement variance to its diagonal."
            ) from None
    return array


def check_at(at: Any, values: FloatArray) -> FloatArray:
    """Return the coordinates, shared (m,) or per object (n, m): finite where a value is measured."""
    array = as_real(at, "at")
    if array.shape not in ((values.shape[1],), values.shape):
        raise ValueError(
            f"`at` must have shape ({values.shape[1]},), shared by all objects, or {values.shape}: got {array.shape}."
        )
    full = np.broadcast_to(array, values.shape)
    refuse(
        ~np.isfinite(full) & ~np.isnan(values),
        full,
        "`at` must be finite where a value is measured",
        "Give the coordinate of the point, or make its value NaN.",
    )
    return array


def check_band(band: Any, values: FloatArray) -> IntArray:
    """Return the numbers of the bands, shared (m,) or per object (n, m): whole, >= 0 where a value is measured."""
    array = as_real(band, "band")
    if array.shape not in ((values.shape[1],), values.shape):
        raise ValueError(
            f"`band` must have shape ({values.shape[1]},), shared by all objects, or {values.shape}: got {array.shape}."
        )
    seen = ~np.isnan(values)
    full = np.broadcast_to(array, values.shape)
    refuse(
        ~(np.isfinite(full) & (full == np.round(full)) & (full >= 0)) & seen,
        full,
        "`band` must be a whole number >= 0 where a value is measured",
        "Number the bands from 0, alike in training and new objects.",
    )
    usable = np.isfinite(array) & (array >= 0)
    return np.where(usable, array, -1).astype(np.int64)


def rate_of_one_count(exposure: Any, values: FloatArray) -> FloatArray:
    """Return (n, m), 1 / exposure: infinite, which is missing, where there is none.

    Parameters
    ----------
    exposure : scalar, (n,), (m,) or (n, m) array-like
        >= 0 and finite.
    values : (n, m)
        The counts.
    """
    given = as_real(exposure, "exposure")
    n, m = values.shape
    if given.ndim == 1 and given.shape == (n,) and given.shape == (m,) and n > 1:
        raise ValueError(
            f"`exposure` of shape {given.shape} may be one per object or one per point, since there are {n} of both: give "
            "exposure[:, None] or exposure[None, :]."
        )
    if given.shape == (n,):
        given = given[:, None]
    try:
        full = np.broadcast_to(given, values.shape)
    except ValueError:
        raise ValueError(
            f"`exposure` must be one number, ({n},) per object, ({m},) per point or ({n}, {m}): got {given.shape}."
        ) from None
    refuse(
        ~np.isnan(values) & ~(np.isfinite(full) & (full >= 0)),
        full,
        "`exposure` must be >= 0 and finite where measured",
        "0 is a point that was not looked at.",
    )
    seen = full > 0
    return np.asarray(np.divide(1.0, full, out=np.full(values.shape, np.inf), where=seen))

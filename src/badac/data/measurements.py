"""The container: noisy objects, each a row of values with error bars.

Objects are rows, points are columns. A point has a value, one standard deviation (or the object a covariance) and, where
the points have an order, a coordinate. NaN value or infinite sigma: missing. Zero sigma: exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from badac.data.column import Column, checked_column
from badac.data.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    any_nan,
    check_at,
    check_band,
    check_covariance,
    check_sigma,
    check_values,
    largest,
    rate_of_one_count,
)
from badac.registry import registered


@registered(
    "part",
    version=2,
    holds={
        "values": "(n, m) may be nan",
        "sigma": "(n, m) >= 0, may be inf",
        "covariance": "(_, _, _) may be inf, may be nan",
        "at": "any",
        "band": ">= -1",
    },
)
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Measurements:
    """Values with error bars, for ``n`` objects of ``m`` points.

    It slices and indexes along the objects as scikit-learn needs, so it goes as ``X`` through ``cross_val_score``,
    ``GridSearchCV``, ``train_test_split`` and pipelines without losing its error bars.

    Parameters
    ----------
    values : (n, m) array-like
        What was measured. NaN: missing.
    sigma : scalar, (m,) or (n, m) array-like, optional
        One standard deviation per value. Infinite: missing; 0: exact. Without `sigma` and `covariance` the values count
        as exact (`has_errors` is False).
    covariance : (m, m) or (n, m, m) array-like, optional
        Instead of `sigma`, for correlated errors: shared by all objects or one per object.
    at : (m,) or (n, m) array-like, optional
        Coordinates of the points (time, phase, wavelength). One row per object where every object has points of its
        own (an irregular light curve, padded with NaN): a column then means nothing, and `own_points` is True.
    band : (m,) or (n, m) array-like of int, optional
        Number of the band (filter, channel) that each point was measured in, from 0; -1 where missing.
    exposure : scalar, (n,), (m,) or (n, m) array-like, optional
        Instead of `sigma`, for values that are counts: how long (or how often, or how deep) each was looked for. No exposure
        at all, 0, is a missing point. Where n = m, give (n, 1) or (1, m).

    Attributes
    ----------
    values : (n, m)
        NaN where missing. Read-only.
    sigma : (n, m)
        Infinite where missing, zero if there are no errors. Read-only. Of counts with an exposure it is the rate that one
        count stands for, 1 / exposure.
    counted : bool
        Whether the values are counts with an exposure.
    columns : mapping from str to Column
        Numbers beside the points of every object (redshift, period, colour of the host), where there are any (`with_columns`).

    Examples
    --------
    >>> from badac import Measurements
    >>> stars = Measurements([[1.0, 2.0], [3.0, float("nan")]], sigma=0.1)
    >>> stars
    Measurements(2 objects x 2 points, 1 missing, with sigma)
    >>> stars[1:].observed
    array([[ True, False]])
    """

    values: FloatArray
    sigma: FloatArray
    covariance: FloatArray | None
    at: FloatArray | None
    has_errors: bool
    band: IntArray | None
    counted: bool

    def __init__(
        self,
        values: Any,
        sigma: Any = None,
        *,
        covariance: Any = None,
        at: Any = None,
        band: Any = None,
        exposure: Any = None,
    ) -> None:
        if exposure is not None and (sigma is not None or covariance is not None):
            raise ValueError(
                "Give `exposure` or `sigma` (`covariance`), not both: counts with an exposure bring their own width."
            )
        if sigma is not None and covariance is not None:
            raise ValueError(
                "Give `sigma` or `covariance`, not both: the standard deviations are the covariance's diagonal."
            )
        checked = check_values(values)
        if exposure is not None:
            sigma = rate_of_one_count(exposure, checked)
        has_errors = sigma is not None or covariance is not None
        full: FloatArray | None = None
        if covariance is not None:
            full = check_covariance(covariance, checked)
            spread = np.sqrt(np.diagonal(full, axis1=-2, axis2=-1))
        else:
            spread = check_sigma(0.0 if sigma is None else sigma, checked)
        spread = np.broadcast_to(spread, checked.shape)
        if any_nan(checked) or largest(spread) == np.inf:
            missing = np.isnan(checked) | np.isinf(spread)
            # Both say "missing" in their own way, so that either array alone is enough to know.
            checked = np.where(missing, np.nan, checked)
            spread = np.where(missing, np.inf, spread)
        coordinates = None if at is None else check_at(at, checked)
        bands = None if band is None else check_band(band, checked)
        self._set(checked, spread, full, coordinates, has_errors, bands, exposure is not None)

    def _set(
        self,
        values: FloatArray,
        sigma: FloatArray,
        covariance: FloatArray | None,
        at: FloatArray | None,
        has_errors: bool,
        band: IntArray | None,
        counted: bool = False,
    ) -> None:
        arrays = {"values": values, "sigma": sigma, "covariance": covariance, "at": at, "band": band}
        for name, array in arrays.items():
            kept: Any = array
            if kept is not None:
                kept = kept.view()
                kept.flags.writeable = False
            object.__setattr__(self, name, kept)
        object.__setattr__(self, "has_errors", has_errors)
        object.__setattr__(self, "counted", counted)

    @classmethod
    def _trusted(
        cls,
        values: FloatArray,
        sigma: FloatArray,
        covariance: FloatArray | None = None,
        at: FloatArray | None = None,
        has_errors: bool = True,
        band: IntArray | None = None,
        counted: bool = False,
    ) -> Measurements:
        """Build from arrays that already keep the promises of the class, without checking them again."""
        made = object.__new__(cls)
        made._set(values, sigma, covariance, at, has_errors, band, counted)
        return made

    @property
    def columns(self) -> Mapping[str, Column]:
        """Named columns with errors beside the points, (n,) each."""
        found: dict[str, Column] = self.__dict__.get("_columns", {})
        return MappingProxyType(found)

    def with_columns(self, columns: Mapping[str, Any]) -> Measurements:
        """Return the same objects with named columns beside their points; one of a name that is there already is replaced.

        Parameters
        ----------
        columns : mapping from name to (values, sigma), or to values
            (n,) each, sigma also as one number for all; NaN: missing. Without sigma the values count as exact.

        Examples
        --------
        >>> from badac import Measurements
        >>> curves = Measurements([[1.0, 2.0], [3.0, 4.0]], 0.1).with_columns({"redshift": ([0.2, float("nan")], 0.05)})
        >>> curves[:1].columns["redshift"].sigma
        array([0.05])
        """
        own = {str(name): checked_column(str(name), given, self.n_objects) for name, given in columns.items()}
        return self._carrying({**self.columns, **own})

    def without_columns(self) -> Measurements:
        """Return the points alone."""
        return self._carrying({})

    def replaced(
        self, values: Any, sigma: Any = None, *, covariance: Any = None, at: Any = None
    ) -> Measurements:
        """Return the same objects with other values at their points, and with all that stands beside them.

        What is not given stays: errors or exposure, coordinates, bands, columns. Whoever makes objects out of objects point by
        point does it here, so that nothing is lost on the way.

        Parameters
        ----------
        values : (n, m) array-like
        sigma, covariance : array-like, optional
            New errors, as of the class; refused for counts with an exposure, which have none.
        at : array-like, optional
            New coordinates.

        Examples
        --------
        >>> from badac import Measurements
        >>> stars = Measurements([[1.0, 2.0]], 0.1).with_columns({"redshift": [0.2]})
        >>> stars.replaced(10 * stars.values, 10 * stars.sigma)
        Measurements(1 objects x 2 points, with sigma, beside them redshift)
        """
        same = sigma is None and covariance is None
        if not same:
            self.refuse_counts()
        if same and self.covariance is not None:
            covariance = self.covariance
        elif same and self.has_errors:
            sigma = self.sigma
        made = Measurements(
            values, sigma, covariance=covariance, at=self.at if at is None else at, band=self.band
        )
        object.__setattr__(made, "counted", self.counted)
        return made._carrying(self.columns)

    def refuse_counts(self) -> None:
        """Refuse what is right for values with errors alone."""
        if self.counted:
            raise ValueError(
                "counts with an exposure cannot be changed as values with errors can: what comes out are no counts. Give rates "
                "with their errors, Measurements(counts / exposure, sigma=...)."
            )

    def _changed(self, **arrays: Any) -> Measurements:
        """Return the same objects with some of their arrays changed, which keep the promises of the class, unchecked."""
        own = {
            "values": self.values,
            "sigma": self.sigma,
            "covariance": self.covariance,
            "at": self.at,
            "has_errors": self.has_errors,
            "band": self.band,
            "counted": self.counted,
        }
        made = Measurements._trusted(**{**own, **arrays})
        if self.columns:
            made.__dict__["_columns"] = dict(self.columns)
        return made

    def _carrying(self, columns: Mapping[str, Column]) -> Measurements:
        made = self._changed()
        made.__dict__["_columns"] = dict(columns)
        return made

    @property
    def observed(self) -> BoolArray:
        """(n, m), True where a point was measured."""
        return ~np.isnan(self.values)

    @property
    def exposure(self) -> FloatArray | None:
        """(n, m), 0 where missing; None unless the values are counts with an exposure."""
        return np.divide(1.0, self.sigma) if self.counted else None

    @property
    def complete(self) -> bool:
        """Whether no point is missing."""
        return not any_nan(self.values)

    @property
    def own_points(self) -> bool:
        """Whether every object has points of its own (`at` per object), so that columns have no common meaning."""
        return self.at is not None and self.at.ndim == 2

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.values.shape
        return n, m

    @property
    def ndim(self) -> int:
        return 2

    @property
    def n_objects(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_points(self) -> int:
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return self.n_objects

    def __getitem__(self, key: Any) -> Measurements:
        """Select objects by a slice, an integer, a boolean mask or an array of integers; always a `Measurements`."""
        rows, columns = self._split_key(key)
        if rows is None:
            raise IndexError(f"objects are selected by numbers, a mask or a slice: got {key!r}.")
        if isinstance(rows, int | np.integer):
            if not -self.n_objects <= rows < self.n_objects:
                raise IndexError(f"object {rows} is out of range: there are {self.n_objects} objects.")
            rows = slice(int(rows), int(rows) + 1 if rows != -1 else None)
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and rows.shape == (self.n_objects,):
            rows = np.flatnonzero(rows)  # once for all arrays
        covariance = self.covariance
        if covariance is not None and covariance.ndim == 3:
            covariance = covariance[rows]
        at = self.at
        if at is not None and at.ndim == 2:
            at = at[rows]
        band = self.band
        if band is not None and band.ndim == 2:
            band = band[rows]
        picked = Measurements._trusted(
            _picked(self.values, rows),
            _picked(self.sigma, rows),
            covariance,
            at,
            self.has_errors,
            band,
            self.counted,
        )
        if self.columns:
            picked = picked._carrying(
                {name: Column(one.values[rows], one.sigma[rows]) for name, one in self.columns.items()}
            )
        return picked if columns is None else picked.points(columns)

    @staticmethod
    def _split_key(key: Any) -> tuple[Any, Any]:
        if not isinstance(key, tuple):
            return key, None
        if len(key) == 2 and key[1] is Ellipsis:
            return key[0], None
        if len(key) == 2:
            every = isinstance(key[1], slice) and key[1] == slice(None)
            return key[0], (None if every else key[1])
        raise IndexError(f"a Measurements is indexed by objects and points: got {len(key)} indices.")

    def points(self, key: Any) -> Measurements:
        """Select points (columns) by a slice, a mask or an array of integers."""
        key = np.arange(self.n_points)[key]
        key = np.atleast_1d(key)
        covariance = None if self.covariance is None else self.covariance[..., key[:, None], key]
        at = None if self.at is None else self.at[..., key]
        band = None if self.band is None else self.band[..., key]
        return Measurements._trusted(
            self.values[:, key], self.sigma[:, key], covariance, at, self.has_errors, band, self.counted
        )._carrying(self.columns)

    def with_sigma(self, sigma: FloatArray) -> Measurements:
        """Return the same values with other standard deviations (n, m), in place of a covariance or an exposure."""
        changed = Measurements(
            self.values, np.where(self.observed, sigma, np.inf), at=self.at, band=self.band
        )
        return changed._carrying(self.columns)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        # A scaler in a pipeline would otherwise turn the object into bare values, and the error bars would be gone
        # without a word.
        raise TypeError(
            "a Measurements does not turn into an array by itself, since its error bars would be lost. "
            "Use .values and .sigma, and transform both (scaling by c scales sigma by |c|)."
        )

    def __repr__(self) -> str:
        n, m = self.shape
        missing = int(n * m - self.observed.sum())
        errors = (
            "without errors"
            if not self.has_errors
            else (
                "with exposure"
                if self.counted
                else "with sigma"
                if self.covariance is None
                else "with covariance"
            )
        )
        gaps = f", {missing} missing" if missing else ""
        beside = f", beside them {', '.join(self.columns)}" if self.columns else ""
        return f"Measurements({n} objects x {m} points{gaps}, {errors}{beside})"


def _picked(array: FloatArray, rows: Any) -> FloatArray:
    """Rows of an array, not copied if they follow each other; by other numbers `take` costs half of an index."""
    if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind in "iu":
        if rows.size and rows[0] >= 0 and rows[-1] < len(array) and (np.diff(rows) == 1).all():
            return array[int(rows[0]) : int(rows[-1]) + 1]
        return array.take(rows, axis=0)
    return np.asarray(array[rows])

"""Objects whose error bars are all larger, or smaller, by one factor."""

from __future__ import annotations

from badac.data.measurements import Measurements


def with_error_scale(objects: Measurements, factor: float) -> Measurements:
    """Return objects whose error bars are `factor` times as large; they themselves, if it is 1 or they have none.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data.error_scale import with_error_scale
    >>> with_error_scale(Measurements([[1.0, 2.0]], 0.1), 2.0).sigma
    array([[0.2, 0.2]])
    """
    if factor == 1.0 or not objects.has_errors:
        return objects
    covariance = None if objects.covariance is None else factor**2 * objects.covariance
    return objects._changed(sigma=objects.sigma * factor, covariance=covariance)

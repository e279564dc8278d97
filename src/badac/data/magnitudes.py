"""Magnitudes and fluxes: ``flux = 10^(-0.4 (mag - zero_point))``, ``flux_err = 0.4 ln 10 flux mag_err``.

The error is carried over to first order, which is how surveys made the magnitude error from the flux in the first place;
where ``mag_err`` is above about 0.3 neither is Gaussian, and a flux measured as such is better.
"""

from __future__ import annotations

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import FloatArray

_LN10_04 = 0.4 * float(np.log(10.0))


def to_flux(
    magnitude: FloatArray, magnitude_sigma: FloatArray, zero_point: float | FloatArray = 25.0
) -> tuple[FloatArray, FloatArray]:
    """Return fluxes and their standard deviations, in the shape of the magnitudes.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.data import to_flux
    >>> flux, sigma = to_flux(np.array([20.0]), np.array([0.01]), zero_point=25.0)
    >>> flux.round(1), sigma.round(2)
    (array([100.]), array([0.92]))
    """
    flux = 10.0 ** (-0.4 * (np.asarray(magnitude) - zero_point))
    return flux, _LN10_04 * flux * magnitude_sigma


def to_magnitude(
    flux: FloatArray, flux_sigma: FloatArray, zero_point: float | FloatArray = 25.0
) -> tuple[FloatArray, FloatArray]:
    """Return magnitudes and their standard deviations; NaN where the flux is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.data import to_magnitude
    >>> magnitude, sigma = to_magnitude(np.array([100.0, -5.0]), np.array([1.0, 1.0]), zero_point=25.0)
    >>> magnitude, sigma.round(4)
    (array([20., nan]), array([0.0109,    nan]))
    """
    positive = np.where(np.asarray(flux) > 0, flux, np.nan)
    return zero_point - 2.5 * np.log10(positive), np.asarray(flux_sigma / (_LN10_04 * positive))


def as_fluxes(objects: Measurements, zero_point: float | FloatArray = 25.0) -> Measurements:
    """Turn objects measured in magnitudes (n, m) into fluxes.

    Parameters
    ----------
    objects : Measurements
    zero_point : float, or (n, 1) or (m,) array
        Magnitude of flux 1. The object's own mean magnitude, (n, 1), gives relative fluxes.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import as_fluxes
    >>> as_fluxes(Measurements([[20.0, 22.5]], 0.01), zero_point=25.0).values.round(1)
    array([[100.,  10.]])
    """
    if objects.covariance is not None:
        raise ValueError("magnitudes with a covariance do not turn into fluxes: give `sigma`.")
    seen = objects.observed
    flux, sigma = to_flux(np.where(seen, objects.values, 0.0), np.where(seen, objects.sigma, 0.0), zero_point)
    return objects.replaced(
        np.where(seen, flux, np.nan), np.where(seen, sigma, np.inf) if objects.has_errors else None
    )


def as_magnitudes(objects: Measurements, zero_point: float | FloatArray = 25.0) -> Measurements:
    """Turn objects measured in fluxes (n, m) into magnitudes; a flux that is not positive becomes missing.

    Parameters
    ----------
    objects : Measurements
    zero_point : float, or (n, 1) or (m,) array
        Magnitude of flux 1.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import as_magnitudes
    >>> as_magnitudes(Measurements([[100.0, -1.0]], 1.0), zero_point=25.0).values
    array([[20., nan]])
    """
    if objects.covariance is not None:
        raise ValueError("fluxes with a covariance do not turn into magnitudes: give `sigma`.")
    seen = objects.observed & (np.where(objects.observed, objects.values, 0.0) > 0)
    magnitude, sigma = to_magnitude(
        np.where(seen, objects.values, 1.0), np.where(seen, objects.sigma, 0.0), zero_point
    )
    return objects.replaced(
        np.where(seen, magnitude, np.nan), np.where(seen, sigma, np.inf) if objects.has_errors else None
    )

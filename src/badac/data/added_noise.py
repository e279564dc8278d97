"""Objects as a worse instrument would have seen them: known noise added, error bars grown accordingly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements


def add_noise(objects: Measurements, sigma: npt.ArrayLike, rng: np.random.Generator) -> Measurements:
    """Return noisier objects; missing points stay missing.

    Parameters
    ----------
    objects : Measurements
        (n, m), with the error bars of each point or with none.
    sigma : scalar, (m,) or (n, m)
        Standard deviation of the Gaussian noise to be added, independent at each point.
    rng : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.data import add_noise
    >>> worse = add_noise(Measurements([[1.0, 2.0]], 0.3), 0.4, np.random.default_rng(0))
    >>> worse.sigma
    array([[0.5, 0.5]])
    """
    if objects.covariance is not None:
        raise ValueError(
            "add_noise takes objects with an error bar for each point: these have covariances between points. "
            "Add to their diagonal instead."
        )
    added = np.broadcast_to(np.asarray(sigma, dtype=np.float64), objects.shape)
    if not added.any():
        return objects
    values = objects.values + added * rng.standard_normal(objects.shape)
    grown = np.where(objects.observed, np.hypot(objects.sigma, added), np.inf)
    return objects.replaced(values, grown)

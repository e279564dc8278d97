"""Training objects of the same batch (night, plate, run): what they have in common beyond their classes is taken out.

For values with errors it is a term that is subtracted (`badac.classes.shared_conditions`), for counts a factor on their
exposures (`badac.classes.shared_exposures`).
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from badac.classes import separate_conditions, separate_exposures
from badac.data.measurements import Measurements
from badac.noise import Noise
from badac.noise.model import ExposedNoise, needs_sigma


def without_batches(objects: Measurements, label: npt.NDArray[Any], batch: Any, noise: Noise) -> Measurements:
    """Return training objects (n, m) of classes label (n,) without what the objects of a batch (n,) share."""
    if needs_sigma(noise):
        return separate_conditions(objects, label, batch).objects
    if objects.counted and isinstance(noise, ExposedNoise):
        return separate_exposures(objects, label, batch).objects
    raise ValueError(
        f"batches of counts share a factor on their exposures: got {objects!r} under {noise!r}. Give the exposures, "
        'fit(X, y, exposure=X.sum(axis=1), batch=batch) where nothing better is known, with noise="poisson".'
    )

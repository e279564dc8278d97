"""What everyone who was asked said of some objects."""

from __future__ import annotations

from dataclasses import dataclass

from badac.calibration.coarsening import FloatArray
from badac.data.measurements import Measurements


@dataclass(frozen=True, eq=False)
class BaseOutputs:
    """What everyone said of some objects.

    Attributes
    ----------
    objects : Measurements
        (n, m), as they were asked about.
    told : (n, o, k)
        Each opinion.
    weighed : (n, k)
        All of them together, to be used in place of the log evidence.
    level : (n,)
        Noise levels.
    """

    objects: Measurements
    log_evidences: FloatArray
    stacked: FloatArray
    level: FloatArray

"""Noisy objects as one container, and the ways into it."""

from badac.data.measurements import Measurements
from badac.data.tables import from_astropy, from_frame

__all__ = ["Measurements", "from_astropy", "from_frame"]

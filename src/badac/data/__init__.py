"""Noisy objects as one container, and the ways into it."""

from badac.data.measurements import Measurements, concatenate
from badac.data.tables import from_astropy, from_frame

__all__ = ["Measurements", "concatenate", "from_astropy", "from_frame"]

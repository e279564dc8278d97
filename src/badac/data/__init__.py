"""Noisy objects as one container, and the ways into it."""

from badac.data.added_noise import add_noise
from badac.data.catalogue import Catalogue
from badac.data.folding import binned, fold
from badac.data.light_curves import from_long
from badac.data.losses import Loss, Losses
from badac.data.magnitudes import as_fluxes, to_flux, to_magnitude
from badac.data.measurements import Measurements, concatenate
from badac.data.peaks import Peaks, align_at_peak, find_peaks
from badac.data.reading import from_table, from_wide, read
from badac.data.tables import from_astropy, from_frame

__all__ = [
    "Catalogue",
    "Loss",
    "Losses",
    "Measurements",
    "Peaks",
    "add_noise",
    "align_at_peak",
    "as_fluxes",
    "binned",
    "concatenate",
    "find_peaks",
    "fold",
    "from_astropy",
    "from_frame",
    "from_long",
    "from_table",
    "from_wide",
    "read",
    "to_flux",
    "to_magnitude",
]

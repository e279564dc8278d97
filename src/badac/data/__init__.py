"""Noisy objects as one container, and the ways into it: any table as its owner has it."""

from badac.data.added_noise import add_noise
from badac.data.catalogue import Catalogue
from badac.data.concatenation import concatenate
from badac.data.conventions import Conventions
from badac.data.description import Axis, Description
from badac.data.files import read_frame
from badac.data.folding import binned, fold
from badac.data.frames import as_frame
from badac.data.hints import hint
from badac.data.layout import Layout
from badac.data.light_curves import from_long
from badac.data.losses import Loss, Losses
from badac.data.magnitudes import as_fluxes, as_magnitudes, to_flux, to_magnitude
from badac.data.measurements import Measurements
from badac.data.output import write_table
from badac.data.pairing import Pairing, pair_columns
from badac.data.peaks import Peaks, align_at_peak, find_peaks
from badac.data.periods import Periods, find_period
from badac.data.positions import Positions, find_positions, sky_links
from badac.data.preparation import Preparation
from badac.data.quantities import converted, units_in
from badac.data.reading import from_table, from_wide, read
from badac.data.said_pairs import Pair
from badac.data.scales import ScaleSummary, compare_scales
from badac.data.tables import TableWarning, from_astropy, from_frame, refuse_without_errors
from badac.data.wide import matched

__all__ = [
    "Axis",
    "Catalogue",
    "Conventions",
    "Description",
    "Layout",
    "Loss",
    "Losses",
    "Measurements",
    "Pair",
    "Pairing",
    "Peaks",
    "Periods",
    "Positions",
    "Preparation",
    "ScaleSummary",
    "TableWarning",
    "add_noise",
    "align_at_peak",
    "as_fluxes",
    "as_frame",
    "as_magnitudes",
    "binned",
    "compare_scales",
    "concatenate",
    "converted",
    "find_peaks",
    "find_period",
    "find_positions",
    "fold",
    "from_astropy",
    "from_frame",
    "from_long",
    "from_table",
    "from_wide",
    "hint",
    "matched",
    "pair_columns",
    "read",
    "read_frame",
    "refuse_without_errors",
    "sky_links",
    "to_flux",
    "to_magnitude",
    "units_in",
    "write_table",
]

"""What is unknown of each new object and says nothing about its class: wrappers of class models that are class models."""

from badac.nuisance.alignment import Alignment, align
from badac.nuisance.calibration import Calibration
from badac.nuisance.model import Nuisance, innermost
from badac.nuisance.phase import Phases, learn_phases
from badac.nuisance.shift import Shift

__all__ = ["Alignment", "Calibration", "Nuisance", "Phases", "Shift", "align", "innermost", "learn_phases"]

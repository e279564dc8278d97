"""Anomaly models: what an object may be that belongs to no known class."""

from badac.anomalies.at_points import AtPoints
from badac.anomalies.broad import Broad
from badac.anomalies.bump import Bump
from badac.anomalies.contamination import Contamination
from badac.anomalies.deviations import Deviations
from badac.anomalies.hypothesis import Hypothesis, ProcessAlone, ProcessOnClass, Scales, ShapeOnClass
from badac.anomalies.model import AnomalyModel, Known
from badac.anomalies.on_a_grid import OnGrid
from badac.anomalies.seen import Seen
from badac.anomalies.sequence import KernelCurves, SmoothCurves
from badac.anomalies.smooth import SmoothDeviation
from badac.anomalies.something_else import SomethingElse
from badac.anomalies.tophat import TopHat
from badac.latent.class_summary import ClassSummary
from badac.latent.process_summary import ProcessSummary

__all__ = [
    "AnomalyModel",
    "AtPoints",
    "Broad",
    "Bump",
    "ClassSummary",
    "Contamination",
    "Deviations",
    "Hypothesis",
    "KernelCurves",
    "Known",
    "OnGrid",
    "ProcessAlone",
    "ProcessOnClass",
    "ProcessSummary",
    "Scales",
    "Seen",
    "ShapeOnClass",
    "SmoothCurves",
    "SmoothDeviation",
    "SomethingElse",
    "TopHat",
]

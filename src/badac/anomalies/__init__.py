"""Anomaly models: what an object may be that belongs to no known class."""

from badac.anomalies.broad import Broad
from badac.anomalies.bump import Bump
from badac.anomalies.class_summary import Described
from badac.anomalies.contamination import Contamination
from badac.anomalies.deviations import Deviations
from badac.anomalies.hypothesis import Ground, Hypothesis
from badac.anomalies.model import AnomalyModel, Known
from badac.anomalies.seen import Seen
from badac.anomalies.smooth import SmoothDeviation
from badac.anomalies.something_else import SomethingElse
from badac.anomalies.tophat import TopHat

__all__ = [
    "AnomalyModel",
    "Broad",
    "Bump",
    "Contamination",
    "Described",
    "Deviations",
    "Ground",
    "Hypothesis",
    "Known",
    "Seen",
    "SmoothDeviation",
    "SomethingElse",
    "TopHat",
]

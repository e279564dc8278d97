"""Anomaly models: what an object may be that belongs to no known class."""

from badac.anomalies.broad import Broad
from badac.anomalies.contamination import Contamination
from badac.anomalies.model import AnomalyModel, Known
from badac.anomalies.seen import Seen
from badac.anomalies.tophat import TopHat

__all__ = ["AnomalyModel", "Broad", "Contamination", "Known", "Seen", "TopHat"]

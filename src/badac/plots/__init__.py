"""Figures: each Display holds the numbers of one figure and draws them.

As in scikit-learn, a Display is made from results (``from_...``), keeps the arrays that it shows as attributes, and draws
with ``.plot(ax=None)``, after which ``.ax_`` and ``.figure_`` are the matplotlib objects. All share the house style of
`badac.plots.style`: one column wide, safe for colour-blind readers. Needs the extra `plots`; matplotlib is imported only
when something is drawn.
"""

from badac.plots.diagnosis import DiagnosisDisplay
from badac.plots.object import ClassBand, ObjectDisplay
from badac.plots.objects import ObjectsDisplay
from badac.plots.performance import CalibrationDisplay, ConfusionDisplay
from badac.plots.pvalues import PValuesDisplay
from badac.plots.ranking import RankingDisplay
from badac.plots.style import PALETTE, new_axes, new_figure, save
from badac.plots.subclasses import SubclassesDisplay

__all__ = [  # noqa: RUF022  (reading order)
    "ObjectsDisplay",
    "ObjectDisplay",
    "ClassBand",
    "CalibrationDisplay",
    "ConfusionDisplay",
    "RankingDisplay",
    "PValuesDisplay",
    "DiagnosisDisplay",
    "SubclassesDisplay",
    "PALETTE",
    "new_figure",
    "new_axes",
    "save",
]

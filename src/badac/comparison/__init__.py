"""Are the new objects like the training's? A list with a stated share of false alarms keeps its word only if they are.

    noise levels        share of new objects noisier or quieter than training objects ever are
    error bars          factor c on the error bars under which the bulk is most probable, new beside training
    values              shift and spread of each column within the predicted classes, new beside training
    gaps                how often each column is missing
    bulk                p-values above 0.2: uniform for objects like the training's, whatever a few anomalies do
    slope at 1          share of new objects that look known at all: twice the share of p-values above 1/2 (Storey 2002)

What is found is said, one row each; where it makes p-values wrong the *promise* of a list is refused, not the ranking. Where
one change of all new objects (`badac.comparison.common_cause`) mends everything, or leaving out one column, that is the cause,
and is said alone; a factor on their error bars is offered. Where most objects are strange and no such change helps, that is
said alone: shifts within classes to which hardly any of them belongs mean nothing.
"""

from badac.comparison.comparison import Comparison, ListWarning
from badac.comparison.difference import Difference

__all__ = ["Comparison", "Difference", "ListWarning"]

"""Calibration of the posterior, learned from training objects left out of their own class.

On data that follow the class models their evidence is all there is to know, and everything here comes out as "as it is". Real
data do not: `coarsening` tempers evidence that is too sure, `missingness` lets gaps tell the class, `stacking` adds base models
of other kinds, and `posterior` is all of them together. `null_distribution` ranks what no known class explains among the same
left-out objects, and `pvalues` does so among objects that were kept back. Probabilities and, with ``anomaly="auto"``, scores
change; ``log_evidence`` stays log P(d | class). The README of this folder is the map.
"""

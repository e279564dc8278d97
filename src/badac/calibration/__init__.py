"""How far the evidence can be trusted, learned from training objects left out of their own class.

On data that follow the class models their evidence is all there is to know, and everything here comes out as "as it is". Real
data do not: `coarsening` tempers evidence that is too sure, `missingness` hears what gaps say of the class, and `opinions` asks
`others` (the members themselves, single points, `trees`; curves at their own times on a grid, `gridded`), weighed by
`stacking`. `trust` is all of them together. `strangeness` compares with the same left-out objects what no known class explains.
Probabilities and, with ``anomaly="auto"``, scores change; ``log_evidence`` stays log P(d | class).
"""

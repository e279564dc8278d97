"""How far the evidence can be trusted, learned from training objects left out of their own class.

On data that follow the class models their evidence is all there is to know, and everything here comes out as "as it is". Real
data do not: `coarsening` tempers evidence that is too sure, `missingness` hears what gaps say of the class, and `opinions` asks
other kinds of class models, weighed by `stacking`. `trust` is all of them together. Only probabilities change;
``log_evidence`` stays log P(d | class).
"""

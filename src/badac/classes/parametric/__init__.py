"""Classes from formulas: a function of a few unknown numbers with priors.

`parametric` takes any function, with integrals by `importance` sampling; `linear_model` is closed; `expansion` turns curves
into coefficients of a basis, with their covariance.
"""

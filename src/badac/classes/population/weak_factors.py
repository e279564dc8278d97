"""Factors that no member says anything about: they are taken off before the latent density is learned.

    A_aa = sum_j f_ja^2 / (psi_j + sigma_j^2)         of a member, along the principal axes of the factors

is the precision with which a member's points tell its position along a factor, beside the 1 of the population. Where it is
next to nothing for all but one in a hundred members, the factor is in the spread of no object, and evidence is the same without
it; but every kernel of the latent space pays for it with the cube of the number of factors. There are such factors where a
bent population may have more than held-out members ask for (`badac.classes.population.plan`), and the members together do not
bear them out.
"""

from __future__ import annotations

import numpy as np

from badac._kernels.latent import triangle
from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.factor import Factor

# Precision that is next to nothing: it moves a member's evidence by one in two hundred of a nat; and the share of the members
# who tell a position less well.
_WEAK, _ALL_BUT = 0.01, 0.99
# How much an EM that begins at the moments makes of a weak factor's precision: up to 19 times (the paper's Experiment 4 as
# released, 6,000 curves, seed 0).
_GROWS = 20.0
_ASKED = 1000  # members: ten of them are above the quantile


def without_weak_factors(
    factor: Factor, noise: FloatArray, members: Measurements, *, before_em: bool = False
) -> Factor:
    """Return the factor model along its principal axes, without the factors that members say nothing about; one stays.

    Parameters
    ----------
    factor : Factor
    noise : (m,)
        Typical noise variance of the members.
    members : Measurements
        (k, m)
    before_em : bool
        Whether an EM is still to come, which may make a factor stronger: only those that no EM will bring back are then
        taken off.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes.population.weak_factors import without_weak_factors
    >>> from badac.latent import Factor
    >>> factor = Factor(np.zeros(4), np.array([[1.0, 1e-4], [1.0, -1e-4], [1.0, 0.0], [1.0, 0.0]]), np.full(4, 1e-3))
    >>> members = Measurements(np.ones((5, 4)), 0.1)
    >>> without_weak_factors(factor, np.full(4, 0.01), members).rank
    1
    """
    some = members[:: max(1, members.n_objects // _ASKED)]
    axes = np.linalg.svd(factor.factors / np.sqrt(noise + factor.psi)[:, None], full_matrices=False)[2].T
    turned = factor.factors @ axes
    precision = Factor(factor.mean, turned, factor.psi).project(some).precision
    own = precision[:, np.equal(*triangle(factor.rank))]
    strong = np.quantile(own, _ALL_BUT, axis=0) > (_WEAK / _GROWS if before_em else _WEAK)
    strong[0] = True
    if strong.all():
        return factor
    return Factor(factor.mean, turned[:, strong], factor.psi + (turned[:, ~strong] ** 2).sum(axis=1))

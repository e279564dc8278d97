"""Latent dimensions that nobody asks for, integrated out: what an object says of the others.

With ``x = (u, z)``, ``u ~ N(0, I)`` and the likelihood ``-(offset - 2 shift'x + x' precision x) / 2`` of an object
(`badac.latent.likelihood`),

    precision' = P_zz - P_zu A P_uz,   shift' = b_z - P_zu A b_u,   offset' = offset + log det A^-1 - b_u' A b_u

with ``A = (I + P_uu)^-1``: again a Gaussian likelihood, of ``z`` alone. A calibration offset, a deviation at the edge, the
population itself when it is the observing conditions that are wanted: each is a few columns beside the others.
"""

from __future__ import annotations

import numpy as np

from badac._kernels.latent import pack, unpack
from badac.latent.likelihood import LatentLikelihood
from badac.training import FloatArray


def marginalise(latent: LatentLikelihood, count: int) -> LatentLikelihood:
    """Integrate the first `count` latent dimensions over N(0, I) and keep the likelihood of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, marginalise
    >>> latent = Factor(np.zeros(3), np.eye(3)[:, :2], np.ones(3)).project(Measurements([[1.0, 2.0, 3.0]], 0.1))
    >>> marginalise(latent, 1).rank
    1
    """
    if count == 0:
        return latent
    full = unpack(latent.precision)
    inner = np.eye(count) + full[:, :count, :count]
    both = np.concatenate([full[:, :count, count:], latent.shift[:, :count, None]], axis=2)
    solved = np.linalg.solve(inner, both)
    cross = full[:, count:, :count]
    precision = full[:, count:, count:] - cross @ solved[..., :-1]
    shift = latent.shift[:, count:] - (cross @ solved[..., -1:])[..., 0]
    log_det: FloatArray = np.linalg.slogdet(inner)[1]
    explained = np.einsum("na,na->n", latent.shift[:, :count], solved[..., -1])
    return LatentLikelihood(pack(precision), shift, latent.offset + log_det - explained)

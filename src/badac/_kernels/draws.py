"""Positions that stand for objects' posteriors in a latent space: the definition in slow and clear NumPy.

An object's likelihood is ``exp(b'z - z'A z / 2)``, a component of the density ``N(v, T)``, ``Q = T^-1``. The posterior under it
is ``N(m, (A + Q)^-1)``, ``(A + Q) m = b + Q v``; with ``A + Q = L L'`` a standard normal point ``u`` stands for

    z = m + L'^-1 u

Of ``K`` points the first go to the first components, each component to as many as it is responsible for.

Shapes: ``n`` objects, ``r`` latent dimensions, ``p = r (r + 1) / 2``, ``k`` components, ``K`` points.
"""

from __future__ import annotations

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads
from badac._kernels.latent import Components, unpack


def latent_draws(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    responsibility: FloatArray,
    points: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Positions that stand for each object's posterior under a mixture.

    Parameters
    ----------
    precision, shift : (n, p), (n, r)
        ``A``, packed, and ``b`` of each object.
    components : Components
    responsibility : (n, k)
        Of each component for each object; rows sum to one.
    points : (K, r)
        That stand for ``N(0, I)``.

    Returns
    -------
    (n, K, r)
    """
    checked_threads(n_threads)
    count = len(points)
    middle = (np.arange(count) + 0.5) / count
    chosen = (np.cumsum(responsibility, axis=1)[:, None, :-1] < middle[:, None]).sum(axis=2)
    likelihood = unpack(precision)
    out = np.empty((len(shift), count, shift.shape[1]))
    for k, own in enumerate(unpack(components.precision)):
        of_component = chosen == k
        rows = np.flatnonzero(of_component.any(axis=1))
        if not rows.size:
            continue
        root = np.linalg.inv(np.linalg.cholesky(likelihood[rows] + own))
        mean = (root.transpose(0, 2, 1) @ (root @ (shift[rows] + components.shift[k])[..., None]))[..., 0]
        here = mean[:, None, :] + points @ root
        out[rows] = np.where(of_component[rows][..., None], here, out[rows])
    return out

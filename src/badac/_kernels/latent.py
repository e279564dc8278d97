"""The latent kernels: objects that are Gaussian in a few latent dimensions, against Gaussian components.

Object ``i`` has the likelihood ``exp(b_i'z - z'A_i z / 2)`` of its latent position ``z`` (``r`` dimensions), component ``k``
the density ``w_k N(z ; v_k , T_k)``. With ``Q_k = T_k^-1`` and ``M = A_i + Q_k`` their match is

    log w_k - (v_k'Q_k v_k + log det T_k)/2 + ((b_i + Q_k v_k)' M^-1 (b_i + Q_k v_k) - log det M)/2 .

Symmetric matrices are packed: the upper triangle row by row, ``p = r (r + 1) / 2`` numbers (`pack`, `unpack`). The functions
here are the clear NumPy definitions; `badac._kernels` puts the compiled ones in their place where the core is present.
"""

from __future__ import annotations

import numpy as np

from badac._kernels.reference import FloatArray


def pack(matrices: FloatArray) -> FloatArray:
    """Return the upper triangles (..., p) of symmetric matrices (..., r, r)."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return np.ascontiguousarray(matrices[..., rows, columns])


def unpack(packed: FloatArray) -> FloatArray:
    """Return the symmetric matrices (..., r, r) of upper triangles (..., p)."""
    r = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(r)
    out = np.empty((*packed.shape[:-1], r, r))
    out[..., rows, columns] = packed
    out[..., columns, rows] = packed
    return out


def inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverses (..., r, r) of matrices (..., r, r)."""
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


def latent_log_match(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log of each object's likelihood averaged over each component.

    Parameters
    ----------
    precision, shift : (n, p), (n, r)
        ``A_i`` packed and ``b_i``.
    component_precision, component_shift : (k, p), (k, r)
        ``Q_k = T_k^-1`` packed and ``Q_k v_k``.
    log_constant : (k,)
        ``log w_k - (v_k'Q_k v_k + log det T_k) / 2``.
    n_threads : int
        Taken for the signature's sake: this twin runs on one thread.

    Returns
    -------
    (n, k)
    """
    del n_threads
    out = np.empty((len(shift), len(log_constant)))
    likelihood = unpack(precision)
    for k, own in enumerate(unpack(component_precision)):
        factor = np.linalg.cholesky(likelihood + own)
        right = np.linalg.solve(factor, (shift + component_shift[k])[..., None])[..., 0]
        half_log_det = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        out[:, k] = log_constant[k] + 0.5 * (right**2).sum(axis=1) - half_log_det
    return out


def latent_sums(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    responsibility: FloatArray,
    *,
    threshold: float = 1e-5,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sum the latent posteriors of all objects, per component, weighted by responsibility: what an EM step needs.

    Parameters
    ----------
    precision, shift, component_precision, component_shift
        As in `latent_log_match`.
    responsibility : (n, k)
        Of each component for each object; pairs at or below `threshold` are left out.

    Returns
    -------
    count : (k,)
        ``sum_i R_ik``
    first : (k, r)
        ``sum_i R_ik m_ik`` with the posterior mean ``m_ik = M^-1 (b_i + Q_k v_k)``
    second : (k, p)
        ``sum_i R_ik (M^-1 + m_ik m_ik')``, packed
    spread : (k, p)
        ``sum_i R_ik M^-1``, packed
    """
    n_components, r = component_shift.shape
    count = np.zeros(n_components)
    first = np.zeros((n_components, r))
    second = np.zeros((n_components, r, r))
    spread = np.zeros((n_components, r, r))
    for k, own in enumerate(unpack(component_precision)):
        rows = np.flatnonzero(responsibility[:, k] > threshold)
        weight = responsibility[rows, k]
        covariance = np.linalg.inv(unpack(precision[rows]) + own)
        mean = (covariance @ (shift[rows] + component_shift[k])[..., None])[..., 0]
        count[k] = weight.sum()
        first[k] = weight @ mean
        spread[k] = np.tensordot(weight, covariance, axes=1)
        second[k] = spread[k] + (weight[:, None] * mean).T @ mean
    return count, first, pack(second), pack(spread)

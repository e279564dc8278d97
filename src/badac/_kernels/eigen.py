"""Eigenvectors of symmetric matrices, also where LAPACK's quickest way gives up.

    matrix = vectors diag(values) vectors',     values rising

`numpy.linalg.eigh` divides and conquers (``syevd``), which some builds of OpenBLAS end without convergence for matrices
that are perfectly fine: the covariance of 100 points of 30 curves, say. The plain QR iteration (``syev``; Golub & Van Loan
2013, section 8.3) takes longer and converges there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def eigh(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues (..., m), rising, and eigenvectors (..., m, m), of symmetric matrices (..., m, m).

    Examples
    --------
    >>> import numpy as np
    >>> from badac._kernels.eigen import eigh
    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))[0]
    array([1., 3.])
    """
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        return _by_qr(matrix)
    return values, vectors


def _by_qr(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As `eigh`, one matrix after the other, by QR iteration."""
    from scipy.linalg import eigh as by_driver

    values, vectors = np.empty(matrix.shape[:-1]), np.empty(matrix.shape)
    for one in np.ndindex(matrix.shape[:-2]):
        values[one], vectors[one] = by_driver(matrix[one], driver="ev")
    return values, vectors

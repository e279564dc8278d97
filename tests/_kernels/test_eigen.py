"""Eigenvectors of symmetric matrices, by either way."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier
from badac._kernels.eigen import eigh
from badac.simulate import experiment


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (3, 40, 40), (2, 2, 5, 5), (0, 4, 4)])
def test_a_matrix_is_made_of_its_eigenvectors(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = np.random.default_rng(shape).standard_normal((*shape[:-1], shape[-1] // 2 + 1))
    matrix = wide @ wide.swapaxes(-1, -2)  # of half the rank

    def check() -> None:
        values, vectors = eigh(matrix)
        np.testing.assert_allclose(
            (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2), matrix, atol=1e-12
        )
        assert (np.diff(values, axis=-1) >= 0).all()

    check()

    def gives_up(_: np.ndarray) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", gives_up)
    check()


def test_thirty_curves_a_class_are_learned() -> None:
    """OpenBLAS 0.3.31 does not converge for one of the covariances here."""
    data = experiment(1, "printed", n_train=60, n_test=2, rng=np.random.default_rng(502))
    assert BADACClassifier(random_state=0).fit(data.train, data.train_label).classes_.size == 2

"""How to add a kernel backend, in one file: write the kernels that it does in another way, name them, and hold it to the table.

This one computes matches and posteriors by dense solves instead of Cholesky factors, and counts what is asked of it. All that
it does not name is the definition's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import TABLE, assert_follows, kernels

from badac import BADACClassifier
from badac._kernels import NUMPY, Backend, FloatArray, using
from badac._kernels.latent import Components, pack, unpack
from badac.simulate import experiment


def latent_log_match(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> FloatArray:
    total = unpack(precision)[:, None] + unpack(components.precision)
    pull = shift[:, None] + components.shift
    along = np.linalg.solve(total, pull[..., None])[..., 0]
    quadratic = np.einsum("ikr,ikr->ik", pull, along)
    return components.log_constant + 0.5 * (quadratic - np.linalg.slogdet(total)[1])


def latent_posterior(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    total = unpack(precision + component_precision)
    covariance = np.linalg.solve(total, np.eye(shift.shape[1]))
    mean = np.einsum("iab,ib->ia", covariance, shift + component_shift)
    return pack(covariance), mean, np.linalg.slogdet(total)[1]


DENSE = Backend("dense", latent_log_match=latent_log_match, latent_posterior=latent_posterior)


def counting(backend: Backend, calls: Counter[str]) -> Backend:
    """The same backend, which counts the calls of each kernel."""

    def counted(name: str) -> Callable[..., object]:
        def kernel(*args: object, **options: object) -> object:
            calls[name] += 1
            return getattr(backend, name)(*args, **options)

        return kernel

    return replace(backend, **{name: counted(name) for name in kernels()})


@pytest.mark.parametrize("kernel", ["latent_log_match", "latent_posterior"])
def test_it_follows_the_definition(kernel: str) -> None:
    for size in TABLE[kernel].sizes:
        assert_follows(DENSE, NUMPY, kernel, size)


def test_a_fit_through_it() -> None:
    data = experiment(1, "released", n_train=60, n_test=20, rng=np.random.default_rng(0))

    def log_evidence() -> FloatArray:
        model = BADACClassifier("population", random_state=0).fit(data.train, data.train_label)
        return model.log_evidence(data.test)

    calls: Counter[str] = Counter()
    with using(counting(DENSE, calls)):
        found = log_evidence()
    assert calls["latent_posterior"] > 0
    assert calls["latent_step"] > 0
    # The same steps of EM in other roundings.
    np.testing.assert_allclose(found, log_evidence(), rtol=1e-6)

"""Counts averaged over a spread of their log rates: by the kernel of Poisson counts, and node by node, the definition."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.latent import Factor
from badac.latent.count_likelihood import PlainCounts, linked_log_likelihood, node_by_node
from badac.noise import Poisson
from badac.noise.counts import PoissonCounts


@pytest.mark.parametrize("exposure", [0.02, 1.0, 500.0])
def test_at_once_is_node_by_node(exposure: float) -> None:
    rng = np.random.default_rng(0)
    spread = np.array([0.0, 0.05, 0.5, 2.0])
    factor = Factor(rng.normal(1.0, 1.0, 4), rng.normal(0.0, 1.5, (4, 2)), spread**2)
    positions = rng.standard_normal((30, 3, 2))
    centre = factor.mean + positions @ factor.factors.T
    each = exposure * rng.uniform(0.3, 3.0, (30, 1))
    counts = rng.poisson(each * np.exp(centre[:, 0])).astype(float)
    counts[0] *= 1000.0  # far from what its rate says
    objects = Measurements(np.where(rng.random((30, 4)) < 0.1, np.nan, counts), exposure=each)
    noise = Poisson("1/sigma")
    assert isinstance(noise, PoissonCounts) and PlainCounts.of(objects, noise) is not None
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    expected = node_by_node(objects, noise, spread, nodes, np.log(weights / weights.sum()))
    found = linked_log_likelihood(objects, factor, noise)(positions)
    for k in range(3):
        exact = np.where(objects.observed, expected(centre[:, k]), 0.0).sum(axis=1)
        assert np.allclose(found[:, k], exact, rtol=1e-10, atol=1e-9)


def test_counts_with_a_background_are_not_plain() -> None:
    objects = Measurements([[3.0, 0.0]], exposure=[1.0])
    assert Poisson("1/sigma", background=0.5).plain_counts(objects) is None

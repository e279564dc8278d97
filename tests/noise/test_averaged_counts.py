"""Counts averaged over a spread of their log rates: at once, and node by node, the definition."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.latent.count_likelihood import node_by_node
from badac.noise import Poisson
from badac.noise.counts import AveragedCounts


@pytest.mark.parametrize("exposure", [0.02, 1.0, 500.0])
def test_at_once_is_node_by_node(exposure: float) -> None:
    rng = np.random.default_rng(0)
    spread = np.array([0.0, 0.05, 0.5, 2.0])
    centre = rng.normal(1.0, 2.0, (30, 4))
    each = exposure * rng.uniform(0.3, 3.0, (30, 1))
    counts = rng.poisson(each * np.exp(centre)).astype(float)
    counts[0] *= 1000.0  # far from what its rate says
    objects = Measurements(np.where(rng.random((30, 4)) < 0.1, np.nan, counts), exposure=each)
    noise = Poisson("1/sigma")
    assert isinstance(noise, AveragedCounts)
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    asked = (objects, spread, nodes, np.log(weights / weights.sum()))
    at_once = noise.averaged_log_likelihood(*asked)
    assert at_once is not None
    found, expected = at_once(centre), node_by_node(objects, noise, *asked[1:])(centre)
    seen = objects.observed
    assert np.allclose(found[seen], expected[seen], rtol=1e-10, atol=1e-9)
    assert not found[~seen].any()


def test_a_background_takes_the_nodes_one_by_one() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    objects = Measurements([[3.0, 0.0]], exposure=[1.0])
    noise = Poisson("1/sigma", background=0.5)
    assert noise.averaged_log_likelihood(objects, np.ones(2), nodes, np.log(weights)) is None

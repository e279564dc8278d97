"""The mixture kernel in use against its definition: shares and widths at their limits, curves in another order."""

import numpy as np
import pytest

from badac._kernels import NUMPY, Pairs, mixture_logsumexp

TOLERANCE = 1e-5


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("m", [1, 3, 37, 100])
@pytest.mark.parametrize(("share", "width"), [(0.2, 5.0), (0.0, 5.0), (1e-4, 100.0), (1.0, 2.0)])
def test_agrees_with_its_twin(m, shared, share, width):
    rng = np.random.default_rng(m)
    y = 50.0 + rng.standard_normal((101, m))
    d = y[:20] + 0.3 * rng.standard_normal((20, m))
    d[1], d[2, 0] = 80.0, np.nan
    y_sigma = rng.uniform(0.2, 0.4, (1 if shared else 101, m))
    d_sigma = rng.uniform(0.2, 0.4, (20, m))
    with np.errstate(divide="ignore"):
        widths = np.log([1.0 - share, share]), np.array([1.0, width])
    weights = np.log(rng.dirichlet(np.ones(101)))
    weights[7] = -np.inf
    for chosen in ((None, None), (weights, np.arange(20))):
        pairs = Pairs.of(d, d_sigma, y, y_sigma).weighed(*chosen)
        found, expected = mixture_logsumexp(pairs, *widths), NUMPY.mixture_logsumexp(pairs, *widths)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=TOLERANCE)


@pytest.mark.parametrize("shared", [False, True])
def test_many_objects_meet_the_curves_in_another_order(shared):
    # Enough objects for sorted curves, enough curves for tiles that are given up.
    rng = np.random.default_rng(5)
    at = np.linspace(0.0, 1.0, 30)
    y = np.sin(rng.uniform(1.0, 9.0, (700, 1)) * at) + 0.1 * rng.standard_normal((700, 30))
    d = y[:80] + 0.3 * rng.standard_normal((80, 30))
    d[3, ::4] = np.nan
    y_sigma = rng.uniform(0.05, 0.2, (1 if shared else 700, 30))
    d_sigma = rng.uniform(0.05, 0.2, (80, 30))
    widths = np.log([0.8, 0.2]), np.array([1.0, 5.0])
    weights = np.log(rng.dirichlet(np.ones(700)))
    skip = np.where(np.arange(80) % 3 == 0, -1, np.arange(80))
    for chosen in ((None, None), (weights, skip)):
        pairs = Pairs.of(d, d_sigma, y, y_sigma).weighed(*chosen)
        found, expected = mixture_logsumexp(pairs, *widths), NUMPY.mixture_logsumexp(pairs, *widths)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=TOLERANCE)

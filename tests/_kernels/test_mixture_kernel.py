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


NOISES = {
    "two widths": ([0.8, 0.2], [1.0, 5.0]),
    "rare and far": ([0.999, 0.001], [1.0, 300.0]),
    "three widths": ([0.5, 0.3, 0.2], [0.5, 2.0, 10.0]),
    "one width": ([1.0], [1.3]),
}


ERRORS = ["shared", "own", "decades", "exact objects", "exact curves"]


@pytest.mark.parametrize(
    ("noise", "errors"),
    [("two widths", errors) for errors in ERRORS] + [(noise, "own") for noise in NOISES][1:],
)
def test_curves_below_the_envelope_are_left_out(noise, errors):
    """Enough pairs for the envelope, and most curves cannot matter; objects far away and with missing points."""
    rng = np.random.default_rng(5)
    at = np.linspace(0.0, 1.0, 30)
    y = np.sin(rng.uniform(1.0, 9.0, (1200, 1)) * at) + 0.1 * rng.standard_normal((1200, 30))
    d = y[:60] + 0.3 * rng.standard_normal((60, 30))
    d[3, ::4], d[4], d[5, 2] = np.nan, 1e4, 1e7
    y_sigma = rng.uniform(0.05, 0.2, (1 if errors == "shared" else 1200, 30))
    d_sigma = rng.uniform(0.05, 0.2, (60, 30))
    if errors == "shared":
        d_sigma[::2] = y_sigma
    if errors == "decades":
        d_sigma, y_sigma = (
            10.0 ** rng.uniform(-4.0, 1.0, (60, 30)),
            10.0 ** rng.uniform(-4.0, 1.0, (1200, 30)),
        )
    d_sigma = np.zeros_like(d_sigma) if errors == "exact objects" else d_sigma
    y_sigma = np.zeros_like(y_sigma) if errors == "exact curves" else y_sigma
    share, width = NOISES[noise]
    widths = np.log(share), np.array(width)
    weights = np.log(rng.dirichlet(np.ones(1200)))
    weights[11] = -np.inf
    skip = np.where(np.arange(60) % 3 == 0, -1, np.arange(60))
    for chosen in ((None, None), (weights, skip)):
        pairs = Pairs.of(d, d_sigma, y, y_sigma).weighed(*chosen)
        found, expected = mixture_logsumexp(pairs, *widths), NUMPY.mixture_logsumexp(pairs, *widths)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=TOLERANCE)
        np.testing.assert_array_equal(mixture_logsumexp(pairs, *widths, n_threads=2), found)

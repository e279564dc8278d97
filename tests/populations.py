"""Small populations for the tests of the class models: sine curves and straight Gaussian ones."""

import numpy as np

from badac.data.measurements import Measurements


def sines(n: int, seed: int, *, m: int = 24, sigma: float = 0.2) -> Measurements:
    """Curves sin(w x), w ~ N(5, 2): a bent population. The errors differ from point to point."""
    rng = np.random.default_rng(seed)
    truth = np.sin(rng.normal(5.0, 2.0, (n, 1)) * np.linspace(0.0, 1.0, m))
    errors = sigma * rng.uniform(0.5, 1.5, (n, m))
    return Measurements(truth + errors * rng.standard_normal((n, m)), errors)


def gaussian(
    n: int,
    seed: int,
    *,
    rank: int = 2,
    m: int = 15,
    psi: float = 0.0,
    sigma: float = 0.3,
    missing: float = 0.0,
) -> tuple[Measurements, np.ndarray, np.ndarray, np.ndarray]:
    """A Gaussian population of known mean, factors and psi, and its noisy members."""
    rng = np.random.default_rng(seed)
    at = np.linspace(0.0, 1.0, m)
    mean = 1.0 + at
    factors = np.stack([np.cos(np.pi * (k + 1) * at) / (k + 1) for k in range(rank)], axis=1)
    truth = mean + rng.standard_normal((n, rank)) @ factors.T + np.sqrt(psi) * rng.standard_normal((n, m))
    errors = sigma * rng.uniform(0.5, 1.5, (n, m))
    values = truth + errors * rng.standard_normal((n, m))
    values[rng.random((n, m)) < missing] = np.nan
    return Measurements(values, errors), mean, factors, np.full(m, psi)

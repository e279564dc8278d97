"""Three ways to be noisy, all reported with the same error bar sigma.

    gaussian      e_j ~ N(0, sigma_j^2)
    bad points    e_j ~ 0.8 N(0, sigma_j^2) + 0.2 N(0, (5 sigma_j)^2)
    wedding cake  e ~ N(0, diag(sigma^2) + V) ,  V_ij = 0.1 (floor(5 min(i, j) / m) + 1)

In the first the bar is right; in the second it is too small for a fifth of the points; in the third it
misses what the points share. The last two are the paper's Experiments 3 and 4. The cake ``V`` has a tier
per fifth of the points, each one `height` taller, so ``V = height * T T'`` with ``T_jk = 1`` from tier
``k`` on: a random walk of five steps along the curve. Points count from zero; with the paper's floor they
would otherwise give the last point a sixth tier of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.simulate.distributions import FloatArray


def gaussian_noise(sigma: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Independent normal errors with standard deviations `sigma` (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import gaussian_noise
    >>> gaussian_noise(np.full((2, 3), 0.1), np.random.default_rng(0)).shape
    (2, 3)
    """
    return sigma * rng.standard_normal(sigma.shape)


def bad_point_noise(
    sigma: FloatArray, rng: np.random.Generator, *, share: float = 0.2, factor: float = 5.0
) -> FloatArray:
    """Normal errors of which a `share` is `factor` times wider than `sigma` (n, m) says.

    Each point is bad with probability `share`, independently, so the number of bad points varies between
    objects.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import bad_point_noise
    >>> noise = bad_point_noise(np.full((200, 50), 0.1), np.random.default_rng(0), share=0.2, factor=5.0)
    >>> bool(0.2 < noise.std() < 0.3)  # sqrt(0.8 + 0.2 * 25) times 0.1
    True
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"`share` of bad points must lie in [0, 1]: got {share}.")
    if not (np.isfinite(factor) and factor > 0.0):
        raise ValueError(f"`factor` of the bad points' width must be positive: got {factor}.")
    bad = rng.random(sigma.shape) < share
    return np.where(bad, factor, 1.0) * gaussian_noise(sigma, rng)


def wedding_cake_noise(
    sigma: FloatArray, rng: np.random.Generator, *, steps: int = 5, height: float = 0.1
) -> FloatArray:
    """Normal errors with covariance `wedding_cake_covariance`, for `sigma` (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import wedding_cake_noise
    >>> noise = wedding_cake_noise(np.full((500, 10), 0.1), np.random.default_rng(0))
    >>> bool(np.corrcoef(noise.T)[-1, -2] > 0.9)
    True
    """
    tiers = wedding_cake_tiers(sigma.shape[1], steps, height)
    return gaussian_noise(sigma, rng) + rng.standard_normal((sigma.shape[0], steps)) @ tiers.T


def wedding_cake_covariance(m: int, sigma: npt.ArrayLike, steps: int = 5, height: float = 0.1) -> FloatArray:
    """The paper's wedding-cake covariance ``diag(sigma^2) + V``.

    Parameters
    ----------
    m : int
        Number of points.
    sigma : scalar, (m,) or (n, m)
        Standard deviation of the independent part.
    steps : int
        Number of tiers, at most `m`.
    height : float
        Variance that each tier adds.

    Returns
    -------
    (m, m), or (n, m, m) for `sigma` of shape (n, m)

    Examples
    --------
    >>> from badac.simulate import wedding_cake_covariance
    >>> wedding_cake_covariance(4, 0.0, steps=2, height=1.0)
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.],
           [1., 1., 2., 2.],
           [1., 1., 2., 2.]])
    """
    tiers = wedding_cake_tiers(m, steps, height)
    independent = np.atleast_1d(np.asarray(sigma, dtype=np.float64)) ** 2
    return np.asarray(tiers @ tiers.T + independent[..., None] * np.eye(m))


def wedding_cake_tiers(m: int, steps: int = 5, height: float = 0.1) -> FloatArray:
    """Columns (m, steps), ``sqrt(height)`` from the start of a tier on: their outer products sum to ``V``."""
    if not 1 <= steps <= m:
        raise ValueError(f"`steps` of the cake must be between 1 and the {m} points: got {steps}.")
    if not (np.isfinite(height) and height >= 0.0):
        raise ValueError(f"`height` of a tier is a variance and must be >= 0: got {height}.")
    tier = np.arange(m) * steps // m
    return np.where(tier[:, None] >= np.arange(steps), np.sqrt(height), 0.0)

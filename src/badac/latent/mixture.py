"""The population's shape in the latent space: a Gaussian mixture, deconvolved from the members' noise.

    z ~ sum_k w_k N(v_k, T_k)

Each component is a curve ``mean + factors v_k`` of the class with its error band and its weight. EM with every member's own
latent likelihood (extreme deconvolution: Bovy, Hogg & Roweis 2011), so the components describe the true positions, not
the noisy ones. The covariances take a scoring step, ``rho^-1 E rho^-1`` in place of EM's ``E``, with ``rho`` the share of
the information on them that the noise left: plain EM needs hundreds of steps where a component is thinner than the noise.
One component is the Gaussian population; many follow a population that is curved or falls into groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from badac._kernels import (
    k_means,
    latent_improved,
    latent_left_out,
    latent_log_evidence,
    latent_log_match,
    latent_moments,
    latent_step,
    spread_out,
)
from badac._kernels.latent import FLOOR, GROUP, Components, Gaussians, Near, unpack
from badac.cached import cached_property
from badac.latent.likelihood import LatentLikelihood
from badac.registry import registered
from badac.training import FloatArray

_TO_GROUP, _TO_GROUP_EACH = (
    400,
    20,
)  # members, and members of each group: k-means only has to find where they are
_LLOYD = 8  # steps of k-means
# A member's share in a component that counts; steps until all components are looked at again, and what is far: a share
# below exp(-_FAR).
SHARE = 1e-3
_REFRESH = 4
# NumPy goes row by row; up to so many columns it is faster to add whole columns, in the same order.
_FEW_COLUMNS = 7
_FAR = 14.0
BROAD_WIDTH = 3.0  # of the whole class: far enough for a member that is unlike all others


@registered("part", holds={"weights": "(k,) >= 0", "means": "(k, r)", "covariances": "(k, r, r) covariance"})
@dataclass(frozen=True, eq=False)
class Mixture:
    """Weights (k,), means (k, r) and covariances (k, r, r) of the components.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, Mixture
    >>> sharp = Factor(np.zeros(1), np.ones((1, 1)), np.zeros(1)).project(Measurements([[0.0], [3.0]], 0.01))
    >>> near, far = Mixture.standard(1).log_evidence(sharp)
    >>> bool(near > far)
    True
    """

    of_members: ClassVar[bool] = False
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @classmethod
    def standard(cls, rank: int) -> Mixture:
        """Return the Gaussian population itself: one component, ``N(0, I)``."""
        return cls(np.ones(1), np.zeros((1, rank)), np.eye(rank)[None])

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def rank(self) -> int:
        """Dimensions of the positions."""
        return int(self.means.shape[1])

    def components(self) -> Components:
        """Return the components as the kernels take them."""
        return self._components

    @cached_property
    def _components(self) -> Components:
        return Gaussians(self.weights, self.means, self.covariances).components()

    def log_match(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n, k): log of weight times match of every object with every component, `offset` not included."""
        return latent_log_match(latent.precision, latent.shift, self.components(), n_threads=n_threads)

    def log_evidence(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d), the latent positions integrated over the mixture."""
        sums = latent_log_evidence(latent.precision, latent.shift, self.components(), n_threads=n_threads)
        return sums - 0.5 * latent.offset

    def leave_one_out(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d) of the members, each one's own share of the components removed.

        To first order in the share ``R / N`` of a member in a component: its weight loses ``R``, its mean moves away by
        ``R (m - v) / N``, its covariance by ``R (D - T) / N`` with ``D`` the member's expected scatter.
        """
        n = len(latent)
        components = self.components()
        near = np.ones((-(-n // GROUP), len(self)), dtype=np.bool_)
        about = (latent.precision, latent.shift, components)
        count = latent_step(*about, Near(near, threshold=SHARE), n_threads=n_threads)[1][0]
        left = latent_left_out(*about, self.means, np.maximum(count, 1e-12), n_threads=n_threads)
        return np.asarray(left + np.log(n / (n - 1.0)) - 0.5 * latent.offset)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean (r,) and covariance (r, r) of the positions."""
        mean = self.weights @ self.means
        spread = np.tensordot(self.weights, self.covariances, axes=1)
        away = self.means - mean
        return mean, spread + (self.weights[:, None] * away).T @ away

    def posterior(self, latent: LatentLikelihood) -> tuple[FloatArray, FloatArray]:
        """Mean (n, r) and covariance (n, r, r) of the objects' latent positions, averaged over the components."""
        mean, covariance = self._moments_of(latent)
        return mean, unpack(covariance)

    def position(self, latent: LatentLikelihood) -> FloatArray:
        """Mean (n, r) of the objects' latent positions: that of `posterior`, to the last bit."""
        return self._moments_of(latent)[0]

    def _moments_of(self, latent: LatentLikelihood) -> tuple[FloatArray, FloatArray]:
        """Mean (n, r) and covariance (n, p), packed, of `posterior`."""
        return latent_moments(latent.precision, latent.shift, self.components())

    def proposal(self) -> Mixture:
        """Return the mixture itself."""
        return self

    def with_broad(self, weight: float, width: float) -> Mixture:
        """Add a broad component, so that a rare object of the class is rare, not impossible."""
        rank = self.means.shape[1]
        return Mixture(
            np.append(self.weights * (1.0 - weight), weight),
            np.vstack([self.means, np.zeros((1, rank))]),
            np.concatenate([self.covariances, width**2 * np.eye(rank)[None]]),
        )

    def with_one_more(self, count: float) -> Mixture:
        """Add a broad component as heavy as one member more than `count`."""
        return self.with_broad(1.0 / (count + 2.0), BROAD_WIDTH)

    def with_gaussian_dimensions(self, count: int) -> Mixture:
        """Add `count` latent dimensions, each ``N(0, 1)`` and independent of the others."""
        k, r = self.means.shape
        covariances = np.zeros((k, r + count, r + count))
        covariances[:, :r, :r] = self.covariances
        covariances[:, r:, r:] = np.eye(count)
        return Mixture(self.weights, np.pad(self.means, ((0, 0), (0, count))), covariances)


def gaussian_dimensions(mixture: Mixture) -> int:
    """Return how many of the last dimensions are ``N(0, 1)`` and independent of the others in every component."""
    means, covariances = mixture.means, mixture.covariances
    r = means.shape[1]
    plain = (means == 0.0).all(axis=0) & (covariances == np.eye(r)).all(axis=(0, 1))
    return int(np.argmin(np.append(plain[::-1], False)))


def logsumexp_rows(terms: FloatArray) -> FloatArray:
    """Log of the sum of exponentials of each row (n, k) -> (n,)."""
    few = 1 <= terms.shape[1] <= _FEW_COLUMNS
    top = reduce(np.maximum, terms.T) if few else terms.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    shares = terms - safe[:, None]
    np.exp(shares, out=shares)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(reduce(np.add, shares.T) if few else shares.sum(axis=1)))


def averaged(mixtures: list[Mixture]) -> Mixture:
    """Return the average of mixtures, which is the mixture of all their components."""
    if len(mixtures) == 1:
        return mixtures[0]
    return Mixture(
        np.concatenate([part.weights for part in mixtures]) / len(mixtures),
        np.concatenate([part.means for part in mixtures]),
        np.concatenate([part.covariances for part in mixtures]),
    )


def _spread_out(places: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return so many of the places (n, r), drawn by their squared distance to those before (k-means++).

    As SciPy's, number by number.
    """
    first = int(rng.integers(len(places)))
    return np.asarray(places[spread_out(places, first, rng.uniform(size=count - 1))])


def start_mixture(latent: LatentLikelihood, n_components: int, rng: np.random.Generator) -> Mixture:
    """Start from groups (k-means) of the members' posterior positions."""
    return grouped(latent, centres_to_start_from(latent, n_components, rng))


def centres_to_start_from(
    latent: LatentLikelihood, n_components: int, rng: np.random.Generator
) -> FloatArray:
    """Return (k, r): positions of members, drawn far from each other. All that is drawn of a `start_mixture`."""
    return _spread_out(_to_group(latent.position, n_components), n_components, rng)


def _to_group(position: FloatArray, n_components: int) -> FloatArray:
    """Where the groups are, a few members of each tell."""
    return position[:: max(1, len(position) // max(_TO_GROUP, _TO_GROUP_EACH * n_components))]


def grouped(latent: LatentLikelihood, centres: FloatArray) -> Mixture:
    """Return a component for each group of members that k-means finds from these centres (k, r)."""
    covariance, position = latent.packed_posterior
    n, r = position.shape
    centres, count, scatter = k_means(position, _to_group(position, len(centres)), centres, _LLOYD)
    # A group may have lost its last member on the way.
    used = count > 0
    centres, count, own = centres[used], count[used], unpack(scatter[used])
    pooled = own.sum(axis=0) / n
    spread = (own + (r + 1.0) * pooled) / (count + r + 1.0)[:, None, None]
    return Mixture(count / n, centres, spread + 0.3 * unpack(covariance.mean(axis=0)) + FLOOR * np.eye(r))


def deconvolve(
    latent: LatentLikelihood,
    mixture: Mixture,
    *,
    max_steps: int = 15,
    tolerance: float = 2e-3,
    pooling: float = 0.1,
) -> Mixture:
    """Improve a mixture by accelerated EM on the members' latent likelihoods.

    Parameters
    ----------
    latent : LatentLikelihood
        Of the n members.
    mixture : Mixture
        Where to start.
    max_steps : int
    tolerance : float
        Stop when three steps together gain less, in nats per member.
    pooling : float
        That many members' worth of the average covariance is mixed into each component's own.

    Returns
    -------
    Mixture
        The best visited, by the members' evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, Mixture, deconvolve
    >>> rng = np.random.default_rng(0)
    >>> noisy = Measurements(rng.normal(2.0, 0.5, (300, 1)) + 0.5 * rng.standard_normal((300, 1)), 0.5)
    >>> latent = Factor(np.zeros(1), np.ones((1, 1)), np.full(1, 1e-6)).project(noisy)
    >>> found = deconvolve(latent, Mixture.standard(1), max_steps=50)
    >>> bool(abs(found.means[0, 0] - 2.0) < 0.15), bool(found.covariances[0, 0, 0] < 0.4)
    (True, True)
    """
    # Members of one component side by side: a group of them then has few components that matter.
    match = mixture.log_match(latent)
    own = match.argmax(axis=1)
    order = np.argsort(own, kind="stable")
    # NumPy finds the place of a row's largest number in half of the time of the number itself.
    close = match > np.take_along_axis(match, own[:, None], axis=1) - _FAR
    latent, close = latent[order], close[order]
    near = np.logical_or.reduceat(close, np.arange(0, len(latent), GROUP), axis=0)
    now = Gaussians(mixture.weights, mixture.means, mixture.covariances)
    components = now.components()
    best, history = now, [-np.inf]
    for step in range(max_steps + 1):
        last = step == max_steps
        # A list of near components serves the steps to come, and sums only the next one: after the last step there is none.
        refresh = step % _REFRESH == _REFRESH - 1 and step < max_steps - 1
        asked = Near(near, refresh=refresh, threshold=np.inf if last else SHARE)
        evidence, sums = latent_step(latent.precision, latent.shift, components, asked)
        mean_evidence = float(evidence.mean())
        if mean_evidence > max(history):
            best = now
        history.append(mean_evidence)
        settled = step >= 4 and max(history[-3:]) - max(history[:-3]) < tolerance
        if settled or last:
            break
        now, components = latent_improved(now, sums, pooling=pooling)
    return Mixture(*best)

"""A class model of your own, in one file: a kernel density of the members, each as wide as its error bars and a kernel.

    P(d | class) = 1/k sum_i prod_j N(d_j ; y_ij , f^2 (sigma_dj^2 + sigma_ij^2) + h_j^2) ,     h_j = k^(-1 / (m + 4)) spread_j

(the bandwidth is Scott's, 1992). A class model has three methods: `fit` returns a fitted copy, `log_evidence` is the density of
noisy objects, `leave_one_out` that of each member under the others. It says which noise it takes and refuses the rest, so that
no noise is dropped in silence; it passes the laws, and the classifier takes it as it takes its own:
`python examples/kernel_density_class.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from badac import BADACClassifier, Measurements
from badac.checks import check_class_model
from badac.classes.model import check_noise_taken, refuse_own_points
from badac.noise import Gaussian, NoiseKind
from badac.noise.gaussian import with_one_width
from badac.training import TrainingScales, point_moments


@dataclass(frozen=True, eq=False)
class KernelDensityClass:
    """The members themselves, widened.

    Parameters
    ----------
    bandwidth : float
        Factor on Scott's.
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.GAUSSIAN})

    bandwidth: float = 1.0
    members: Measurements | None = None
    curves: Measurements | None = None
    noise: Gaussian | None = None

    def fit(self, members, noise, rng, scales=None):
        refuse_own_points(members, "KernelDensityClass")
        check_noise_taken(self, noise, members)
        if members.covariance is not None:
            raise ValueError("KernelDensityClass takes independent errors: got a `covariance`. Give `sigma`.")
        scales = TrainingScales.of(members) if scales is None else scales
        mean, spread, count = point_moments(members)
        mean, spread = np.where(count > 0, mean, scales.centre), np.where(spread > 0, spread, scales.scale)
        kernel = self.bandwidth * spread * members.n_objects ** (-1.0 / (members.n_points + 4))
        # What a member does not show is anywhere in the class: its mean and spread, not a bonus for having a gap.
        seen, wide = members.observed, with_one_width(members, noise)
        curves = Measurements(
            np.where(seen, members.values, mean), np.hypot(np.where(seen, wide.sigma, spread), kernel)
        )
        return replace(self, members=members, curves=curves, noise=noise)

    def log_evidence(self, objects, *, n_threads=1):
        return logsumexp(self._log_kernels(objects), axis=1) - np.log(self.curves.n_objects)

    def leave_one_out(self, *, n_threads=1):
        k = self.members.n_objects
        if k == 1:
            return np.array([-np.inf])
        kernels = self._log_kernels(self.members)
        np.fill_diagonal(kernels, -np.inf)
        return logsumexp(kernels, axis=1) - np.log(k - 1)

    def _log_kernels(self, objects):
        """Return (n, k): log density of every object under every member."""
        objects = with_one_width(objects, self.noise)
        seen = objects.observed[:, None]
        residual = np.where(seen, objects.values[:, None] - self.curves.values, 0.0)
        variance = np.where(seen, objects.sigma[:, None], 0.0) ** 2 + self.curves.sigma**2
        density = residual**2 / variance + np.log(2.0 * np.pi * variance)
        return -0.5 * np.where(seen, density, 0.0).sum(axis=2)


def rings(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Points on two rings, measured with errors: no Gaussian describes them."""
    label, angle = np.arange(n) % 2, rng.uniform(0, 2 * np.pi, n)
    truth = (1.0 + label)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    sigma = rng.uniform(0.05, 0.2, truth.shape)
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma), label


def main(n: int = 300) -> float:
    """Check the laws, learn two rings, and return the share of new objects that are told right."""
    rng = np.random.default_rng(0)
    (train, label), (new, truth) = rings(n, rng), rings(n, rng)
    members = train[label == 0]
    print("laws:", ", ".join(check_class_model(KernelDensityClass(), members, new[:5], Gaussian(1.5), rng)))
    model = BADACClassifier(class_model=KernelDensityClass(), random_state=0).fit(train, label)
    score = float(model.score(new, truth))
    print(f"{100 * score:.1f} % of {n} new objects are told right; strangest: {model.rank(new).objects[:3]}")
    return score


if __name__ == "__main__":
    main()

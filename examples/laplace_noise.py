"""A noise model of your own, in one file: errors with exponential tails (Laplace), as rounding and glitches leave them.

    P(d | y) = exp(-|d - y| / w) / (2 w) ,     w = sigma / sqrt(2)

It says how well a noisy object matches a noisy curve and how noise is drawn, passes the laws, and is used by the default class
model: `python examples/laplace_noise.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac import BADACClassifier, Measurements
from badac.checks import check_noise
from badac.noise.matches import sum_over_points


def log_laplace_match(d, d_sigma, y, y_sigma):
    """Two Laplace densities of widths a and b convolved, at one point; broadcasts over its arguments."""
    a, b = d_sigma / np.sqrt(2.0), y_sigma / np.sqrt(2.0)
    b = np.where(np.abs(a - b) < 1e-3 * a, 1.001 * a, b)  # the formula divides by a - b
    far = np.abs(d - y)
    density = (a * np.exp(-far / a) - b * np.exp(-far / b)) / (2.0 * (a - b) * (a + b))
    return np.log(np.maximum(density, 1e-300))


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of standard deviation sigma."""

    def log_match(self, objects, curves):
        """Return (n, k): the points that an object has, summed; missing ones drop out."""
        return sum_over_points(objects, curves, log_laplace_match)

    def draw(self, truth, like, rng):
        """Return (n, m): noisy values of the truths, with the gaps of `like`."""
        scale = np.where(like.observed, like.sigma, 1.0) / np.sqrt(2.0)
        return np.where(like.observed, truth + rng.laplace(scale=scale), np.nan)


def curves(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Waves of two shapes under Laplace noise, with their labels (n,)."""
    label, at = np.arange(n) % 2, np.linspace(0.0, 1.0, 24)
    truth = np.where(label[:, None] == 0, np.sin(6 * at), np.cos(6 * at)) + 0.3 * rng.normal(size=(n, 1))
    sigma = rng.uniform(0.5, 1.0, truth.shape)
    return Measurements(Laplace().draw(truth, Measurements(truth, sigma), rng), sigma, at=at), label


def main(n: int = 400) -> dict[str, float]:
    """Check the laws, learn under Laplace and under Gaussian noise, and return the mean log-loss of new objects by noise."""
    like = Measurements(np.zeros((6, 3)), sigma=[0.1, 0.2, 0.3])
    print("laws:", ", ".join(check_noise(Laplace(), like, truth_range=(-1, 1), rng=np.random.default_rng(0))))
    rng = np.random.default_rng(1)
    (train, label), (new, truth) = curves(n, rng), curves(n, rng)
    loss = {}
    for name, noise in (("laplace", Laplace()), ("gaussian", "gaussian")):
        # The same class model for both, so that they differ by the noise alone.
        class_model = "auto" if name == "laplace" else "instances"
        model = BADACClassifier(class_model, noise=noise, random_state=0).fit(train, label)
        if name == "laplace":
            print(model.class_report_)
        loss[name] = float(-model.predict_log_proba(new)[np.arange(n), truth].mean())
        print(f"{name}: log-loss {loss[name]:.4f}, strangest {model.rank(new).objects[:3]}")
    return loss


if __name__ == "__main__":
    main()

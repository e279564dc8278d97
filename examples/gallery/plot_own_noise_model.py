"""
A noise model of your own
=========================

Your errors are none of those that badac knows: here rounding and glitches leave exponential tails (Laplace). A noise
model has two methods: how well a noisy object matches a noisy curve, and how noise is drawn. Its laws are checked, and
the class models that can use it take it. Where the match has no closed form, ``badac.noise.Numeric`` integrates a
density of one line for you.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.checks import check_noise
from badac.noise.matches import sum_over_points
from badac.plots import PALETTE


def log_laplace_match(d, d_sigma, y, y_sigma):
    """Two Laplace densities of widths a and b convolved, at one point."""
    a, b = d_sigma / np.sqrt(2.0), y_sigma / np.sqrt(2.0)
    b = np.where(np.abs(a - b) < 1e-3 * a, 1.001 * a, b)  # the formula divides by a - b
    far = np.abs(d - y)
    density = (a * np.exp(-far / a) - b * np.exp(-far / b)) / (2.0 * (a - b) * (a + b))
    return np.log(np.maximum(density, 1e-300))


@dataclass(frozen=True)
class Laplace:
    def log_match(self, objects, curves):
        return sum_over_points(objects, curves, log_laplace_match)

    def draw(self, truth, like, rng):
        scale = np.where(like.observed, like.sigma, 1.0) / np.sqrt(2.0)
        return np.where(like.observed, truth + rng.laplace(scale=scale), np.nan)


# %%
# Does it keep the laws? A density that does not integrate to one, or a missing point that counts, would be named.

like = Measurements(np.zeros((6, 3)), sigma=[0.1, 0.2, 0.3])
for law in check_noise(Laplace(), like, truth_range=(-1, 1), rng=np.random.default_rng(0)):
    print("kept:", law)

# %%
# Two classes of curves that differ little, measured with such errors; taken for Gaussian, and as they are. Which class
# a curve has is no easier to tell for it; that the errors are Laplace is plain from the evidence of the new objects in
# their own class.

rng = np.random.default_rng(3)
at = np.linspace(0.0, 1.0, 12)


def measured(kind):
    truth = np.where(kind[:, None] == 0, at, 0.8 * at + 0.1)
    return Measurements(Laplace().draw(truth, Measurements(np.zeros(truth.shape), 0.25), rng), 0.25, at=at)


label, truth = np.repeat([0, 1], 100), rng.integers(2, size=1500)
train, new = measured(label), measured(truth)
evidence = {}
for name, noise in (("Gaussian", "gaussian"), ("Laplace", Laplace())):
    model = BADACClassifier("instances", noise=noise, anomaly="evidence", random_state=0).fit(train, label)
    evidence[name] = model.log_evidence(new)[np.arange(truth.size), truth]
    print(f"{name}: {np.mean(model.predict(new) == truth):.3f} right")
gain = evidence["Laplace"] - evidence["Gaussian"]
print(
    f"evidence for Laplace from one new object: {gain.mean():.2f} +- {gain.std() / np.sqrt(gain.size):.2f} nats"
)

# %%
# The two matches: what a point far out costs.

figure, axes = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
far = np.linspace(-6.0, 6.0, 241)
one = np.full(far.shape, 1.0)
axes.plot(far, log_laplace_match(far, one, 0.0 * far, one), color=PALETTE["orange"], label="Laplace")
axes.plot(far, -0.5 * far**2 / 2.0 - 0.5 * np.log(4.0 * np.pi), color=PALETTE["blue"], label="Gaussian")
axes.set(xlabel="object - curve, in sigma of each", ylabel="log match of one point", ylim=(-11.0, 0.0))
axes.legend(frameon=False)
plt.show()

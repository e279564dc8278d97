"""
A class from a formula
======================

For some classes there is a theory and hardly an example. A class may be your own function with priors on its
parameters, beside classes that are learned from members. Here flashes have a peak, a duration and a height; everything
else is slow waves that only examples describe. Each object has times of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import lognorm, norm, uniform

from badac import BADACClassifier, Measurements
from badac.classes import Parametric
from badac.plots import PALETTE

rng = np.random.default_rng(0)


def flash(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    peak, duration, height = theta
    return height * np.exp(-0.5 * ((at - peak) / duration) ** 2)


prior = [uniform(2.0, 6.0), lognorm(0.3, scale=1.0), norm(2.5, 0.5)]


def observed(kind: np.ndarray) -> tuple[Measurements, np.ndarray]:
    """Flashes and waves, each at 25 times of its own, with the flashes' true parameters."""
    theta = np.array([[one.rvs(random_state=rng) for one in prior] for _ in kind])
    at = np.sort(rng.uniform(0.0, 10.0, (kind.size, 25)), axis=1)
    waves = (
        rng.normal(1.2, 0.2, (kind.size, 1)) * np.sin(0.6 * at + rng.normal(0.0, 0.3, (kind.size, 1))) + 0.5
    )
    flashes = np.array([flash(one, when) for one, when in zip(theta, at, strict=True)])
    truth = np.where(kind[:, None] == "flash", flashes, waves)
    return Measurements(truth + 0.3 * rng.standard_normal(at.shape), 0.3, at=at), theta


# %%
# Four flashes in the training set, enough to name the class: the formula knows the rest.

label = np.array(["flash"] * 4 + ["wave"] * 60)
train, _ = observed(label)
model = BADACClassifier(
    {"flash": Parametric(flash, prior), "wave": "population"},
    priors="uniform",
    anomaly="evidence",
    random_state=0,
)
model.fit(train, label)
truth = rng.choice(["flash", "wave"], 60)
new, theta = observed(truth)
print("right:", np.mean(model.predict(new) == truth))

# %%
# The fitted class says what the parameters of an object are, with their errors.

flashes = np.flatnonzero(truth == "flash")
estimate = model.class_models_[list(model.classes_).index("flash")].estimate(new[flashes])
found, error = estimate.values, np.sqrt(np.diagonal(estimate.covariance, axis1=1, axis2=2))

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
grid = np.linspace(0.0, 10.0, 200)
one = flashes[0]
left.errorbar(new.at[one], new.values[one], 0.3, fmt=".", color="0.3", label="a new object")
left.plot(grid, flash(found[0], grid), color=PALETTE["blue"], label="flash with the mean of its parameters")
left.set(xlabel="time", ylabel="value")
left.legend(frameon=False, fontsize=8)
right.errorbar(theta[flashes, 0], found[:, 0], error[:, 0], fmt="o", ms=4, color=PALETTE["blue"])
right.plot([2.0, 8.0], [2.0, 8.0], color="0.6", lw=0.8)
right.set(xlabel="true time of the peak", ylabel="as found, with its error")
plt.show()

"""
Correlated noise
================

Neighbouring points share their errors: a drifting detector, a smoothed spectrum, the sky. Taken as independent, such
errors look like signal, and the model is far too sure. Give the covariance with the data (``Measurements(values,
covariance=...)``) if you know it, or let ``noise="correlated"`` learn it from how the members scatter.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.metrics import expected_calibration_error
from badac.plots import PALETTE

rng = np.random.default_rng(4)
at = np.linspace(0.0, 1.0, 30)
smooth = 0.4**2 * np.exp(-0.5 * ((at[:, None] - at) / 0.12) ** 2)  # what neighbours share
covariance = smooth + 0.1**2 * np.eye(30)


def curves(kind: np.ndarray) -> np.ndarray:
    truth = rng.normal(1.0, 0.1, (kind.size, 1)) * np.where(
        kind[:, None] == 0, np.sin(3.0 * at), 0.8 * np.sin(3.6 * at)
    )
    return truth + rng.multivariate_normal(np.zeros(30), covariance, kind.size)


label, truth = np.repeat([0, 1], 120), rng.integers(2, size=1000)
values, new = curves(label), curves(truth)
sigma = np.sqrt(np.diag(covariance))  # what the error bars alone would say

# %%
# The same curves twice: with error bars alone, and with their covariance.

asked = {
    "taken as independent": (Measurements(values, sigma), Measurements(new, sigma)),
    "covariance given": (
        Measurements(values, covariance=covariance),
        Measurements(new, covariance=covariance),
    ),
}
found = {}
for name, (train, objects) in asked.items():
    model = BADACClassifier("population", anomaly="evidence", random_state=0).fit(train, label)
    found[name] = model.predict_proba(objects)
    right = np.mean(found[name].argmax(axis=1) == truth)
    error = expected_calibration_error(truth, found[name])
    print(f"{name}: {right:.3f} right, calibration error {error:.3f}")

# %%
# Left: a curve of each class; the wiggles are error, not signal. Right: how often it is right when it says that it is
# sure.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for kind, colour in ((0, PALETTE["blue"]), (1, PALETTE["orange"])):
    left.errorbar(at, values[label == kind][0], sigma, fmt=".", color=colour, lw=0.7, label=f"class {kind}")
left.set(xlabel="time", ylabel="value")
left.legend(frameon=False)
edges = np.array([0.5, 0.7, 0.9, 0.97, 0.99, 1.0])
for (name, proba), mark in zip(found.items(), ("s--", "o-"), strict=True):
    sure, hit = proba.max(axis=1), proba.argmax(axis=1) == truth
    bins = [(sure > low) & (sure <= high) for low, high in pairwise(edges)]
    bins = [b for b in bins if b.sum() >= 20]
    right.plot([sure[b].mean() for b in bins], [hit[b].mean() for b in bins], mark, label=name)
right.plot([0.5, 1.0], [0.5, 1.0], color="0.6", lw=0.8)
right.set(
    xlabel="probability that it gave", ylabel="share that was right", xlim=(0.5, 1.02), ylim=(0.45, 1.02)
)
right.legend(frameon=False, loc="upper left")
plt.show()

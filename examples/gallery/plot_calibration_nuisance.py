"""
A new instrument with another calibration
=========================================

The classes were learned with one instrument, the new objects come from another: each has a gain and an offset of its
own that nobody knows. ``nuisance={"gain": ..., "offset": ...}`` says how large they may be and integrates over them;
the classes stay as they are, and what a calibration explains is no anomaly.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import PALETTE
from badac.simulate import experiment

rng = np.random.default_rng(0)
data = experiment(1, "released", n_train=300, n_test=600, n_points=40, contamination=0.0, rng=rng)
gain, offset = rng.normal(1.0, 0.2, (600, 1)), rng.normal(0.0, 0.3, (600, 1))
spoiled = Measurements(
    gain * data.test_truth + offset + 0.1 * rng.standard_normal(data.test.shape), 0.1, at=data.test.at
)

# %%
# The same training, with and without.

plain = BADACClassifier("population", anomaly="evidence", random_state=0).fit(data.train, data.train_label)
wrapped = BADACClassifier(
    "population", anomaly="evidence", nuisance={"gain": 0.2, "offset": 0.3}, random_state=0
)
wrapped.fit(data.train, data.train_label)

losses = {}
for name, model, objects in (
    ("same instrument", plain, data.test),
    ("another,\nunaware", plain, spoiled),
    ("another,\nnuisance", wrapped, spoiled),
):
    proba = model.predict_proba(objects)[np.arange(600), data.test_label]
    losses[name] = -np.log(np.maximum(proba, 1e-300)).mean()
    right = np.mean(proba > 0.5)
    print(f"{' '.join(name.split())}: log-loss {losses[name]:.3f}, {right:.3f} right")

# %%
# One object through both instruments, and what not knowing costs.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
row = int(np.argmax(offset))
left.plot(data.test.at, data.test_truth[row], color="0.3", label="truth")
left.errorbar(
    data.test.at, data.test.values[row], 0.1, fmt=".", color=PALETTE["blue"], label="same instrument"
)
left.errorbar(spoiled.at, spoiled.values[row], 0.1, fmt=".", color=PALETTE["orange"], label="another")
left.set(xlabel="time", ylabel="value")
left.legend(frameon=False, fontsize=8)
right.bar(list(losses), list(losses.values()), color=[PALETTE["blue"], PALETTE["orange"], PALETTE["orange"]])
right.set(ylabel="log-loss of 600 new objects")
plt.show()

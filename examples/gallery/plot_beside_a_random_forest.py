"""
Beside a random forest
======================

A forest sees values, not error bars. Where new objects are noisier than the training's, it does not know; badac was
told. The same objects, a forest with the errors as further features, and badac.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from badac import BADACClassifier, Measurements
from badac.plots import CalibrationDisplay
from badac.simulate import experiment

rng = np.random.default_rng(2)
data = experiment(1, "released", n_train=400, n_test=1000, n_points=30, contamination=0.0, rng=rng)

# %%
# The new objects come from a smaller telescope: each has an error of its own, between 0.1 and 1.

sigma = np.hypot(0.1, rng.uniform(0.0, 1.0, (1000, 1))) * np.ones((1, 30))
new = Measurements(data.test_truth + sigma * rng.standard_normal(sigma.shape), sigma, at=data.test.at)

model = BADACClassifier("population", anomaly="evidence", random_state=0).fit(data.train, data.train_label)
forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0)
forest.fit(np.hstack([data.train.values, data.train.sigma]), data.train_label)
found = {
    "badac": model.predict_proba(new)[:, 1],
    "random forest": forest.predict_proba(np.hstack([new.values, new.sigma]))[:, 1],
}
for name, proba in found.items():
    right = np.mean((proba > 0.5) == data.test_label)
    print(
        f"{name}: {right:.3f} right, log-loss {log_loss(data.test_label, np.clip(proba, 1e-6, 1 - 1e-6)):.3f}"
    )

# %%
# What comes true when they say a probability.

figure, axes = plt.subplots(figsize=(5.0, 4.2), layout="constrained")
CalibrationDisplay.from_predictions(data.test_label, found, n_bins=8).plot(ax=axes)
plt.show()

"""
Missing points
==============

Clouds, cosmic rays, the edge of the chip: points are missing. A missing point is absent, exactly: nothing is filled in,
and an object with half of its points gets the probability that half of its points deserve. NaN says that a value is
missing.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import CalibrationDisplay
from badac.simulate import experiment

rng = np.random.default_rng(1)
data = experiment(1, "printed", n_train=800, n_test=800, n_points=40, contamination=0.0, rng=rng)


def with_gaps(objects: Measurements, share: float) -> Measurements:
    values = np.where(rng.random(objects.shape) < share, np.nan, objects.values)
    return Measurements(values, objects.sigma, at=objects.at)


# %%
# A fifth of the training points is missing; of the new curves up to nine tenths are.

model = BADACClassifier("population", random_state=0).fit(with_gaps(data.train, 0.2), data.train_label)
shares = [0.0, 0.3, 0.6, 0.8, 0.9]
found = {share: model.predict_proba(with_gaps(data.test, share)) for share in shares}
for share, proba in found.items():
    right = model.classes_[proba.argmax(axis=1)] == data.test_label
    print(f"{share:.0%} missing: {right.mean():.3f} right, {proba.max(axis=1).mean():.3f} sure on average")

# %%
# Fewer points, less certainty, and the probabilities stay close to what comes true.

figure, (sure, calibration) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
right = [np.mean(proba.argmax(axis=1) == data.test_label) for proba in found.values()]
sure.plot(
    shares,
    [proba.max(axis=1).mean() for proba in found.values()],
    "o-",
    color="0.2",
    label="probability that it gave",
)
sure.plot(shares, right, "s--", color="#D55E00", label="share that was right")
sure.set(xlabel="share of points missing", ylabel="of the class that it named", ylim=(0.7, 1.01))
sure.legend(frameon=False, loc="lower left")
CalibrationDisplay.from_predictions(
    data.test_label, {f"{share:.0%} missing": found[share][:, 1] for share in (0.6, 0.9)}, n_bins=6
).plot(ax=calibration)
plt.show()

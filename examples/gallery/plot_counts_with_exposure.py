"""
Counts with their exposure
==========================

X-ray spectra are counts in a few channels, and observations differ in length by a factor of thirty. Given with their
exposure, counts are Poisson around a rate that the class knows; nothing is divided, and a channel without counts is
information like any other.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import PALETTE

rng = np.random.default_rng(2)
energy = np.geomspace(0.5, 8.0, 14)


def sources(kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and exposures: power laws, soft (0) and hard (1), of brightness that varies."""
    index = np.where(kind == 0, 2.4, 1.3) + rng.normal(0.0, 0.15, kind.size)
    rate = rng.lognormal(1.0, 0.4, (kind.size, 1)) * energy ** -index[:, None]
    exposure = np.exp(rng.uniform(np.log(0.3), np.log(10.0), kind.size))
    return rng.poisson(exposure[:, None] * rate), exposure


label = np.repeat([0, 1], 200)
counts, exposure = sources(label)
model = BADACClassifier("population", noise="poisson", random_state=0).fit(counts, label, exposure=exposure)

truth = rng.integers(2, size=1500)
new_counts, new_exposure = sources(truth)
new = Measurements(new_counts, exposure=new_exposure)
proba = model.predict_proba(new)
right = model.classes_[proba.argmax(axis=1)] == truth

# %%
# A short look leaves the class open, a long one tells it. The probability says which is which.

order = np.array_split(np.argsort(new_counts.sum(axis=1)), 6)
total = [new_counts.sum(axis=1)[part].mean() for part in order]

figure, (spectra, trust) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for kind, name, colour in ((0, "soft", PALETTE["blue"]), (1, "hard", PALETTE["orange"])):
    longest = np.flatnonzero(label == kind)[np.argmax(exposure[label == kind])]
    spectra.step(
        energy, counts[longest], where="mid", color=colour, label=f"{name}, {exposure[longest]:.1f} ks"
    )
    shortest = np.flatnonzero(label == kind)[np.argmin(exposure[label == kind])]
    spectra.step(
        energy,
        counts[shortest],
        where="mid",
        color=colour,
        lw=0.8,
        ls=":",
        label=f"{name}, {exposure[shortest]:.1f} ks",
    )
spectra.set(xscale="log", yscale="symlog", ylim=(0.0, 400.0), xlabel="energy [keV]", ylabel="counts")
spectra.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
spectra.set_xticks([], minor=True)
spectra.legend(frameon=False, fontsize=8)
trust.plot(
    total,
    [proba.max(axis=1)[part].mean() for part in order],
    "o-",
    color="0.2",
    label="probability that it gave",
)
trust.plot(
    total,
    [right[part].mean() for part in order],
    "s--",
    color=PALETTE["orange"],
    label="share that was right",
)
trust.set(xscale="log", xlabel="counts of a source", ylabel="of the class that it named", ylim=(0.5, 1.02))
trust.legend(frameon=False, loc="lower right")
plt.show()

"""
Subclasses
==========

One label, three kinds of curves, and nobody said so. ``class_model="subclasses"`` divides a class into as many kinds as
the evidence asks for; a kind is a group that no members connect with the rest beyond their errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import Measurements
from badac.classes import Subclasses
from badac.noise import Gaussian
from badac.plots import SubclassesDisplay

rng = np.random.default_rng(0)
at = np.linspace(0.0, 1.0, 40)


def varied(mean: float, spread: float) -> np.ndarray:
    return rng.normal(mean, spread, (60, 1))


kinds = [
    np.sin(varied(5.0, 0.5) * at),
    varied(1.0, 0.15) * np.exp(-(((at - varied(0.5, 0.03)) / varied(0.15, 0.02)) ** 2)),
    np.exp(-varied(3.0, 0.3) * at) * np.cos(varied(15.0, 0.5) * at),
]
truth = np.concatenate(kinds)
members = Measurements(truth + 0.3 * rng.standard_normal(truth.shape), 0.3, at=at)
model = Subclasses().fit(members, Gaussian(), rng)
print("subclasses found:", model.division.number)

# %%
# Each member's probability of each subclass; the label of the class stays one.

subclass = model.subclass_proba(members).argmax(axis=1)
for number in range(model.division.number):
    print(
        "subclass",
        number,
        "holds, of the three kinds,",
        np.bincount(np.repeat([0, 1, 2], 60)[subclass == number], minlength=3),
    )

# %%
# The evidence over their number, and the mean of the noisy members of each.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
SubclassesDisplay.from_division(model.division).plot(ax=left)
colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"]
for number in range(model.division.number):
    of_it = members.values[subclass == number]
    right.plot(at, of_it[:12].T, color=colours[number], lw=0.4, alpha=0.4)
    right.plot(at, of_it.mean(axis=0), color=colours[number], lw=2.0, label=f"subclass {number}")
right.set(xlabel="time", ylabel="value", title="twelve members of each, and their mean")
right.legend(frameon=False, fontsize=8)
plt.show()

"""
Colours with errors
===================

Two kinds of stars differ in two colours. The catalogue gives each colour with an error, and faint stars have large
ones. badac learns each class *through* the errors, so that the classes stay as narrow as they are, and a faint star
gets a probability that says how little its colours tell.
"""

# %%
# The catalogue: two colours, an error beside each, and a label for the stars that somebody has looked at.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import PALETTE

rng = np.random.default_rng(3)


def catalogue(n: int) -> tuple[Measurements, np.ndarray]:
    """Dwarfs (0) on a narrow sequence and giants (1) beside it; errors from 0.01 to 0.3 mag."""
    kind = rng.integers(2, size=n)
    g_r = rng.normal(0.7, 0.15, n)
    r_i = 0.45 * g_r - 0.05 + 0.16 * kind + rng.normal(0.0, 0.02, n)
    sigma = np.exp(rng.uniform(np.log(0.01), np.log(0.3), n))[:, None] * [1.0, 1.0]
    return Measurements(np.column_stack([g_r, r_i]) + sigma * rng.standard_normal((n, 2)), sigma), kind


train, label = catalogue(400)
new, truth = catalogue(2000)
model = BADACClassifier("mixture", random_state=0).fit(train, label)
proba = model.predict_proba(new)

# %%
# How sure it is follows the error bar: precise stars are told apart, faint ones are left open. The probability that was
# given is the share that was right.

error = new.sigma[:, 0]
sure = proba.max(axis=1)
right = model.classes_[proba.argmax(axis=1)] == truth
edges = np.geomspace(0.01, 0.3, 7)
inside = [(error >= low) & (error < high) for low, high in pairwise(edges)]

figure, (stars, trust) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
for kind, name, colour in ((0, "dwarfs", PALETTE["blue"]), (1, "giants", PALETTE["orange"])):
    some = np.flatnonzero(label == kind)[:80]
    x, y = train.values[some].T
    stars.errorbar(
        x, y, train.sigma[some, 1], train.sigma[some, 0], ".", ms=4, lw=0.5, color=colour, label=name
    )
stars.set(
    xlabel="g - r [mag]", ylabel="r - i [mag]", xlim=(0.0, 1.4), ylim=(-0.3, 1.0), title="the labelled stars"
)
stars.legend(frameon=False, loc="upper left")
middles = np.sqrt(edges[:-1] * edges[1:])
trust.plot(middles, [sure[s].mean() for s in inside], "o-", color="0.2", label="probability that it gave")
trust.plot(
    middles, [right[s].mean() for s in inside], "s--", color=PALETTE["orange"], label="share that was right"
)
trust.set(
    xscale="log", xlabel="error of a colour [mag]", ylabel="of the class that it named", ylim=(0.45, 1.02)
)
trust.set_xticks([0.01, 0.03, 0.1, 0.3], ["0.01", "0.03", "0.1", "0.3"], minor=False)
trust.set_xticks([], minor=True)
trust.set_title("2,000 new stars")
trust.legend(frameon=False, loc="lower left")
plt.show()

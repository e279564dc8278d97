"""
Colours with errors
===================

Two kinds of stars differ in two colours. The catalogue gives each colour with an error, and the faint stars have large ones: a
good third of the table. badac learns each class *through* the errors, so that the classes stay as narrow as they are, and a
faint star gets a probability that says how little its colours tell.
"""

# %%
# The catalogue: two colours, an error beside each, and a label for the stars that somebody has looked at.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements

rng = np.random.default_rng(3)


def catalogue(n: int) -> tuple[Measurements, np.ndarray]:
    """Dwarfs (0) on a narrow sequence and giants (1) beside it; errors from 0.01 to 0.3 mag."""
    kind = rng.integers(2, size=n)
    g_r = rng.normal(0.7, 0.15, n)
    r_i = 0.45 * g_r - 0.05 + 0.16 * kind + rng.normal(0.0, 0.02, n)
    sigma = np.exp(rng.uniform(np.log(0.01), np.log(0.3), n))[:, None] * [1.0, 1.0]
    return Measurements(np.column_stack([g_r, r_i]) + sigma * rng.standard_normal((n, 2)), sigma), kind


train, label = catalogue(600)
new, truth = catalogue(2000)
model = BADACClassifier(random_state=0).fit(train, label)
proba = model.predict_proba(new)
print(model.class_report_)

# %%
# How sure it is follows the error bar: precise stars are told apart, and the faint ones are left open.

size = new.sigma[:, 0]
sure = proba.max(axis=1)
right = model.classes_[proba.argmax(axis=1)] == truth
edges = np.geomspace(0.01, 0.3, 7)
inside = [(size >= low) & (size < high) for low, high in pairwise(edges)]

figure, (left, middle) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
for kind, name, colour in ((0, "dwarfs", "#0072B2"), (1, "giants", "#D55E00")):
    some = np.flatnonzero(label == kind)[:120]
    left.errorbar(
        train.values[some, 0],
        train.values[some, 1],
        xerr=train.sigma[some, 0],
        yerr=train.sigma[some, 1],
        fmt=".",
        ms=4,
        lw=0.6,
        alpha=0.6,
        color=colour,
        label=name,
    )
left.set(xlabel="g - r [mag]", ylabel="r - i [mag]", xlim=(0.0, 1.4), ylim=(-0.3, 1.0))
left.legend(frameon=False, loc="upper left")
middle.plot(
    [size[s].mean() for s in inside],
    [sure[s].mean() for s in inside],
    "o-",
    color="0.2",
    label="probability it gave",
)
middle.plot(
    [size[s].mean() for s in inside],
    [right[s].mean() for s in inside],
    "s--",
    color="#009E73",
    label="share that was right",
)
middle.set(xscale="log", xlabel="error of a colour [mag]", ylabel="of the class it named", ylim=(0.45, 1.02))
middle.legend(frameon=False)
plt.show()

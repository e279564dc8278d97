"""
A stream that brings new classes
================================

Objects arrive one at a time, and after a while a kind that nobody has seen before. The first of them founds a class of
its own; later ones join it. The classifier knew rising curves only.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements, Stream
from badac.plots import PALETTE

rng = np.random.default_rng(0)
at = np.linspace(0.0, 1.0, 25)


def rising(n: int) -> np.ndarray:
    return at * rng.normal(1.0, 0.2, (n, 1))


def noisy(truth: np.ndarray) -> Measurements:
    return Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2, at=at)


known = BADACClassifier("population", random_state=0).fit(noisy(rising(80)), np.full(80, "rising"))

# %%
# Two hundred objects; from the fiftieth on one in ten is a wave.

wave = (np.arange(200) >= 50) & (rng.random(200) < 0.1)
arriving = noisy(np.where(wave[:, None], np.sin(12.0 * at), rising(200)))
stream = Stream(known)
code = stream.process(arriving)
print("classes that were founded:", stream.names, "with", stream.sizes, "objects")
print("waves in them:", int(np.sum(wave & (code > 0))), "of", int(wave.sum()))

# %%
# Who went where, in the order in which they came.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained", width_ratios=[1.6, 1.0])
for name, rows, colour in (("rising", ~wave, PALETTE["blue"]), ("wave", wave, PALETTE["orange"])):
    left.plot(
        np.flatnonzero(rows),
        code[rows],
        "o",
        ms=4,
        color=colour,
        label=f"truly a {name}" if name == "wave" else "truly rising",
    )
left.set(
    xlabel="objects so far",
    yticks=range(code.max() + 1),
    yticklabels=["rising", *(stream.names[c] for c in sorted(stream.names))],
)
left.set_ylim(-0.5, code.max() + 0.7)
left.legend(frameon=False, ncols=2, loc="upper left")
founded = arriving[np.flatnonzero(code == min(stream.names))]
right.plot(at, founded.values.T, color="0.75", lw=0.7)
right.plot(at, founded.values.mean(axis=0), color=PALETTE["orange"], lw=2.0, label="mean of the new class")
right.plot(at, np.sin(12.0 * at), color="0.2", ls="--", lw=1.0, label="truth")
right.set(xlabel="time", ylabel="value")
right.legend(frameon=False, fontsize=8)
plt.show()

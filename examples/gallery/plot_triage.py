"""
Triage: look, say, learn
========================

What is interesting only a person knows. A session shows the object of highest expected value, takes what is said of it,
and learns at once: what is like an artefact leaves the top, what is like a new kind joins it. ``badac triage`` is the
same with a page and keys; here a person is played by the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import PALETTE
from badac.triage import Session

rng = np.random.default_rng(1)
at = np.linspace(0.0, 1.0, 20)


def noisy(curve: np.ndarray, n: int) -> np.ndarray:
    return curve * rng.normal(1.0, 0.15, (n, 1)) + 0.2 * rng.standard_normal((n, 20))


known = Measurements(np.vstack([noisy(at, 60), noisy(1 - at, 60)]), 0.2, at=at)
model = BADACClassifier("population", random_state=0).fit(known, np.repeat(["rise", "fall"], 60))

# %%
# The survey: two known kinds, 25 glitches of the instrument, and 15 waves, which are what is looked for.

spike = at + 3.0 * (np.arange(20) == 9)
values = np.vstack([noisy(at, 180), noisy(1 - at, 180), noisy(np.sin(9 * at), 15), noisy(spike, 25)])
truth = np.repeat(["rise", "fall", "wave", "spike"], [180, 180, 15, 25])
survey = Measurements(values, 0.2, at=at)
session = Session(model, survey)
looked = []
for _ in range(45):
    row = int(session.next()[0])
    looked.append(row)
    if truth[row] == "wave":
        session.say(row, "new", "wave")
    elif truth[row] == "spike":
        session.say(row, "artefact", "spike")
    else:
        session.say(row, "class", str(truth[row]))
figures = session.figures()
print("looked at:", figures.looked, "- new kinds and interesting ones found:", figures.found)
print(figures.by_name)

# %%
# Waves found over objects looked at: down the ranking as it is, and with a queue that learns.

plain = model.rank(survey).objects[:45]
figure, axes = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
looks = np.arange(1, 46)
axes.step(
    looks, np.cumsum(truth[looked] == "wave"), where="post", color=PALETTE["orange"], lw=2, label="triage"
)
axes.step(looks, np.cumsum(truth[plain] == "wave"), where="post", color="0.4", label="down the ranking")
axes.plot(looks, np.minimum(looks, 15), color="0.7", ls=":", label="nobody can do better")
axes.set(xlabel="objects looked at", ylabel="waves found, of 15")
axes.legend(frameon=False)
plt.show()

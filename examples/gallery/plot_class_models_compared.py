"""
Class models compared
=====================

Is a class one curve, a population of curves, or just its members? ``class_model="auto"`` asks the members themselves:
each is left out once, and the model that gives it the highest evidence wins, class by class. ``class_report_`` says
what was compared and why.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import PALETTE

rng = np.random.default_rng(7)
at = np.linspace(0.0, 1.0, 24)


def curves(kind: np.ndarray) -> Measurements:
    """Clockwork: all members are one curve. Varied: height and pace differ from member to member."""
    n = kind.size
    same = np.sin(5.0 * at) * np.ones((n, 1))
    varied = rng.normal(1.0, 0.3, (n, 1)) * np.sin(rng.normal(7.0, 0.6, (n, 1)) * at)
    truth = np.where(kind[:, None] == "clockwork", same, varied)
    return Measurements(truth + 0.2 * rng.standard_normal((n, 24)), 0.2, at=at)


label = np.repeat(["clockwork", "varied"], 60)
train = curves(label)
model = BADACClassifier(random_state=0).fit(train, label)
print(model.class_report_)

# %%
# The evidence of left-out members, in nats per member, against the best; the model that was chosen is orange. Where all
# members are one curve, a population with nothing to vary is as good as a template.

report = model.class_report_
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), layout="constrained", sharey=True)
for panel, name, candidates in zip(axes, model.classes_, report.candidates, strict=True):
    best = max(one.log_evidence for one in candidates)
    names = [one.name for one in candidates]
    heights = [one.log_evidence - best for one in candidates]
    chosen = [one.why.startswith("chosen") for one in candidates]
    panel.barh(
        names,
        np.minimum(heights, -0.05),
        color=[PALETTE["orange"] if c else PALETTE["blue"] for c in chosen],
    )
    panel.set(title=str(name), xlabel="left-out evidence below the best [nats]")
    panel.invert_yaxis()
plt.show()

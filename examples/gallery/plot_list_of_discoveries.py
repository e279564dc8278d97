"""
A list with a stated share of false alarms
==========================================

Telescope time goes to a list, not to a score. ``rank(fdr=0.1)`` stops where, on average, a tenth of the list would be
objects of known classes after all: every new object is compared with every training object, each left out of its own
training once.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier
from badac.plots import PALETTE
from badac.simulate import experiment

data = experiment(
    1, "released", n_train=1200, n_test=3000, n_points=40, contamination=0.02, rng=np.random.default_rng(6)
)
model = BADACClassifier("population", random_state=0).fit(data.train, data.train_label)
ranking = model.rank(data.test)
pvalue = model.anomaly_pvalue(data.test)

# %%
# Lists at several levels, and what is in them. The true share needs the truth, which a survey does not have.

for level in (0.05, 0.1, 0.2):
    listed = model.rank(data.test, fdr=level)
    false = np.mean(~data.is_anomaly[listed.objects]) if len(listed.objects) else 0.0
    print(
        f"level {level}: {len(listed.objects)} objects, expected false alarms at most {listed.expected_false_alarms:.1f}, "
        f"bound (90 %) {listed.false_share_bound:.2f}, true share {false:.2f}"
    )

# %%
# The rule of Benjamini and Hochberg: the list ends where the sorted p-values last cross the line. Beside it, what the
# list holds.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
listed = model.rank(data.test, fdr=0.1)
order = np.argsort(pvalue)[:400]
place = np.arange(1, order.size + 1)
for name, rows, colour in (
    ("anomalies", data.is_anomaly[order], PALETTE["orange"]),
    ("known classes", ~data.is_anomaly[order], PALETTE["blue"]),
):
    left.plot(place[rows], pvalue[order][rows], ".", ms=4, color=colour, label=name)
left.plot(place, 0.1 * place / len(pvalue), color="0.3", lw=0.8, label="level 0.1")
left.set(xscale="log", yscale="log", xlabel="place in the order of the p-values", ylabel="p-value")
left.legend(frameon=False, fontsize=8)
n = np.arange(1, 121)
right.plot(
    n, np.cumsum(~data.is_anomaly[ranking.objects[:120]]) / n, color="0.2", label="true share of false alarms"
)
right.axvline(
    len(listed.objects), color=PALETTE["orange"], label=f"the list at 0.1: {len(listed.objects)} objects"
)
right.axhline(0.1, color="0.6", lw=0.8, ls=":")
right.set(xlabel="length of the list, strangest first", ylabel="share", ylim=(0.0, 0.6))
right.legend(frameon=False, fontsize=8, loc="upper left")
plt.show()

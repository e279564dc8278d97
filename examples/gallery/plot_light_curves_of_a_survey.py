"""
Light curves from a survey's table
==================================

A table as ZTF writes it: one row a measurement, with object, time, filter, magnitude and error, every object at times
of its own. badac recognises the columns, says what it could not use, and judges every object at its own points; no
interpolation, no features.
"""

# %%
# Two kinds of transients: one fades in weeks, one in months, redder as it goes. Sixty nights in two filters, a third of
# them lost to clouds. Three objects of the new table are neither: they rise again.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from badac import BADACClassifier
from badac.data import align_at_peak, as_fluxes, from_table
from badac.plots import PALETTE

rng = np.random.default_rng(5)


def survey(kinds: list[str], first: int) -> tuple[pd.DataFrame, pd.Series]:
    """Rows of measurements, and the kind of each object."""
    parts = []
    for number, kind in enumerate(kinds, start=first):
        time = np.sort(rng.uniform(-15.0, 80.0, 60))[rng.random(60) < 0.65]
        band = rng.choice(["zg", "zr"], time.size)
        fade = {"fast": 12.0, "slow": 35.0, "again": 12.0}[kind] * rng.lognormal(0.0, 0.15)
        shape = np.where(
            time < 0,
            np.exp(time / 5.0),
            np.exp(-np.maximum(time, 0.0) / (fade * np.where(band == "zr", 1.4, 1.0))),
        )
        if kind == "again":
            shape = shape + 0.7 * np.exp(-0.5 * ((time - 45.0) / 6.0) ** 2)
        flux = 1000.0 * rng.lognormal(0.0, 0.3) * shape + 15.0 * rng.standard_normal(time.size)
        seen = flux > 50.0  # what the survey calls a detection
        mag, error = 25.0 - 2.5 * np.log10(flux[seen]), 1.086 * 15.0 / flux[seen]
        parts.append(
            pd.DataFrame(
                {
                    "oid": number,
                    "mjd": 59000.0 + time[seen],
                    "filtercode": band[seen],
                    "mag": mag,
                    "magerr": error,
                }
            )
        )
    return pd.concat(parts, ignore_index=True), pd.Series(
        kinds, index=range(first, first + len(kinds)), name="kind"
    )


rows, kinds = survey(["fast", "slow"] * 45, first=1)
found = from_table(rows)
print(found.recognised)
print(found.objects)

# %%
# Fluxes in units of the brightest point, in days from it; then a population of curves for each class.

train = align_at_peak(as_fluxes(found.objects, zero_point=25.0))
model = BADACClassifier("population", random_state=0).fit(train, kinds[found.ids].to_numpy())

new_rows, truth = survey(["fast"] * 20 + ["slow"] * 20 + ["again"] * 3, first=1001)
new_found = from_table(new_rows, bands=found.bands)
new = align_at_peak(as_fluxes(new_found.objects, zero_point=25.0))
truth = truth[new_found.ids].to_numpy()
known = truth != "again"
print("right classes of the known kinds:", np.mean(model.predict(new)[known] == truth[known]).round(3))
print("the strangest five:", truth[model.rank(new).objects[:5]].tolist())

# %%
# The strangest one, the window that makes it strange, and measurements of the fast ones of the training set.

strangest = int(model.rank(new).objects[0])
explanation = model.explain(new[[strangest]])
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained", sharex=True, sharey=True)
fast = kinds[found.ids].to_numpy() == "fast"
for panel, band, colour in zip(axes, (0, 1), (PALETTE["blue"], PALETTE["orange"]), strict=True):
    known = train.observed & (train.band == band) & fast[:, None]
    panel.plot(train.at[known], train.values[known], ".", ms=3, color="0.75", label="fast ones, all")
    seen = new.observed[strangest] & (new.band[strangest] == band)
    of_it = [one[strangest][seen] for one in (new.at, new.values, new.sigma)]
    panel.errorbar(*of_it, fmt="o", ms=4, color=colour, label="the strangest")
    panel.axvspan(*explanation.window[0], color="0.5", alpha=0.15, lw=0, label="strangest window")
    panel.set(xlabel="days from the brightest point", title=found.bands[band], xlim=(-20.0, 70.0))
    panel.legend(frameon=False, fontsize=8)
axes[0].set_ylabel("flux, in units of the brightest")
plt.show()

"""
A survey on Dask
================

The same verbs, partition by partition: probabilities as a lazy frame, one ranking of all partitions by a tree
reduction, the same numbers as in memory. Nothing is computed before ``compute``. As a rule the frame is
``dd.read_parquet("survey/")``; here it is made.
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from badac import BADACClassifier
from badac.dask import LazyClassifier
from badac.plots import PALETTE

rng = np.random.default_rng(0)
bands = ["u", "g", "r", "i", "z"]
step = np.arange(5.0)


def table(n: int) -> pd.DataFrame:
    """Magnitudes of blue and red objects with their errors."""
    red = rng.random(n) < 0.5
    shape = np.where(red[:, None], -0.45 * step, -0.15 * step) + rng.normal(20.0, 0.5, (n, 1))
    sigma = rng.uniform(0.02, 0.2, (n, 5))
    values = shape + sigma * rng.standard_normal((n, 5))
    columns = {band: values[:, j] for j, band in enumerate(bands)} | {
        f"{band}_err": sigma[:, j] for j, band in enumerate(bands)
    }
    return pd.DataFrame(columns | {"kind": np.where(red, "red", "blue")})


train = table(300)
model = BADACClassifier("population", random_state=0).fit(train.drop(columns="kind"), train["kind"])

# %%
# A survey in eight partitions, with ten objects whose u band is far too bright.

frame = table(4000)
frame.loc[:9, "u"] -= 1.5
survey = dd.from_pandas(frame.drop(columns="kind"), npartitions=8)
lazy = LazyClassifier(model)
proba = lazy.predict_proba(survey)
print(type(proba).__name__, "of", proba.npartitions, "partitions, columns", list(proba.columns))

# %%
# One ranking of all partitions: each sends its strangest, and these are merged.

strangest = lazy.rank(survey, n=20).compute(scheduler="sync")
print("of the ten strange ones among the first ten:", int(np.sum(strangest.index[:10] < 10)))
in_memory = model.rank(frame.drop(columns="kind"))
print("same order as in memory:", strangest.index.tolist() == in_memory.objects[:20].tolist())

# %%
# The strangest twenty in the sky of colours.

colours = frame["u"] - frame["g"], frame["g"] - frame["r"]
figure, axes = plt.subplots(figsize=(5.4, 4.0), layout="constrained")
axes.plot(*colours, ".", ms=2, color="0.7", label="the survey")
axes.plot(
    colours[0][strangest.index],
    colours[1][strangest.index],
    "o",
    ms=5,
    color=PALETTE["orange"],
    label="its strangest 20",
)
axes.set(xlabel="u - g [mag]", ylabel="g - r [mag]")
axes.legend(frameon=False)
plt.show()

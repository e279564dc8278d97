"""
Spectra with inverse variances
==============================

Spectrographs write the inverse variance of every pixel; zero means that there is none. Two kinds of galaxies, with
emission lines and without; a cosmic ray here and there has taken pixels away. One new spectrum has a line where no
class has one.
"""

import matplotlib.pyplot as plt
import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots import PALETTE

rng = np.random.default_rng(8)
wavelength = np.linspace(4800.0, 6800.0, 120)


def line(centre: float, width: float = 14.0) -> np.ndarray:
    return np.exp(-0.5 * ((wavelength - centre) / width) ** 2)


def spectra(kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Flux and inverse variance; kind 1 has lines, of strengths that vary together."""
    n = kind.size
    slope = rng.normal(0.0, 0.15, (n, 1)) * (wavelength - 5800.0) / 1000.0
    lines = rng.lognormal(0.0, 0.3, (n, 1)) * (1.2 * line(6563.0) + 0.6 * line(5007.0) + 0.4 * line(4861.0))
    flux = (
        1.0 + slope + kind[:, None] * lines - (1 - kind[:, None]) * 0.25 * (line(5175.0, 25.0) + line(5893.0))
    )
    sigma = rng.uniform(0.1, 0.4, (n, 1)) * (1.0 + 2.0 * line(5577.0))  # a sky line
    ivar = np.where(rng.random(flux.shape) < 0.03, 0.0, 1.0 / sigma**2)
    return flux + sigma * rng.standard_normal(flux.shape), ivar


def as_measured(flux: np.ndarray, ivar: np.ndarray) -> Measurements:
    """No inverse variance, no measurement: an infinite sigma is a missing point."""
    with np.errstate(divide="ignore"):
        return Measurements(flux, 1.0 / np.sqrt(ivar), at=wavelength)


label = np.repeat([0, 1], 100)
train = as_measured(*spectra(label))
print(train)

# %%
# Tables do this by themselves: a column called ``ivar``, or ``--errors ivar``, is read as one. Here the arrays were at
# hand.

model = BADACClassifier("population", random_state=0).fit(train, label)

truth = rng.integers(2, size=200)
flux, ivar = spectra(truth)
flux[17] += 2.5 * line(5420.0)  # a line of another galaxy behind
new = as_measured(flux, ivar)
print("right classes:", np.mean(model.predict(new) == truth))
ranking = model.rank(new)
print("strangest:", ranking.objects[:3], "anomaly probability", ranking.anomaly_proba[:3].round(3))

# %%
# Which pixels make it strange.

figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 5.0), layout="constrained", sharex=True)
strangest = int(ranking.objects[0])
explanation = model.explain(new[[strangest]])
explanation.plot(ax=above)
above.set(xlabel="", title=f"spectrum {strangest}: {explanation.reason()}")
below.plot(wavelength, explanation.contribution[0], color=PALETTE["orange"])
below.axhline(0.0, color="0.6", lw=0.8)
below.set(xlabel="wavelength [Angstrom]", ylabel="adds to the evidence [nats]")
plt.show()

"""A class from a formula beside a learned one: supernova-like flashes by their theory, everything else by examples.

The flashes have a time, a duration and a height that theory gives priors for; each is observed at times of its own. The other
class has no theory, only members. The figure: how sure the model is, and what it says of the parameters.

Run: python examples/parametric.py [docs/images/parametric]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import lognorm, norm, uniform

from badac import BADACClassifier, Measurements
from badac.classes import Parametric
from badac.plots.style import PALETTE, house_style, legend, new_figure, save

PRIOR = [uniform(2, 6), lognorm(0.3, scale=1.0), norm(2.5, 0.5)]


def flash(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    peak, duration, height = theta
    return height * np.exp(-0.5 * ((at - peak) / duration) ** 2)


def draw(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray, np.ndarray]:
    """Flashes (label 0) and slow waves (label 1), each at 30 times of its own, a few of them lost."""
    label = rng.integers(2, size=n)
    theta = np.column_stack([one.rvs(n, random_state=rng) for one in PRIOR])
    at = np.sort(rng.uniform(0, 10, (n, 30)), axis=1)
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    waves = 1.2 + 1.2 * np.sin(at * rng.normal(0.9, 0.15, (n, 1)) + phase)
    truth = np.where(label[:, None] == 0, flash(theta.T[..., None], at), waves)
    sigma = rng.uniform(0.5, 1.5, at.shape)
    values = truth + sigma * rng.standard_normal(at.shape)
    values[rng.random(at.shape) < 0.1] = np.nan
    return Measurements(values, sigma, at=at), label, theta


def main(path: str = "parametric", n: int = 300) -> None:
    rng = np.random.default_rng(0)
    train, train_label, _ = draw(n, rng)
    test, label, theta = draw(n, rng)
    formula = Parametric(flash, PRIOR)
    model = BADACClassifier({0: formula, 1: "gp"}, anomaly="tophat", random_state=0).fit(train, train_label)
    proba = model.predict_proba(test)
    accuracy = np.mean(model.predict(test) == label)
    print(
        f"{100 * accuracy:.1f} % of {n} objects right; classes: {[type(m).__name__ for m in model.class_models_]}"
    )

    flashes = np.flatnonzero(label == 0)
    found = model.class_models_[0].estimate(test[flashes])
    one = flashes[0]
    figure, (left, middle, right) = new_figure(1, 3, width=9.6, height=2.9)
    with house_style():
        left.errorbar(
            test.at[one], test.values[one], test.sigma[one], fmt="o", ms=2.5, lw=0.7, color=PALETTE["ink"]
        )
        fine = np.linspace(0, 10, 400)
        drawn = rng.multivariate_normal(found.values[0], found.covariance[0], 60).T[..., None]
        band = np.quantile(flash(drawn, fine), [0.16, 0.5, 0.84], axis=0)
        left.fill_between(
            fine, band[0], band[2], color=PALETTE["sky"], alpha=0.5, lw=0, label="the formula, 68 %"
        )
        left.plot(fine, flash(theta[one][:, None, None], fine)[0], color=PALETTE["vermilion"], label="truth")
        left.set(xlabel="time", ylabel="value", title="A flash at times of its own")
        legend(left)
        bins = np.linspace(0, 1, 21)
        for kind, name, colour in ((0, "flashes", "blue"), (1, "waves", "orange")):
            middle.hist(proba[label == kind, 0], bins, color=PALETTE[colour], alpha=0.7, label=name)
        middle.set(xlabel="probability of the formula's class", ylabel="objects", yscale="log")
        middle.set_title(f"Formula beside learned class: {100 * accuracy:.1f} % right")
        legend(middle, loc="upper center")
        right.errorbar(
            theta[flashes, 0],
            found.values[:, 0],
            found.sigma[:, 0],
            fmt="o",
            ms=2.5,
            lw=0.6,
            color=PALETTE["blue"],
        )
        limits = [2, 8]
        right.plot(limits, limits, color=PALETTE["grey"], lw=0.8)
        right.set(
            xlabel="true time of the flash",
            ylabel="found, with error",
            title="And the parameters, with errors",
        )
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

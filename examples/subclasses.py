"""A class that turns out to be three: subclasses by evidence, and what each of them looks like.

Sines, bumps and damped oscillations share one label; nobody said so. Run: python examples/subclasses.py [subclasses]
"""

from __future__ import annotations

import sys

import numpy as np

from badac import Measurements
from badac.classes import Subclasses
from badac.noise import Gaussian
from badac.plots import SubclassesDisplay
from badac.plots.style import CLASS_COLOURS, PALETTE, house_style, new_figure, save


def mixed_class(n: int, rng: np.random.Generator) -> Measurements:
    """Three kinds of curves under one label, sigma 0.3."""
    at = np.linspace(0.0, 1.0, 100)

    def drawn(mean: float, sd: float) -> np.ndarray:
        return rng.normal(mean, sd, (n, 1))

    kinds = np.stack(
        [
            np.sin(drawn(5.0, 0.5) * at),
            drawn(1.0, 0.15) * np.exp(-(((at - drawn(0.5, 0.03)) / drawn(0.15, 0.02)) ** 2)),
            np.exp(-drawn(3.0, 0.3) * at) * np.cos(drawn(15.0, 0.5) * at),
        ]
    )
    truth = kinds[rng.choice(3, n, p=[0.5, 0.3, 0.2]), np.arange(n)]
    return Measurements(truth + 0.3 * rng.standard_normal(truth.shape), 0.3, at=at)


def main(path: str = "subclasses", n: int = 300) -> None:
    rng = np.random.default_rng(0)
    members = mixed_class(n, rng)
    model = Subclasses().fit(members, Gaussian(), rng)
    division = model.division
    print(f"{division.number} subclasses, shares {np.round(model.weights, 2).tolist()}")

    figure, (left, middle, right) = new_figure(1, 3, width=9.6, height=2.9)
    with house_style():
        for row in range(0, n, max(1, n // 40)):
            left.plot(members.at, members.values[row], color=PALETTE["grey"], lw=0.3, alpha=0.5)
        left.set_title("Members of one class")
        SubclassesDisplay.from_division(division).plot(middle)
        middle.set_title("Evidence for more than one kind")
        for number, part in enumerate(model.models):
            colour = CLASS_COLOURS[number % len(CLASS_COLOURS)]
            own = members[division.label == number]
            mean = own.values.mean(axis=0)
            right.fill_between(
                members.at,
                *np.quantile(part.reconstruct(own).values, [0.05, 0.95], axis=0),
                color=colour,
                alpha=0.35,
            )
            right.plot(members.at, mean, color=colour, lw=1, label=f"{len(own)} members")
        right.legend(frameon=False, loc="upper right")
        right.set_title("The subclasses, their noise removed")
        for ax in (left, right):
            ax.set_xlabel("time")
            ax.set_ylabel("value")
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

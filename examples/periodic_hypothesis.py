"""A hypothesis of your own in one file: a known class plus a periodic signal.

A hypothesis says what it adds, at any coordinates: here one of many sines, of unknown height. The evaluators do the rest, on a
common grid and for curves at points of their own alike. Run: python examples/periodic_hypothesis.py [periodic_hypothesis]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial

import numpy as np

from badac import BADACClassifier, Measurements
from badac.anomalies import Bump, Deviations, Scales, ShapeOnClass, SmoothDeviation, SomethingElse


@dataclass(frozen=True)
class PeriodicSignal:
    """A known class plus a sine of unknown frequency, phase and height.

    Parameters
    ----------
    slowest : float
        Cycles over the range of the coordinates; fewer are what the classes themselves look like.
    step : float
        Of the frequencies, in the same unit: at half a cycle two neighbours are told apart only just.
    phases : int
        Per frequency, over half a cycle: the height has a sign.
    """

    slowest: float = 4.0
    step: float = 0.5
    phases: int = 4

    def adds(self, scales: Scales) -> ShapeOnClass:
        where = scales.coordinates(self)  # refuses features without an order, in words
        fastest = 0.5 / float(np.median(np.diff(where)))  # two points per cycle
        frequency = np.arange(self.slowest, fastest, self.step)
        phase = np.pi * np.arange(self.phases) / self.phases
        cycles, start = (each.ravel() for each in np.meshgrid(frequency, phase))
        return ShapeOnClass(partial(sines, cycles=cycles, start=start))


def sines(x: np.ndarray, cycles: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return (..., m, p): p sines at coordinates (..., m)."""
    return np.sin(2.0 * np.pi * cycles * x[..., None] + start)


# As likely beforehand as before to be a known class plus something: ordinary objects stay as ordinary as they were.
WITH = Deviations((SomethingElse(), Bump(), SmoothDeviation(), PeriodicSignal()), (0.80, 0.10, 0.05, 0.05))


def curves(
    n: int, irregular: bool, rng: np.random.Generator, share: float = 0.0
) -> tuple[Measurements, np.ndarray, np.ndarray]:
    """Two classes of curves, their labels, and which of them (a share) have a weak sine of 6 to 12 cycles on top."""
    m = 50
    at = np.sort(rng.uniform(0.0, 10.0, (n, m)), axis=1) if irregular else np.linspace(0.0, 10.0, m)
    label, strange = rng.integers(2, size=n), rng.uniform(size=n) < share
    centre, size = rng.normal(4.0, 0.3, (n, 1)), rng.normal(1.0, 0.15, (n, 1))
    truth = size * np.where(
        label[:, None] == 0, np.exp(-0.5 * ((at - centre) / 1.5) ** 2), 1.0 / (1.0 + np.exp(centre - at))
    )
    cycles, start = rng.uniform(6.0, 12.0, (n, 1)), rng.uniform(0.0, 2.0 * np.pi, (n, 1))
    truth = truth + np.where(strange[:, None], 0.22 * np.sin(2.0 * np.pi * cycles * at / 10.0 + start), 0.0)
    sigma = np.broadcast_to(rng.uniform(0.1, 0.2, (n, 1)), (n, m))
    return Measurements(truth + sigma * rng.standard_normal((n, m)), sigma, at=at), label, strange


def main(path: str = "periodic_hypothesis", n: int = 300) -> None:
    from badac.plots.style import PALETTE, house_style, new_figure, save

    figure, axes = new_figure(1, 2, width=7.2, height=2.9)
    for ax, irregular in zip(axes, (False, True), strict=True):
        rng = np.random.default_rng(1)
        training, label, _ = curves(n, irregular, rng)
        objects, _, strange = curves(n, irregular, rng, share=0.1)
        with_sines = BADACClassifier(anomaly=WITH, random_state=0).fit(training, label)
        without = BADACClassifier(random_state=0).fit(training, label).anomaly_score(objects)
        score = with_sines.anomaly_score(objects)
        found = with_sines.explain(objects[strange]).hypothesis
        kind = "points of their own" if irregular else "a common grid"
        print(f"{kind}: {(found == 'periodic signal').sum()} of {strange.sum()} called a periodic signal")
        with house_style():
            ax.plot(without[~strange], score[~strange], ".", ms=3, color=PALETTE["grey"], label="ordinary")
            ax.plot(
                without[strange], score[strange], ".", ms=5, color=PALETTE["vermilion"], label="with a sine"
            )
            ax.axline((0.0, 0.0), slope=1.0, color=PALETTE["grey"], lw=0.5)
            ax.set(xlabel="score without the hypothesis", ylabel="with it", title=f"Curves with {kind}")
            ax.legend(frameon=False)
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A stream in which two new kinds of curves appear: who founds a class, who joins it, and what it looks like.

The classifier knows sines and parabolas; steps and fast oscillations arrive among them, 3 % each.
Run: python examples/stream.py [stream]
"""

from __future__ import annotations

import sys

import numpy as np

from badac import BADACClassifier, Measurements, Stream
from badac.plots.style import CLASS_COLOURS, PALETTE, house_style, new_figure, save
from badac.simulate import Normal, Sine, Step, draw_curves, experiment


def arriving(n: int, at: np.ndarray, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Objects of the known kinds 0 and 1 and of the new kinds 2 and 3, in random order, sigma 0.1."""
    data = experiment(1, "released", n_train=1, n_test=n, contamination=0.0, n_points=at.size, rng=rng)
    kind = np.where(rng.random(n) < 0.06, rng.integers(2, 4, n), data.test_label)
    truth = data.test_truth.copy()
    for new, family in ((2, Step(edge=Normal(0.5, 0.05))), (3, Sine(Normal(25.0, 1.0)))):
        rows = np.flatnonzero(kind == new)
        truth[rows] = draw_curves(family, rows.size, at, rng)[0]
    return Measurements(truth + 0.1 * rng.standard_normal(truth.shape), 0.1, at=at), kind


def main(path: str = "stream", n: int = 800) -> None:
    rng = np.random.default_rng(0)
    known = experiment(1, "released", n_train=max(n // 2, 150), n_test=1, n_points=40, rng=rng)
    model = BADACClassifier(random_state=0).fit(known.train, known.train_label)
    objects, kind = arriving(n, known.at, rng)
    stream = Stream(model)
    stream.process(objects)
    found = stream.assignment_
    right = float((found[kind < 2] == kind[kind < 2]).mean())
    largest = sorted(stream.sizes, key=lambda code: -stream.sizes[code])[:2]
    print(f"{right:.1%} of the known kinds told right; new classes and their sizes: {stream.sizes}")

    figure, (left, middle, right_ax) = new_figure(1, 3, width=9.6, height=2.9)
    with house_style():
        for number, name in enumerate(("known: sines", "known: parabolas")):
            rows = np.flatnonzero(found == number)[:12]
            for place, row in enumerate(rows):
                label = name if place == 0 else None
                left.plot(objects.at, objects.values[row], color=CLASS_COLOURS[number], lw=0.4, label=label)
        left.legend(frameon=False, loc="lower left")
        left.set_title("A stream of known objects ...")
        for number, code in enumerate(largest):
            middle.step(
                np.append(stream.members(code), n),
                np.append(np.arange(1, stream.sizes[code] + 1), stream.sizes[code]),
                where="post",
                color=CLASS_COLOURS[number + 2],
                label=stream.names[code],
            )
        middle.set_xlabel("objects seen")
        middle.set_ylabel("members")
        middle.yaxis.get_major_locator().set_params(integer=True)
        middle.legend(frameon=False, loc="upper left")
        middle.set_title("... founds classes that others join")
        for number, code in enumerate(largest):
            for row in stream.members(code)[:15]:
                right_ax.plot(
                    objects.at, objects.values[row], color=CLASS_COLOURS[number + 2], lw=0.3, alpha=0.6
                )
            right_ax.plot(objects.at, stream.curve(code), color=PALETTE["ink"], lw=1.2)
        right_ax.set_title("What they look like")
        for ax in (left, right_ax):
            ax.set_xlabel("time")
            ax.set_ylabel("value")
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

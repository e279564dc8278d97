"""Objects from another instrument: unknown gain, offset and zero point, integrated out.

Two classes are learned from well calibrated curves. New curves come with a gain, an offset and a shift of their own; the
figure shows what that does to the classification without the wrapper and with it.

Run: python examples/nuisance.py [docs/images/nuisance]
"""

from __future__ import annotations

import sys

import numpy as np

from badac import BADACClassifier, Measurements
from badac.plots.style import PALETTE, house_style, legend, new_figure, save
from badac.simulate import Experiment, experiment

KINDS = {
    "as trained": {},
    "gain 20 %": {"gain": 0.2},
    "offset 0.3": {"offset": 0.3},
    "shift 0.1": {"shift": 0.1},
    "gain + offset": {"gain": 0.2, "offset": 0.3},
}


def spoil(
    data: Experiment, rng: np.random.Generator, gain: float = 0.0, offset: float = 0.0, shift: float = 0.0
) -> Measurements:
    """The test objects through another instrument."""
    n = data.test.n_objects
    moved = data.at - shift * rng.uniform(-1, 1, (n, 1))
    truth = np.empty(data.test.shape)
    for row, (kind, parameters) in enumerate(zip(data.test_label, data.test_parameters, strict=True)):
        family = data.recipe.families[kind]
        truth[row] = family.truth(parameters[None, : len(family.names)], moved[row])[0]
    values = (1 + gain * rng.standard_normal((n, 1))) * truth + offset * rng.standard_normal((n, 1))
    return Measurements(values + data.test.values - data.test_truth, data.test.sigma, at=data.at)


def main(path: str = "nuisance", n: int = 2000) -> None:
    data = experiment(1, "released", n_train=n, n_test=n, contamination=0.0, rng=np.random.default_rng(0))
    plain = BADACClassifier("population", anomaly="evidence", random_state=0)
    plain.fit(data.train, data.train_label)
    wrong: dict[str, tuple[float, float]] = {}
    for name, widths in KINDS.items():
        spoiled = spoil(data, np.random.default_rng(1), **widths)
        wrapped = BADACClassifier("population", anomaly="evidence", nuisance=widths or None, random_state=0)
        wrapped.fit(data.train, data.train_label)
        wrong[name] = tuple(
            100 * np.mean(model.predict(spoiled) != data.test_label) for model in (plain, wrapped)
        )
        print(f"{name:16s} wrong without: {wrong[name][0]:5.2f} %   with: {wrong[name][1]:5.2f} %")

    spoiled = spoil(data, np.random.default_rng(1), gain=0.2, offset=0.3)
    moved = np.abs(spoiled.values - data.test.values).max(axis=1)
    worst = int(np.argsort(moved)[-5])
    figure, (left, right) = new_figure(1, 2, width=7.1, height=2.8)
    with house_style():
        for objects, name, colour in (
            (data.test, "as trained", "blue"),
            (spoiled, "as it came", "vermilion"),
        ):
            left.errorbar(
                data.at[::3],
                objects.values[worst, ::3],
                objects.sigma[worst, ::3],
                fmt="o",
                ms=2.5,
                lw=0.6,
                color=PALETTE[colour],
                label=name,
            )
        left.set(xlabel="time", ylabel="value", title="One curve through two instruments")
        legend(left)
        place = np.arange(len(KINDS))
        for k, (name, colour) in enumerate((("without", "grey"), ("integrated out", "green"))):
            right.bar(
                place + 0.4 * k - 0.2,
                [pair[k] for pair in wrong.values()],
                0.38,
                color=PALETTE[colour],
                label=name,
            )
        right.set_xticks(place, [name.replace(" ", "\n", 1) for name in KINDS])
        right.set(ylabel="wrong class (%)", title="Learned from one, asked about the other")
        legend(right, loc="upper left")
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

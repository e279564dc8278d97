"""Training curves taken night by night: what a night adds to all of its curves is not a property of the classes.

Every night (50 curves) has a smooth error of its own. The figure shows one night's common part as it was and as it was found,
and the log-loss on new curves, which come from other nights, with and without the nights' labels.

Run: python examples/batches.py [docs/images/batches]
"""

from __future__ import annotations

import sys

import numpy as np

from badac import BADACClassifier, Measurements
from badac.classes import separate_conditions
from badac.classes.shared_conditions import common_shapes
from badac.plots.style import PALETTE, house_style, legend, new_figure, save
from badac.simulate import experiment


def main(path: str = "batches", n: int = 2000, seeds: int = 3) -> None:
    losses: dict[str, list[float]] = {"ignored": [], "nights known": [], "no such errors": []}
    for seed in range(seeds):
        data = experiment(
            1, "released", n_train=n, n_test=n, contamination=0.0, rng=np.random.default_rng(seed)
        )
        night = np.arange(n) // 50
        shapes = common_shapes("smooth", data.train)
        rng = np.random.default_rng(100 + seed)
        common = 0.3 * rng.standard_normal((night[-1] + 1, shapes.shape[1])) @ shapes.T
        train = Measurements(data.train.values + common[night], data.train.sigma, at=data.at)
        for name, objects, batch in (
            ("ignored", train, None),
            ("nights known", train, night),
            ("no such errors", data.train, None),
        ):
            model = BADACClassifier("population", anomaly="evidence", random_state=0)
            model.fit(objects, data.train_label, batch=batch)
            found = model.predict_log_proba(data.test)
            losses[name].append(-float(np.mean(found[np.arange(n), data.test_label])))
    for name, values in losses.items():
        print(f"{name:16s} log-loss {np.mean(values):.4f} +- {np.std(values):.4f} over {seeds} seeds")

    found = separate_conditions(train, data.train_label, night)
    shown = int(np.argmax(np.ptp(common, axis=1)))
    figure, (left, right) = new_figure(1, 2, width=7.1, height=2.8)
    with house_style():
        rows = np.flatnonzero(night == shown)
        left.plot(data.at, train.values[rows].T, color=PALETTE["grey"], lw=0.3, alpha=0.5)
        band = found.common[shown] + np.array([[-1.0], [1.0]]) * found.error[shown]
        left.fill_between(data.at, *band, color=PALETTE["sky"], alpha=0.7, lw=0, label="found, 68 %")
        left.plot(data.at, common[shown], color=PALETTE["vermilion"], label="what the night added")
        left.set(xlabel="time", ylabel="value", title="Fifty curves of one night")
        legend(left)
        colours = [PALETTE[name] for name in ("grey", "green", "sky")]
        right.bar(list(losses), [np.mean(v) for v in losses.values()], 0.6, color=colours)
        for place, values in enumerate(losses.values()):
            right.plot(np.full(len(values), place), values, "o", ms=3, color=PALETTE["ink"])
        right.set(ylabel="log-loss on new curves (nats)", title="Dots: seeds")
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

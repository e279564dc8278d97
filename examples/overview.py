"""The picture of the README: curves of two classes, how sure the model is, and where a strange one is strange.

Run: python examples/overview.py [docs/images/overview]
"""

from __future__ import annotations

import sys

import numpy as np

from badac import BADACClassifier
from badac.plots import CalibrationDisplay
from badac.plots.style import PALETTE, house_style, new_figure, save
from badac.simulate import experiment


def main(path: str = "overview", n: int = 15_000) -> None:
    data = experiment(2, "printed", n_train=n, n_test=n, rng=np.random.default_rng(0))
    model = BADACClassifier(random_state=0).fit(data.train, data.train_label)
    normal = ~data.is_anomaly
    proba = model.predict_proba(data.test[normal])
    strangest = model.rank(data.test).objects[1:2]
    explanation = model.explain(data.test[strangest])

    figure, (left, middle, right) = new_figure(1, 3, width=9.6, height=2.9)
    with house_style():
        for label, colour in ((0, PALETTE["blue"]), (1, PALETTE["orange"])):
            row = int(np.flatnonzero(data.train_label == label)[0])
            left.errorbar(
                data.at[::3],
                data.train.values[row, ::3],
                data.train.sigma[row, ::3],
                fmt="o",
                ms=2,
                lw=0.6,
                color=colour,
                label=f"class {label}",
            )
        left.legend(frameon=False, loc="lower left")
        left.set_title("From noisy objects ...")
        CalibrationDisplay.from_predictions(
            data.test_label[normal] == 1, {"badac": proba[:, 1]}, n_bins=8
        ).plot(middle, of="class 1", with_legend=False)
        middle.set_title("... get a probability for each class,")
        explanation.plot(0, right)
        right.set_title("and see what is none of them")
        for ax in (left, right):
            ax.set_xlabel("time")
            ax.set_ylabel("value")
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

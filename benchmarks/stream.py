"""A stream with new kinds: Experiment 1 (`released`), its three outlier kinds as 2 % each among the known classes.

orders   5,000 objects in ten orders: adjusted Rand index of the final assignment, what the known classes lose, and how well
         the kinds of outliers are told from each other (the index over the outliers alone)
rate     100,000 objects: objects per CPU second, by tenths of the stream

One thread; CPU seconds of the process. Tables are Markdown.

Run: OMP_NUM_THREADS=1 python -m benchmarks.stream orders [--orders 10] [--size 5000]
     OMP_NUM_THREADS=1 python -m benchmarks.stream rate [--size 100000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.metrics import adjusted_rand_score

from badac import BADACClassifier, Stream
from badac.simulate import Experiment, experiment


def learned(size: int, n_train: int) -> tuple[Experiment, BADACClassifier]:
    data = experiment(
        1, "released", n_train=n_train, n_test=size, contamination=0.06, rng=np.random.default_rng(0)
    )
    return data, BADACClassifier(random_state=0).fit(data.train, data.train_label)


def orders(size: int, count: int, n_train: int) -> None:
    data, model = learned(size, n_train)
    print(
        "| order | Rand index | of the outliers alone | lost by class 0, 1 | to new classes | outliers missed |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    rows = []
    for order in range(count):
        shuffled = np.random.default_rng(order).permutation(size)
        label = data.test_label[shuffled]
        stream = Stream(model)
        stream.process(data.test[shuffled])
        found = stream.assignment_
        outlier = label > 1
        lost = [float((found[label == kind] != kind).mean()) for kind in (0, 1)]
        to_new = float((found[~outlier] > 1).mean())
        rows.append(
            (
                adjusted_rand_score(label, found),
                adjusted_rand_score(label[outlier], found[outlier]),
                *lost,
                to_new,
                float((found[outlier] < 2).mean()),
            )
        )
        one = rows[-1]
        print(
            f"| {order} | {one[0]:.3f} | {one[1]:.3f} | {one[2]:.2%}, {one[3]:.2%} | {one[4]:.2%} | {one[5]:.1%} |",
            flush=True,
        )
    mean, worst = np.mean(rows, axis=0), np.max(rows, axis=0)
    print(
        f"| mean (worst) | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.2%} ({worst[2]:.2%}), {mean[3]:.2%} ({worst[3]:.2%}) "
        f"| {mean[4]:.2%} | {mean[5]:.1%} |"
    )


def rate(size: int, n_train: int) -> None:
    data, model = learned(size, n_train)
    stream = Stream(model)
    print("| objects seen | objects per CPU second | new classes asked |\n|---|---|---|", flush=True)
    for tenth in np.array_split(np.arange(size), 10):
        start = time.process_time()
        stream.process(data.test[tenth])
        spent = time.process_time() - start
        print(f"| {stream.n_seen_} | {tenth.size / spent:.0f} | {len(stream.state_.classes)} |", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=["orders", "rate"])
    arguments.add_argument("--size", type=int)
    arguments.add_argument("--orders", type=int, default=10)
    arguments.add_argument("--train", type=int, default=4000)
    given = arguments.parse_args()
    if given.what == "orders":
        orders(given.size or 5000, given.orders, given.train)
    else:
        rate(given.size or 100_000, given.train)


if __name__ == "__main__":
    main()

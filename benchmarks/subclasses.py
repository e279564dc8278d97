"""How many subclasses: the number found for classes made of 1, 2, 3 and 5 kinds of curves, over seeds.

families     300 members, sigma 0.3 (`printed`), which kinds is drawn for each seed, with a little scatter in every parameter
unequal      one kind, error bars that differ by factors from member to member and from point to point
continuous   one kind with a parameter that varies strongly: still one

One thread. Run: OMP_NUM_THREADS=1 python -m benchmarks.subclasses [--seeds 20] [--members 300]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from badac import Measurements
from badac.classes import Subclasses
from badac.noise import Gaussian

AT = np.linspace(0.0, 1.0, 100)
Draw = Callable[[float, float], np.ndarray]

KINDS: tuple[Callable[[Draw], np.ndarray], ...] = (
    lambda n: np.sin(n(5.0, 0.3) * AT),
    lambda n: n(0.5, 0.1) * AT**2 + n(0.5, 0.1) * AT + n(0.0, 0.1),
    lambda n: n(1.0, 0.1) * np.exp(-(((AT - n(0.5, 0.03)) / n(0.15, 0.02)) ** 2)),
    lambda n: np.exp(-n(3.0, 0.3) * AT) * np.cos(n(15.0, 0.5) * AT),
    lambda n: np.sin(n(9.0, 0.3) * AT),
    lambda n: np.where(n(0.5, 0.03) >= AT, n(1.0, 0.1), 0.0),
)
CONTINUOUS: dict[str, Callable[[Draw], np.ndarray]] = {
    "sin(w x), w ~ N(5, 2)": lambda n: np.sin(n(5.0, 2.0) * AT),
    "a sin(5 x), a ~ N(1, 0.7)": lambda n: n(1.0, 0.7) * np.sin(5.0 * AT),
    "a sin(5 x), log a ~ N(0, 0.8)": lambda n: np.exp(n(0.0, 0.8)) * np.sin(5.0 * AT),
    "a bump at N(0.5, 0.15)": lambda n: np.exp(-(((AT - n(0.5, 0.15)) / 0.1) ** 2)),
    "a step at N(0.5, 0.2), N(1, 0.3) high": lambda n: np.where(n(0.5, 0.2) >= AT, n(1.0, 0.3), 0.0),
    "parabolas of Experiment 1": lambda n: n(0.5, 0.2) * AT**2 + n(0.5, 0.2) * AT + n(0.0, 0.2),
}


def members_of(
    kinds: tuple[Callable[[Draw], np.ndarray], ...],
    n: int,
    rng: np.random.Generator,
    *,
    unequal: bool = False,
) -> Measurements:
    """Members that fall into the kinds by chance."""
    label = rng.integers(len(kinds), size=n)
    truth = np.empty((n, AT.size))
    for number, kind in enumerate(kinds):
        rows = np.flatnonzero(label == number)
        truth[rows] = kind(lambda mean, sd, size=rows.size: rng.normal(mean, sd, (size, 1)))
    sigma = np.full(truth.shape, 0.3)
    if unequal:
        sigma *= np.exp(rng.normal(0.0, 0.7, (n, 1)) + rng.normal(0.0, 0.3, truth.shape))
    return Measurements(truth + sigma * rng.standard_normal(truth.shape), sigma, at=AT)


def found(members: Measurements, rng: np.random.Generator) -> int:
    division = Subclasses("template").fit(members, Gaussian(), rng).division
    assert division is not None
    return division.number


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--members", type=int, default=300)
    given = arguments.parse_args()
    print("| a class of | right number | found | CPU seconds each |\n|---|---|---|---|", flush=True)

    def row(name: str, right: int, draw: Callable[[np.random.Generator], Measurements]) -> None:
        start, numbers = time.process_time(), []
        for seed in range(given.seeds):
            rng = np.random.default_rng(seed)
            numbers.append(found(draw(rng), rng))
        each = (time.process_time() - start) / given.seeds
        values, counts = np.unique(numbers, return_counts=True)
        listed = ", ".join(f"{value}: {count}" for value, count in zip(values, counts, strict=True))
        print(f"| {name} | {numbers.count(right)} of {given.seeds} | {listed} | {each:.1f} |", flush=True)

    n = given.members
    for count in (1, 2, 3, 5):

        def draw(rng: np.random.Generator, count: int = count) -> Measurements:
            chosen = rng.permutation(len(KINDS))[:count]
            return members_of(tuple(KINDS[number] for number in chosen), n, rng)

        row(f"{count} kind{'s' * (count > 1)}", count, draw)

    row(
        "1 kind, unequal error bars",
        1,
        lambda rng: members_of((KINDS[rng.integers(len(KINDS))],), n, rng, unequal=True),
    )
    for name, kind in CONTINUOUS.items():
        row(name, 1, lambda rng, kind=kind: members_of((kind,), n, rng))


if __name__ == "__main__":
    main()

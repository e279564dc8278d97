"""A cell of the comparison: one algorithm on one experiment, in one setting, with one seed, at one size.

A cell is the unit of work: it can be run alone, in any order and in any process, since its data follow from its own seed.
To have a cell's data in one's own hands: ``experiment(number, setting, n_train=..., n_test=..., rng=default_rng(seed))``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from badac.simulate import Experiment, experiment
from badac.simulate.experiments import Setting
from reproduction.algorithms import ALGORITHMS
from reproduction.published import SETTINGS, TITLES

_FULL_FOREST_FROM = 5_000
_FEWEST = 200


@dataclass(frozen=True)
class Size:
    """How many training and test objects, and how many trees the random forest has."""

    n_train: int
    n_test: int
    n_trees: int

    @classmethod
    def parse(cls, text: str) -> Size:
        """Read "small", "medium", "paper" or a number N for N + N objects.

        The paper's forest has 1000 trees; below 5,000 objects it has 200, so that a small run stays short.
        """
        known = {"small": 1_500, "medium": 5_000, "paper": 15_000}
        digits = text.strip().lower().replace(",", "").replace("_", "")
        if digits not in known and not digits.isdecimal():
            raise ValueError(
                f"the size must be one of {', '.join(known)} or a number of objects: got {text!r}."
            )
        n = known.get(digits) or int(digits)
        if n < _FEWEST:
            raise ValueError(
                f"the size must be at least {_FEWEST}: got {n}. One percent of the test objects are anomalies, and a "
                "result needs two of them."
            )
        return cls(n, n, 1_000 if n >= _FULL_FOREST_FROM else 200)

    @property
    def caveat(self) -> str:
        """What differs from the paper's run, in words; empty at its own size."""
        if self == Size(15_000, 15_000, 1_000):
            return ""
        trees = (
            "" if self.n_trees == 1_000 else f" and a forest of {self.n_trees} trees (the paper has 1,000)"
        )
        return (
            f"{self.n_train:,} + {self.n_test:,} curves (the paper has 15,000 + 15,000){trees}: "
            f"the numbers rest on {round(0.01 * self.n_test)} anomalies per seed and scatter accordingly."
        )


@dataclass(frozen=True)
class Cell:
    """One algorithm on one experiment: what is run, and where its result belongs."""

    experiment: int
    setting: str
    seed: int
    algorithm: str
    size: Size

    @property
    def name(self) -> str:
        """A name for files, unique among cells."""
        size = f"{self.size.n_train}x{self.size.n_test}"
        return f"e{self.experiment}-{self.setting}-{size}-s{self.seed}-{self.algorithm}"

    @property
    def expected_seconds(self) -> float:
        """A rough guess of its cost, for the time left."""
        algorithm, size = ALGORITHMS[self.algorithm], self.size
        pairs, objects = size.n_train * size.n_test, size.n_train + size.n_test
        trees = size.n_trees / 1_000 if self.algorithm == "forest" else 1.0
        return 0.3 + algorithm.seconds_per_pair * pairs + trees * algorithm.seconds_per_object * objects

    def data(self) -> Experiment:
        """Simulate its data."""
        return experiment(
            self.experiment,
            cast(Setting, self.setting),
            n_train=self.size.n_train,
            n_test=self.size.n_test,
            rng=np.random.default_rng(self.seed),
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "setting": self.setting,
            "seed": self.seed,
            "algorithm": self.algorithm,
            "n_train": self.size.n_train,
            "n_test": self.size.n_test,
            "n_trees": self.size.n_trees,
        }


def plan(
    size: Size,
    *,
    experiments: Iterable[int] = (),
    settings: Iterable[str] = (),
    n_seeds: int = 1,
    algorithms: Iterable[str] = (),
) -> list[Cell]:
    """Return the cells of a comparison, seed by seed; what is not named means all of it.

    Algorithms whose package is not installed are left out of "all", and are an error where they are named.
    """
    wanted = _known("experiment", experiments, TITLES)
    chosen = _known("setting", settings, SETTINGS)
    if n_seeds < 1:
        raise ValueError(f"the number of seeds must be at least 1: got {n_seeds}.")
    names = tuple(algorithms)
    runners = _known("algorithm", names, ALGORITHMS)
    if names:
        for name in runners:
            if not ALGORITHMS[name].installed:
                raise ValueError(
                    f"algorithm {name} needs the package {ALGORITHMS[name].needs}: pip install 'badac[peers]'."
                )
    else:
        runners = [name for name in runners if ALGORITHMS[name].installed]
    return [
        Cell(number, setting, seed, name, size)
        for seed in range(n_seeds)
        for setting in chosen
        for number in wanted
        for name in runners
    ]


def not_installed() -> list[str]:
    """Names of the algorithms that are left out because their package is absent."""
    return [name for name, algorithm in ALGORITHMS.items() if not algorithm.installed]


def _known(what: str, wanted: Iterable[Any], known: Any) -> list[Any]:
    given = tuple(wanted)
    for one in given:
        if one not in known:
            raise ValueError(f"the {what} must be one of {', '.join(map(str, known))}: got {one!r}.")
    return [one for one in known if not given or one in given]

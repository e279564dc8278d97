"""Tables for `benchmarks.default`: shapes, scikit-learn's own sets with noise, real sets, counts, sizes and spoiled data.

Each is a function of a seed that returns objects and labels for learning and for judging. Noise that is added is known: per
object ``sigma = U(low, high)`` times the spread of each column, so that rows differ.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn import datasets

from badac import Measurements
from badac.data import add_noise
from badac.simulate import experiment

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True, eq=False)
class Table:
    """One table, divided.

    Attributes
    ----------
    train, test : Measurements
    label, truth : (n,), (n',) int
    """

    train: Measurements
    label: np.ndarray
    test: Measurements
    truth: np.ndarray

    @property
    def counted(self) -> bool:
        """Whether the values are counts."""
        return self.train.counted


def noisy(
    values: np.ndarray,
    label: np.ndarray,
    seed: int,
    *,
    low: float = 0.05,
    high: float = 0.5,
    n_train: int | None = None,
) -> Table:
    """Add known noise, and divide in two at random."""
    rng = np.random.default_rng(seed)
    spread = np.maximum(values.std(axis=0), 1e-9)
    sigma = rng.uniform(low, high, (len(values), 1)) * spread
    objects = Measurements(
        values + sigma * rng.standard_normal(values.shape), np.broadcast_to(sigma, values.shape)
    )
    return divided(objects, label, rng, n_train)


def divided(
    objects: Measurements, label: np.ndarray, rng: np.random.Generator, n_train: int | None = None
) -> Table:
    """Divide at random, every class on both sides."""
    label = np.unique(label, return_inverse=True)[1]
    order = rng.permutation(len(label))
    half = len(label) // 2 if n_train is None else n_train
    first = np.zeros(len(label), dtype=bool)
    first[order[:half]] = True
    for each in range(label.max() + 1):
        rows = order[label[order] == each]
        if not first[rows].any():
            first[rows[0]] = True
    known = np.isin(label, np.unique(label[first]))
    return Table(objects[first], label[first], objects[~first & known], label[~first & known])


def moons(seed: int) -> Table:
    values, label = datasets.make_moons(1800, noise=0.05, random_state=seed)
    return noisy(values, label, seed)


def circles(seed: int) -> Table:
    values, label = datasets.make_circles(1800, noise=0.05, factor=0.5, random_state=seed)
    return noisy(values, label, seed)


def spirals(seed: int, classes: int = 2, n: int = 1800) -> Table:
    rng = np.random.default_rng(seed)
    label = rng.integers(classes, size=n)
    radius = np.sqrt(rng.uniform(0.05, 1.0, n)) * 2.0 * np.pi
    angle = radius + 2.0 * np.pi * label / classes
    values = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return noisy(values + 0.1 * rng.standard_normal(values.shape), label, seed)


def shells(seed: int, m: int = 3, n: int = 1800) -> Table:
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n)
    along = rng.standard_normal((n, m))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return noisy(along * (1.0 + label)[:, None] + 0.1 * rng.standard_normal((n, m)), label, seed)


def checkers(seed: int, n: int = 1800) -> Table:
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1.0, 1.0, (n, 4))
    return noisy(values, (values[:, 0] * values[:, 1] > 0).astype(int), seed)


def blobs(seed: int, m: int = 6, classes: int = 3, n: int = 1800, each: int = 3) -> Table:
    centres = 2.0 * np.random.default_rng(seed + 10_000).standard_normal((classes * each, m))
    rng = np.random.default_rng(seed)
    group = rng.integers(classes * each, size=n)
    return noisy(centres[group] + 0.5 * rng.standard_normal((n, m)), group % classes, seed)


def wide(seed: int, m: int = 500, n: int = 400) -> Table:
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n)
    directions = np.random.default_rng(1).standard_normal((5, m)) / np.sqrt(5)
    shift = np.random.default_rng(2).standard_normal((3, m)) * 0.15
    return noisy(rng.standard_normal((n, 5)) @ directions + shift[label], label, seed, low=0.3, high=1.5)


def few_tell(seed: int, m: int = 50, telling: int = 4, n: int = 1200) -> Table:
    """Clusters of three classes in some of the columns; the others tell nothing."""
    values, label = datasets.make_classification(
        n, m, n_informative=telling, n_redundant=0, n_classes=3, n_clusters_per_class=2, random_state=seed
    )
    return noisy(values, label, seed)


def unequal(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    full = blobs(seed, m=4, n=4000)
    keep = rng.random(2000) < np.array([1.0, 0.15, 0.04])[full.label % 3]
    return Table(full.train[keep], full.label[keep], full.test, full.truth)


def spoiled(table: Table, seed: int, *, labels: float = 0.0, factor: float = 1.0) -> Table:
    """Some labels wrong in training; error bars stated too small by a factor, everywhere."""
    rng = np.random.default_rng(seed + 1)
    label = table.label.copy()
    wrong = rng.random(len(label)) < labels
    label[wrong] = rng.integers(label.max() + 1, size=int(wrong.sum()))
    train, test = (
        Measurements(side.values, side.sigma / factor) if factor != 1.0 else side
        for side in (table.train, table.test)
    )
    return Table(train, label, test, table.truth)


def wrong_in_part(table: Table, part: Literal["class", "range", "new"], factor: float = 2.0) -> Table:
    """Error bars stated too small by a factor in one class, above the middle of the first column, or in new objects alone."""
    middle = np.median(table.train.values[:, 0])

    def stated(side: Measurements, label: np.ndarray, new: bool) -> Measurements:
        wrong = {"class": label == 0, "range": side.values[:, 0] > middle, "new": np.full(len(label), new)}
        return Measurements(side.values, side.sigma / np.where(wrong[part], factor, 1.0)[:, None])

    train, test = stated(table.train, table.label, False), stated(table.test, table.truth, True)
    return Table(train, table.label, test, table.truth)


def bundled(name: str) -> Callable[[int], Table]:
    def make(seed: int) -> Table:
        found = getattr(datasets, f"load_{name}")()
        return noisy(found.data, found.target, seed, low=0.1, high=1.0)

    return make


def ucr(name: str) -> Callable[[int], Table]:
    """A set of the UCR archive that aeon brings: its files are read, both parts together."""

    def make(seed: int) -> Table:
        found = importlib.util.find_spec("aeon")
        if found is None or not found.submodule_search_locations:
            raise ImportError("aeon, which brings the UCR sets, is not installed")
        folder = Path(found.submodule_search_locations[0]) / "datasets" / "data" / name
        text = "".join(
            (folder / f"{name}_{part}.ts").read_text().split("@data\n")[1] for part in ("TRAIN", "TEST")
        )
        rows = [line.rsplit(":", 1) for line in text.splitlines() if line.strip()]
        values = np.array([[float(number) for number in row.split(",")] for row, _ in rows])
        label = np.unique([each for _, each in rows], return_inverse=True)[1]
        return noisy(values, label, seed, low=0.1, high=1.0)

    return make


def paper(number: int, setting: Literal["printed", "released"]) -> Callable[[int], Table]:
    def make(seed: int) -> Table:
        rng = np.random.default_rng(seed)
        made = experiment(number, setting, n_train=600, n_test=1000, rng=rng)
        known = ~made.is_anomaly
        return Table(made.train, made.train_label, made.test[known], made.test_label[known])

    return make


def cells(depth: float, *, genes: int = 200) -> Callable[[int], Table]:
    def make(seed: int) -> Table:
        import pandas as pd

        table = pd.read_parquet(DATA / "cell_counts" / "counts.parquet")
        table = table[table["demuxlet_cls"] == "SNG"]
        other = ("object_id", "batch", "label", "demuxlet_cls", "total")
        counts = table[[name for name in table if name not in other]].to_numpy().astype(np.int64)
        rng = np.random.default_rng(seed)
        counts = rng.binomial(counts[:, rng.permutation(counts.shape[1])[:genes]], depth).astype(float)
        total = np.maximum(rng.binomial(table["total"].to_numpy(), depth), 1).astype(float)
        return divided(Measurements(counts, exposure=total), table["label"].to_numpy(), rng)

    return make


def asteroids(noise: float) -> Callable[[int], Table]:
    def make(seed: int) -> Table:
        import pandas as pd

        table = pd.read_parquet(DATA / "gaia_asteroids" / "spectra.parquet")
        table = table[table["label"].notna()]
        names = [name for name in table if name.startswith("r_") and not name.endswith("_err")]
        values, sigma = (table[[name + end for name in names]].to_numpy(float) for end in ("", "_err"))
        rng = np.random.default_rng(seed)
        made = divided(Measurements(values, sigma), table["label"].to_numpy(), rng)
        return with_noise(made, noise, rng)

    return make


def with_noise(table: Table, noise: float, rng: np.random.Generator) -> Table:
    """Add known noise to the objects that are judged: per object U(0, noise) times the range of the middle half."""
    if noise == 0.0:
        return table
    low, high = np.nanquantile(table.train.values, [0.25, 0.75], axis=0)
    level = rng.uniform(0.0, noise, (table.test.n_objects, 1)) * np.maximum(high - low, 1e-9)
    return Table(table.train, table.label, add_noise(table.test, level, rng), table.truth)


def real(name: str, noise: float) -> Callable[[int], Table]:
    def make(seed: int) -> Table:
        from benchmarks.real import load

        found = load(name)
        if found is None:
            raise FileNotFoundError(name)
        rng = np.random.default_rng(seed)
        return with_noise(divided(found.objects[found.common], found.label[found.common], rng), noise, rng)

    return make


TABLES: dict[str, Callable[[int], Table]] = {
    "moons (2 columns)": moons,
    "circles (2)": circles,
    "spirals (2)": spirals,
    "five spirals (2)": lambda seed: spirals(seed, 5),
    "shells (3)": shells,
    "checkers (4)": checkers,
    "shells (5)": lambda seed: shells(seed, 5),
    "blobs (6)": blobs,
    "iris, noise": bundled("iris"),
    "wine, noise": bundled("wine"),
    "breast cancer, noise": bundled("breast_cancer"),
    "digits, noise": bundled("digits"),
    "paper 1, printed": paper(1, "printed"),
    "paper 1, released": paper(1, "released"),
    "paper 4, printed": paper(4, "printed"),
    "asteroids": asteroids(0.0),
    "asteroids, noise": asteroids(2.0),
    "cells, all counts": cells(1.0),
    "cells, 20 %": cells(0.2),
    "cells, 5 %": cells(0.05),
    "cells, 2 %": cells(0.02),
    "8 objects (4)": lambda seed: noisy(*_blobs_of(seed, 4, 2, 500), seed, n_train=8),
    "30 objects (10)": lambda seed: noisy(*_blobs_of(seed, 10, 3, 800), seed, n_train=30),
    "30 classes (10)": lambda seed: blobs(seed, 10, 30, 3000, 1),
    "100 classes (10)": lambda seed: blobs(seed, 10, 100, 6000, 1),
    "500 columns": wide,
    "50 columns, 4 of which tell": few_tell,
    "20 columns, 3 of which tell": lambda seed: few_tell(seed, 20, 3, 800),
    "20,000 objects (5)": lambda seed: blobs(seed, 5, 3, 22_000),
    "unequal classes (4)": unequal,
    "5 % wrong labels (4)": lambda seed: spoiled(blobs(seed, 4), seed, labels=0.05),
    "errors half too small (2)": lambda seed: spoiled(moons(seed), seed, factor=2.0),
    "errors half too small in one class (4)": lambda seed: wrong_in_part(blobs(seed, 4), "class"),
    "errors half too small in a range (3)": lambda seed: wrong_in_part(shells(seed), "range"),
    "errors half too small in new objects (2)": lambda seed: wrong_in_part(moons(seed), "new"),
    "paper 3, printed": paper(3, "printed"),
    "paper 3, released": paper(3, "released"),
    "paper 4, released": paper(4, "released"),
    "gestures, noise (UCR GunPoint)": ucr("GunPoint"),
    "power demand, noise (UCR ItalyPowerDemand)": ucr("ItalyPowerDemand"),
    "outlines, noise (UCR ArrowHead)": ucr("ArrowHead"),
    "stars": real("asas", 0.0),
    "stars, noise": real("asas", 2.0),
    "X-ray sources": real("chandra", 0.0),
    "X-ray sources, noise": real("chandra", 2.0),
    "supernovae": real("osc", 0.0),
    "supernovae, noise": real("osc", 2.0),
}


def _blobs_of(seed: int, m: int, classes: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(seed + 10_000).standard_normal((classes, m))
    label = rng.integers(classes, size=n)
    return centres[label] + 0.7 * rng.standard_normal((n, m)), label

"""Real sets for the triage benchmark: known classes to learn from, and new objects of which some are of no known class.

`cases` draws, from a seed, half of the common classes' objects to learn from and the other half as new, with objects of the
rare classes ("rare") or a few of a common class that the training never saw ("left out") among them; "noisy" adds known noise
to the new objects: per object U(0, 2) times the inter-quartile range of each feature. The data are looked for in
../shared/data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from badac import Measurements
from badac.data import add_noise, align_at_peak, from_table
from benchmarks.real import DATA, RARE, load

SETS = ("asas", "chandra", "osc", "spcc", "gaia", "cells")
TITLES = {
    "asas": "stars (ASAS)",
    "chandra": "X-ray sources (Chandra)",
    "osc": "supernovae (OSC)",
    "spcc": "supernovae (SPCC, irregular)",
    "gaia": "asteroids (Gaia)",
    "cells": "cells and doublets",
}
MOST_RARE, MOST_LEFT_OUT = 40, 20
# So many common objects at most to learn from, and new, for everybody alike: a fit of irregular curves takes a minute.
MOST = {"spcc": (400, 800)}
BINS = np.array([-60.0, -20.0, -10.0, -4.0, 0.5, 6.0, 14.0, 24.0, 40.0, 60.0, 120.0])


@dataclass(frozen=True, eq=False)
class Labelled:
    """Objects with a label each, and which labels are rare."""

    objects: Measurements
    label: np.ndarray
    rare: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """Objects to learn from, new ones, and what an expert would say of those.

    Attributes
    ----------
    name : str
        "rare" or "left out".
    train, label : Measurements, (t,)
    new, truth : Measurements, (n,)
    is_new : (n,) bool
        Of no class of the training.
    """

    name: str
    train: Measurements
    label: np.ndarray
    new: Measurements
    truth: np.ndarray

    @property
    def is_new(self) -> np.ndarray:
        return ~np.isin(self.truth, self.label)

    def noisy(self, rng: np.random.Generator) -> Measurements:
        """Return the new objects with noise added."""
        factor = rng.uniform(0.0, 2.0, (len(self.new), 1))
        return add_noise(self.new, factor * spread(self.train, self.new), rng)


def spread(train: Measurements, new: Measurements) -> np.ndarray:
    """Inter-quartile range of each feature, or of each point's band where objects have points of their own."""
    if not train.own_points:
        low, high = np.nanpercentile(train.values, (25, 75), axis=0)
        return np.asarray(high - low)
    assert train.band is not None and new.band is not None
    bands, of_new = np.broadcast_to(train.band, train.shape), np.broadcast_to(new.band, new.shape)
    out = np.zeros(new.shape)
    for band in range(int(bands.max()) + 1):
        low, high = np.nanpercentile(train.values[bands == band], (25, 75))
        out[of_new == band] = high - low
    return out


def cases(found: Labelled, name: str, seed: int) -> Iterator[Case]:
    """Yield the two cases of a set and a seed."""
    rng = np.random.default_rng([seed, 77])
    common = np.flatnonzero(~np.isin(found.label, found.rare))
    first = rng.permuted(common)
    half = len(first) // 2
    most_train, most_new = MOST.get(name, (len(first), len(first)))
    train, new = first[:half][:most_train], first[half:][:most_new]
    rare = rng.permuted(np.flatnonzero(np.isin(found.label, found.rare)))[:MOST_RARE]

    def case(called: str, train: np.ndarray, new: np.ndarray) -> Case:
        new = rng.permuted(new)
        return Case(called, found.objects[train], found.label[train], found.objects[new], found.label[new])

    yield case("rare", train, np.concatenate([new, rare]))
    kinds = np.unique(found.label[common])
    left = kinds[seed % len(kinds)]
    few = rng.permuted(new[found.label[new] == left])[:MOST_LEFT_OUT]
    others = new[found.label[new] != left]
    yield case("left out", train[found.label[train] != left], np.concatenate([others, few]))


# -- the sets --------------------------------------------------------------------------------------------------------


def find(name: str) -> Labelled | None:
    """Return a set, or None with a word where its data are absent."""
    if name in RARE:
        found = load(name)
        return None if found is None else Labelled(found.objects, found.label, RARE[name])
    made: Callable[[Path], Labelled] = {"spcc": supernovae, "gaia": asteroids, "cells": cells}[name]
    folder = DATA / {"spcc": "spcc", "gaia": "gaia_asteroids", "cells": "cell_counts"}[name]
    if not folder.is_dir():
        print(f"{name}: skipped, there is no {folder}")
        return None
    return made(folder)


def supernovae(folder: Path) -> Labelled:
    """Irregular griz curves of 2,400 objects, from their brightest points; type IIn is the rare one."""
    import pandas as pd

    table = pd.read_parquet(folder / "objects.parquet")
    table = table[table["split"] == "photometric"].sample(2400, random_state=1).sort_values("object_id")
    curves = pd.read_parquet(folder / "light_curves.parquet")
    curves = curves[curves["object_id"].isin(table["object_id"])]
    found = from_table(curves, bands=("g", "r", "i", "z"))
    raw = table.set_index("object_id").loc[found.ids]["label_raw"]
    label = raw.replace({"IIL": "II", "IIP": "II", "Ib": "Ibc", "Ic": "Ibc"}).to_numpy().astype(str)
    return Labelled(align_at_peak(found.objects), label, ("IIn",))


def asteroids(folder: Path) -> Labelled:
    """Labelled reflectance spectra; the classes A, D, O, R, T and V are rare."""
    import pandas as pd

    table = pd.read_parquet(folder / "spectra.parquet")
    table = table[table["label"].notna()]
    at = [name for name in table.columns if name.startswith("r_") and not name.endswith("_err")]
    values, sigma = table[at].to_numpy(float), table[[f"{name}_err" for name in at]].to_numpy(float)
    bad = ~np.isfinite(values) | ~np.isfinite(sigma) | (sigma <= 0)
    wavelength = [float(name.split("_")[1]) for name in at]
    objects = Measurements(np.where(bad, np.nan, values), np.where(bad, np.inf, sigma), at=wavelength)
    return Labelled(objects, table["label"].to_numpy().astype(str), ("A", "D", "O", "R", "T", "V"))


def cells(folder: Path, genes: int = 60) -> Labelled:
    """Log shares of the most variable genes with the errors of their counts; two cells in one drop are the rare ones."""
    import pandas as pd

    table = pd.read_parquet(folder / "counts.parquet")
    counts = table.iloc[:, 5:].to_numpy(float)
    depth = counts.sum(axis=1, keepdims=True)
    share = (counts + 0.5) / (depth + 1.0) * 1e4
    values, sigma = np.log(share), 1.0 / np.sqrt(counts + 0.5)
    chosen = np.sort(np.argsort(-(values.var(axis=0) - (sigma**2).mean(axis=0)))[:genes])
    label = np.where(table["demuxlet_cls"] == "DBL", "doublet", table["label"]).astype(str)
    return Labelled(Measurements(values[:, chosen], sigma[:, chosen]), label, ("doublet",))


# -- as tables of features, for the peers ----------------------------------------------------------------------------


def features(objects: Measurements, *, with_errors: bool) -> np.ndarray:
    """Return (n, f): values, gaps filled by the median, and their errors if asked for."""
    values, sigma = binned(objects) if objects.own_points else (objects.values, objects.sigma)
    seen = np.isfinite(values) & np.isfinite(sigma)
    columns = [np.where(seen, values, np.nan)]
    if with_errors:
        columns.append(np.where(seen, sigma, np.nan))
    table = np.hstack(columns)
    with np.errstate(all="ignore"):
        middle = np.array([np.median(c[np.isfinite(c)]) if np.isfinite(c).any() else 0.0 for c in table.T])
    return np.where(np.isfinite(table), table, middle)


def binned(objects: Measurements) -> tuple[np.ndarray, np.ndarray]:
    """Inverse-variance means in bins of time, band by band, and their errors: (n, bands x bins) each."""
    assert objects.at is not None and objects.band is not None
    band = np.broadcast_to(objects.band, objects.shape)
    place = np.digitize(np.nan_to_num(objects.at, nan=1e9), BINS) - 1
    weight = np.where(objects.observed, 1.0 / objects.sigma**2, 0.0)
    scaled = weight * np.where(objects.observed, objects.values, 0.0)
    values, sigma = [], []
    for b in range(int(band.max()) + 1):
        for k in range(len(BINS) - 1):
            inside = (band == b) & (place == k)
            total = np.where(inside, weight, 0.0).sum(axis=1)
            with np.errstate(all="ignore"):
                values.append(np.where(total > 0, np.where(inside, scaled, 0.0).sum(axis=1) / total, np.nan))
                sigma.append(np.where(total > 0, 1.0 / np.sqrt(total), np.inf))
    return np.column_stack(values), np.column_stack(sigma)

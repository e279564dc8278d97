"""Groups of places: k-means, and where it begins.

    label_i = argmin_c |x_i - centre_c|^2 ,      centre_c = mean of the x_i with label c      (Lloyd 1982)

and k-means++ (Arthur & Vassilvitskii 2007) draws the first centres by their squared distance to those before. The functions
here are the clear NumPy definitions; they run on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.latent import products


class Groups(NamedTuple):
    """What k-means found.

    Attributes
    ----------
    centres : (k, r)
    size : (k,)
        Number of places of each group.
    scatter : (k, p)
        Sums of the products of their distances from the centre, packed.
    """

    centres: FloatArray
    size: FloatArray
    scatter: FloatArray


def k_means(
    places: FloatArray, few: FloatArray, centres: FloatArray, steps: int, *, n_threads: int = 1
) -> Groups:
    """Move the centres to the middle of some of the places that are nearest to them, and group all places.

    Parameters
    ----------
    places, few : (n, r), (s, r)
        All places, and those that say where the centres are.
    centres : (k, r)
        Where to begin; one that no place is nearest to stays.
    steps : int
    """
    checked_threads(n_threads)
    centres, k = centres.copy(), len(centres)
    for _ in range(steps):
        label = _nearest(few, centres)
        count = np.bincount(label, minlength=k)
        sums = np.zeros(centres.shape)
        np.add.at(sums, label, few)
        centres[count > 0] = sums[count > 0] / count[count > 0, None]
    label = _nearest(places, centres)
    scatter = np.zeros((k, centres.shape[1] * (centres.shape[1] + 1) // 2))
    np.add.at(scatter, label, products(places - centres[label]))
    return Groups(centres, np.bincount(label, minlength=k).astype(np.float64), scatter)


def _nearest(places: FloatArray, centres: FloatArray) -> IntArray:
    away = places[:, None] - centres
    return np.asarray(np.einsum("nkr,nkr->nk", away, away).argmin(axis=1), dtype=np.int64)


def spread_out(places: FloatArray, first: int, drawn: FloatArray, *, n_threads: int = 1) -> IntArray:
    """Return the numbers (s + 1,) of places (n, r) that lie far from each other, `first` among them.

    Each is found by its squared distance to the nearest of those before and by one of the numbers `drawn` (s,), from 0 to 1.
    """
    checked_threads(n_threads)
    out = np.full(len(drawn) + 1, first, dtype=np.int64)
    nearest = np.full(len(places), np.inf)
    for number, uniform in enumerate(drawn, start=1):
        away = places - places[out[number - 1]]
        nearest = np.minimum(nearest, np.einsum("nr,nr->n", away, away))
        likely = nearest.cumsum()
        # Where all places are one there is no sum, and any of them is drawn.
        out[number] = min(int(np.searchsorted(likely, uniform * likely[-1])), len(places) - 1)
    return out

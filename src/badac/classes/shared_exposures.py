"""Counts that were taken together and share how well each column was caught: the batches of counts.

    c_ij ~ Poisson(e_ij f_bj r_kj) ,      f_bj ~ Gamma(a, a), mean 1      batch b and class k of object i, column j

A chemistry, a plate or a night catches some columns better than others. What the objects of a batch have in common is then
a factor on their exposures, not a term that could be subtracted (`badac.classes.shared_conditions`, for values with errors).
Rates of the classes and factors of the batches are found in turn; the prior is conjugate, so the factor of a batch and column
is

    f_bj = (a + C_bj / phi_j) / (a + E_bj / phi_j) ,      C counted, E expected of the classes' rates

with ``a`` by the evidence of all batches together (a negative binomial each: empirical Bayes) and ``phi`` the dispersion of the
column within classes and batches (quasi-likelihood: Wedderburn 1974), so that scatter between the objects is not taken for the
batch's. The classes keep what all batches have in common, and of b batches only a share ``1 - 1 / sqrt(b)`` of the factor (in
the logarithm) is used, as for values with errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from badac.classes.model import FloatArray, refuse_own_points
from badac.data.measurements import Measurements

_ROUNDS = 20  # of rates and factors in turn
# Concentrations of the prior: factors that scatter by 300 % down to 1 %.
_CONCENTRATIONS = np.geomspace(0.1, 1e4, 51)


@dataclass(frozen=True, eq=False)
class SharedExposures:
    """How well the batches caught each column.

    Attributes
    ----------
    objects : Measurements
        (n, m): the same counts, their exposures times the factors of their batches.
    batches : (b,)
        Labels of the batches, sorted.
    factor : (b, m)
        On the exposures of each batch and column, one on average.
    scatter : float
        Standard deviation of the factors, learned.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import separate_exposures
    >>> rng = np.random.default_rng(0)
    >>> plate = np.repeat(np.arange(20), 10)
    >>> caught = rng.gamma(4.0, 0.25, (20, 8))
    >>> cells = Measurements(rng.poisson(30.0 * caught[plate]), exposure=np.ones(200))
    >>> found = separate_exposures(cells, np.zeros(200), plate)
    >>> bool(np.corrcoef(np.log(found.factor).ravel(), np.log(caught).ravel())[0, 1] > 0.9)
    True
    """

    objects: Measurements
    batches: npt.NDArray[Any]
    factor: FloatArray
    scatter: float


def separate_exposures(
    objects: Measurements,
    label: Sequence[Any] | npt.NDArray[Any],
    batch: Sequence[Any] | npt.NDArray[Any],
) -> SharedExposures:
    """Find how well each batch caught each column, and put it into the exposures.

    Parameters
    ----------
    objects : Measurements
        (n, m) counts with exposures, on a common grid.
    label, batch : (n,)
        Class and batch of each object; a batch may hold any classes.

    Returns
    -------
    SharedExposures

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import separate_exposures
    >>> rng = np.random.default_rng(0)
    >>> alike = Measurements(rng.poisson(30.0, (200, 8)), exposure=np.ones(200))
    >>> bool(separate_exposures(alike, np.zeros(200), np.repeat(np.arange(20), 10)).scatter < 0.05)
    True
    """
    refuse_own_points(objects, "separate_exposures")
    exposure = objects.exposure
    if exposure is None:
        raise ValueError(
            f"separate_exposures takes counts with their exposures: got {objects!r}. Give Measurements(counts, exposure=...), "
            "or for values with errors use separate_conditions."
        )
    label, batch = np.asarray(label), np.asarray(batch)
    for name, given in (("label", label), ("batch", batch)):
        if given.shape != (objects.n_objects,):
            raise ValueError(f"`{name}` must be one per object, ({objects.n_objects},): got {given.shape}.")
    batches, of_batch = np.unique(batch, return_inverse=True)
    of_class = np.unique(label, return_inverse=True)[1]
    counts = np.where(objects.observed, objects.values, 0.0)
    factor, concentration = _factors(counts, exposure, of_class, of_batch)
    kept = factor ** (1.0 - 1.0 / np.sqrt(len(batches)))
    # Inside, an exposure is the rate of one count, sigma = 1 / exposure.
    caught = objects._changed(sigma=objects.sigma / kept[of_batch])
    return SharedExposures(caught, batches, factor, float(1.0 / np.sqrt(concentration)))


def _factors(
    counts: FloatArray, exposure: FloatArray, of_class: npt.NDArray[Any], of_batch: npt.NDArray[Any]
) -> tuple[FloatArray, float]:
    """Factors (b, m) of the batches, and the concentration of their prior."""
    n_classes, n_batches = int(of_class.max()) + 1, int(of_batch.max()) + 1
    counted = _summed(counts, of_batch, n_batches)
    per_class = _summed(counts, of_class, n_classes)
    factor, concentration = np.ones(counted.shape), 1.0
    for _ in range(_ROUNDS):
        deep = _summed(exposure * factor[of_batch], of_class, n_classes)
        rate = per_class / np.maximum(deep, np.finfo(float).tiny)
        expected = exposure * rate[of_class]
        by_batch = _summed(expected, of_batch, n_batches)
        phi = _dispersion(counts, expected * factor[of_batch], n_classes + n_batches)
        concentration = _concentration(counted / phi, by_batch / phi)
        found = (concentration + counted / phi) / (concentration + by_batch / phi)
        # What all batches have in common is the classes'.
        found /= np.exp(np.log(found).mean(axis=0))
        settled = float(np.abs(np.log(found / factor)).max()) < 1e-4
        factor = found
        if settled:
            break
    return factor, concentration


def _summed(each: FloatArray, group: npt.NDArray[Any], n_groups: int) -> FloatArray:
    """Sums (g, m) of rows (n, m) by group (n,)."""
    out = np.zeros((n_groups, each.shape[1]))
    np.add.at(out, group, each)
    return out


def _dispersion(counts: FloatArray, expected: FloatArray, learned: int) -> FloatArray:
    """(m,): variance of the counts over their mean within classes and batches, at least Poisson's 1 (Pearson's statistic)."""
    possible = expected > 0
    pearson = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(counts), where=possible)
    return np.asarray(np.maximum(pearson.sum(axis=0) / np.maximum(possible.sum(axis=0) - learned, 1), 1.0))


def _concentration(counted: FloatArray, expected: FloatArray) -> float:
    """The concentration of the factors' prior under which the counts of all batches are most probable."""
    c, e = counted[expected > 0], expected[expected > 0]
    log_evidence = [
        float((gammaln(c + a) - gammaln(a) + a * np.log(a / (a + e)) + c * np.log(e / (a + e))).sum())
        for a in _CONCENTRATIONS
    ]
    return float(_CONCENTRATIONS[int(np.argmax(log_evidence))])

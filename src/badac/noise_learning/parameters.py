"""From open noise to known noise: one set of parameters for all classes, or one per class where the data say so.

Parameters are learned class by class (`badac.noise_learning.noise_em`) and pooled, weighted by the members they come from.
Classes keep their own where their members like them better than the pooled ones by more than chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.noise import Correlated, Gaussian, Noise, PerClass, is_open
from badac.noise.model import (
    AddedCovariance,
    ExposedNoise,
    LearnableNoise,
    LearnableWidths,
    OpenFamily,
    asks_first,
    check_values,
    needs_error_bars,
    needs_sigma,
)
from badac.noise_learning.bad_points import has_bad_points
from badac.noise_learning.comparison import Comparison, is_sure
from badac.noise_learning.families import compare_families, some_members
from badac.noise_learning.noise_em import FactorWithNoise, Start, fit_factor_and_noise, fit_from
from badac.noise_learning.residual_covariance import added_covariance
from badac.threads import each_apart
from badac.training import TrainingScales

IntArray = npt.NDArray[np.int64]

_MEMBERS_TO_COMPARE = 1000
_MEMBERS_OF_A_COVARIANCE = 2000  # by cost
# Parameters that differ by less are not worth noise of its own for each class: shares of bad points that two classes of
# Experiment 3 teach differ by up to 0.04 (1,000 members each, seeds 500 to 503), and once in some twenty sets beyond chance.
_ALIKE = 0.05


def learn_noise(
    noise: Noise,
    training: Measurements,
    label: IntArray,
    rng: np.random.Generator,
    *,
    scales: TrainingScales | None = None,
) -> Noise:
    """Return the noise with its open parameters learned; itself if nothing is open.

    Parameters
    ----------
    noise : Noise
        `AutoNoise`, or a model with parameters left None.
    training : Measurements
        (n, m), with errors.
    label : (n,) int
        Class index of each object, 0 to K-1.
    rng : numpy.random.Generator
    scales : TrainingScales, optional
        Of the training objects, if they are known already.

    Returns
    -------
    Noise
        `PerClass` if the classes differ. Plain Gaussian noise if there is too little to learn from (no error bars, or
        fewer than 20 members in every class), and for `AutoNoise` of objects with points of their own, which no other noise
        has a class model for.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Outliers
    >>> from badac.noise_learning import learn_noise
    >>> rng = np.random.default_rng(0)
    >>> bad = np.where(rng.random((80, 15)) < 0.2, 0.5, 0.1)
    >>> curves = Measurements(np.sin(np.linspace(0, 3, 15)) + bad * rng.standard_normal((80, 15)), 0.1)
    >>> found = learn_noise(Outliers(), curves, np.zeros(80, dtype=int), rng)
    >>> bool(0.1 < found.share < 0.3), bool(4.0 < found.width < 6.0)
    (True, True)
    """
    # What cannot be is refused before anything is learned from it.
    check_values(noise, training)
    if isinstance(noise, ExposedNoise):
        return noise.for_training(training, label)
    check_exposure_is_used(noise, training)
    if not is_open(noise):
        return noise
    if training.own_points:
        if isinstance(noise, OpenFamily):
            return Gaussian()
        raise ValueError(
            f"{noise!r} leaves parameters open that are learned point by point, and these objects have points of their own "
            "(`at` per object). Use noise='gaussian', or put the curves on one grid. With its parameters given it is taken by "
            "classes given by a formula (Parametric) alone."
        )
    if not training.has_errors or training.covariance is not None:
        # Nothing to compare the scatter with, or errors that are described already.
        if not needs_error_bars(noise):
            return Gaussian()
        raise ValueError(
            f"{noise!r} leaves parameters open that are learned by comparing scatter with `sigma`: got {training!r}. Give "
            "`sigma`, or the parameters."
        )
    if isinstance(noise, OpenFamily):
        known = TrainingScales.of(training) if scales is None else scales
        if asks_first(noise) and not has_bad_points(training, label, known):
            return Gaussian()
        comparison = compare_families(training, label, rng, choice=noise, to_the_end=False)
        if comparison.best == "correlated":
            return learn_covariance(training, label, rng, comparison)
        best = noise.families()[comparison.best]
        starts = comparison.starts.get(comparison.best)
        if starts is not None and isinstance(best, LearnableNoise):
            # All members of a class may teach more factors than the halves that were compared.
            anew = {index: replace(start, settled=False, factor=None) for index, start in starts.items()}
            return shared_noise(best, training, label, rng, fit_classes(best, training, label, rng, anew))
        return learn_noise(best, training, label, rng)
    if isinstance(noise, AddedCovariance):
        families = ("gaussian", "correlated")
        return learn_covariance(
            training, label, rng, compare_families(training, label, rng, ordered=True, families=families)
        )
    if isinstance(noise, LearnableNoise):
        return shared_noise(noise, training, label, rng, fit_classes(noise, training, label, rng))
    raise ValueError(
        f"{noise!r} leaves parameters open and does not say how they are learned: give it the methods of "
        "`badac.noise.LearnableNoise`, or give the parameters."
    )


def check_exposure_is_used(noise: Noise, training: Measurements) -> None:
    """Refuse counts with an exposure under noise that would take it for an error bar."""
    if training.counted and needs_sigma(noise):
        raise ValueError(
            f"the objects are counts with an exposure, and {noise!r} takes error bars: give noise='poisson', or rates and "
            "their errors, Measurements(counts / exposure, sigma=...)."
        )


def fit_classes(
    noise: Noise,
    training: Measurements,
    label: IntArray,
    rng: np.random.Generator,
    starts: Mapping[int, Start] | None = None,
) -> list[FactorWithNoise | None]:
    """Learn the noise with each class; None of those with too few members.

    From what their halves taught, if that is given: an EM begins there, and a factor on the error bars is that.
    """
    scales = TrainingScales.of(training)

    def learn(index: int, rng: np.random.Generator) -> FactorWithNoise | None:
        members = some_members(training, label, index, rng)
        start = None if starts is None else starts.get(index)
        if members is None:
            return None
        if start is None:
            return fit_factor_and_noise(members, noise, scales, rng)
        if isinstance(noise, LearnableWidths):
            return fit_from(members, noise, start, scales, rng)
        assert start.noise is not None
        return fit_factor_and_noise(members, start.noise, scales, rng, rank=start.rank)

    return each_apart(learn, int(label.max()) + 1, rng)


def shared_noise(
    noise: LearnableNoise,
    training: Measurements,
    label: IntArray,
    rng: np.random.Generator,
    found: list[FactorWithNoise | None],
) -> Noise:
    """Return one noise for all classes of those that were learned with each, or one for each class where they differ."""
    scales = TrainingScales.of(training)
    known = [(index, one) for index, one in enumerate(found) if one is not None]
    if not known:
        return noise.fallback()
    counts = np.array([float((label == index).sum()) for index, _ in known])
    pooled = noise.pooled([one.noise for _, one in known], counts / counts.sum())
    per_class = tuple(
        one.noise
        if one is not None and _differs(training[label == index], one, pooled, scales, rng)
        else pooled
        for index, one in enumerate(found)
    )
    if all(each is pooled for each in per_class):
        return pooled
    return PerClass(per_class, other=pooled)


def _differs(
    members: Measurements,
    own: FactorWithNoise,
    pooled: Noise,
    scales: TrainingScales,
    rng: np.random.Generator,
) -> bool:
    """Whether a class's members like their own parameters better than the pooled ones beyond chance.

    Where one factor on all error bars is open, what is not noise is variability, which is learned anew beside the pooled one.
    """
    common: Any = pooled
    if isinstance(own.noise, LearnableWidths | Gaussian) and own.noise.distance(common) < _ALIKE:
        return False
    some, factor = members[:_MEMBERS_TO_COMPARE], own.factor
    if not isinstance(pooled, LearnableWidths):
        factor = fit_factor_and_noise(some, pooled, scales, rng, rank=own.n_factors).factor
    return is_sure(own.log_evidence(some) - FactorWithNoise(factor, pooled).log_evidence(some))


def learn_covariance(
    training: Measurements, label: IntArray, rng: np.random.Generator, comparison: Comparison
) -> Noise:
    """Return correlated noise for the classes that show it: the rough part of what their members have in common.

    The part of a covariance that is as smooth as the class's own curves cannot be told from variability within the class;
    it stays there.
    """
    basis, scales = comparison.basis, TrainingScales.of(training)
    if basis is None:
        return Gaussian()
    row = comparison.families.index("correlated")
    noises: dict[int, Noise] = {}
    for index in comparison.ranks:
        if not is_sure(comparison.in_class(index).gain[row]):
            continue
        members = training[label == index]
        members = members[np.sort(rng.permutation(members.n_objects)[:_MEMBERS_OF_A_COVARIANCE])]
        fitted = fit_factor_and_noise(members, Gaussian(), scales, rng, basis=basis)
        noises[index] = Correlated(added_covariance(members, fitted.factor, basis))
    if not noises:
        return Gaussian()
    return PerClass(tuple(noises.get(index, Gaussian()) for index in range(int(label.max()) + 1)))

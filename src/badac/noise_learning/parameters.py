"""From open noise to known noise: one set of parameters for all classes, or one per class where the data say so.

Parameters are learned class by class (`badac.noise_learning.noise_em`) and pooled, weighted by the members they come from.
Classes keep their own where their members like them better than the pooled ones by more than chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.noise import AutoNoise, Correlated, Gaussian, Noise, Outliers, PerClass, Student, is_open
from badac.noise.model import check_values
from badac.noise_learning.families import compare_families, is_sure, learned_within, open_noise
from badac.noise_learning.noise_em import Within, learn_within
from badac.noise_learning.residual_covariance import added_covariance
from badac.training import TrainingScales

IntArray = npt.NDArray[np.int64]

_MEMBERS_TO_COMPARE = 1000


def learn_noise(noise: Noise, training: Measurements, label: IntArray, rng: np.random.Generator) -> Noise:
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

    Returns
    -------
    Noise
        `PerClass` if the classes differ. Plain Gaussian noise if there is too little to learn from (no error bars, or
        fewer than 20 members in every class).
    """
    # What cannot be is refused before anything is learned from it.
    check_values(noise, training)
    if not is_open(noise):
        return noise
    if not training.has_errors or training.covariance is not None:
        # Nothing to compare the scatter with, or errors that are described already.
        return Gaussian() if isinstance(noise, AutoNoise | Gaussian) else _needs_errors(noise, training)
    if isinstance(noise, AutoNoise):
        comparison = compare_families(training, label, rng)
        if comparison.best == "correlated":
            return learn_covariance(training, label, rng, comparison.basis)
        return learn_noise(open_noise(comparison.best), training, label, rng)
    if isinstance(noise, Correlated):
        basis = compare_families(training, label, rng, ordered=True, families=("gaussian",)).basis
        return learn_covariance(training, label, rng, basis)
    return _learn_parameters(noise, training, label, rng)


def _needs_errors(noise: Noise, training: Measurements) -> Noise:
    raise ValueError(
        f"{noise!r} leaves parameters open that are learned by comparing scatter with `sigma`: got {training!r}. Give `sigma`, "
        "or the parameters."
    )


def _learn_parameters(
    noise: Noise, training: Measurements, label: IntArray, rng: np.random.Generator
) -> Noise:
    classes = range(int(label.max()) + 1)
    found = [learned_within(training, label, index, noise, rng) for index in classes]
    own = [None if within is None else within.noise for within in found]
    known = [each for each in own if each is not None]
    if not known:
        return fallback(noise)
    counts = np.array([float((label == index).sum()) for index in classes if own[index] is not None])
    pooled = pool(known, counts / counts.sum())
    per_class = tuple(
        each
        if each is not None and within is not None and _differs(training[label == index], within, pooled)
        else pooled
        for index, (each, within) in enumerate(zip(own, found, strict=True))
    )
    if all(each is pooled for each in per_class):
        return pooled
    return PerClass(per_class, other=pooled)


def _differs(members: Measurements, within: Within, pooled: Noise) -> bool:
    """Whether a class's members like their own parameters better than the pooled ones beyond chance."""
    some = members[:_MEMBERS_TO_COMPARE]
    common = Within(within.factor, pooled)
    return is_sure(within.log_evidence(some) - common.log_evidence(some))


def pool(noises: Sequence[Noise], weight: FloatArray) -> Noise:
    """Return one noise of the weighted mean parameters of several of the same family."""
    first = noises[0]
    if isinstance(first, Outliers):
        share = float(weight @ [each.share for each in noises if isinstance(each, Outliers)])
        widths = [each.width for each in noises if isinstance(each, Outliers) and each.width]
        width = float(np.exp(weight @ np.log(widths)))
        return Outliers(share, max(width, 1.0))
    if isinstance(first, Student):
        # Means of 1/df: the tails, not the far end of nearly Gaussian ones, decide.
        df = 1.0 / float(weight @ [1.0 / each.df for each in noises if isinstance(each, Student) and each.df])
        return Student(df, first.n_widths)
    if isinstance(first, Gaussian):
        factors = [each.scale for each in noises if isinstance(each, Gaussian) and each.scale]
        scale = float(np.exp(weight @ np.log(factors)))
        return Gaussian(1.0 if abs(scale - 1.0) < 1e-3 else scale)
    raise TypeError(f"noise of {type(first).__name__} cannot be pooled.")


def fallback(noise: Noise) -> Noise:
    """Return what an open noise is taken for where there are too few members to learn it: as close to Gaussian as it gets."""
    if isinstance(noise, Outliers):
        return Outliers(
            0.0 if noise.share is None else noise.share, 1.0 if noise.width is None else noise.width
        )
    if isinstance(noise, Student):
        return Student(100.0, noise.n_widths)
    return Gaussian()


def learn_covariance(
    training: Measurements, label: IntArray, rng: np.random.Generator, basis: FloatArray | None
) -> Noise:
    """Return correlated noise for the classes that show it: the rough part of what their members have in common.

    The part of a covariance that is as smooth as the class's own curves cannot be told from variability within the class;
    it stays there.
    """
    noises: list[Noise] = []
    scales = TrainingScales.of(training)
    for index in range(int(label.max()) + 1):
        own = compare_families(
            training[label == index],
            np.zeros(int((label == index).sum()), dtype=np.int64),
            rng,
            ordered=True,
            families=("gaussian", "correlated"),
        )
        if own.best != "correlated":
            noises.append(Gaussian())
            continue
        members = training[label == index]
        rows = np.sort(rng.permutation(members.n_objects)[:2000])
        smooth = own.basis if basis is None else basis
        assert smooth is not None
        within = learn_within(members[rows], Gaussian(), scales, rng, basis=smooth)
        noises.append(Correlated(added_covariance(members[rows], within.factor, smooth)))
    if all(isinstance(each, Gaussian) for each in noises):
        return Gaussian()
    return PerClass(tuple(noises))

"""The weights of the stack for new objects whose columns lie beyond the training's.

A training set of bright objects has classes that differ in brightness and redshift as they were chosen, not as they are: what
is far and faint is of whatever class was found far and faint, and base models that were never asked about objects farther out
than those they had learned from are surer than they should be, of the wrong class more often than not. So they are asked.
Of every class those training objects that are most like the new ones,

    most like = largest  x' W^-1 (mean of new - mean of training)          x: columns, W: their covariance (Fisher 1936)

are held out together; class models and trees are learned from the rest and asked about them; and the weights and biases of the
stack (`badac.calibration.stacking.weights`) are learned from what they said. The base models themselves stay those of all
objects. It is asked for where columns of new objects (`shifted_columns`) are not those of a mixture of the training classes,
which other class frequencies alone would make (`badac.calibration.class_frequencies`). No label of a new object is used.

Here columns are points in bands of their own (`badac.data.beside`), of objects with points of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.stacking.at_points import left_out_evidence
from badac.calibration.stacking.base_models import learn_each_again
from badac.calibration.stacking.ensemble import Ensemble, noise_levels
from badac.calibration.stacking.latent_columns import bands_of_columns, column_of
from badac.calibration.stacking.trees import Copies, grow
from badac.calibration.stacking.weights import learn_stacking
from badac.classes.model import ClassModel
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.evidence import log_evidence
from badac.training import TrainingSet

# Kolmogorov-Smirnov distance from which a column is another one: a fifth of the objects lie elsewhere. Of random parts of the
# SPCC it is .03 and .05 (redshift, brightness), of the spectroscopic ones .48 and .76.
_APART = 0.2
_SURE = 1.63  # of the Kolmogorov distribution: one in a hundred is above by chance
_HELD = 0.35  # of every class, held out
_FEWEST = 40  # objects held out: fewer do not tell the weights
# Of an object held out, as new ones are farther out still: with 1, .5, .25, .12 the log-loss of three biased draws like the
# spectroscopic SPCC set (660 training objects) was .38, .37, .37, .41 with the redshift and .66, .61, .57, .56 without.
_WORTH = 0.25


def shifted_columns(
    training: Measurements, label: IntArray, new: Measurements, share: FloatArray
) -> IntArray:
    """Return (g,): bands of columns that new objects have otherwise than training objects, classes as frequent as `share` (k,).

    By the distance of Kolmogorov and Smirnov, each training object counted as often as its class is among the new ones.
    """
    weight = (share / np.maximum(np.bincount(label, minlength=len(share)), 1))[label]
    found = []
    for band in bands_of_columns(training).tolist():
        known, other = column_of(training, band)[0], column_of(new, band)[0]
        has, there = ~np.isnan(known), ~np.isnan(other)
        if not has.any() or not there.any():
            continue
        own = weight[has]
        worth = own.sum() ** 2 / (own**2).sum()
        chance = _SURE * np.sqrt(1.0 / worth + 1.0 / there.sum())
        if _distance(known[has], own, other[there]) > max(_APART, chance):
            found.append(band)
    return np.array(found, dtype=np.int64)


def _distance(known: FloatArray, weight: FloatArray, new: FloatArray) -> float:
    """Largest difference of the cumulative shares of weighted and other numbers."""
    order = np.argsort(known, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    at = np.concatenate([known, new])
    before = total[np.searchsorted(known[order], at, side="right")] / total[-1]
    after = np.searchsorted(np.sort(new), at, side="right") / len(new)
    return float(np.abs(before - after).max())


def likeness(training: Measurements, new: Measurements, bands: IntArray) -> FloatArray:
    """Return (n,): how like the new objects each training object is in columns, on Fisher's linear discriminant."""
    known, other = (
        np.column_stack([column_of(objects, band)[0] for band in bands.tolist()])
        for objects in (training, new)
    )
    middle = np.nanmean(known, axis=0)
    # A missing value is like everybody's.
    known, other = (np.where(np.isnan(values), middle, values) - middle for values in (known, other))
    within = np.atleast_2d(np.cov(known, rowvar=False)) + np.atleast_2d(np.cov(other, rowvar=False))
    ridge = 1e-6 * np.trace(within) * np.eye(len(within))
    return np.asarray(known @ np.linalg.solve(within + ridge, other.mean(axis=0) - known.mean(axis=0)))


def most_like(label: IntArray, likeness: FloatArray) -> BoolArray:
    """Return (n,): which objects to hold out, of every class those most like the new ones; two of a class stay."""
    held = np.zeros(len(label), dtype=np.bool_)
    for number in np.unique(label).tolist():
        members = np.flatnonzero(label == number)
        count = min(round(_HELD * len(members)), len(members) - 2)
        if count > 0:
            held[members[np.argsort(-likeness[members], kind="stable")[:count]]] = True
    return held


def learn_beyond(
    training: TrainingSet,
    models: Sequence[ClassModel],
    ensemble: Ensemble,
    likeness: FloatArray,
    *,
    n_threads: int = 1,
) -> Ensemble:
    """Return the stack with other weights for probabilities (`Ensemble.beyond`); as it is where too few objects tell them.

    Parameters
    ----------
    training : TrainingSet
        With points of their own.
    models : k fitted class models
        Learned again without the objects that are held out.
    ensemble : Ensemble
        Learned from all of them.
    likeness : (n,)
        To the new objects.
    """
    held = most_like(training.label, likeness)
    columns = ensemble.columns
    if held.sum() < _FEWEST or columns is None:
        return ensemble
    rest, asked, truth = training.take(~held), training.objects[held], training.label[held]
    evidence, _ = left_out_evidence(rest, models, n_threads=n_threads)
    latent = replace(rest, objects=columns.apply(rest.objects, evidence), scales=columns.scales)
    trees, _ = grow(
        latent,
        Copies.of(latent, ensemble.base_models.trees[0].blind, (0.0,)),
        sees_gaps=False,
        n_threads=n_threads,
    )
    of_models = log_evidence(learn_each_again(models, rest), asked, n_threads=n_threads)
    of_trees = trees.log_evidence(columns.apply(asked, of_models), n_threads=n_threads)
    share = np.maximum(np.bincount(truth, minlength=len(models)), 0.5)
    level = noise_levels(asked, training.scales.scale)
    outputs = np.stack([of_models, of_trees], axis=1)
    worth = round(_WORTH * len(truth))
    beyond = learn_stacking(outputs, truth, np.log(share / share.sum()), level, worth)
    return replace(ensemble, beyond=beyond)

"""Samples of a training set in which every class keeps some members, if it has them."""

from __future__ import annotations

import numpy as np

from badac.training import IntArray, TrainingSet

# Members of a class that are learned from, if it has them: two for each of five folds.
LEAST_MEMBERS = 10


def objects_to_learn_from(training: TrainingSet, rows: IntArray) -> IntArray:
    """Return some rows of a training set, and more of the classes that have next to no members among them.

    Parameters
    ----------
    training : TrainingSet
        The rows to add are drawn by its generator.
    rows : (r,)
        Rising.

    Returns
    -------
    (r or more,)
        Rising.
    """
    if len(rows) == len(training):
        return rows
    found = np.bincount(training.label[rows], minlength=training.n_classes)
    more = [rows]
    for number in np.flatnonzero(found < np.minimum(training.counts, LEAST_MEMBERS)).tolist():
        rest = np.setdiff1d(np.flatnonzero(training.label == number), rows)
        wanted = min(LEAST_MEMBERS - int(found[number]), len(rest))
        more.append(training.rng.choice(rest, wanted, replace=False))
    return np.sort(np.concatenate(more))


def at_most(training: TrainingSet, most: int) -> TrainingSet:
    """Return the training set, or `most` of its objects and members of classes that had next to none among these."""
    if len(training) <= most:
        return training
    rows = np.sort(training.rng.choice(len(training), most, replace=False))
    return training.take(objects_to_learn_from(training, rows))

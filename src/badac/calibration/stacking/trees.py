"""Trees: what many random questions about single points say of the class.

    P_trees(class | d) = mean over trees of the share of the class in the leaf that the object falls into

A tree asks whether one number is above a threshold, again and again; it needs no shape of a class at all, and tells classes
that no density describes. It is easily misled by noise, so it is asked about objects seen through the noise as well: the
numbers are the object's own values and its reconstruction under one population of all training objects, whatever their class,
which fills gaps and draws noisy points towards what curves look like. Trees are grown on training objects as they are and on
copies with known noise added, so that a leaf knows how far to trust a noisy object. Error bars themselves are no question:
they are no clue to the class.

The gaps of an object are seen (a missing value goes its own way at a question) or hidden (filled by the reconstruction).
Extremely randomised trees: Geurts, Ernst & Wehenkel 2006. Not a class model, but one of the base learners of
`badac.calibration.stacking.ensemble`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from badac.calibration.coarsening import FloatArray, IntArray
from badac.classes.population.population import Population
from badac.data.added_noise import add_noise
from badac.data.measurements import Measurements, concatenate
from badac.registry import registered
from badac.training import TrainingScales, TrainingSet

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesClassifier

N_TREES = 64
# Objects in a leaf, their noisy copies counted.
_LEAST_IN_LEAF = 3
# Copies of each object, and so many rows in all if there are many objects.
_COPIES, _ROWS = 6, 10_000
_ROWS_PER_BLOCK = 512


@registered(
    "part",
    holds={
        "root": "(t,) < q",
        "question": "(q,)",
        "threshold": "(q,)",
        "yes": "(q,) >= 0",
        "no": "(q,) >= 0",
        "gap_is_yes": "(q,)",
        "share": "(l, k) >= 0",
        "log_prior": "(k,)",
    },
)
@dataclass(frozen=True, eq=False)
class Trees:
    """Randomised trees, as arrays of their nodes.

    Attributes
    ----------
    blind : Population
        Of all training objects, which sees through the noise.
    scales : TrainingScales
        Values are asked for in units of each point's spread.
    sees_gaps : bool
    root : (t,)
        First node of each tree.
    question : (q,)
        Which number is asked for at each node; -1 at leaves.
    threshold : (q,)
    yes, no : (q,)
        Next node if the number is at most the threshold, and if not; at leaves the row of `share`.
    gap_is_yes : (q,)
        Where a missing number goes.
    share : (l, k)
        Share of the classes in each leaf.
    log_prior : (k,)
        Share of the classes in training.
    """

    blind: Population
    scales: TrainingScales
    sees_gaps: bool
    root: IntArray
    question: npt.NDArray[np.int32]
    threshold: FloatArray
    yes: npt.NDArray[np.int32]
    no: npt.NDArray[np.int32]
    gap_is_yes: npt.NDArray[np.bool_]
    share: npt.NDArray[np.float32]
    log_prior: FloatArray

    def broken(self) -> str:
        """Say what is wrong with trees from a file; "" if nothing is: nodes lead to later ones, leaves to a row of `share`."""
        inner, node = self.question >= 0, np.arange(len(self.question))
        for name, following in (("yes", self.yes), ("no", self.no)):
            onward = (following > node) & (following < len(node))
            if not np.where(inner, onward, following < len(self.share)).all():
                return f"a node of the trees leads nowhere or back ({name})"
        if np.any(self.question >= 2 * len(self.scales.centre)):
            return "a node of the trees asks for a number that no object has"
        return ""

    def log_evidence(self, objects: Measurements) -> FloatArray:
        """Return (n, k): log of the classes' shares over those in training, one more tree voting as the latter."""
        seen = numbers(objects, self.blind, self.scales, sees_gaps=self.sees_gaps)
        out = np.empty((objects.n_objects, len(self.log_prior)))
        for start in range(0, len(seen), _ROWS_PER_BLOCK):
            leaf = self._leaves(seen[start : start + _ROWS_PER_BLOCK])
            out[start : start + _ROWS_PER_BLOCK] = self.share[leaf].sum(axis=1)
        votes = (out + np.exp(self.log_prior)) / (len(self.root) + 1.0)
        return np.asarray(np.log(votes) - self.log_prior)

    def _leaves(self, seen: npt.NDArray[np.float32]) -> IntArray:
        """Return (n, t): the row of `share` that each object ends at in each tree."""
        rows = np.arange(len(seen))[:, None]
        node = np.tile(self.root, (len(seen), 1))
        while True:
            asked = self.question[node]
            if (asked < 0).all():
                return np.asarray(self.yes[node], dtype=np.int64)
            number = seen[rows, np.maximum(asked, 0)]
            is_yes = np.where(np.isnan(number), self.gap_is_yes[node], number <= self.threshold[node])
            node = np.where(asked < 0, node, np.where(is_yes, self.yes[node], self.no[node]))


def numbers(
    objects: Measurements, blind: Population, scales: TrainingScales, *, sees_gaps: bool
) -> npt.NDArray[np.float32]:
    """Return (n, 2 m): each object's reconstruction and its own values, in units of each point's spread."""
    # Farther out than this is far in any tree, and single precision ends.
    far = 1e30
    truth = (blind.reconstruct(objects).values - scales.centre) / scales.scale
    own = (objects.values - scales.centre) / scales.scale
    if not sees_gaps:
        own = np.where(objects.observed, own, truth)
    return np.clip(np.hstack([truth, own]), -far, far).astype(np.float32)


def grow(
    training: TrainingSet,
    blind: Population,
    levels: Sequence[float],
    *,
    sees_gaps: bool,
    n_trees: int = N_TREES,
) -> Trees:
    """Grow trees on training objects and noisier copies of them.

    Parameters
    ----------
    training : TrainingSet
    blind : Population
        Of all training objects, whatever their class.
    levels : sequence of float
        Noise that is added to copies, in units of each point's spread.
    """
    # A second of import that only those who grow trees should wait for.
    from sklearn.ensemble import ExtraTreesClassifier

    n, scales, rng = len(training), training.scales, training.rng
    copies = 1 if max(levels) == 0.0 else int(np.clip(_ROWS // n, 2, _COPIES))
    noisy = [level for level in levels if level > 0.0]
    grown = [training.objects]
    for _ in range(copies - 1):
        added = rng.choice(noisy, (n, 1)) * scales.scale
        grown.append(add_noise(training.objects, added, rng))
    seen = numbers(concatenate(grown), blind, scales, sees_gaps=sees_gaps)
    forest = ExtraTreesClassifier(
        n_trees, min_samples_leaf=_LEAST_IN_LEAF, random_state=int(rng.integers(2**31))
    ).fit(seen, np.tile(training.label, copies))
    count = training.counts.astype(np.float64)
    log_prior = np.log((count + 0.5) / (count + 0.5).sum())
    return Trees(blind, scales, sees_gaps, **_as_arrays(forest, training.n_classes), log_prior=log_prior)


def _as_arrays(forest: ExtraTreesClassifier, n_classes: int) -> dict[str, Any]:
    """All trees one after the other."""
    parts: dict[str, list[npt.NDArray[Any]]] = {
        name: [] for name in ("question", "threshold", "yes", "no", "gap_is_yes", "share")
    }
    root, n_nodes, n_leaves = [], 0, 0
    for grown in forest.estimators_:
        tree = grown.tree_
        leaf = tree.children_left < 0
        place = n_leaves + np.cumsum(leaf) - 1
        share = np.zeros((int(leaf.sum()), n_classes))
        share[:, forest.classes_] = tree.value[leaf, 0] / tree.value[leaf, 0].sum(axis=1, keepdims=True)
        parts["question"].append(np.where(leaf, -1, tree.feature))
        parts["threshold"].append(np.where(leaf, 0.0, tree.threshold))
        parts["yes"].append(np.where(leaf, place, tree.children_left + n_nodes))
        parts["no"].append(np.where(leaf, place, tree.children_right + n_nodes))
        parts["gap_is_yes"].append(tree.missing_go_to_left.astype(np.bool_))
        parts["share"].append(share)
        root.append(n_nodes)
        n_nodes += tree.node_count
        n_leaves += len(share)
    types = {"question": np.int32, "yes": np.int32, "no": np.int32, "share": np.float32}
    arrays = {name: np.concatenate(part) for name, part in parts.items()}
    arrays = {name: array.astype(types.get(name, array.dtype)) for name, array in arrays.items()}
    return {"root": np.array(root, dtype=np.int64), **arrays}

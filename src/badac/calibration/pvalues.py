"""P-values by comparison with known objects, every one of which was left out once.

    training objects -> folds -> each scored by a model learned from the other folds (cross-fitting)
                     -> scores of classes and noise levels made comparable (`badac.calibration.score_map`)
                     -> one pool: counted, and continued by a tail (`badac.calibration.pool`)

Why so, of what there is to choose from:

- Split conformal p-values (Bates, Candes, Lei, Romano & Sesia 2023) are exact, but spend half of the labelled objects and are
  no finer than one over the kept-back ones of a class; Benjamini and Hochberg's list of few anomalies among many is then empty
  (Mary & Roquain 2022 say how many are needed). Leaving every object out once (cross-conformal, Vovk 2015) gives the largest
  pool. The models of the folds know a little less than the one that judges, so p-values err to the safe side.
- A p-value for each class alone (Mondrian) is valid in each class, but rank 1 of a class of 60 stays at 1/61. A map that
  makes scores comparable, then one pool, is valid on average over the classes and nearly so in each. The map is learned
  from other folds than those it is applied to, so no object helps to calibrate itself.
- A log Bayes factor in which the object's noise cancels (`badac.anomalies.Deviations`) is comparable as it is: a map learned
  from the bodies of the cells would only add their noise to the tails (printed 1, 12,000 training curves: lists with 0.63 of
  the anomalies, 0.93 without the map, 0.95 possible). P-values then rise and fall with the ranking itself.
- Beyond the pool only a model of the tail can say more; it is marked (`extrapolated`), and averaged over what the pool leaves
  open of it.
- AdaDetect (Marandon, Lei, Mary & Roquain 2024) learns the score from the new objects too: more power, but an object's score
  then depends on its neighbours in the table, which no stream and no partition of a survey can know.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from badac.cached import cached_property
from badac.calibration.pool import Pool
from badac.calibration.score_map import ScoreMap, noise_ranges
from badac.data.measurements import Measurements
from badac.registry import registered
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_MAP_FOLDS = 5


@registered(
    "part",
    version=3,
    holds={
        "rows": "(c,) >= -1",
        "score": "(c,)",
        "level": "(c,)",
        "predicted": "(c,) < k",
        "n_classes": "k",
        "drawn": "(d,)",
    },
)
@dataclass(frozen=True, eq=False)
class LeftOut:
    """Known objects, each as a model that has not learned from it sees it.

    Attributes
    ----------
    rows : (c,) int
        Which of the training objects; -1 for objects that were confirmed as known later.
    score : (c,)
        High = strange.
    level : (c,)
        Noise level (`noise_level`).
    predicted : (c,) int
        Most probable class.
    n_classes : int
    one_scale : bool
        Whether scores of all classes and noise levels are comparable as they are, so that no map is learned.
    drawn : (d,)
        Scores of anomalies as the anomaly model would have them; none where it cannot say.
    """

    rows: IntArray
    score: FloatArray
    level: FloatArray
    predicted: IntArray
    n_classes: int
    one_scale: bool = False
    drawn: FloatArray = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def score_map(self) -> ScoreMap:
        """What makes scores of new objects comparable: learned from all of these."""
        return self._learn(np.ones(len(self), dtype=np.bool_))

    @cached_property
    def pool(self) -> Pool:
        """The comparable scores of these objects."""
        return self.raw_pool if self.one_scale else Pool.of(self.comparable)

    @cached_property
    def comparable(self) -> FloatArray:
        """(c,): scores of these objects made comparable, each by a map that was learned from others."""
        if self.one_scale:
            return self.score
        fold = np.random.default_rng(0).permutation(len(self)) % _MAP_FOLDS
        comparable = np.empty(len(self))
        for number in np.unique(fold):
            here = fold == number
            learned = self._learn(~here) if not here.all() else self.score_map
            comparable[here] = learned.apply(self.score[here], self.level[here], self.predicted[here])
        return comparable

    @cached_property
    def raw_pool(self) -> Pool:
        """The scores as they are, of all classes and noise levels together."""
        return Pool.of(self.score)

    def _learn(self, used: BoolArray) -> ScoreMap:
        edges = noise_ranges(self.level, self.n_classes)
        return ScoreMap.learn(self.score[used], self.level[used], self.predicted[used], self.n_classes, edges)

    def compare(
        self, score: FloatArray, level: FloatArray, predicted: IntArray
    ) -> tuple[FloatArray, BoolArray]:
        """Return (n,) p-values of objects with these scores, noise levels and predicted classes, and which are extrapolated."""
        comparable = score if self.one_scale else self.score_map.apply(score, level, predicted)
        return self.pool.pvalue(comparable), self.pool.extrapolated(comparable)

    def carried_over(
        self, alike: LeftOut, some: IntArray, score: FloatArray, level: FloatArray, predicted: IntArray
    ) -> tuple[FloatArray, BoolArray]:
        """Return (n,): scores of objects with a gap as scores without, rising with them, and which are extrapolated.

        Parameters
        ----------
        alike : LeftOut
            Some of these objects, judged with the gap.
        some : (s,)
            Which ones.
        score, level, predicted : (n,)
            Of the objects.
        """
        without = Pool.of(self.comparable[some])
        comparable = score if self.one_scale else alike.score_map.apply(score, level, predicted)
        found, beyond = alike.pool.as_in(without, comparable), alike.pool.extrapolated(comparable)
        return found if self.one_scale else self.score_map.undo(found, level, predicted), beyond

    @cached_property
    def with_gaps(self) -> dict[Hashable, LeftOut]:
        """Some of these objects as they would be with gaps, by the kind of gap: filled by whoever judges them so."""
        return {}

    def some(self, most: int) -> IntArray:
        """Return (s,): places of at most so many training objects, always the same ones."""
        of_training = np.flatnonzero(self.rows >= 0)
        return np.sort(np.random.default_rng(0).permutation(of_training)[:most])

    def replaced_by(self, score: FloatArray, level: FloatArray, predicted: IntArray) -> LeftOut:
        """Return training objects (n,) judged otherwise in the place of those here."""
        of_training = np.zeros(len(score), dtype=np.int64)
        return LeftOut(of_training, score, level, predicted, self.n_classes, self.one_scale)

    def joined_by(self, score: FloatArray, level: FloatArray, predicted: IntArray) -> LeftOut:
        """Return the same with objects (n,) that were looked at and found to be known."""
        return replace(
            self,
            rows=np.concatenate([self.rows, np.full(len(score), -1, dtype=np.int64)]),
            score=np.concatenate([self.score, score]),
            level=np.concatenate([self.level, level]),
            predicted=np.concatenate([self.predicted, predicted]),
        )


def noise_level(objects: Measurements, scales: TrainingScales, *, measured_alone: bool = False) -> FloatArray:
    """Return (n,): log of an object's typical sigma in units of the training objects' spread; a gap counts as noise.

    Of the measured points alone, a gap counts as nothing.
    """
    # Points of one's own share one scale, however many there are.
    spread = (scales.scale[:1] if objects.own_points else scales.scale) ** 2
    # A billionth: exact values have a finite level too.
    information = np.where(objects.observed, spread / (objects.sigma**2 + 1e-9 * spread), 0.0)
    points = objects.observed.sum(axis=1).clip(min=1) if measured_alone else objects.n_points
    return np.asarray(-0.5 * np.log(np.maximum(information.sum(axis=1) / points, 1e-12)))

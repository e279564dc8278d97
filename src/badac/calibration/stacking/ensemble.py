"""Second opinions: what other kinds of class models say, weighed by left-out objects.

On data that follow the class models nothing is better than their posterior. Real classes do not follow them, and then each kind
of model sees something that the others miss: the population sees through noise, the members themselves (`Instances`, widened
by a fraction of each point's spread) keep whatever shape a class has, the `Pointwise` density trusts no correlations, and
trees (`badac.calibration.stacking.trees`) describe no class at all, only what tells them apart. Asked are
(`badac.calibration.stacking.base_models`)

    the class models, instances of two widths, pointwise, trees, and the gaps (where `badac.calibration.missingness` uses them)

Every one is learned without a fifth of the training objects at a time and asked about those: as they are, and again with known
noise added (values drawn, error bars grown accordingly), so that the weights (`badac.calibration.stacking.weights`) hold for
noisier objects than any in training. Probabilities follow them if, and only if, the log-loss of left-out objects gains more
than a standard error over the coarsened posterior; trees may see the gaps of an object if left-out objects gain by that, too.
Not asked at all where the coarsened posterior gains next to nothing over the plain one: the class models are right then. How
strange an object is follows left-out objects wherever others are asked (`badac.calibration.null_distribution`). Objects with
points of their own are brought to a common grid for this (`badac.calibration.stacking.gridded`). ``log_evidence`` stays what
it is, log P(d | class) under the class models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.calibration.coarsening import Coarsening, FloatArray, IntArray, relative_noise
from badac.calibration.missingness import Missingness
from badac.calibration.null_distribution import Strangeness, learn_strangeness
from badac.calibration.stacking.base_models import BaseModels, kinds, learn_base_models, learn_each
from badac.calibration.stacking.base_outputs import BaseOutputs
from badac.calibration.stacking.gridded import Gridded, on_a_grid
from badac.calibration.stacking.weights import Stacking, learn_stacking, log_losses
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.added_noise import add_noise
from badac.data.measurements import Measurements, concatenate
from badac.evidence import log_evidence
from badac.noise.gaussian import Gaussian
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

# Fewer objects cannot tell the weights; with more, the class models can grow instead, and every object would cost too much.
LEAST_OBJECTS, MOST_OBJECTS = 60, 4000
FOLDS = 5
# Nats an object by which the coarsened posterior must gain over the plain one: models that are off by less are right enough.
LEAST_GAIN = 0.02
# So many left-out objects tell the weights.
MOST_ASKED = 1500
# Where the error bars alone name the class, weights that follow them would read it off: nobody else is asked there.
MOST_TOLD = 0.8
# Noise added to copies of left-out objects, in units of each point's spread.
LEVELS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
# Where trees stand among the opinions.
_TREES = 1 + len(kinds())


@registered("part")
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Other models of the same classes, and how much each of them counts.

    Attributes
    ----------
    others : Others
        Those asked beside the class models.
    gridded : Gridded or None
        For objects with points of their own: where everybody is asked.
    stacking : Stacking
    strangeness : Strangeness
        What is normal for left-out objects.
    gain, standard_error : float
        Of the log-loss of left-out objects over the coarsened posterior, in nats an object.
    count : bool, property
        Whether probabilities follow the opinions: if left-out objects gain more than a standard error. Strangeness
        follows them in any case.
    """

    base_models: BaseModels
    gridded: Gridded | None
    stacking: Stacking
    strangeness: Strangeness
    gain: float
    standard_error: float

    @property
    def count(self) -> bool:
        return self.gain > self.standard_error

    @property
    def names(self) -> tuple[str, ...]:
        """Of the opinions, the class models first."""
        first = "class models" if self.gridded is None else "populations on a grid"
        return (first, *self.base_models.names[1:])

    def hear(
        self, objects: Measurements, evidence: FloatArray, scale: FloatArray, *, n_threads: int = 1
    ) -> BaseOutputs:
        """Ask everyone about objects.

        Parameters
        ----------
        objects : Measurements
            (n, m)
        evidence : (n, k)
            Theirs under the class models.
        scale : (m,)
            Spread of each point in training.
        """
        if self.gridded is not None:
            objects, scale = self.gridded.grid.apply(objects), self.gridded.scales.scale
            evidence = log_evidence(self.gridded.models, objects, n_threads=n_threads)
        log_evidences = self.base_models.log_evidences(objects, evidence, n_threads=n_threads)
        level = _levels(objects, scale)
        stacked = self.stacking.apply(log_evidences, level)
        # Nothing measured, nothing said: not even by a bias.
        stacked[~objects.observed.any(axis=1)] = 0.0
        return BaseOutputs(objects, log_evidences, stacked, level)

    def surprise(self, outputs: BaseOutputs) -> FloatArray:
        """Return (n,): how strange the objects are, minus the log of a share of known objects."""
        return self.strangeness.surprise(outputs)

    def pvalue(self, outputs: BaseOutputs) -> FloatArray:
        """Return (n,): the share of known objects that are at least as strange, at the same noise."""
        return self.strangeness.pvalue(outputs)

    def reason(self, outputs: BaseOutputs) -> npt.NDArray[np.str_]:
        """Return (n,): what makes each object strange, in words; empty where nothing does."""
        return self.strangeness.reason(outputs)


def learn_ensemble(
    training: Measurements,
    label: IntArray,
    models: Sequence[ClassModel],
    noise: Noise,
    scales: TrainingScales,
    coarsening: Coarsening,
    missingness: Missingness,
    loss: FloatArray,
    rng: np.random.Generator,
    *,
    use_gaps: bool = True,
    n_threads: int = 1,
) -> Ensemble | None:
    """Ask other models where the coarsened posterior gains over the plain one.

    Parameters
    ----------
    training : Measurements
        (n, m)
    label : (n,)
    models : k fitted class models
        Learned again without a part of the objects.
    noise, scales
        As in their fit.
    coarsening, missingness
        What they are compared with.
    loss : (n,)
        Log-loss of the left-out objects with those, for objects with points of their own.
    use_gaps : bool
        Whether trees may see the gaps of an object.
    """
    plain = isinstance(noise, Gaussian) and training.covariance is None
    if not plain or not LEAST_OBJECTS <= len(label) <= MOST_OBJECTS or coarsening.gain < LEAST_GAIN:
        return None
    gridded = None
    if training.own_points:
        gridded, training = on_a_grid(training, label, len(models), noise, rng)
        scales, models = gridded.scales, gridded.models
    if _told_by_level(_levels(training, scales.scale), label) > MOST_TOLD:
        return None
    levels = LEVELS if training.has_errors else LEVELS[:1]
    copies = [add_noise(training, level * scales.scale, rng) for level in levels]
    asked = np.zeros(len(label), dtype=np.bool_)
    asked[rng.permutation(len(label))[:MOST_ASKED]] = True
    # The only member of a class is never left out: it says nothing.
    asked &= np.bincount(label)[label] > 1
    ways = (False, True) if use_gaps and not training.complete else (False,)
    gaps = missingness.weight > 0
    # It knows no labels, so it may know the objects that are left out; and it is asked about all copies, so it is a simple one.
    blind = Population(shape="gaussian").fit(training, noise, rng, scales)

    def learn(rows: npt.NDArray[np.bool_], ways: Sequence[bool]) -> BaseModels:
        return learn_base_models(
            training[rows],
            label[rows],
            len(models),
            noise,
            scales,
            blind,
            levels,
            rng,
            trees_see_gaps=ways,
            hear_gaps=gaps,
        )

    log_evidences = np.full((len(copies), len(label), _TREES + len(ways) + gaps, len(models)), np.nan)
    for held, rest in _parts(label, asked, rng):
        own = learn_each(models, training[rest], label[rest], noise, scales, rng)
        everyone = concatenate([copy[held] for copy in copies])
        evidence = log_evidence(own, everyone, n_threads=n_threads)
        said = learn(rest, ways).log_evidences(everyone, evidence, n_threads=n_threads)
        log_evidences[:, held] = said.reshape(len(copies), -1, *said.shape[1:])
    usable = asked & ~np.isnan(log_evidences).any(axis=(0, 2, 3))
    log_evidences, truth = log_evidences[:, usable], label[usable]
    level = np.stack([_levels(copy[usable], scales.scale) for copy in copies])
    log_prior = np.log(np.maximum(np.bincount(truth, minlength=len(models)), 0.5) / len(truth))
    if len(ways) == 2:
        ways, log_evidences = _better_trees(log_evidences, truth, log_prior)
    stacked = _weighed_left_out(log_evidences, truth, log_prior, level, rng)
    after = np.stack([log_losses(part + log_prior, truth) for part in stacked])
    if gridded is not None:
        mean, error = _gain(loss[None, usable], after[:1])
    else:
        before = np.empty(level.shape)
        for place, part, at in zip(before, log_evidences, level, strict=True):
            tempered = coarsening.apply(part[:, 0], at if training.has_errors else None)
            factor = missingness.weight * part[:, -1] if gaps else 0.0
            place[:] = log_losses(tempered + factor + log_prior, truth)
        mean, error = _gain(before, after)
    base_models = learn(np.ones(len(label), dtype=np.bool_), ways)
    left_out = [copy[usable] for copy in copies]
    normal = learn_strangeness(left_out, truth, log_evidences, stacked, level, log_prior, scales.scale)
    return Ensemble(base_models, gridded, _stack(log_evidences, truth, log_prior, level), normal, mean, error)


def _parts(
    label: IntArray, asked: npt.NDArray[np.bool_], rng: np.random.Generator
) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
    """Objects to be asked about, and those to learn from; the only member of a class is always among the latter."""
    fold = _deal(label, rng)
    alone = np.bincount(label)[label] < 2
    for number in np.unique(fold):
        yield (fold == number) & asked, (fold != number) | alone


def _better_trees(
    log_evidences: FloatArray, label: IntArray, log_prior: FloatArray
) -> tuple[tuple[bool], FloatArray]:
    """Whether trees should see gaps, from what both kinds told; and what all told without the worse kind."""
    hidden, seen = (
        np.stack([log_losses(part[:, column] + log_prior, label) for part in log_evidences])
        for column in (_TREES, _TREES + 1)
    )
    mean, error = _gain(hidden, seen)
    return (mean > error,), np.delete(log_evidences, _TREES if mean > error else _TREES + 1, axis=2)


def _gain(before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Mean gain of losses (levels, n), and its standard error: copies of an object are worth one."""
    gain = (before - after).mean(axis=0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _stack(log_evidences: FloatArray, label: IntArray, log_prior: FloatArray, level: FloatArray) -> Stacking:
    n_levels, n = log_evidences.shape[:2]
    return learn_stacking(
        log_evidences.reshape(n_levels * n, *log_evidences.shape[2:]),
        np.tile(label, n_levels),
        log_prior,
        level.ravel(),
        n,
    )


def _weighed_left_out(
    log_evidences: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    level: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """The opinions (levels, n, k) put together for objects that the weights had not seen either."""
    out = np.empty((*level.shape, len(log_prior)))
    fold = _deal(label, rng) % 2
    for number in range(2):
        held = fold == number
        stacking = _stack(log_evidences[:, ~held], label[~held], log_prior, level[:, ~held])
        for place, part, at in zip(out, log_evidences, level, strict=True):
            place[held] = stacking.apply(part[held], at[held])
    return out


def _deal(label: IntArray, rng: np.random.Generator) -> IntArray:
    """Return (n,): folds that each have their share of every class."""
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % FOLDS
    return fold


def _told_by_level(level: FloatArray, label: IntArray) -> float:
    """Share of the variance of the noise levels (n,) that the classes explain."""
    count = np.maximum(np.bincount(label), 1)
    mean = np.bincount(label, weights=level) / count
    total = float(((level - level.mean()) ** 2).sum())
    return 1.0 - float(((level - mean[label]) ** 2).sum()) / total if total > 0 else 0.0


def _levels(objects: Measurements, scale: FloatArray) -> FloatArray:
    return relative_noise(objects, scale) if objects.has_errors else np.zeros(objects.n_objects)

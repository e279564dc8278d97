"""What is asked of new objects beside the training's: one check each, and the differences that it finds.

The check of error bars is told the factor that `badac.comparison.common_cause` has found; the others find theirs themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from badac.calibration.pvalues import noise_level
from badac.calibration.unusual_gaps import missing_share, without_columns
from badac.comparison.column_statistics import ColumnStatistics, different_values
from badac.comparison.common_cause import SURE, Change
from badac.comparison.difference import ERROR_BARS, MOST_STRANGE, ROUNDED, Difference
from badac.comparison.turns import MOST, some_of
from badac.data.measurements import Measurements
from badac.judge import FittedModel, Judgement

FloatArray = npt.NDArray[np.float64]

FEWEST = 20
"""Objects: of fewer on either side nothing is compared."""
# Below these nothing is said: they change p-values by less than a pool of a few hundred leaves open.
_OUTSIDE, _ERROR_FACTOR, _SHIFT, _SPREAD, _GAPS = 0.05, 1.15, 0.35, 1.5, 0.1
_BULK, _BULK_SHIFT, _LEAST_KNOWN = 0.2, 0.05, 0.5
# P-values that training objects may not have more often with the gaps of new ones: a list ends below, but few are there.
_SMALL = 0.1
# Of the objects that were compared: a column with fewer different values is rounded, where the training's is not.
_FEW_DIFFERENT, _MANY_DIFFERENT = 0.1, 0.5


def noise_levels(model: FittedModel, known: Measurements, objects: Measurements) -> Iterator[Difference]:
    outside, ratio = _levels_outside(model, known, objects, measured_alone=True)
    if outside > _OUTSIDE:
        kind = "noisier" if ratio >= 1 else "quieter"
        words = (
            f"{outside:.0%} of the new objects have noise levels that training objects do not have (typically {ratio:.2g} "
            f"times theirs, {kind}): p-values there are those of the nearest noise. Add training objects of such noise."
        )
        yield Difference("noise levels", 0.01, outside, words, outside > 0.2)
        return
    few, fewer = _levels_outside(model, known, objects, measured_alone=False)
    # On a grid, objects are compared with training objects of the same gaps (`badac.calibration.unusual_gaps`), but for a rank
    # among left-out objects, in which a gap counts as noise.
    if few > _OUTSIDE and (objects.own_points or model.ranks_left_out):
        words = (
            f"{few:.0%} of the new objects have numbers of points that training objects do not have (typically "
            f"{fewer**-2:.2g} times theirs): p-values there are those of the nearest number. Add training objects with so many."
        )
        yield Difference("gaps", 0.01, few, words, few > 0.2)


def _levels_outside(
    model: FittedModel, known: Measurements, objects: Measurements, *, measured_alone: bool
) -> tuple[float, float]:
    """The share of objects with noise levels that known ones do not have, and how much noisier a typical one is."""
    if measured_alone and model.usual_gaps is not None:
        known = model.usual_gaps.given_to(known, objects.observed)
    old, new = (noise_level(part, model.scales, measured_alone=measured_alone) for part in (known, objects))
    low, high = np.quantile(old, [0.005, 0.995]) + np.log([0.8, 1.25])
    return float(((new < low) | (new > high)).mean()), float(np.exp(np.median(new) - np.median(old)))


def error_bars(change: Change) -> Iterator[Difference]:
    scale = change.size
    if change.sure < SURE or abs(np.log(scale)) < np.log(_ERROR_FACTOR):
        return
    kind = "small" if scale > 1 else "large"
    words = (
        f"the error bars of the new objects are too {kind} beside the training's: their bulk is most probable with {scale:.2f} "
        f"times as large ones. Correct them, or take the factor from here: X_err={scale:.2f} * X_err."
    )
    yield Difference(ERROR_BARS, 1.0, scale, words, True)


def values(judged: Judgement, known: Measurements, called: Sequence[str]) -> Iterator[Difference]:
    """Shift and spread of the columns within the predicted classes."""
    model, objects, predicted = judged.model, judged.objects, judged.predicted
    some = some_of(known, MOST)
    # Predicted classes are less sure of objects with gaps: like with like.
    alike = some if model.usual_gaps is None else model.usual_gaps.given_to(some, objects.observed)
    old = Judgement(model, alike, judged.n_threads)
    rounded = list(_rounding(old.objects, objects, called))
    if rounded:
        # Medians and scatter of a few different values say nothing more.
        yield from rounded
        return
    worst_shift, worst_spread = (0.0, 0), (1.0, 0)
    for number in range(len(model.classes)):
        # The noise is that of the class's own objects: classes may be measured unequally well, and be as frequent as they like.
        before, after = old.objects[old.predicted == number], objects[predicted == number]
        if min(len(before), len(after)) < FEWEST:
            continue
        was, now = ColumnStatistics.of(before), ColumnStatistics.of(after)
        # As wide as the training's with the noise of the new objects in place of its own.
        wide = np.sqrt(np.maximum(was.scatter**2 - was.noise, 0.0) + now.noise)
        wide = np.where(wide == 0.0, model.scales.scale, wide)
        shifts, ratios = (now.median - was.median) / wide, np.maximum(now.scatter, 1e-300) / wide
        # A column that scatters less than its noise says, as one that spectra are normalised at, tells nothing of a scale.
        told = was.scatter**2 > 0.25 * was.noise
        suspicious = (np.abs(shifts) > _SHIFT) | (told & (np.abs(np.log(ratios)) > np.log(_SPREAD)))
        enough = np.minimum(was.count, now.count) >= FEWEST
        for column in np.flatnonzero(suspicious & enough).tolist():
            first, second = (part.values[:, column] for part in (before, after))
            first, second = first[~np.isnan(first)], second[~np.isnan(second)]
            shift, ratio = float(shifts[column]), float(ratios[column])
            if abs(shift) > max(abs(worst_shift[0]), _SHIFT) and _are_shifted(first, second):
                worst_shift = shift, column
            worse = abs(np.log(ratio)) > max(abs(np.log(worst_spread[0])), np.log(_SPREAD))
            if told[column] and worse:
                wider = float(wide[column] / was.scatter[column])
                if _scatter_otherwise(first, second, wider):
                    worst_spread = ratio, column
    if worst_shift[0]:
        words = (
            f"the values of the new objects are shifted: {called[worst_shift[1]]} by {worst_shift[0]:+.2g} times the spread "
            "within a class. Bring them to the training's zero point and units, or fit with nuisance={'offset': ...}."
        )
        yield Difference("values", 0.0, worst_shift[0], words, True, worst_shift[1])
    if worst_spread[0] != 1.0:
        words = (
            f"the values of the new objects scatter {worst_spread[0]:.2g} times as much within a class as the training's "
            f"({called[worst_spread[1]]}). Bring them to the training's units, or fit with nuisance={{'gain': ...}}."
        )
        yield Difference("values", 1.0, worst_spread[0], words, True, worst_spread[1])


def _are_shifted(first: FloatArray, second: FloatArray) -> bool:
    """Whether each sample has its median where the other has not the half of its values, beyond chance.

    Shares of values do not depend on how dense they are around the median, as the error of a median does: two families of
    curves in one class leave a gap there, and the median may be on either side of it.
    """
    pairs = (first, second), (second, first)
    return all(
        _is_not_half(float(np.mean(one < np.median(other))), first.size, second.size) for one, other in pairs
    )


def _scatter_otherwise(first: FloatArray, second: FloatArray, wider: float) -> bool:
    """Whether it is not half of the second sample that lies farther out than half of the first, which is so many times `wider`.

    From the median of either: where values are few around it, it is hardly known, and with it what is far.
    """
    for centre in (np.median(first), np.median(second)):
        half = wider * np.median(np.abs(first - centre))
        if not _is_not_half(float(np.mean(np.abs(second - centre) > half)), first.size, second.size):
            return False
    return True


def _is_not_half(share: float, n: int, other: int) -> bool:
    """Whether a share of one sample, beside the half of another, is off by many standard errors of both."""
    # All of twenty on one side are beyond chance by any measure.
    return bool(abs(share - 0.5) > min(SURE * 0.5 * np.sqrt(1.0 / n + 1.0 / other), 0.48))


def _rounding(known: Measurements, objects: Measurements, called: Sequence[str]) -> Iterator[Difference]:
    """Columns that hold hardly any different values, where the training's do."""
    shares = []
    for part in (known, objects):
        different, count = different_values(part)
        shares.append(np.where(count < FEWEST, np.nan, different / np.maximum(count, 1)))
    rounded = np.flatnonzero((shares[0] > _MANY_DIFFERENT) & (shares[1] < _FEW_DIFFERENT))
    if rounded.size:
        column = int(rounded[0])
        words = (
            f"the values of the new objects are rounded, the training's are not: {called[column]} takes {different[column]} "
            f"different values in {len(objects):,} objects. Give them as they were measured, or with error bars that hold the "
            "rounding (0.29 of a step)."
        )
        yield Difference(ROUNDED, float(shares[0][column]), float(shares[1][column]), words, True)


def gaps(judged: Judgement, known: Measurements, called: Sequence[str]) -> Iterator[Difference]:
    """Columns that are missing more or less often, and what that does to training objects."""
    objects = judged.objects
    old, new = missing_share(known.observed), missing_share(objects.observed)
    error = np.sqrt(0.25 * (1.0 / len(known) + 1.0 / len(objects)))
    column = int(np.argmax(np.abs(new - old)))
    if abs(new[column] - old[column]) <= max(_GAPS, SURE * error):
        return
    words = f"{called[column]} is missing in {new[column]:.0%} of the new objects and in {old[column]:.0%} of the training's. "
    some = some_of(known, MOST)
    before = float((Judgement(judged.model, some, judged.n_threads).pvalue <= _SMALL).mean())
    alike = _with_gaps_of(some, objects, old, new)
    after = float((Judgement(judged.model, alike, judged.n_threads).pvalue <= _SMALL).mean())
    chance = SURE * np.sqrt(2.0 * _SMALL / len(some))
    stranger = after > before + max(chance, 0.5 * _SMALL)
    if stranger:
        words += (
            f"With such gaps {after:.0%} of the training objects would have p-values up to {_SMALL:g}, {before:.0%} without: a "
            "small p-value means less than it says. Add training objects with such gaps, or leave such columns out of both."
        )
    else:
        words += (
            "P-values compare with training objects that lack as much; the class itself may be less sure."
        )
    yield Difference("gaps", float(old[column]), float(new[column]), words, stranger)


def _with_gaps_of(
    known: Measurements, objects: Measurements, old: FloatArray, new: FloatArray
) -> Measurements:
    """Training objects that lack columns as often (m,) as the new ones, together with the columns that these lack."""
    lacking = ~objects.observed[np.arange(len(known)) % len(objects)]
    # With this chance a column that is missing in `old` of the objects and loses `new` of them is missing in `new` afterwards.
    chance = np.clip((new - old) / np.maximum((1.0 - old) * new, 1e-12), 0.0, 1.0)
    taken = np.random.default_rng(0).random(known.shape) < chance
    return without_columns(known, lacking & taken)


def bulk(pvalue: FloatArray, known_share: float, n_known: int) -> Iterator[Difference]:
    if known_share < _LEAST_KNOWN:
        words = (
            f"only {known_share:.0%} of the new objects look like known ones: most are strange, so what is common to all of "
            "them (calibration, units, another population) may be what is strange."
        )
        yield Difference(MOST_STRANGE, 1.0, known_share, words, True)
        return
    bulk = pvalue[pvalue > _BULK]
    expected = 0.5 * (1.0 + _BULK)
    if bulk.size < FEWEST:
        return
    mean = float(bulk.mean())
    # The spread of a uniform number between 0.2 and 1; both the new and the left-out objects are a sample.
    error = (1.0 - _BULK) / np.sqrt(12.0) * np.sqrt(1.0 / bulk.size + 1.0 / max(n_known, 1))
    if abs(mean - expected) > max(_BULK_SHIFT, SURE * error):
        kind = "stranger" if mean < expected else "less strange"
        words = (
            f"the bulk of the new objects is {kind} than the training's: p-values above {_BULK:g} average {mean:.2f}, not "
            f"{expected:.2f}."
        )
        stranger = mean < expected
        more = (
            " A small p-value means less than it says."
            if stranger
            else " A list is shorter than it could be."
        )
        yield Difference("p-values", expected, mean, words + more, stranger)

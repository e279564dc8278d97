"""Are the new objects like the training's? A list with a stated share of false alarms keeps its word only if they are.

    noise levels        share of new objects noisier or quieter than training objects ever are
    error bars          factor c on the error bars under which the bulk is most probable, new beside training
    values              shift and spread of each column within the predicted classes, new beside training
    gaps                how often each column is missing
    bulk                p-values above 0.2: uniform for objects like the training's, whatever a few anomalies do
    slope at 1          share of new objects that look known at all: twice the share of p-values above 1/2 (Storey 2002)

What is found is said, one row each; where it makes p-values wrong the *promise* of a list is refused, not the ranking. Where
one change of all new objects (`badac.common_cause`) mends everything, or leaving out one column, that is the cause, and is said
alone; a factor on their error bars is offered. Where most objects are strange and no such change helps, that is said alone:
shifts within classes to which hardly any of them belongs mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac import common_cause
from badac.calibration.pvalues import noise_level
from badac.calibration.unusual_gaps import missing_share, without_columns
from badac.common_cause import SURE, Change
from badac.data.measurements import Measurements
from badac.judge import FittedModel, Judgement

__all__ = ["Comparison", "Difference", "ListWarning"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST = 2000
"""New objects that are compared: shares to one per cent, whatever the size of the table."""
# Objects of either side whose error bars are compared: medians to a few per cent.
_MOST, _MOST_WITH_OWN_POINTS = 500, 60
_FEWEST = 20
# Below these nothing is said: they change p-values by less than a pool of a few hundred leaves open.
_OUTSIDE, _ERROR_FACTOR, _SHIFT, _SPREAD, _GAPS = 0.05, 1.15, 0.35, 1.5, 0.1
_BULK, _BULK_SHIFT, _LEAST_KNOWN = 0.2, 0.05, 0.5
_ROWS_AT_A_TIME = 1_000_000
_MOST_STRANGE, _ROUNDED = "most objects strange", "rounding"
# Of the objects that were compared: a column with fewer different values is rounded, where the training's is not.
_FEW_DIFFERENT, _MANY_DIFFERENT = 0.1, 0.5


class ListWarning(UserWarning):
    """A list is empty, or cannot promise its share of false alarms.

    Examples
    --------
    >>> from badac.comparison import ListWarning
    >>> issubclass(ListWarning, UserWarning)
    True
    """


@dataclass(frozen=True)
class Difference:
    """One way in which new objects differ from the training's.

    Attributes
    ----------
    what : str
        "noise levels", "error bars", "values", "rounding", "gaps", "p-values" or "most objects strange".
    training, new : float
        The number that was compared.
    words : str
        What it means, and what to do.
    breaks_promise : bool
        Whether a stated share of false alarms cannot be promised because of it.
    column : int or None
        The column that it is about.

    Examples
    --------
    >>> from badac.comparison import Difference
    >>> Difference("noise level", 0.1, 0.2, "new objects are noisier", False).sentence
    'New objects are noisier'
    """

    what: str
    training: float
    new: float
    words: str
    breaks_promise: bool
    column: int | None = None

    @property
    def sentence(self) -> str:
        """The words with a capital letter."""
        return f"{self.words[:1].upper()}{self.words[1:]}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """How new objects differ from the training's.

    Attributes
    ----------
    differences : tuple of Difference
        Empty if none was found.
    pvalue : (s,)
        Of the new objects that were compared, at most 2,000 of them: `histogram` draws them.
    error_scale : float or None
        Factor on the error bars of the new objects under which their bulk is like the training's: 1 unless their bulk says
        otherwise; None without error bars.
    known_share : float
        Share of the new objects that look like known ones: the density of p-values near 1.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> train = Measurements(0.1 * rng.standard_normal((200, 5)), 0.1)
    >>> model = BADACClassifier("template", random_state=0).fit(train, np.repeat([0, 1], 100))
    >>> found = model.compare(Measurements(0.1 * rng.standard_normal((200, 5)), 0.1))
    >>> found.promise_holds
    True
    """

    differences: tuple[Difference, ...]
    pvalue: FloatArray
    error_scale: float | None
    known_share: float

    @property
    def promise_holds(self) -> bool:
        """Whether a list of these objects can state its share of false alarms."""
        return not any(one.breaks_promise for one in self.differences)

    @property
    def why(self) -> str:
        """Why nothing can be promised, in words; empty if it can."""
        breaking = [one for one in self.differences if one.breaks_promise]
        strange = [one for one in breaking if one.what == _MOST_STRANGE]
        named = [one for one in breaking if one.what == _ROUNDED]
        if strange and len(breaking) > len(strange):
            return " ".join(one.sentence for one in named or strange) + " compare() says what else differs."
        return " ".join(one.sentence for one in breaking)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the table: what, training, new, breaks_promise, words."""
        names = ("what", "training", "new", "breaks_promise", "words")
        return {name: np.array([getattr(one, name) for one in self.differences]) for name in names}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (needs the extra `io`)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def histogram(self, n_bins: int = 20) -> tuple[FloatArray, FloatArray]:
        """Return edges (b + 1,) and densities (b,) of the p-values: flat at `known_share` but for a peak of anomalies at 0."""
        density, edges = np.histogram(self.pvalue, np.linspace(0.0, 1.0, n_bins + 1), density=True)
        return edges, density

    def __str__(self) -> str:
        if not self.differences:
            return f"No difference from the training found; {self.known_share:.0%} of the objects look known."
        return "\n".join(f"{one.what}: {one.words}" for one in self.differences)


def compare(judged: Judgement, rows: IntArray | None = None, names: Sequence[str] = ()) -> Comparison:
    """Compare new objects with the training's.

    Parameters
    ----------
    judged : Judgement
        The new objects (n, m), of a model whose p-values were made ready.
    rows : (s,) int, optional
        Of those that are compared; `some_rows` of all if not given. A table that is read in batches keeps just these.
    names : sequence of str
        Of the columns (m,), where they have any: what is said of a column says its name.
    """
    chosen = some_rows(len(judged.objects)) if rows is None else rows
    model, objects = judged.model, judged.objects[chosen]
    pvalue = judged.pvalue[chosen]
    known_share = _known_share(pvalue)
    kept = model.training if len(model.training) else model.some_known
    known = model.in_units(model.training if kept is None else kept)
    if len(objects) < _FEWEST or len(known) < _FEWEST:
        return Comparison((), pvalue, None, known_share)
    most = _MOST_WITH_OWN_POINTS if objects.own_points else _MOST
    called = [*names, *(f"column {number}" for number in range(len(names), known.n_points))]
    some = objects[:most]
    change = common_cause.error_bars(model, _some(known, most), some)
    found = [] if change is None else list(_error_bars(change))
    error_scale = None if change is None else change.size if found else 1.0

    def after(one: Change) -> list[Difference]:
        return list(_differences(Judgement(model, one.apply(objects), judged.n_threads), known, called))

    def all_is_well(found: list[Difference]) -> bool:
        return not any(one.breaks_promise for one in found)

    # The cause first: where all is well with the factor, noise levels, scatter and p-values only follow from it.
    if found and change is not None and all_is_well(beside := after(change)):
        return Comparison((*found, *beside), pvalue, error_scale, known_share)
    differences = list(_differences(Judgement(model, objects, judged.n_threads), known, called, pvalue))
    if not all_is_well(differences) and model.units.size == 1 and not objects.counted:
        for cause in _causes(model, some):
            if all_is_well(beside := after(cause[0])):
                return Comparison((cause[1], *beside), pvalue, error_scale if found else 1.0, known_share)
    for one in differences:
        if one.column is not None and one.breaks_promise and all_is_well(after(_lacking(one.column))):
            return Comparison((one,), pvalue, 1.0, known_share)
    return Comparison((*found, *differences), pvalue, error_scale, known_share)


def _lacking(column: int) -> Change:
    """Leave a column out."""

    def without(objects: Measurements) -> Measurements:
        return without_columns(objects, np.arange(objects.n_points) == column)

    return Change(float(column), np.inf, without)


def _causes(model: FittedModel, objects: Measurements) -> Iterator[tuple[Change, Difference]]:
    """Changes of all values that may be the one thing that differs, and what is said if one of them is."""
    scale = common_cause.scale(model, objects)
    if scale.sure > SURE:
        times = 1.0 / scale.size
        words = (
            f"the values and error bars of the new objects are {times:.2f} times as large as the training's. Bring them to "
            f"its units (multiply both by {scale.size:.3g}), or fit with nuisance={{'gain': ...}}."
        )
        yield scale, Difference("values", 1.0, times, words, True)
    offset = common_cause.offset(model, objects)
    if offset.sure > SURE:
        # In the units of the data.
        size = -offset.size * float(model.units[0])
        words = (
            f"the values of the new objects are shifted by {size:+.3g}, all alike. Bring them to the training's zero point "
            f"(add {-size:.3g}), or fit with nuisance={{'offset': ...}}."
        )
        yield offset, Difference("values", 0.0, size, words, True)


def _differences(
    judged: Judgement, known: Measurements, called: Sequence[str], pvalue: FloatArray | None = None
) -> Iterator[Difference]:
    """All differences of objects from known ones but that of their error bars; their p-values where they are there already."""
    model, objects = judged.model, judged.objects
    pvalue = judged.pvalue if pvalue is None else pvalue
    yield from _noise_levels(model, known, objects)
    if not objects.own_points:
        yield from _values(judged, known, called)
        yield from _gaps(known, objects, called)
    yield from _bulk(pvalue, _known_share(pvalue), n_known=0 if model.pool is None else len(model.pool))


def _known_share(pvalue: FloatArray) -> float:
    return float(min(2.0 * (pvalue > 0.5).mean(), 1.0)) if len(pvalue) else 1.0


# -- one check each ----------------------------------------------------------------------------------------------------


def _noise_levels(model: FittedModel, known: Measurements, objects: Measurements) -> Iterator[Difference]:
    old, new = noise_level(known, model.scales), noise_level(objects, model.scales)
    low, high = np.quantile(old, [0.005, 0.995]) + np.log([0.8, 1.25])
    outside = float(((new < low) | (new > high)).mean())
    if outside > _OUTSIDE:
        ratio = float(np.exp(np.median(new) - np.median(old)))
        kind = "noisier" if ratio >= 1 else "quieter"
        words = (
            f"{outside:.0%} of the new objects have noise levels that training objects do not have (typically {ratio:.2g} "
            f"times theirs, {kind}): p-values there are those of the nearest noise. Add training objects of such noise."
        )
        yield Difference("noise levels", 0.01, outside, words, outside > 0.2)


def _error_bars(change: Change) -> Iterator[Difference]:
    scale = change.size
    if change.sure < SURE or abs(np.log(scale)) < np.log(_ERROR_FACTOR):
        return
    kind = "small" if scale > 1 else "large"
    words = (
        f"the error bars of the new objects are too {kind} beside the training's: their bulk is most probable with {scale:.2f} "
        f"times as large ones. Correct them, or take the factor from here: X_err={scale:.2f} * X_err."
    )
    yield Difference("error bars", 1.0, scale, words, True)


def _values(judged: Judgement, known: Measurements, called: Sequence[str]) -> Iterator[Difference]:
    """Shift and spread of the columns within the predicted classes."""
    model, objects, predicted = judged.model, judged.objects, judged.predicted
    old = Judgement(model, _some(known, MOST), judged.n_threads)
    rounded = list(_rounding(old.objects, objects, called))
    if rounded:
        # Medians and scatter of a few different values say nothing more.
        yield from rounded
        return
    worst_shift, worst_spread = (0.0, 0), (1.0, 0)
    for number in range(len(model.classes)):
        before = old.objects.values[old.predicted == number]
        after = objects.values[predicted == number]
        for column in range(before.shape[1]):
            first, second = (part[:, column][~np.isnan(part[:, column])] for part in (before, after))
            if min(first.size, second.size) < _FEWEST:
                continue
            # As wide as the training's with the noise of the new objects in place of its own.
            own = max(_mad(first) ** 2 - _noise(old.objects, column), 0.0)
            spread = np.sqrt(own + _noise(objects, column)) or model.scales.scale[column]
            shift = float(np.median(second) - np.median(first)) / spread
            ratio = max(_mad(second), 1e-300) / spread
            error = 1.2533 * np.sqrt(1.0 / first.size + 1.0 / second.size)
            if abs(shift) > max(abs(worst_shift[0]), _SHIFT, SURE * error):
                worst_shift = shift, column
            # A column that scatters less than its noise says, as one that spectra are normalised at, tells nothing of a scale.
            told = _mad(first) ** 2 > 0.25 * _noise(old.objects, column)
            if told and abs(np.log(ratio)) > max(abs(np.log(worst_spread[0])), np.log(_SPREAD), SURE * error):
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


def _rounding(known: Measurements, objects: Measurements, called: Sequence[str]) -> Iterator[Difference]:
    """Columns that hold hardly any different values, where the training's do."""
    for column, name in enumerate(called):
        shares = []
        for part in (known, objects):
            values = part.values[part.observed[:, column], column]
            shares.append(len(np.unique(values)) / max(len(values), 1) if len(values) >= _FEWEST else np.nan)
        if shares[0] > _MANY_DIFFERENT and shares[1] < _FEW_DIFFERENT:
            values = np.unique(objects.values[objects.observed[:, column], column])
            words = (
                f"the values of the new objects are rounded, the training's are not: {name} takes {len(values)} different "
                f"values in {len(objects):,} objects. Give them as they were measured, or with error bars that hold the "
                "rounding (0.29 of a step)."
            )
            yield Difference(_ROUNDED, shares[0], shares[1], words, True)
            return


def _gaps(known: Measurements, objects: Measurements, called: Sequence[str]) -> Iterator[Difference]:
    old, new = missing_share(known.observed), missing_share(objects.observed)
    error = np.sqrt(0.25 * (1.0 / len(known) + 1.0 / len(objects)))
    column = int(np.argmax(np.abs(new - old)))
    if abs(new[column] - old[column]) > max(_GAPS, SURE * error):
        words = (
            f"{called[column]} is missing in {new[column]:.0%} of the new objects and in {old[column]:.0%} of the training's. "
            "P-values compare with training objects without it; the class itself may be less sure."
        )
        yield Difference("gaps", float(old[column]), float(new[column]), words, False)


def _bulk(pvalue: FloatArray, known_share: float, n_known: int) -> Iterator[Difference]:
    if known_share < _LEAST_KNOWN:
        words = (
            f"only {known_share:.0%} of the new objects look like known ones: most are strange, so what is common to all of "
            "them (calibration, units, another population) may be what is strange."
        )
        yield Difference(_MOST_STRANGE, 1.0, known_share, words, True)
        return
    bulk = pvalue[pvalue > _BULK]
    expected = 0.5 * (1.0 + _BULK)
    if bulk.size < _FEWEST:
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


def turn_of(rows: IntArray) -> FloatArray:
    """Return (n,) in [0, 1): the order in which rows are compared, lowest first: like random numbers, fixed by the row.

    So the same objects are compared however a table is cut into batches or partitions (the mixer is that of SplitMix64, Steele
    et al. 2014).
    """
    z = (np.asarray(rows, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) * 2.0**-53


def some_rows(n: int, most: int = MOST) -> IntArray:
    """Return at most so many of n rows, those whose turn is first, in that order."""
    kept = np.empty(0, dtype=np.int64)
    for start in range(0, n, _ROWS_AT_A_TIME):
        rows = np.concatenate([kept, np.arange(start, min(start + _ROWS_AT_A_TIME, n))])
        kept = rows[np.argsort(turn_of(rows), kind="stable")[:most]]
    return kept


def _some(objects: Measurements, most: int) -> Measurements:
    """Return at most so many objects, always the same ones."""
    return objects if len(objects) <= most else objects[some_rows(len(objects), most)]


def _noise(objects: Measurements, column: int) -> float:
    """Typical variance of the noise of a column."""
    sigma = objects.sigma[objects.observed[:, column], column]
    return float(np.median(sigma)) ** 2 if sigma.size else 0.0


def _mad(values: FloatArray) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))

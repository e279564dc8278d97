"""Compare new objects with the training's: all checks, then whether one change of all of them is the cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from badac.calibration.unusual_gaps import without_columns
from badac.comparison import checks, common_cause
from badac.comparison.checks import FEWEST
from badac.comparison.common_cause import SURE, Change
from badac.comparison.comparison import Comparison
from badac.comparison.difference import Difference
from badac.comparison.turns import some_of, some_rows
from badac.data.measurements import Measurements
from badac.judge import FittedModel, Judgement
from badac.threads import one_thread_in_blas

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Objects of either side whose error bars are compared: medians to a few per cent.
_MOST, _MOST_WITH_OWN_POINTS = 500, 60


@one_thread_in_blas()
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
    known = _known(model)
    if len(objects) < FEWEST or len(known) < FEWEST:
        return Comparison((), pvalue, None, known_share)
    called = [*names, *(f"column {number}" for number in range(len(names), known.n_points))]
    some = objects[: _most(objects)]
    change, found = _error_bars(model, known, some)
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


@one_thread_in_blas()
def may_be_too_small(judged: Judgement) -> bool:
    """Whether the bulk of new objects asks for larger error bars beside the training's; `compare` tells whether that is all.

    The same objects are asked as by `compare`, and no p-values are needed. Counts have no error bars.
    """
    model, known = judged.model, _known(judged.model)
    if judged.objects.counted or len(judged.objects) < FEWEST or len(known) < FEWEST:
        return False
    chosen = some_rows(len(judged.objects))[: _most(judged.objects)]
    change, found = _error_bars(model, known, judged.objects[chosen])
    return bool(found) and change is not None and change.size > 1.0


def _known(model: FittedModel) -> Measurements:
    """Training objects, in the units of the model."""
    kept = model.training if len(model.training) else model.some_known
    return model.in_units(model.training if kept is None else kept)


def _most(objects: Measurements) -> int:
    return _MOST_WITH_OWN_POINTS if objects.own_points else _MOST


def _error_bars(
    model: FittedModel, known: Measurements, some: Measurements
) -> tuple[Change | None, list[Difference]]:
    """Return the factor on the error bars of some new objects, and what is said of it: nothing, if it is none of note."""
    change = common_cause.error_bars(model, some_of(known, _most(some)), some)
    return change, [] if change is None else list(checks.error_bars(change))


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
    yield from checks.noise_levels(model, known, objects)
    if not objects.own_points:
        yield from checks.values(judged, known, called)
        yield from checks.gaps(judged, known, called)
    yield from checks.bulk(pvalue, _known_share(pvalue), n_known=0 if model.pool is None else len(model.pool))


def _known_share(pvalue: FloatArray) -> float:
    return float(min(2.0 * (pvalue > 0.5).mean(), 1.0)) if len(pvalue) else 1.0

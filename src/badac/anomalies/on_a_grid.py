"""The hypotheses for objects on a common grid: everything happens in the latent space of each known class.

An object is reduced once to a Gaussian likelihood in a class's factors (`badac.latent.class_summary`). A shape is sought with a
matched filter (`badac.anomalies.matched_filter`), a random curve is integrated out (`badac.anomalies.curves_on_a_grid`);
compiled kernels do both. The twin for objects with points of their own is `badac.anomalies.at_points`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from badac._kernels import Pairs, row_log_sums
from badac._kernels.stretches import Stretches
from badac.anomalies.bump import Bump
from badac.anomalies.curves_on_a_grid import (
    OnGridCurves,
    curve_alone,
    curve_on_class,
    independent_values,
    widened_class,
)
from badac.anomalies.hypothesis import (
    ProcessAlone,
    ProcessOnClass,
    Scales,
    ShapeOnClass,
    UnderClasses,
    Weigh,
    over_classes,
)
from badac.anomalies.isolated import Isolated
from badac.anomalies.matched_filter import log_bayes_factor, log_bayes_factor_of_any, ratios
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.reasons import REACH, STRANGE, WIDEST, Reasons
from badac.anomalies.unseen import Unseen
from badac.classes.instances import fill_gaps
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
from badac.latent.likelihood import LatentLikelihood
from badac.registry import registered
from badac.threads import over_blocks

# Block size: what a step of Python costs is spread over many objects, and arrays stay in the outer cache.
_OBJECTS_PER_BLOCK = 2048
# A shape of which no point of the grid shows more than this much of the height falls between two distant points.
_LEAST_SEEN = 0.5


@registered(
    "part",
    holds={
        "classes": "(k,)",
        "log_prior": "(k,) may be -inf",
        "rare": "(s,)",
        "rare_log_prior": "(s,) may be -inf",
        "unseen": "(u,)",
        "isolated": "(i,)",
    },
    version=3,
)
@dataclass(frozen=True, eq=False)
class OnGrid:
    """The known classes on the grid of the training objects.

    Attributes
    ----------
    classes : tuple of ClassSummary
    log_prior : (k,)
        Of the classes.
    scales : Scales
    rare : tuple of ClassSummary
    rare_log_prior : (number,)
        Populations of rare members (`badac.anomalies.rare`), and the log priors of belonging to them.
    unseen : tuple of Unseen
        Members unlike all that were seen (`badac.anomalies.unseen`); none for features without an order.
    isolated : tuple of Isolated
        Members that stand apart from the others of their class (`badac.anomalies.isolated`); likewise.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 15)
    >>> curves = Measurements(np.sin(3 * x) + 0.1 * rng.standard_normal((40, 15)), 0.1, at=x)
    >>> model = BADACClassifier("population", random_state=0).fit(curves, np.repeat([0, 1], 20))
    >>> type(model.anomaly_model_.evaluator).__name__
    'OnGrid'
    """

    classes: tuple[ClassSummary, ...]
    log_prior: FloatArray
    scales: Scales
    rare: tuple[ClassSummary, ...] = ()
    rare_log_prior: FloatArray = field(default_factory=lambda: np.empty(0))
    unseen: tuple[Unseen, ...] = ()
    isolated: tuple[Isolated, ...] = ()

    def blocks(self, objects: Measurements) -> Iterator[tuple[slice, Measurements]]:
        for start in range(0, objects.n_objects, _OBJECTS_PER_BLOCK):
            rows = slice(start, start + _OBJECTS_PER_BLOCK)
            yield rows, objects[rows]

    def under(self, block: Measurements, *, n_threads: int = 1) -> UnderClasses[ObjectsUnderClass]:
        return UnderClasses(
            ObjectsUnderClass(block, one, float(prior), n_threads)
            for one, prior in zip(self.classes, self.log_prior, strict=True)
        )

    def log_known(self, under: UnderClasses[ObjectsUnderClass], log_anomaly: FloatArray) -> FloatArray:
        """Return (n,): log P(d | known classes), their rare members included.

        A population of a few rare members is not known well enough to make an object more normal than even odds with an
        anomaly, ``log_anomaly`` (n,): what it alone explains stays above the typical members in the ranking.
        """
        known = [*under.joint.T]
        for summary, prior in zip(self.rare, self.rare_log_prior.tolist(), strict=True):
            rare = ObjectsUnderClass(under[0].objects, summary, prior, under[0].n_threads)
            known.append(np.minimum(prior + rare.log_evidence, log_anomaly))
        total = row_log_sums(np.stack(known, axis=1))
        return self._with_unseen(total, under, log_anomaly)

    def _with_unseen(
        self, log_known: FloatArray, under: UnderClasses[ObjectsUnderClass], log_anomaly: FloatArray
    ) -> FloatArray:
        """Add members unlike all that were seen, and like those that stand apart.

        Only strange objects may be some, and even odds is the least they get.
        """
        rows = np.flatnonzero(log_anomaly > log_known)
        if not (self.unseen or self.isolated) or not rows.size:
            return log_known
        some, n_threads = under[0].objects[rows], under[0].n_threads
        terms = [one.log_evidence(some, n_threads=n_threads) for one in self.unseen]
        for one in self.isolated:
            own = next((each for each in under if each.summary.factor is one.summary.factor), None)
            if own is None:
                terms.append(one.log_evidence(some, n_threads=n_threads))
            else:
                terms.append(one.log_evidence_of(own.take(rows)))
        found = row_log_sums(np.stack([log_known[rows], *terms], axis=1))
        out = log_known.copy()
        out[rows] = np.minimum(found, log_anomaly[rows])
        return out

    # -- the hypotheses ----------------------------------------------------------------------------------------------

    def shape_on_class(self, added: ShapeOnClass) -> Weigh:
        shapes, _ = self.visible(added)

        def weigh(one: ObjectsUnderClass) -> FloatArray:
            return one.log_evidence + log_bayes_factor_of_any(one, shapes, added)

        return lambda under: over_classes(under, weigh)

    def visible(self, added: ShapeOnClass) -> tuple[Stretches, npt.NDArray[np.bool_]]:
        """Return the shapes (m, q) that can be seen at the points of the grid, and which of all they are (p,)."""
        where = self.scales.where
        points = np.arange(self.scales.centre.size, dtype=np.float64) if where is None else where
        shapes = Stretches.of(added.at(points)) if added.stretches is None else added.stretches(points)
        seen = shapes.largest() > _LEAST_SEEN
        return shapes.take(seen), seen

    def process_on_class(self, added: ProcessOnClass) -> Weigh:
        if not added.curves:
            return lambda under: over_classes(under, lambda one: widened_class(one, added.amplitudes))
        where = self.scales.coordinates(added)

        @cache
        def beside(summary: ClassSummary) -> tuple[OnGridCurves, ...]:
            return tuple(OnGridCurves.of(curves, where, summary.factor.factors) for curves in added.curves)

        def weigh(one: ObjectsUnderClass) -> FloatArray:
            return curve_on_class(one, beside(one.summary), added.amplitudes)

        return lambda under: over_classes(under, weigh)

    def process_alone(self, added: ProcessAlone) -> Weigh:
        if not added.curves:
            return lambda under: independent_values(under[0].objects, self.scales, added.amplitudes)
        where = self.scales.coordinates(added)
        curves = tuple(OnGridCurves.of(one, where) for one in added.curves)
        return lambda under: curve_alone(under[0], self.scales, curves, added.amplitudes)

    # -- why an object is strange ------------------------------------------------------------------------------------

    def reasons(self, objects: Measurements, *, n_threads: int = 1) -> Reasons:
        out = Reasons.blank(*objects.shape, whole=True)
        each_point, windows = Stretches.each_point(objects.n_points), Windows.of(self)

        def find(part: tuple[slice, Measurements], n_threads: int) -> None:
            rows_of_block, block = part
            under = self.under(block, n_threads=n_threads)
            best = under.joint.argmax(axis=1)
            out.best[rows_of_block] = best
            for index in np.unique(best):
                own = np.flatnonzero(best == index)
                one, rows = under[index].take(own), own + rows_of_block.start
                pull = ratios(one, each_point)
                out.pull[rows] = np.where(one.objects.observed, pull, np.nan)
                inside, out.window[rows], factor = self.strangest_window(one, windows)
                out.window_log_bayes_factor[rows] = factor
                out.expected[rows], out.expected_sigma[rows] = predicted(
                    one, inside & (factor > STRANGE)[:, None]
                )

        over_blocks(find, self.blocks(objects), n_threads)
        return out

    def strangest_window(
        self, under: ObjectsUnderClass, windows: Windows
    ) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray]:
        """Return the points inside (n, m), the window (n, 2) in coordinates and its log Bayes factor (n,)."""
        bump, shapes, centre, width = windows
        ratio = np.nan_to_num(ratios(under, shapes))
        best = np.abs(ratio).argmax(axis=1)
        factor = log_bayes_factor(ratio[np.arange(len(best)), best], bump.signal_to_noise)
        at = under.objects.at
        x = np.arange(under.objects.n_points, dtype=np.float64) if at is None else at
        if self.scales.where is None:
            window = np.stack([x[best], x[best]], axis=1)
        else:
            reach = REACH * width[best]
            ends = np.clip(np.stack([centre[best] - reach, centre[best] + reach], axis=1), 0.0, 1.0)
            window = x.min() + ends * np.ptp(x)
        return (x >= window[:, :1]) & (x <= window[:, 1:]), window, factor

    def to_compare(self, index: int, objects: Measurements, known: Known) -> tuple[IntArray, Pairs]:
        """Return the training objects of a class (k,), and all as they were measured, both errors taken into account."""
        rows = np.flatnonzero(known.label == index)
        members = fill_gaps(known.training[rows], known.scales)
        return rows, Pairs.of(objects.values, objects.sigma, members.values, members.sigma + 1e-12)


class Windows(NamedTuple):
    """Bumps of any place and width that the grid shows: what the strangest window is looked for with.

    Attributes
    ----------
    bump : Bump
    shapes : Stretches
        (m, p)
    centre, width : (p,)
    """

    bump: Bump
    shapes: Stretches
    centre: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, grid: OnGrid) -> Windows:
        """Return those of a grid, which all blocks of objects share."""
        bump = Bump(widest=WIDEST)
        shapes, seen = grid.visible(bump.adds(grid.scales))
        centre, width = (each[seen] for each in bump.places(grid.scales))
        return cls(bump, shapes, centre, width)


def predicted(under: ObjectsUnderClass, hidden: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (n, m) of the true values under the class, given the points not hidden (n, m)."""
    # With most points hidden there would be no object left to predict.
    share = hidden.mean(axis=1)
    rows = np.flatnonzero((share > 0.0) & (share < 0.5))
    summary, latent = under.summary, under.latent
    if rows.size:
        some, without = under.objects[rows], hidden[rows]
        values, sigma = np.where(without, np.nan, some.values), np.where(without, np.inf, some.sigma)
        seen = ObjectsUnderClass(
            some._changed(values=values, sigma=sigma), summary, n_threads=under.n_threads
        )
        parts = latent.precision.copy(), latent.shift.copy(), latent.offset.copy()
        for part, own in zip(
            parts, (seen.latent.precision, seen.latent.shift, seen.latent.offset), strict=True
        ):
            part[rows] = own
        latent = LatentLikelihood(*parts)
    factor = summary.factor
    position, covariance = summary.mixture.posterior(latent)
    # W C W' on its diagonal: products of two factors times the covariance, off its diagonal twice.
    first, second = np.triu_indices(factor.rank)
    spread = covariance[:, first, second] @ (summary.products * np.where(first == second, 1.0, 2.0)).T
    return factor.mean + position @ factor.factors.T, np.sqrt(spread + factor.psi)

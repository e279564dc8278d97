"""Phases of transients: times from the maximum of the curve, not from its brightest point, and finer near it than far away.

    phase = u asinh((t / (1 + z) - s) / u)

``s`` is when the curve is at its maximum, for an object that was aligned at its brightest point (`badac.data.align_at_peak`):
noise and gaps put that point beside the maximum. It is found by a population of all training objects, whatever their class
(`badac.classes.irregular`), and is the mean of its posterior,

    P(s | d) ~ N(s ; 0 , w^2) P(d at phases from s | all objects)

as are the training objects', in two rounds of EM for ``w`` and the population. ``u`` says how fast curves change: near the
maximum a phase is a time, and a year after it all is slow. Dividing by ``1 + z`` undoes the dilation of time, where a column
has the redshift. No label is used, so what is learned here tells nothing of the class of an object that is left out later. Both
are used only where objects that were held out gain evidence by it, the shift integrated out as a nuisance is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from badac._kernels import shifted_evidence
from badac.classes.irregular import IrregularPopulation
from badac.classes.model import FloatArray
from badac.data.beside import DATES
from badac.data.measurements import Measurements
from badac.latent.points import blocks_of, grouped
from badac.noise.gaussian import Gaussian
from badac.registry import registered
from badac.threads import over_blocks

# Units `u` that are tried, as shares of the range of times (1 % to 99 % of the points), and one that leaves times as they are.
# The largest is 40 days on the SPCC, where twice that tells classes of left-out objects worse; a survey of years needs less.
_UNITS, _AS_THEY_ARE = (0.2, 0.07, 0.025), 100.0
# Nodes of the shift, in units of `w`, and `w` before anything is learned, in units of `u`: 8 days for u = 40 on the SPCC.
_NODES = np.linspace(-3.0, 3.0, 13)
_WIDTH, _NARROWEST = 0.2, 0.02
_ROUNDS = 2
# Factors of the population: as many as its maximum needs, by cost.
_RANK = 6
# By cost: objects that choose, a quarter of them held out; objects that each round learns from.
_TO_CHOOSE, _TO_LEARN = 300, (400, 1000)
_FEWEST = 40  # fewer do not tell a population of all classes
_REDSHIFTS = ("redshift", "photoz", "specz", "zphot", "zspec", "z")


@registered("part", holds={"unit": "> 0", "width": ">= 0"})
@dataclass(frozen=True, eq=False)
class Phases:
    """From times to phases.

    Attributes
    ----------
    unit : float
        ``u``, in the unit of the times.
    width : float
        ``w``; 0 where maxima are where the brightest points are.
    redshift : str
        Column whose dilation of time is undone; "" if none.
    middle : float
        The redshift of a middling training object, for those that lack one.
    population : IrregularPopulation or None
        Of all training objects at their phases, where maxima are looked for.

    Examples
    --------
    Without a population nothing is shifted, and times far from the brightest point are compressed.

    >>> from badac import Measurements
    >>> from badac.nuisance import Phases
    >>> curves = Measurements([[1.0, 0.5, 0.1]], 0.1, at=[[0.0, 30.0, 300.0]])
    >>> Phases(unit=30.0).apply(curves).at.round(1)
    array([[ 0. , 26.4, 89.9]])
    """

    unit: float
    width: float = 0.0
    redshift: str = ""
    middle: float = 0.0
    population: IrregularPopulation | None = None

    def apply(self, objects: Measurements, *, n_threads: int = 1) -> Measurements:
        """Return objects (n, m) with phases as their coordinates."""
        return self._moved(objects, self.shifts(objects, n_threads=n_threads)[0])

    def times(self, objects: Measurements, phased: Measurements, phase: FloatArray) -> FloatArray:
        """Return (n, c): the times of other phases of the objects, which are given at their times and at their phases."""
        assert objects.at is not None and phased.at is not None
        row, first = np.arange(len(objects)), objects.observed.argmax(axis=1)
        stretch = self._stretch(objects)[:, None]
        rest, own = objects.at[row, first][:, None] / stretch, phased.at[row, first][:, None]
        shift = rest - self.unit * np.sinh(own / self.unit)
        return np.asarray(stretch * (shift + self.unit * np.sinh(phase / self.unit)))

    def shifts(
        self, objects: Measurements, *, n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return posterior mean and standard deviation (n,) of the maximum's time, and the log evidence (n,) over all times."""
        if self.population is None or self.width == 0.0:
            nothing = np.zeros(len(objects))
            return nothing, nothing, nothing
        nodes = _NODES * self.width
        terms = self._by_shift(objects, nodes, n_threads)
        prior = -0.5 * (nodes / self.width) ** 2
        terms += prior - logsumexp(prior)
        total = logsumexp(terms, axis=1)
        weight = np.exp(terms - total[:, None])
        mean = weight @ nodes
        return mean, np.sqrt(np.maximum(weight @ nodes**2 - mean**2, 0.0)), np.asarray(total)

    def _by_shift(self, objects: Measurements, nodes: FloatArray, n_threads: int) -> FloatArray:
        """Log evidence (n, s) of objects whose maximum is at each of the nodes (s,)."""
        assert self.population is not None
        curves, out = self.population.band_factors, np.empty((len(objects), len(nodes)))
        assert curves is not None
        curves, stretch = curves.without_local(), self._stretch(objects)

        def work(block: slice, n_threads: int) -> None:
            points = grouped(objects[block], curves.basis.n_bands)
            rest = points.at / np.repeat(stretch[block], np.diff(points.first[points.group]))
            there = points._replace(at=rest)
            out[block] = shifted_evidence(there, curves.curves(), nodes, self.unit, n_threads=n_threads)

        over_blocks(work, blocks_of(objects), n_threads)
        return out

    def _stretch(self, objects: Measurements) -> FloatArray:
        """Return (n,): 1 + z; that of a middling training object where the redshift is missing."""
        if not self.redshift:
            return np.ones(len(objects))
        redshift = objects.columns[self.redshift].values
        return np.asarray(np.maximum(1.0 + np.where(np.isnan(redshift), self.middle, redshift), 0.1))

    def _compressed(self, rest: FloatArray) -> FloatArray:
        return np.asarray(self.unit * np.arcsinh(rest / self.unit))

    def _moved(self, objects: Measurements, shift: FloatArray) -> Measurements:
        assert objects.at is not None
        rest = objects.at / self._stretch(objects)[:, None] - shift[:, None]
        return objects._changed(at=self._compressed(rest))

    # -- learning ----------------------------------------------------------------------------------------------------

    def learned_from(self, objects: Measurements, rng: np.random.Generator, rounds: int) -> Phases:
        """Return a copy with the population of the objects, their maxima found in some rounds, and the width of the shifts."""
        here, shift = self, np.zeros(len(objects))
        for number in range(rounds):
            few = objects[: _TO_LEARN[min(number, len(_TO_LEARN) - 1)]]
            population = here._population(few, shift[: len(few)], rng)
            here = replace(here, population=population, width=here.width or _WIDTH * self.unit)
            shift, error, _ = here.shifts(objects)
            # A common shift of all of them is no shift of any.
            width = np.sqrt(np.mean((shift - shift.mean()) ** 2 + error**2))
            here = replace(here, width=float(max(width, _NARROWEST * self.unit)))
        return here

    def _population(
        self, objects: Measurements, shift: FloatArray, rng: np.random.Generator
    ) -> IrregularPopulation:
        phased = self._moved(objects, shift).without_columns()
        return IrregularPopulation(rank=_RANK, shape="gaussian").described(phased, Gaussian(), rng)

    def log_evidence(self, objects: Measurements) -> FloatArray:
        """Return (n,): log density of the values of objects, their shifts integrated out."""
        assert self.population is not None
        if self.width:
            return self.shifts(objects)[2]
        return self._by_shift(objects, np.zeros(1), 1)[:, 0]


def learn_phases(objects: Measurements, rng: np.random.Generator) -> Phases | None:
    """Learn phases from objects (n, m) that were aligned at their brightest points; None for others.

    Parameters
    ----------
    objects : Measurements
        With points and errors of their own, and the column ``peak_time``.
    rng : numpy Generator

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.nuisance import learn_phases
    >>> rng = np.random.default_rng(0)
    >>> curves = Measurements(rng.random((60, 5)), 0.1, at=rng.random((60, 5)))
    >>> learn_phases(curves, rng) is None  # nobody aligned them
    True
    """
    if not _can_have_phases(objects):
        return None
    objects = objects[rng.permutation(len(objects))]
    assert objects.at is not None
    low, high = np.quantile(objects.at[objects.observed], [0.01, 0.99])
    if not high > low:
        return None
    tried = [Phases(share * float(high - low)) for share in _UNITS]
    found = [_held_out(one, objects, rng, _ROUNDS) for one in tried]
    number = int(np.argmax([evidence.mean() for evidence in found]))
    best, evidence = tried[number], found[number]
    plain = Phases(_AS_THEY_ARE * float(high - low))
    if not _gains(evidence, _held_out(plain, objects, rng, 0)):
        return None
    for name in _redshift_columns(objects):
        middle = float(np.nanmedian(objects.columns[name].values))
        dilated = replace(best, redshift=name, middle=middle, unit=best.unit / max(1.0 + middle, 0.1))
        if _gains(_held_out(dilated, objects, rng, _ROUNDS), evidence):
            best = dilated
            break
    return best.learned_from(objects, rng, _ROUNDS)


def _can_have_phases(objects: Measurements) -> bool:
    return (
        objects.own_points
        and any(name in objects.columns for name in DATES)
        and objects.has_errors
        and objects.covariance is None
        and len(objects) >= _FEWEST
    )


def _redshift_columns(objects: Measurements) -> list[str]:
    """Columns that are called a redshift."""
    keys = {name: name.lower().replace("_", "") for name in objects.columns}
    found = [name for name, key in keys.items() if any(key.endswith(word) for word in _REDSHIFTS)]
    return [name for name in found if np.isfinite(objects.columns[name].values).any()]


def _held_out(phases: Phases, objects: Measurements, rng: np.random.Generator, rounds: int) -> FloatArray:
    """Return (h,): log evidence of objects that were held out of what is learned here; without rounds nothing is shifted."""
    some = objects[:_TO_CHOOSE]
    held = np.arange(len(some)) % 4 == 0
    rest = some[~held]
    if not rounds:
        learned = replace(phases, population=phases._population(rest, np.zeros(len(rest)), rng))
    else:
        learned = phases.learned_from(rest, rng, rounds)
    return learned.log_evidence(some[held])


def _gains(after: FloatArray, before: FloatArray) -> bool:
    """Whether held-out objects gain more than the standard error of their gain."""
    gain = after - before
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))

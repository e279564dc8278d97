"""The stack of counts: the class models, and the rates of each class alone.

    rate_j ~ Gamma(shape tau r_j , rate tau),      r_j the rate of all training objects,
    P(d | class) = prod_j NegativeBinomial(d_j ; shape tau r_j + counts_j , odds E_dj / (tau + exposure_j))

A population of counts learns how log rates vary together, from few counts with little to learn it from. The rates alone are a
Gamma-Poisson model in closed form (the counted cousin of naive Bayes): blind to all that varies within a class, and hard to
mislead where most counts are zero. ``tau``, the exposure that the rates of all classes together are worth in each class, is
chosen by the evidence of left-out members. Both are weighed by objects that neither had seen: each object's own counts are
taken out of its class exactly, and the class models' evidence of left-out objects is known already, so the stack costs next to
nothing. Probabilities follow it unless left-out objects lose by it; what is strange is left to the class models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.special import gammaln, xlogy

from badac.calibration.coarsening import Coarsening, FloatArray, IntArray
from badac.calibration.null_distribution import learn_nonconformity
from badac.calibration.stacking.base_models import BaseModels, BaseOutputs
from badac.calibration.stacking.ensemble import Ensemble, noise_levels
from badac.calibration.stacking.learning import MOST_TOLD, gain_of, stack, stacked_left_out, told_by_level
from badac.calibration.stacking.weights import log_losses
from badac.data.measurements import Measurements
from badac.latent.count_likelihood import PlainCounts
from badac.noise.counts import log_factorial
from badac.noise.model import LinkedNoise, Noise, PerClassNoise
from badac.registry import registered
from badac.training import TrainingSet

# Exposures that the rates of all classes are worth, in units of that of a typical object: from less than one member to many.
_WORTH = (0.3, 1.0, 3.0, 10.0, 30.0)
_LEAST_OBJECTS = 40  # tell two weights at three depths


@runtime_checkable
class CountedRates(Protocol):
    """Counts of a rate times an exposure."""

    def exposure_of(self, side: Measurements) -> FloatArray:
        """Return (n, m) or (1, m): the exposure behind every count."""


@registered("part", holds={"shape": "(m,) > 0", "exposure": "(m,) > 0"})
@dataclass(frozen=True, eq=False)
class Rates:
    """The rates of one class at each point on its own: Gamma(shape, exposure).

    Attributes
    ----------
    shape, exposure : (m,)
        Counts and exposure of the members, the prior's included.
    noise : Noise
        Of the objects that it is asked about: it knows their exposures.
    """

    name: ClassVar[str] = "rates"
    shape: FloatArray
    exposure: FloatArray
    noise: Noise

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(counts | class), missing ones left out."""
        del n_threads
        plain = PlainCounts.of(objects, self.noise) if isinstance(self.noise, LinkedNoise) else None
        if plain is None or plain.places is None:
            return log_negative_binomial(*counts_and_exposure(objects, self.noise), self.shape, self.exposure)
        # As there, number by number of a table; what is the same for every class is known.
        table = log_rising(self.shape, int(plain.counts.max(initial=0.0)))
        rising = table.ravel()[plain.places].sum(axis=1) + self.shape @ np.log(self.exposure)
        log_total = np.log(self.exposure + plain.exposure)
        log_total *= self.shape + plain.counts
        return np.asarray(plain.constant + rising - log_total.sum(axis=1))


def counts_and_exposure(objects: Measurements, noise: Noise) -> tuple[FloatArray, FloatArray]:
    """Return (n, m) each, 0 where missing."""
    assert isinstance(noise, CountedRates)
    seen = objects.observed
    exposure = np.broadcast_to(noise.exposure_of(objects), objects.shape)
    return np.where(seen, objects.values, 0.0), np.where(seen, exposure, 0.0)


def log_negative_binomial(
    counts: FloatArray, exposure: FloatArray, shape: FloatArray, known: FloatArray
) -> FloatArray:
    """Log probability (n,) of counts (n, m) in exposures (n, m) for rates ~ Gamma(shape, known), each (m,) or (n, m)."""
    total = known + exposure
    terms = gammaln(shape + counts) - gammaln(shape) - log_factorial(counts)
    # log(known / total) and log(exposure / total), of which the exposures' own logarithms are the same for every class.
    log_total = np.log(total)
    terms += shape * (np.log(known) - log_total) + xlogy(counts, exposure) - counts * log_total
    return np.asarray(np.where(exposure > 0.0, terms, 0.0).sum(axis=1))


def log_rising(shape: FloatArray, most: int) -> FloatArray:
    """Return (most + 1, m): ``log shape (shape + 1) ... (shape + c - 1)`` of c counts up to `most`, for shapes (m,)."""
    steps = np.log(shape + np.arange(most)[:, None])
    return np.vstack([np.zeros_like(shape), np.cumsum(steps, axis=0)])


def can_be_stacked(training: TrainingSet) -> bool:
    """Whether the objects are counts of a rate without a background, and many enough."""
    noise = training.noise
    if isinstance(noise, PerClassNoise) or not (
        isinstance(noise, LinkedNoise) and isinstance(noise, CountedRates)
    ):
        return False
    return not np.any(getattr(noise, "background", 0.0)) and len(training) >= _LEAST_OBJECTS


def learn_of_counts(
    training: TrainingSet, evidence: FloatArray, rows: IntArray, coarsening: Coarsening
) -> Ensemble | None:
    """Learn a stack of the class models and of rates alone; None if left-out objects lose by it.

    Parameters
    ----------
    training : TrainingSet
        Of counts.
    evidence : (r, k)
        Of the class models for the objects `rows` (r,), each left out of its own class.
    coarsening : Coarsening
        The posterior of the class models alone, which the stack is compared with.
    """
    label, scale = training.label, training.scales.scale
    level = noise_levels(training.objects[rows], scale)
    if told_by_level(level, label[rows]) > MOST_TOLD:
        return None
    rates, told = _learn_rates(training)
    usable = np.isfinite(evidence[np.arange(len(rows)), label[rows]]) & ~np.isnan(evidence).any(axis=1)
    usable &= training.counts[label[rows]] > 1
    if usable.sum() < _LEAST_OBJECTS:
        return None
    asked, level, alone = rows[usable], level[usable], evidence[usable]
    truth = label[asked]
    share = np.maximum(np.bincount(truth, minlength=training.n_classes), 0.5)
    log_prior = np.log(share / share.sum())
    outputs = np.stack([alone, told[asked]], axis=1)[None]
    stacking = stack(outputs, truth, log_prior, level[None])
    stacked = stacked_left_out(outputs, truth, log_prior, level[None], stacking, training.rng)
    before = log_losses(coarsening.apply(alone, level) + log_prior, truth)
    mean, error = gain_of(before[None], log_losses(stacked[0] + log_prior, truth)[None])
    # The Gaussians that stand for counts were found under classes that knew all members, so that the class models' evidence of
    # left-out counts is somewhat too good: a stack that does as well by it does better on new objects (cells at 2 %, seeds 500
    # to 504 of benchmarks/default.py: four near ties, all better with a stack, log-loss .61 to .51 in the mean).
    if mean < -error:
        return None
    of_asked = [BaseOutputs(training.objects[asked], outputs[0], stacked[0], level)]
    nonconformity = learn_nonconformity(of_asked, truth, log_prior, scale, column=0)
    return Ensemble(BaseModels((rates,), (), None), None, stacking, nonconformity, mean, error, ranks=False)


def _learn_rates(training: TrainingSet) -> tuple[tuple[Rates, ...], FloatArray]:
    """The rates of each class, and the log evidence (n, k) of all objects under them, left out of their own class."""
    counts, exposure = counts_and_exposure(training.objects, training.noise)
    each = np.eye(training.n_classes)[training.label]
    seen, looked = each.T @ counts, each.T @ exposure  # (k, m)
    common = (counts.sum(axis=0) + 0.5) / np.maximum(exposure.sum(axis=0), 1e-300)
    typical = float(np.median(exposure[exposure > 0])) if np.any(exposure > 0) else 1.0
    best, top = None, -np.inf
    own = training.label
    for worth in _WORTH:
        tau = worth * typical
        prior = np.maximum(tau * common, 1e-12)
        left = log_negative_binomial(
            counts, exposure, prior + seen[own] - counts, tau + np.maximum(looked[own] - exposure, 0.0)
        )
        if left.sum() > top:
            best, top = (prior, tau, left), float(left.sum())
    assert best is not None
    prior, tau, left = best
    rates = tuple(Rates(prior + seen[k], tau + looked[k], training.noise) for k in range(len(seen)))
    told = np.column_stack(
        [log_negative_binomial(counts, exposure, one.shape, one.exposure) for one in rates]
    )
    told[np.arange(len(own)), own] = left
    return rates, told

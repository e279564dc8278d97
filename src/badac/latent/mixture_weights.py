"""How much each of a few densities counts, by the evidence of objects that none of them had seen.

    P(d) = sum_h w_h P_h(d)

for widths or bandwidths ``h`` in order. Neighbours that say nearly the same of every object share one weight between them as
they like, and all of them cost as much as the one that would do: `fewest` leaves out whatever the others explain as well.
Widths of tails (`badac.classes.population.tails`) lose nothing by it. The bandwidths of a kernel density do (asteroids of
`benchmarks/default.py`, seeds 500 to 509: log-loss +.0014 +- .0007), and keep theirs.
"""

from __future__ import annotations

import numpy as np

from badac.data.validation import BoolArray
from badac.training import FloatArray

_SETTLED = 1e-6  # of a weight
# Nats of all objects together that one more density must gain: half of what a free number gains by chance (Akaike 1973).
_WORTH_A_TERM = 0.5
_LEAST = 1e-300  # of a density, beside the largest


def best_weights(log_evidence: FloatArray, *, steps: int = 200, prior: float | None = None) -> FloatArray:
    """Mixture weights (h,) that maximise the summed log evidence of (n, h), by EM.

    One prior member is spread evenly, or each has `prior` of one.
    """
    n, width = log_evidence.shape
    prior = 1.0 / width if prior is None else prior
    weights = np.full(width, 1.0 / width)
    relative = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    for _ in range(steps):
        share = weights * ((1.0 / (relative @ weights)) @ relative)
        before, weights = weights, (share + prior) / (n + width * prior)
        if np.abs(weights - before).max() < _SETTLED:
            break
    return np.asarray(weights)


def fewest(log_evidence: FloatArray, weights: FloatArray, needed: BoolArray) -> BoolArray:
    """Return (h,): which densities to keep, so that objects with log evidence (n, h) lose next to nothing.

    One after the other leaves, and its weight goes to the next one before or after it, while that costs less than half a nat of
    all objects together for each that has left; those that are `needed` (h,) stay.
    """
    relative = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    kept, weights = weights > 0.0, weights.copy()

    def summed(density: FloatArray) -> float:
        # An object that none of those left explains is as impossible as any.
        return float(np.log(np.maximum(density, _LEAST)).sum())

    total, left = summed(relative @ weights), 0
    while True:
        tried: list[tuple[float, int, int]] = []
        places = np.flatnonzero(kept)
        for number, place in enumerate(places.tolist()):
            if needed[place]:
                continue
            for other in places[max(number - 1, 0) : number + 2].tolist():
                if other != place:
                    moved = weights[place] * (relative[:, other] - relative[:, place])
                    tried.append((summed(relative @ weights + moved), place, other))
        if not tried:
            return kept
        found, place, other = max(tried)
        if found < total - _WORTH_A_TERM * (left + 1):
            return kept
        weights[other] += weights[place]
        weights[place], kept[place], left = 0.0, False, left + 1

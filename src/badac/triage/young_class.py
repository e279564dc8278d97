"""A young class: what objects that a person put together are like, from the first example on.

The stream's conjugate prior (`badac.stream.new_class_prior`) in the space of `badac.triage.positions`, where directions are
independent. One example says where a class is, not how much its members differ; that is averaged over a few shares ``h`` of the
spread of all objects, whose weights the members learn:

    z_i = c + u_i ,   c ~ N(0, b (1 - h)) ,   u_i ~ N(0, h) ,   place_i ~ N(z_i, variance_i)        in each direction

with ``b`` = 2, or as far as the members are. A member joins by adding to sums, so a statement is taken back as easily as it
was made. The evidence for all objects is one pass: a division and a product for each direction, one logarithm an object and
share (`log_normal`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.triage.positions import Positions

FloatArray = npt.NDArray[np.float64]

# As those of the stream (`badac.stream.new_class_prior`), but for the last: there the same smoothness only, here anything.
SHARES = (0.02, 0.1, 0.4, 0.98)
ALIKE = 0.1
"""Share of the spread of all objects by which two that are alike may differ."""

_BETWEEN = 2.0
_LEAST_WEIGHT = 1e-3  # of a share: less changes no evidence by more than a thousandth
_LOG_2PI = float(np.log(2.0 * np.pi))
_KERNELS = 300  # objects that the density of all is made of
_WIDTH = 0.5  # of a kernel, in units of the spread of all objects
_BLOCK = 8192  # block size: the arrays of one pass stay in the cache


@dataclass(frozen=True, eq=False)
class YoungClass:
    """What the next member is expected to be: weights (h,), means (h, r) and variances (h, r), noise not included."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray
    log_evidence_of_members: float

    @classmethod
    def of(cls, members: Positions) -> YoungClass:
        """Return the class of some members (k of them, in any order)."""
        weights, means, variances = [], [], []
        # New kinds may be far from everything known: the prior of the centre reaches as far as the members are.
        between = np.maximum(_BETWEEN, (members.place**2).mean(axis=0))
        for share in SHARES:
            within = share + members.variance
            prior = between * (1.0 - share)
            precision = 1.0 / prior + (1.0 / within).sum(axis=0)
            shift = (members.place / within).sum(axis=0)
            quadratic = (members.place**2 / within).sum() - (shift**2 / precision).sum()
            log_det = np.log(within).sum() + np.log(precision * prior).sum()
            weights.append(-0.5 * (quadratic + log_det + members.place.size * _LOG_2PI))
            means.append(shift / precision)
            variances.append(1.0 / precision + share)
        log_weights = np.array(weights)
        top = log_weights.max()
        share_of = np.exp(log_weights - top)
        total = float(top + np.log(share_of.mean()))
        kept = share_of > _LEAST_WEIGHT
        share_of = share_of[kept] / share_of[kept].sum()
        return cls(share_of, np.array(means)[kept], np.array(variances)[kept], total)

    def log_evidence(self, objects: Positions) -> FloatArray:
        """Return (n,): log P(object | the members so far)."""
        out = np.empty(len(objects))
        for start in range(0, len(objects), _BLOCK):
            block = slice(start, start + _BLOCK)
            place, noise = objects.place[block], objects.variance[block]
            terms = [
                np.log(weight) + log_normal(place, mean, variance + noise)
                for weight, mean, variance in zip(self.weights, self.means, self.variances, strict=True)
            ]
            out[block] = np.logaddexp.reduce(terms) if len(terms) > 1 else terms[0]
        return out


def log_normal(place: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Log density (n,) of places (n, r) under independent normals of mean (r,) and variance (n, r).

    One logarithm of a product in place of r logarithms: variances lie between 0.02 and about 1e3, so that the product of a
    dozen is far from the ends of the doubles.
    """
    away = place - mean
    quadratic = np.einsum("ij,ij->i", away, away / variance)
    return np.asarray(-0.5 * (quadratic + np.log(variance.prod(axis=1)) + place.shape[1] * _LOG_2PI))


def log_background(new: Positions) -> FloatArray:
    """Return (n,): log density of objects of any kind at the places of the new ones, each seen with its own noise.

    Kernels around a sample of the objects, a Gaussian around all of them, and a wide one, so that nothing is impossible.
    """
    step = max(1, -(-len(new) // _KERNELS))
    centres = np.arange(0, len(new), step)
    out = np.empty(len(new))
    for start in range(0, len(new), 2048):
        block = np.arange(start, min(start + 2048, len(new)))
        place, noise = new.place[block], new.variance[block]
        terms = np.full((len(block), len(centres)), -np.inf)
        for column, centre in enumerate(centres):
            other = block != centre
            variance = _WIDTH**2 + noise + new.variance[centre]
            terms[other, column] = log_normal(place, new.place[centre], variance)[other]
        near = _log_mean(terms)
        origin = np.zeros(place.shape[1])
        all_of_them, wide = log_normal(place, origin, 1.0 + noise), log_normal(place, origin, 9.0 + noise)
        parts = [near + np.log(0.6), all_of_them + np.log(0.3), wide + np.log(0.1)]
        out[block] = np.logaddexp.reduce(parts)
    return out


def _log_mean(terms: FloatArray) -> FloatArray:
    top = terms.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(terms - safe[:, None]).mean(axis=1)))

"""A known class at any points: a Gaussian process over curves, with a few widths of its remainder.

At an object's points it is ``N(c , K_s)``: the mean curve there, and the covariance of the process
(`badac.latent.process`) with its remainder widened ``s`` times, noise included. A class model that is no process
(the exact instances, ...) is described by one that is learned from the members.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from badac.anomalies.model import FloatArray, Known
from badac.classes.auto import Auto
from badac.classes.gp import GaussianProcess
from badac.classes.irregular import IrregularPopulation
from badac.classes.model import ClassModel
from badac.data.validation import IntArray
from badac.latent.mixture import Mixture
from badac.latent.process import Block, Curve, Process, covariance, scaled
from badac.noise.model import noise_of_class
from badac.registry import registered

_LOG_2PI = float(np.log(2.0 * np.pi))


@registered("part")
@dataclass(frozen=True, eq=False)
class OwnClass:
    """A known class at any points.

    Attributes
    ----------
    process : Process
        What widens with the width: the remainder, and factors if they do.
    curve : Curve
        The mean.
    fixed : (q, f)
        Factors that do not widen: the uncertainty of the mean curve, and a population's own.
    log_shares : (s,)
        Of the widths.
    log_prior : float
        Of the class.
    """

    process: Process
    curve: Curve
    fixed: FloatArray
    log_shares: FloatArray
    log_prior: float

    def at_width(self, width: float) -> Process:
        """Return the whole process with its remainder widened."""
        wider = scaled(self.process, width)
        return replace(wider, factors=np.hstack([self.fixed, wider.factors]))

    def see(self, block: Block, width: float) -> Seen:
        """Return a block of objects as the class of this width sees them."""
        process = self.at_width(width)
        features = block.features(process.basis)
        full, _, _ = covariance(process, block, features)
        mean = self.curve.origin + features @ self.curve.coefficients
        return Seen.of(block, np.where(block.seen, block.values - mean, 0.0), full)


@dataclass(frozen=True, eq=False)
class Seen:
    """Residuals (b, p) of a block of objects under a Gaussian of this covariance (b, p, p), and log densities (b,)."""

    residual: FloatArray
    full: FloatArray
    root: FloatArray
    white: FloatArray
    log_evidence: FloatArray

    @classmethod
    def of(cls, block: Block, residual: FloatArray, full: FloatArray) -> Seen:
        root = np.asarray(np.linalg.cholesky(full), dtype=np.float64)
        white = np.asarray(np.linalg.solve(root, residual[..., None])[..., 0], dtype=np.float64)
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        offset = (white**2).sum(axis=1) + log_det + block.seen.sum(axis=1) * _LOG_2PI
        return cls(residual, full, root, white, -0.5 * offset)

    def taken(self, rows: IntArray) -> Seen:
        """Return some of the objects as they were seen."""
        return Seen(*(getattr(self, field.name)[rows] for field in fields(self)))


def own_class(known: Known, index: int, model: ClassModel, rng: np.random.Generator) -> OwnClass:
    """Return class `index` at any points: its own process, or one that is learned from its members."""
    chosen = model.chosen if isinstance(model, Auto) else model
    if not isinstance(chosen, GaussianProcess | IrregularPopulation):
        members, noise = known.training[known.label == index], noise_of_class(known.noise, index)
        chosen = GaussianProcess().fit(members, noise, rng, known.scales)
    process, curve, log_shares = chosen.process, chosen.curve, chosen.log_shares
    assert process is not None and curve is not None and log_shares is not None, "fit first"
    log_prior = float(known.log_prior[index])
    if isinstance(chosen, GaussianProcess):
        uncertainty = np.linalg.cholesky(np.linalg.inv(curve.precision))
        return OwnClass(process, curve, uncertainty, log_shares, log_prior)
    assert chosen.factors is not None
    # The population as one Gaussian: what is left of its shape after that is not a matter of being strange.
    mean, spread = np.zeros(chosen.factors.shape[1]), np.eye(chosen.factors.shape[1])
    if isinstance(chosen.density, Mixture):
        weights, means = chosen.density.weights, chosen.density.means
        mean = weights @ means
        spread = np.tensordot(weights, chosen.density.covariances, axes=1)
        spread = spread + (weights[:, None] * (means - mean)).T @ (means - mean)
    own = chosen.factors @ np.linalg.cholesky(spread)
    moved = replace(curve, coefficients=curve.coefficients + chosen.factors @ mean)
    blank = replace(process, factors=process.factors[:, :0])
    return OwnClass(blank, moved, np.hstack([process.factors, own]), log_shares, log_prior)


def taken(block: Block, rows: IntArray) -> Block:
    """Return some of the objects of a block."""
    return Block(
        block.rows[rows],
        block.values[rows],
        block.variance[rows],
        block.at[rows],
        block.band[rows],
        block.seen[rows],
        None if block.extra is None else block.extra[rows],
    )

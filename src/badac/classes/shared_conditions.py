"""Training objects that were observed together and share a part of their errors: inter-instance correlation.

    y_i = truth_i + F u_b(i) + noise_i ,      u_b ~ N(0, sigma^2 I)  for each batch b (night, plate, run)

so the covariance between two members of a batch is ``sigma^2 F F'`` (the paper's appendix; features x instances: ``F F'`` times
one where two instances share a batch). Under a flat prior on the true values nothing can be learned from it: only its
diagonal survives, as a larger error bar. With a population prior the members of a batch tell of their common part, whatever
their classes: with ``S_i = factors factors' + diag psi + Sigma_i`` of each member's class,

    u_b | data ~ N(m_b, P_b^-1),    P_b = I / sigma^2 + F' (sum_i S_i^-1) F ,    P_b m_b = F' sum_i S_i^-1 (y_i - mean)

Classes and common parts are found in turn, and ``sigma`` by EM. What comes back are the objects with ``F m_b`` subtracted
and the variance of what is left unknown added to their error bars; every class model takes them from there. With b batches
only a share ``1 - 1 / sqrt(b)`` is subtracted: what all batches have in common by chance cannot be told from the classes, so
the classes keep that much scatter. Use it where batches are many and have many members: their common part would otherwise
be learned as variability of the classes, which new objects, observed under other conditions, do not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac._kernels.eigen import eigh
from badac._kernels.latent import inverse
from badac.classes.model import FloatArray, refuse_own_points
from badac.classes.population.rank import choose_rank
from badac.data.measurements import Measurements
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.likelihood import weigh
from badac.latent.moments import Spectrum
from badac.training import TrainingScales

_ROUNDS = 4  # of classes and common parts in turn
_STEPS = 25  # of the EM for one number
_SMOOTH_LENGTH = 0.15  # of the coordinate's range: a seventh, as `structure` says
_NEGLIGIBLE = 1e-4  # of the largest variance of a shape


@dataclass(frozen=True, eq=False)
class SharedConditions:
    """What the members of each batch had in common.

    Attributes
    ----------
    objects : Measurements
        (n, m): the objects without it but for one part in sqrt(b), in their order; error bars hold what is not known of it.
    batches : (b,)
        Labels of the batches, sorted.
    common, error : (b, m)
        The common part of each batch, and its standard deviation: with few batches mostly the mean of all of them, which
        the classes take for their own.
    sigma : float
        Standard deviation of the coefficients of the common part, given or learned.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import separate_conditions
    >>> rng = np.random.default_rng(0)
    >>> night = np.repeat(np.arange(20), 10)
    >>> off = rng.normal(0.0, 0.5, 20)
    >>> curves = Measurements(off[night][:, None] + 0.1 * rng.standard_normal((200, 8)), 0.1)
    >>> found = separate_conditions(curves, np.zeros(200), night, structure="constant", rng=rng)
    >>> bool(found.objects.values.std() < curves.values.std())  # what the nights had in common is gone
    True
    """

    objects: Measurements
    batches: npt.NDArray[Any]
    common: FloatArray
    error: FloatArray
    sigma: float


def separate_conditions(
    objects: Measurements,
    label: Sequence[Any] | npt.NDArray[Any],
    batch: Sequence[Any] | npt.NDArray[Any],
    *,
    structure: str | FloatArray = "smooth",
    sigma: float | None = None,
    rng: np.random.Generator | None = None,
) -> SharedConditions:
    """Find and subtract what training objects of the same batch have in common beyond their classes.

    Parameters
    ----------
    objects : Measurements
        (n, m), on a common grid, with independent errors besides the common part.
    label, batch : (n,)
        Class and batch of each object; a batch may hold any classes.
    structure : {"smooth", "constant", "independent"} or (m, q) array
        The shapes ``F`` that a common part is made of: curves that vary over about a seventh of the coordinate's range, one
        number for all points, one number for each point, or shapes of your own.
    sigma : float, optional
        Standard deviation of their coefficients; learned if not given. For the three words it is that of the common part
        at each point.
    rng : numpy.random.Generator, optional

    Returns
    -------
    SharedConditions

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import separate_conditions
    >>> rng = np.random.default_rng(0)
    >>> night = np.repeat(np.arange(20), 10)
    >>> off = rng.normal(0.0, 0.5, 20)
    >>> curves = Measurements(off[night][:, None] + 0.1 * rng.standard_normal((200, 8)), 0.1)
    >>> found = separate_conditions(curves, np.zeros(200), night, structure="constant", rng=rng)
    >>> bool(np.corrcoef(found.common.mean(axis=1), off)[0, 1] > 0.99)
    True
    """
    refuse_own_points(objects, "separate_conditions")
    if objects.counted:
        raise ValueError(
            f"separate_conditions subtracts, and counts share a factor on their exposures: got {objects!r}. Use "
            "separate_exposures(objects, label, batch)."
        )
    if objects.covariance is not None:
        raise ValueError("separate_conditions takes objects with independent errors: got a `covariance`.")
    label, batch = np.asarray(label), np.asarray(batch)
    for name, given in (("label", label), ("batch", batch)):
        if given.shape != (objects.n_objects,):
            raise ValueError(f"`{name}` must be one per object, ({objects.n_objects},): got {given.shape}.")
    shapes = common_shapes(structure, objects)
    rng = np.random.default_rng(0) if rng is None else rng
    scales = TrainingScales.of(objects)
    batches, member_of = np.unique(batch, return_inverse=True)
    classes = [np.flatnonzero(label == name) for name in np.unique(label)]
    width = float(np.sqrt((scales.scale**2).mean())) if sigma is None else sigma
    ranks = [choose_rank(objects[rows], scales, rng)[0] for rows in classes]
    corrected, mean, covariance = objects, np.zeros((len(batches), shapes.shape[1])), np.empty(0)
    for _ in range(_ROUNDS):
        precision = np.zeros((len(batches), shapes.shape[1], shapes.shape[1]))
        right = np.zeros((len(batches), shapes.shape[1]))
        for rows, rank in zip(classes, ranks, strict=True):
            factor = learned_factor(corrected[rows], scales, rank)
            add_information(objects[rows], member_of[rows], factor, shapes, precision, right)
        if sigma is None:
            width = learned_width(precision, right, width)
        mean, covariance = coefficients(precision, right, width)
        corrected = without_common(objects, member_of, shapes, mean, covariance)
    spread = np.einsum("ma,bac,mc->bm", shapes, covariance, shapes, optimize=True)
    # What all batches have in common by chance cannot be told from the classes themselves.
    spread = spread + width**2 * (shapes**2).sum(axis=1) / len(batches)
    return SharedConditions(corrected, batches, mean @ shapes.T, np.sqrt(spread), float(width))


def common_shapes(structure: str | FloatArray, objects: Measurements) -> FloatArray:
    """Return (m, q): the shapes of a common part, of variance one at each point for the three words."""
    m = objects.n_points
    if not isinstance(structure, str):
        shapes = np.asarray(structure, dtype=np.float64)
        if shapes.ndim != 2 or len(shapes) != m or not np.isfinite(shapes).all():
            raise ValueError(f"`structure` must hold finite shapes, ({m}, q): got shape {shapes.shape}.")
        return shapes
    if structure == "constant":
        return np.ones((m, 1))
    if structure == "independent":
        return np.eye(m)
    if structure != "smooth":
        raise ValueError(
            f"`structure` must be 'smooth', 'constant', 'independent' or shapes (m, q): got {structure!r}."
        )
    at = np.arange(m, dtype=np.float64) if objects.at is None else objects.at
    length = _SMOOTH_LENGTH * max(float(at.max() - at.min()), 1e-300)
    values, vectors = eigh(np.exp(-0.5 * ((at[:, None] - at) / length) ** 2))
    kept = values > _NEGLIGIBLE * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def learned_factor(members: Measurements, scales: TrainingScales, rank: int) -> Factor:
    """Factor model of a class, its members' errors known."""
    factor = Spectrum.of(members, scales, max(rank, 1)).factor(rank)
    return expectation_maximisation(members, factor, scales, max_steps=8) if rank else factor


def add_information(
    members: Measurements,
    member_of: npt.NDArray[np.int64],
    factor: Factor,
    shapes: FloatArray,
    precision: FloatArray,
    right: FloatArray,
) -> None:
    """Add what the members of one class say of the common parts of their batches to precision (b, q, q) and right (b, q)."""
    for index in np.unique(member_of):
        weight, residual = weigh(members[member_of == index], factor.mean, factor.psi)
        scaled = weight * residual
        # S^-1 = D - D W G W' D with D = diag weight and G = (I + W' D W)^-1 (Woodbury).
        loaded = weight[:, :, None] * factor.factors
        gain = inverse(factor.factors.T @ loaded + np.eye(factor.rank))
        seen = loaded.transpose(0, 2, 1) @ shapes
        position = (gain @ (scaled @ factor.factors)[..., None])[..., 0]
        precision[index] += (shapes.T * weight.sum(axis=0)) @ shapes
        precision[index] -= np.einsum("nra,nrs,nsb->ab", seen, gain, seen, optimize=True)
        right[index] += scaled.sum(axis=0) @ shapes - np.einsum("nr,nra->a", position, seen)


def coefficients(precision: FloatArray, right: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Posterior mean (b, q) and covariance (b, q, q) of the coefficients of each batch."""
    # In units of the width, so that a width of zero is one too.
    size = precision.shape[-1]
    covariance = np.asarray(width**2 * np.linalg.inv(np.eye(size) + width**2 * precision), dtype=np.float64)
    return (covariance @ right[..., None])[..., 0], covariance


def learned_width(precision: FloatArray, right: FloatArray, width: float) -> float:
    """Standard deviation of the coefficients by EM, from where it was."""
    for _ in range(_STEPS):
        mean, covariance = coefficients(precision, right, width)
        expected = (mean**2).sum() + np.trace(covariance, axis1=1, axis2=2).sum()
        width = float(np.sqrt(expected / mean.size))
    return width


def without_common(
    objects: Measurements,
    member_of: npt.NDArray[np.int64],
    shapes: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
) -> Measurements:
    """Return the objects with the common part of their batch subtracted and its uncertainty in their error bars."""
    objects.refuse_counts()
    spread = np.einsum("ma,bac,mc->bm", shapes, covariance, shapes, optimize=True)
    # The mean over all batches, known to sigma / sqrt(b) only, is taken for the classes' own. That share of each batch's part
    # stays, so that the classes learn it as scatter and new objects may differ by it.
    share = 1.0 - 1.0 / np.sqrt(len(mean))
    return objects._changed(
        values=objects.values - share * (mean @ shapes.T)[member_of],
        sigma=np.sqrt(objects.sigma**2 + spread[member_of]),
        covariance=None,
        has_errors=True,
    )

"""The laws of a class model."""

from __future__ import annotations

from functools import cache
from typing import Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from badac.checks.law import (
    Leniency,
    broken,
    check_close,
    keep_all,
    nodes_of_point,
    possible_values,
    scaled,
    with_values,
)
from badac.checks.noise_use import check_noise_use
from badac.classes.model import ClassModel
from badac.data.measurements import Measurements
from badac.noise.model import Noise, needs_sigma

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def check_class_model(
    model: ClassModel,
    members: Measurements,
    objects: Measurements,
    noise: Noise,
    rng: np.random.Generator,
    **lenient: Unpack[Leniency],
) -> tuple[str, ...]:
    """Check the laws of a class model.

    Parameters
    ----------
    model : ClassModel
        Not fitted.
    members : Measurements
        (k, m), k >= 4: what it learns from.
    objects : Measurements
        (n, m), n >= 2: what it is asked about.
    noise : Noise
    rng : numpy.random.Generator
        Only its spawned children are used, so that repeated fits see the same randomness.
    skip : names of laws that do not apply
    tolerance : float
        Of log evidences that should agree, absolute; 1e-6 if not given. Iterated fits need more.

    Returns
    -------
    tuple of str
        Names of the laws that were checked.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.checks import check_class_model
    >>> from badac.classes import Template
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> objects = Measurements(0.1 * rng.standard_normal((20, 3)), 0.1)
    >>> len(check_class_model(Template(), objects, objects[:4], Gaussian(), rng)) > 2
    True
    """
    tolerance = lenient.get("tolerance", 1e-6)
    seed = int(rng.integers(2**31))

    def fit(data: Measurements, under: Noise = noise) -> ClassModel:
        return model.fit(data, under, np.random.default_rng(seed))

    fitted = fit(members)
    evidence = fitted.log_evidence(objects)
    order = np.random.default_rng(seed + 1).permutation(members.n_objects)

    @cache
    def turned() -> ClassModel:
        """Learned from the members in another order, once for the laws that ask for it."""
        return fit(members[order])

    def fit_or_fitted(data: Measurements, under: Noise) -> ClassModel:
        return fitted if data is members and under is noise else fit(data, under)

    laws = {
        "shapes": lambda: _class_shapes(fitted, evidence, members, objects),
        "nothing measured, nothing learned": lambda: check_close(
            "nothing measured, nothing learned",
            fitted.log_evidence(with_values(objects, np.full(objects.shape, np.nan))),
            np.zeros(objects.n_objects),
            atol=tolerance,
        ),
        "objects do not see each other": lambda: check_close(
            "objects do not see each other",
            np.concatenate([fitted.log_evidence(objects[row]) for row in range(objects.n_objects)]),
            evidence,
            atol=max(tolerance, 1e-9),
        ),
        "threads change nothing": lambda: check_close(
            "threads change nothing",
            fitted.log_evidence(objects, n_threads=2),
            evidence,
            atol=max(tolerance, 1e-9),
        ),
        "order of members": lambda: check_close(
            "order of members", turned().log_evidence(objects), evidence, atol=tolerance
        ),
        "order of members left out": lambda: check_close(
            "order of members left out",
            turned().leave_one_out(),
            fitted.leave_one_out()[order],
            atol=tolerance,
        ),
        "scaling": lambda: check_close(
            "scaling",
            fit(scaled(members, 3.0)).log_evidence(scaled(objects, 3.0)),
            evidence - objects.observed.sum(axis=1) * np.log(3.0),
            atol=tolerance,
        ),
        "a density integrates to one": lambda: _class_integral(fitted, objects, noise),
        "the noise that was given is used": lambda: check_noise_use(fit_or_fitted, members, objects, noise),
    }
    return keep_all(laws, lenient.get("skip", ()), () if needs_sigma(noise) else ("scaling",))


def _class_shapes(
    model: ClassModel, evidence: FloatArray, members: Measurements, objects: Measurements
) -> None:
    if evidence.shape != (objects.n_objects,) or np.isnan(evidence).any():
        raise broken("shapes", f"log_evidence of shape {evidence.shape}, or NaN", (objects.n_objects,))
    left_out = model.leave_one_out()
    if left_out.shape != (members.n_objects,) or np.isnan(left_out).any():
        raise broken("shapes", f"leave_one_out of shape {left_out.shape}, or NaN", (members.n_objects,))


def _class_integral(model: ClassModel, objects: Measurements, noise: Noise) -> None:
    nodes, weight = nodes_of_point(noise, objects, 0)
    values = np.full((len(nodes), objects.n_points), np.nan)
    values[:, 0] = nodes
    grid = with_values(objects[np.zeros(len(nodes), dtype=np.int64)], values)
    possible = possible_values(noise, grid[:1], nodes, 0)
    total = float(np.exp(logsumexp(model.log_evidence(grid[possible]), b=weight[possible])))
    if abs(total - 1.0) > 1e-2:
        raise broken("a density integrates to one", f"{total:.5f} at point 0", "1 +- 0.01")

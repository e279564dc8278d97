"""The laws of an anomaly model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np
import numpy.typing as npt

from badac.anomalies.model import AnomalyModel, Known
from badac.checks.law import Leniency, broken, check_close, keep_all, with_values
from badac.data.measurements import Measurements
from badac.evidence import log_evidence
from badac.posterior import log_total

FloatArray = npt.NDArray[np.float64]

# Distances from the training objects, in ranges of their values: a nearer and a farther one.
_PUSHES = ((8.0, 16.0), (16.0, 64.0), (64.0, 256.0))


def check_anomaly_model(
    model: AnomalyModel,
    known: Known,
    objects: Measurements,
    rng: np.random.Generator,
    **lenient: Unpack[Leniency],
) -> tuple[str, ...]:
    """Check the laws of an anomaly model.

    Parameters
    ----------
    model : AnomalyModel
        Not fitted.
    known : Known
        The fitted known classes, their members and priors.
    objects : Measurements
        (n, m), n >= 2: what it is asked about.
    rng : numpy.random.Generator
    skip : names of laws that do not apply
        "nothing measured, nothing learned" holds for densities, not for a constant height. "farther is never less strange"
        does not hold for a density around anomalies seen before.
    tolerance : float
        Of log evidences that should agree, absolute; 1e-6 if not given.

    Returns
    -------
    tuple of str
        Names of the laws that were checked.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.anomalies import Known, TopHat
    >>> from badac.checks import check_anomaly_model
    >>> from badac.classes import Template, TrainingScales
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> objects = Measurements(0.1 * rng.standard_normal((20, 5)), 0.1)
    >>> one = Template().fit(objects, Gaussian(), rng)
    >>> known = Known(objects, np.zeros(20, dtype=int), (one,), np.zeros(1), 0.01, Gaussian(), TrainingScales.of(objects))
    >>> len(check_anomaly_model(TopHat(), known, objects[:4], rng)) > 2
    True
    """
    tolerance = lenient.get("tolerance", 1e-6)
    seed = int(rng.integers(2**31))
    fitted, again = (model.fit(known, np.random.default_rng(seed)) for _ in range(2))

    def evidence(of: Measurements, under: AnomalyModel = fitted, n_threads: int = 1) -> FloatArray:
        return under.log_evidence(of, log_evidence(known.models, of), n_threads=n_threads)

    found = evidence(objects)

    def agrees(law: str, other: FloatArray) -> None:
        check_close(law, other, found, atol=tolerance)

    def nothing() -> None:
        blank = with_values(objects, np.full(objects.shape, np.nan))
        law = "nothing measured, nothing learned"
        check_close(law, evidence(blank), np.zeros(len(blank)), atol=tolerance)

    laws = {
        "shapes": lambda: _shapes(found, objects),
        "all randomness from rng": lambda: agrees("all randomness from rng", evidence(objects, again)),
        "objects do not see each other": lambda: agrees(
            "objects do not see each other",
            np.concatenate([evidence(objects[row]) for row in range(objects.n_objects)]),
        ),
        "threads change nothing": lambda: agrees("threads change nothing", evidence(objects, n_threads=2)),
        "nothing measured, nothing learned": nothing,
        "farther is never less strange": lambda: _farther(evidence, known, objects, tolerance),
    }
    return keep_all(laws, lenient.get("skip", ()), ())


def _farther(
    evidence: Callable[[Measurements], FloatArray], known: Known, objects: Measurements, tolerance: float
) -> None:
    """An object beyond all training objects, pushed farther away from them, never gets lower odds of an anomaly."""
    law, span = "farther is never less strange", max(known.scales.upper - known.scales.lower, 1e-12)
    one = objects[:1]
    for sign, edge in ((1.0, known.scales.upper), (-1.0, known.scales.lower)):
        for times in _PUSHES:
            near, far = (
                with_values(one, np.full(one.shape, edge + sign * span * factor)) for factor in times
            )
            odds = [
                float(evidence(each)[0] - log_total(log_evidence(known.models, each), known.log_prior)[0])
                for each in (near, far)
            ]
            if odds[1] < odds[0] - max(tolerance, 1e-9 * abs(odds[0])):
                raise broken(
                    law, f"log odds {odds[1]:.6g} {times[1]:g} ranges away", f"{odds[0]:.6g} or more"
                )


def _shapes(found: FloatArray, objects: Measurements) -> None:
    if found.shape != (objects.n_objects,) or np.isnan(found).any():
        raise broken("shapes", f"log_evidence of shape {found.shape}, or NaN", (objects.n_objects,))

"""The laws of an anomaly model."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import numpy.typing as npt

from badac.anomalies.model import AnomalyModel, Known
from badac.checks.law import Leniency, broken, check_close, keep_all, with_values
from badac.data.measurements import Measurements
from badac.evidence import log_evidence

FloatArray = npt.NDArray[np.float64]


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
        "nothing measured, nothing learned" holds for densities, not for a constant height.
    tolerance : float
        Of log evidences that should agree, absolute; 1e-6 if not given.

    Returns
    -------
    tuple of str
        Names of the laws that were checked.
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
    }
    return keep_all(laws, lenient.get("skip", ()), ())


def _shapes(found: FloatArray, objects: Measurements) -> None:
    if found.shape != (objects.n_objects,) or np.isnan(found).any():
        raise broken("shapes", f"log_evidence of shape {found.shape}, or NaN", (objects.n_objects,))

"""What the base models of a kind say of objects, all classes at once and in single precision.

The members themselves and every point on its own (`badac.calibration.stacking.base_models.kinds`) cost an object more than the
class models do, and count for less: their log evidence is softened and weighed. So it is known to a millionth of its size
(`badac._kernels.single`), where the class models keep their last digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from badac._kernels import curves_log_sums, points_log_sums
from badac._kernels.single import ClassCurves, ClassMixtures
from badac.calibration.coarsening import FloatArray
from badac.classes.instances import Instances
from badac.classes.pointwise import Pointwise
from badac.data.measurements import Measurements
from badac.evidence import GivesEvidence, log_evidence
from badac.noise.gaussian import with_one_width
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.model import Noise


def log_evidence_of_kind(
    models: Sequence[GivesEvidence], objects: Measurements, *, n_threads: int = 1
) -> FloatArray:
    """Return (n, k): log evidence of objects (n, m) under the models of k classes, to a millionth of its size.

    To the last digits where the models are not of one kind that is known here, or the noise has more than a sigma.
    """
    instances = [model for model in models if isinstance(model, Instances)]
    pointwise = [model for model in models if isinstance(model, Pointwise)]
    noise: Noise | None = getattr(models[0], "noise", None)
    one_kind = len(models) in (len(instances), len(pointwise))
    if not one_kind or noise is None or not _has_one_sigma(noise, objects):
        return log_evidence(models, objects, n_threads=n_threads)
    seen, own = objects.observed, with_one_width(objects, noise)
    values, variance = np.where(seen, own.values, 0.0), np.where(seen, own.sigma**2, np.inf)
    if pointwise:
        return points_log_sums(values, variance, mixtures_of(pointwise), n_threads=n_threads)
    curves = curves_of(instances)
    if curves is None:
        return log_evidence(models, objects, n_threads=n_threads)
    return curves_log_sums(values, variance, curves, n_threads=n_threads)


def _has_one_sigma(noise: Noise, objects: Measurements) -> bool:
    """Whether every point of the objects is Gaussian with an error bar of its own, and nothing else."""
    return kind_of(noise) is NoiseKind.GAUSSIAN and objects.covariance is None and not objects.counted


def curves_of(models: Sequence[Instances]) -> ClassCurves | None:
    """Return the curves of all classes; None where one of them has a covariance, or a point without any variance."""
    parts = []
    for model in models:
        assert model.curves is not None and model.noise is not None, "fit first"
        curves = with_one_width(model.curves, model.noise)
        if curves.covariance is not None or not (curves.sigma > 0.0).all():
            return None
        parts.append(curves)
    first = np.cumsum([0, *(len(part) for part in parts)])
    return ClassCurves(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.sigma for part in parts]) ** 2,
        first,
    )


def mixtures_of(models: Sequence[Pointwise]) -> ClassMixtures:
    """Return the Gaussians of all classes at every point (c, m, g); classes of fewer members have some without weight."""
    most = max(model.mixtures.values.shape[1] for model in models)

    def wide(array: FloatArray, filling: float) -> FloatArray:
        return np.pad(array, ((0, 0), (0, most - array.shape[1])), constant_values=filling)

    each = [model.mixtures for model in models]
    return ClassMixtures(
        np.stack([wide(one.values, 0.0) for one in each]),
        np.stack([wide(one.variance, 1.0) for one in each]),
        np.stack([wide(one.log_weights, -np.inf) for one in each]),
    )

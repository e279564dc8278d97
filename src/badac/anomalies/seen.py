"""Anomalies seen before: examples that are known to be strange are the anomaly's own members (paper, section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from badac.anomalies.model import FloatArray, Known
from badac.classes.instances import Instances
from badac.classes.model import ClassModel
from badac.data.measurements import Measurements
from badac.registry import registered


@registered("anomaly")
@dataclass(frozen=True, eq=False)
class Seen:
    """An anomaly class that is learned from examples, as any class is.

    Parameters
    ----------
    examples : Measurements
        (k, m), the anomalies seen before.
    model : ClassModel
        How they are turned into a density; the exact instances by default.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.anomalies import Seen
    >>> rng = np.random.default_rng(0)
    >>> known = Measurements(0.1 * rng.standard_normal((40, 5)), 0.1)
    >>> glitches = Measurements([[0.0, 0.0, 3.0, 0.0, 0.0], [0.0, 0.1, 2.9, 0.0, 0.0]], 0.1)
    >>> model = BADACClassifier("template", anomaly=Seen(glitches), random_state=0).fit(known, np.repeat([0, 1], 20))
    >>> bool(model.anomaly_proba(Measurements([[0.0, 0.0, 3.1, 0.0, 0.0]], 0.1))[0] > 0.5)
    True
    """

    examples: Measurements
    model: ClassModel = field(default=Instances())

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        if self.examples.n_points != known.training.n_points:
            raise ValueError(
                f"the anomalies seen before must have as many points as the training data, "
                f"{known.training.n_points}: got {self.examples.n_points}."
            )
        return replace(self, model=self.model.fit(self.examples, known.noise, rng, known.scales))

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        return self.model.log_evidence(objects, n_threads=n_threads)

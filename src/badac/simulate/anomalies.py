"""Compact anomalies: an ordinary curve with something small and local added somewhere.

    y = host(x) + A exp(-((x - u) / w)^2) ,   A ~ N(+-1.5, 0.5) ,  u ~ U(0, 1) ,  w ~ N(0.03, 0.01)

The host is a curve of class 0 with its own parameters (the paper's Experiment 2). Most of the object is
normal, so a score that sums over all points barely sees it: use these to test whether a method notices a
few strange points. Widths are treated as in `Bump`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from badac.simulate.curves import Bump, Curves, Sine
from badac.simulate.distributions import FloatArray, Normal, Uniform


@dataclass(frozen=True)
class CompactAnomaly:
    """A `host` curve plus a narrow `bump`; parameters are the host's, then the bump's."""

    host: Curves = field(default=Sine())
    bump: Bump = field(default=Bump(Normal(1.5, 0.5), Uniform(0.0, 1.0), Normal(0.03, 0.01)))

    @property
    def names(self) -> tuple[str, ...]:
        return self.host.names + self.bump.names

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.hstack([self.host.draw_parameters(n, rng), self.bump.draw_parameters(n, rng)])

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        of_host = len(self.host.names)
        return self.host.truth(parameters[:, :of_host], at) + self.bump.truth(parameters[:, of_host:], at)


EMISSION = CompactAnomaly()
"""The paper's upward compact anomaly, height ~ N(1.5, 0.5)."""

ABSORPTION = CompactAnomaly(bump=Bump(Normal(-1.5, 0.5), Uniform(0.0, 1.0), Normal(0.03, 0.01)))
"""The paper's downward compact anomaly, height ~ N(-1.5, 0.5)."""

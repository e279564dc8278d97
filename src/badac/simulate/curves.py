"""The paper's five families of curves: what the true, noiseless objects look like.

A family is a formula and a distribution for each of its parameters (the paper's table of functions):

    Sine      sin(w x)                              w ~ N(5, 2)                                       class 0
    Parabola  a x^2 + b x + c                       a, b ~ N(0.5, 0.2), c ~ N(0, 0.2)                 class 1
    Step      h for x <= x0, else 0                 h ~ N(1, 0.3), x0 ~ N(0.5, 0.2)                   outlier
    Bump      A exp(-((x - u) / w)^2)               A ~ N(0.5, 0.2), u ~ N(0.1, 0.05), w ~ N(1, 0.5)  outlier
    SineSum   0.2 sum of five sin(w_i x)            w_i ~ N(30, 20)                                   outlier

A compact anomaly is an ordinary curve with something small and local added somewhere (the paper's Experiment 2):

    y = host(x) + A exp(-((x - u) / w)^2) ,   A ~ N(+-1.5, 0.5) ,  u ~ U(0, 1) ,  w ~ N(0.03, 0.01)

The host is a curve of class 0 with its own parameters. Most of the object is normal, so a score that sums over all points
barely sees it: use these to test whether a method notices a few strange points.

Use them through `draw_curves`, or `experiment` for whole data sets. To add a family, write a frozen
dataclass with the three members of `Curves`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from badac.simulate.distributions import Distribution, FloatArray, Normal, Uniform


class Curves(Protocol):
    """A family of curves: named parameters, a way to draw them, and the truth that they stand for.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Sine
    >>> family = Sine()
    >>> family.names
    ('frequency',)
    >>> family.truth(np.array([[np.pi]]), np.array([0.0, 0.5])).round(3)
    array([[0., 1.]])
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each parameter, (p,)."""
        ...

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return parameters of `n` curves, (n, p)."""
        ...

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        """Return true values (n, m) of the curves with `parameters` (n, p) at the points `at` (m,)."""
        ...


def draw_curves(
    family: Curves, n: int, at: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw `n` true curves: their values (n, m) at the points `at` (m,), and their parameters (n, p).

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Sine, draw_curves
    >>> values, parameters = draw_curves(Sine(), 4, np.linspace(0, 1, 10), np.random.default_rng(0))
    >>> values.shape, parameters.shape
    ((4, 10), (4, 1))
    """
    parameters = family.draw_parameters(n, rng)
    return family.truth(parameters, at), parameters


@dataclass(frozen=True)
class Sine:
    """``sin(frequency * x)``: the paper's class 0.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Sine
    >>> Sine().truth(np.array([[np.pi]]), np.array([0.0, 0.5])).round(3)
    array([[0., 1.]])
    """

    frequency: Distribution = field(default=Normal(5.0, 2.0))

    @property
    def names(self) -> tuple[str, ...]:
        return ("frequency",)

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.frequency.draw((n, 1), rng)

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        return np.sin(parameters * at)


@dataclass(frozen=True)
class Parabola:
    """``quadratic * x^2 + linear * x + constant``: the paper's class 1.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Parabola
    >>> Parabola().truth(np.array([[0.5, 0.5, 0.0]]), np.array([0.0, 1.0]))
    array([[0., 1.]])
    """

    quadratic: Distribution = field(default=Normal(0.5, 0.2))
    linear: Distribution = field(default=Normal(0.5, 0.2))
    constant: Distribution = field(default=Normal(0.0, 0.2))

    @property
    def names(self) -> tuple[str, ...]:
        return ("quadratic", "linear", "constant")

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        return _columns(n, rng, self.quadratic, self.linear, self.constant)

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        return parameters @ self.basis(at).T

    @staticmethod
    def basis(at: FloatArray) -> FloatArray:
        """Columns ``x^2, x, 1``, (m, 3): the curve is linear in its parameters."""
        return np.column_stack([at**2, at, np.ones_like(at)])


@dataclass(frozen=True)
class Step:
    """`height` up to and including `edge`, zero beyond: an outlier of the paper.

    A drawn edge outside the range of ``x`` is kept: the curve is then flat, at zero or at `height`.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Step
    >>> Step().truth(np.array([[1.0, 0.5]]), np.array([0.0, 0.5, 1.0]))
    array([[1., 1., 0.]])
    """

    height: Distribution = field(default=Normal(1.0, 0.3))
    edge: Distribution = field(default=Normal(0.5, 0.2))

    @property
    def names(self) -> tuple[str, ...]:
        return ("height", "edge")

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        return _columns(n, rng, self.height, self.edge)

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        height, edge = parameters.T[..., None]
        return np.where(at <= edge, height, 0.0)


@dataclass(frozen=True)
class Bump:
    """``height * exp(-((x - centre) / width)^2)``: an outlier of the paper, and the part of its compact
    anomalies.

    The width enters squared, so a drawn negative width is the same curve as its absolute value and is kept
    as drawn. A width of exactly zero is the limit: `height` at the centre, zero elsewhere. A bump much
    narrower than the spacing of the points can fall between two of them and leave no trace.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Bump
    >>> Bump().truth(np.array([[0.5, 0.1, 1.0]]), np.array([0.1]))
    array([[0.5]])
    """

    height: Distribution = field(default=Normal(0.5, 0.2))
    centre: Distribution = field(default=Normal(0.1, 0.05))
    width: Distribution = field(default=Normal(1.0, 0.5))

    @property
    def names(self) -> tuple[str, ...]:
        return ("height", "centre", "width")

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        return _columns(n, rng, self.height, self.centre, self.width)

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        height, centre, width = parameters.T[..., None]
        offset = np.where(at == centre, 0.0, at - centre)
        # The smallest number stands in for a zero width, and exp(-inf) = 0 is then the limit that the class
        # promises.
        scale = np.maximum(np.abs(width), np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            return np.asarray(height * np.exp(-((offset / scale) ** 2)))


@dataclass(frozen=True)
class SineSum:
    """``amplitude`` times the sum of `n_sines` sines of independent frequencies: an outlier of the paper.

    Examples
    --------
    >>> from badac.simulate import SineSum
    >>> len(SineSum(n_sines=3).names)
    3
    """

    frequency: Distribution = field(default=Normal(30.0, 20.0))
    n_sines: int = 5
    amplitude: float = 0.2

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"frequency_{i}" for i in range(1, self.n_sines + 1))

    def draw_parameters(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.frequency.draw((n, self.n_sines), rng)

    def truth(self, parameters: FloatArray, at: FloatArray) -> FloatArray:
        return np.asarray(self.amplitude * np.sin(parameters[:, :, None] * at).sum(axis=1))


def _columns(n: int, rng: np.random.Generator, *distributions: Distribution) -> FloatArray:
    """One column of independent draws per distribution, (n, p)."""
    return np.column_stack([distribution.draw(n, rng) for distribution in distributions])


@dataclass(frozen=True)
class CompactAnomaly:
    """A `host` curve plus a narrow `bump`; parameters are the host's, then the bump's.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import EMISSION, draw_curves
    >>> draw_curves(EMISSION, 2, np.linspace(0, 1, 10), np.random.default_rng(0))[0].shape
    (2, 10)
    """

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

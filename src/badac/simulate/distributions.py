"""What a simulator draws its parameters from: a normal or a uniform distribution, as values that can be
changed.

The paper's table writes ``N(5, 2)`` for a normal distribution of mean 5 and standard deviation 2 (the
authors' released sample agrees: its frequencies scatter by 2.0). `Normal` and `Uniform` are those, with
their numbers as fields, so that every simulator here can be run with other ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class Distribution(Protocol):
    """Anything that draws real numbers with an explicit generator.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Distribution, Sine
    >>> class Always:
    ...     def draw(self, n, rng):
    ...         return np.full(n, 7.0)
    >>> Sine(Always()).draw_parameters(2, np.random.default_rng(0))
    array([[7.],
           [7.]])
    """

    def draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Return independent draws of the given `size`."""
        ...


@dataclass(frozen=True)
class Normal:
    """Normal distribution with a mean and a standard deviation; ``sd = 0`` is a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Normal
    >>> Normal(5.0, 0.0).draw(3, np.random.default_rng(0))
    array([5., 5., 5.])
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd >= 0.0):
            raise ValueError(
                f"a Normal needs a finite mean and a finite sd >= 0: got {self.mean} and {self.sd}."
            )

    def draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Return independent draws of the given `size`."""
        return self.mean + self.sd * rng.standard_normal(size)

    def draw_positive(self, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Draws above zero: what is not positive is drawn again, which is the normal distribution cut off
        at 0.

        For quantities that cannot be zero or negative, such as error bars. At the paper's ``N(0.1, 0.01)``
        the cut is ten standard deviations away and changes nothing.
        """
        if self.mean <= 0.0:
            # Half of the draws must survive: far out in the tail drawing again would not come to an end.
            raise ValueError(f"positive draws need a positive mean: got {self.mean}. Use a mean above 0.")
        drawn = self.draw(size, rng)
        rejected = drawn <= 0.0
        while np.any(rejected):
            drawn[rejected] = self.draw(int(rejected.sum()), rng)
            rejected = drawn <= 0.0
        return drawn


@dataclass(frozen=True)
class Uniform:
    """Uniform distribution between `low` and `high`.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import Uniform
    >>> bool(np.all(Uniform(2.0, 3.0).draw(100, np.random.default_rng(0)) >= 2.0))
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"a Uniform needs finite low <= high: got {self.low} and {self.high}.")

    def draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Return independent draws of the given `size`."""
        return rng.uniform(self.low, self.high, size)

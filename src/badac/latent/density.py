"""A density of latent positions, as a class model needs it: a mixture, or the members' own positions with a few bandwidths.

    P(d | class) = integral P(d | z) p(z) dz

`badac.latent.mixture.Mixture` and `badac.latent.kernel_density.KernelDensity` are those there are; `badac.latent.shape`
chooses between them by the evidence of held-out members. A density of your own needs these methods and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from badac.latent.likelihood import LatentLikelihood
from badac.training import FloatArray

if TYPE_CHECKING:
    from badac.latent.mixture import Mixture


class LatentDensity(Protocol):
    """What can be asked of a density of positions in r dimensions.

    Attributes
    ----------
    of_members : bool
        Whether it has a component for every member, so that whoever visits all of them wants a smaller one.

    Examples
    --------
    >>> from badac.latent import LatentDensity, Mixture
    >>> def dimensions(density: LatentDensity) -> int:
    ...     return density.moments()[0].size
    >>> dimensions(Mixture.standard(2))
    2
    """

    of_members: ClassVar[bool]

    def log_evidence(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d), the latent positions integrated over the density."""

    def leave_one_out(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d) of the members that it was learned from, each one's own part in it taken out."""

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean (r,) and covariance (r, r) of the positions."""

    def posterior(self, latent: LatentLikelihood) -> tuple[FloatArray, FloatArray]:
        """Mean (n, r) and covariance (n, r, r) of the objects' latent positions."""

    def position(self, latent: LatentLikelihood) -> FloatArray:
        """Mean (n, r) of the objects' latent positions, where their covariance is not asked for."""

    def proposal(self) -> Mixture:
        """Return a mixture near it of few components, for importance sampling to draw positions from."""

    def with_one_more(self, count: float) -> LatentDensity:
        """Return the density of a class of `count` members that reaches far out, as one more would: rare, not impossible."""

    def with_gaussian_dimensions(self, count: int) -> LatentDensity:
        """Return it with `count` more dimensions, each ``N(0, 1)`` and independent of the others."""

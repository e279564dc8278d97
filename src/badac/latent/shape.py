"""Which density the class has in its latent space: decided by the evidence of members that were held out.

The candidates go from simple to rich: the Gaussian itself, mixtures of more and more components
(`badac.latent.mixture`), and the members' own positions with a few bandwidths
(`badac.latent.kernel_density`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from badac.latent.density import LatentDensity
from badac.latent.kernel_density import KernelDensity
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, averaged, centres_to_start_from, deconvolve, grouped
from badac.registry import registered
from badac.threads import in_order
from badac.training import FloatArray

# Sizes to try, each twice the last; how far they grow with the class, and members to start from: by the log-loss of
# benchmarks/population.py on the paper's experiment 1 as released (1.09 times the limit's).
COMPONENTS = (2, 4, 8, 16, 32)
MOST_COMPONENTS = 40
_TO_START_WITH = 8000
_MEMBERS_PER_COMPONENT = 8  # fewer do not tell a covariance
_CURVES_UP_TO = 1000  # by cost: an object is compared with every member


@registered("part")
@dataclass(frozen=True)
class Shape:
    """A kind of density ("gaussian", "mixture" or "curves").

    Attributes
    ----------
    kind : str
    n_components, copies : int
        A mixture is the average of `copies` mixtures of `n_components` each.

    Examples
    --------
    >>> from badac.latent import Shape
    >>> Shape("mixture", 3).n_components
    3
    """

    kind: str
    n_components: int = 1
    copies: int = 1

    def __str__(self) -> str:
        return f"mixture of {self.n_components * self.copies}" if self.kind == "mixture" else self.kind

    def for_members(self, count: int, chosen_with: int) -> Shape:
        """Return the shape for a class of `count` members, chosen with fewer: components grow as the square root.

        Two mixtures learned from different starts and averaged explain new objects better than one of twice the size:
        what chance did to one of them, the other halves.
        """
        if self.kind != "mixture" or count <= chosen_with:
            return self
        more = max(min(self.n_components * np.sqrt(count / chosen_with), MOST_COMPONENTS), self.n_components)
        return Shape("mixture", round(more), 2 if count >= 2 * chosen_with else 1)

    def learn(
        self,
        latent: LatentLikelihood,
        rng: np.random.Generator,
        *,
        max_steps: int = 8,
        like: LatentDensity | None = None,
        count: int | None = None,
    ) -> LatentDensity:
        """Learn the density from the members' latent likelihoods, with a broad component as heavy as one member more.

        The bandwidths of curves weigh as in `like`, if given; `count` is the number of members where these are only some.
        """
        found = self._learned(latent, rng, max_steps, like)
        return found.with_one_more(len(latent) if count is None else count)

    def _learned(
        self, latent: LatentLikelihood, rng: np.random.Generator, max_steps: int, like: LatentDensity | None
    ) -> LatentDensity:
        if self.kind == "curves":
            weights = like.weights if isinstance(like, KernelDensity) else None
            return KernelDensity.of(latent, rng, weights=weights)
        if self.kind == "gaussian":
            return Mixture.standard(latent.rank)
        # What is drawn is drawn in order; the rest may be done side by side.
        starts = [self._start(latent, rng) for _ in range(self.copies)]
        return averaged(list(in_order(lambda start: _improved(latent, *start, max_steps), starts)))

    def _start(
        self, latent: LatentLikelihood, rng: np.random.Generator
    ) -> tuple[LatentLikelihood, FloatArray]:
        """Members to start with, and the centres of their groups."""
        # Far from the answer a few hundred members a component say all that the next step needs. No fewer: a start that
        # misses the rare members' components does not find them later.
        few = latent
        if len(latent) > 1.25 * _TO_START_WITH:
            few = latent[np.sort(rng.choice(len(latent), _TO_START_WITH, replace=False))]
        return few, centres_to_start_from(few, self.n_components, rng)


def _improved(
    latent: LatentLikelihood, few: LatentLikelihood, centres: FloatArray, max_steps: int
) -> Mixture:
    mixture = deconvolve(few, grouped(few, centres), max_steps=max_steps)
    return mixture if few is latent else deconvolve(latent, mixture, max_steps=3)


def candidates(n_members: int, least: int = 1) -> Iterator[Shape]:
    """Shapes with `least` components that a class of so many members can support, from simple to rich."""
    if least == 1:
        yield Shape("gaussian")
    for count in COMPONENTS:
        # A second search, at another rank, looks only at what the first one found.
        if least <= count <= min(n_members // _MEMBERS_PER_COMPONENT, least if least > 1 else n_members):
            yield Shape("mixture", count)


def choose_shape(
    members: LatentLikelihood,
    held_out: LatentLikelihood,
    rng: np.random.Generator,
    *,
    least: int = 1,
    curves: bool = True,
) -> tuple[Shape, dict[str, float]]:
    """Return the shape with the largest mean held-out log evidence, and that of every shape that was tried.

    A richer mixture must gain more than the standard error of its gain; two in a row that do not end the search, which
    begins at `least` components. Without `curves` the members' own positions are not tried.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, choose_shape
    >>> rng = np.random.default_rng(0)
    >>> positions = np.where(rng.random((200, 1)) < 0.5, -3.0, 3.0) + 0.3 * rng.standard_normal((200, 1))
    >>> both = Factor(np.zeros(1), np.ones((1, 1)), np.full(1, 1e-4))
    >>> seen, held_out = both.project(Measurements(positions[:150], 0.1)), both.project(Measurements(positions[150:], 0.1))
    >>> shape, tried = choose_shape(seen, held_out, rng)
    >>> shape.kind != "gaussian"
    True
    """
    tried: dict[str, float] = {}
    best, best_evidence = Shape("gaussian"), np.full(len(held_out), -np.inf)
    failures = 0
    for shape in candidates(len(members), least):
        evidence = shape.learn(members, rng, max_steps=6).log_evidence(held_out)
        tried[str(shape)] = float(evidence.mean())
        if is_better(evidence, best_evidence):
            best, best_evidence, failures = shape, evidence, 0
        else:
            failures += 1
            if failures == 2:
                break
    if curves and 4 <= len(members) <= _CURVES_UP_TO:
        shape = Shape("curves")
        evidence = shape.learn(members, rng).log_evidence(held_out)
        tried[str(shape)] = float(evidence.mean())
        if is_better(evidence, best_evidence):
            best = shape
    return best, tried


def is_better(evidence: FloatArray, than: FloatArray) -> bool:
    """Whether held-out members (n,) gain more than the standard error of their gain (the one-standard-error rule).

    Anything is better than an empty array, or than -inf.
    """
    if not than.size or not np.isfinite(than).all():
        return True
    gain = evidence - than
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))

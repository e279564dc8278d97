"""Noise families compared by the evidence of members that were held out.

Each family is learned, with its parameters, from one half of the members of each class and asked about the other, and the
other way round. The difference of the log evidences is a log Bayes factor; its spread is the standard deviation of the sum
over the held-out members. A family other than the plain Gaussian must earn its parameters on members it has not seen.

    gaussian     the error bars hold
    scaled       all error bars are off by one factor
    outliers     a share of the points has error bars too small by a factor
    student      error bars are only estimates: Student-t tails
    correlated   neighbouring points move together in ways that no smooth curve of the class does
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.noise import AutoNoise, Noise
from badac.noise.model import AddedCovariance, OpenFamily
from badac.noise_learning.comparison import Comparison
from badac.noise_learning.half_by_half import FEWEST_POINTS, Asking, compare_halves, has_open_factor
from badac.noise_learning.halves import FEWEST, Halves
from badac.noise_learning.noise_em import FactorWithNoise, fit_factor_and_noise
from badac.noise_learning.variety import measure_variety
from badac.threads import each_apart
from badac.training import TrainingScales

IntArray = npt.NDArray[np.int64]

FAMILIES = tuple(AutoNoise().families())
_MEMBERS = 1000
# By cost: families that matter gain hundreds of nats among so many. `diagnose` names the same ones by 100. A covariance has
# many numbers to be learned: 300 members find that of Experiment 4 as printed in 6 of 12 sets (1,000 and 3,000 curves).
_MEMBERS_TO_COMPARE, _MEMBERS_FOR_A_COVARIANCE = 300, 600


def open_noise(family: str) -> Noise:
    """Return the noise of a family with all its parameters open."""
    return AutoNoise().families()[family]


def is_ordered(training: Measurements) -> bool:
    """Whether all objects have the same ordered points: only then can rough be told from smooth."""
    return training.at is not None and training.at.ndim == 1 and training.n_points >= FEWEST_POINTS


def compare_families(
    training: Measurements,
    label: IntArray,
    rng: np.random.Generator,
    *,
    ordered: bool | None = None,
    families: tuple[str, ...] | None = None,
    choice: OpenFamily | None = None,
    to_the_end: bool = True,
) -> Comparison:
    """Compare noise families on training objects (n, m) of classes label (n,), 0 to K-1.

    Parameters
    ----------
    ordered : bool, optional
        Whether the points have an order, as times or wavelengths do; by default, whether they have coordinates.
    families : names of families, optional
        All of the choice if not given. Those that add a covariance are left out where points have no order.
    choice : OpenFamily, optional
        What there is to choose from; `badac.noise.AutoNoise` if not given.
    to_the_end : bool
        Whether all families are asked of all members (`compare_halves`).

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise_learning import compare_families
    >>> rng = np.random.default_rng(0)
    >>> curves = Measurements(np.sin(np.linspace(0, 3, 15)) + 0.1 * rng.standard_normal((80, 15)), 0.1)
    >>> compare_families(curves, np.zeros(80, dtype=int), rng, families=("gaussian", "outliers")).best
    'gaussian'
    """
    offered = (AutoNoise() if choice is None else choice).families()
    noises = {name: offered[name] for name in (offered if families is None else families)}
    if ordered is None:
        # Only a covariance needs to know how smooth the classes are.
        ordered = is_ordered(training) and any(isinstance(one, AddedCovariance) for one in noises.values())
    scales = TrainingScales.of(training)
    classes = halves_of_classes(training, label, scales, rng)
    factor = None
    if classes and any(has_open_factor(one) for one in noises.values()):
        factor = measure_variety(classes.values()).factor
    return compare_halves(classes, noises, rng, Asking(ordered, to_the_end, factor))


def halves_of_classes(
    training: Measurements, label: IntArray, scales: TrainingScales, rng: np.random.Generator
) -> dict[int, Halves]:
    """Return halves of the members of each class that has enough of them, by the index of the class."""
    enough = np.flatnonzero(np.bincount(label) >= FEWEST).tolist()

    def halves(number: int, rng: np.random.Generator) -> Halves:
        members = training[label == enough[number]]
        return Halves.of(members, scales, rng, _MEMBERS_TO_COMPARE, _MEMBERS_FOR_A_COVARIANCE)

    return dict(zip(enough, each_apart(halves, len(enough), rng), strict=True))


def fit_class(
    training: Measurements,
    label: IntArray,
    index: int,
    noise: Noise,
    rng: np.random.Generator,
    *,
    basis: FloatArray | None = None,
    rank: int | None = None,
) -> FactorWithNoise | None:
    """Learn a factor model and open noise from (at most 1,000) members of one class; None if it has fewer than 20."""
    members = some_members(training, label, index, rng)
    if members is None:
        return None
    return fit_factor_and_noise(members, noise, TrainingScales.of(training), rng, basis=basis, rank=rank)


def some_members(
    training: Measurements, label: IntArray, index: int, rng: np.random.Generator
) -> Measurements | None:
    """Return at most 1,000 members of a class, at random; None if it has fewer than 20."""
    rows = rng.permutation(np.flatnonzero(label == index))[:_MEMBERS]
    return None if len(rows) < FEWEST else training[np.sort(rows)]

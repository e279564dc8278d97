"""The paper's four experiments as data: two normal classes to learn, and a test set with one percent of
outliers.

    1  Gaussian errors                  outliers: Step, Bump, SineSum
    2  Gaussian errors                  outliers: a sine with a compact bump up or down
    3  as 1, a fifth of the points has five times the reported error
    4  as 1, class 0 has errors with the wedding-cake covariance; reported is the independent part

The paper's text and the sample that its authors released disagree, so each comes in two settings:

    printed    sigma = 0.3 for class 0 and the outliers, 0.5 for class 1; Bump as in the paper's table
    released   sigma ~ N(0.1, 0.01) at each point of every object; Bump with A ~ N(1, 0.5), u ~ N(0.5, 0.2),
               w ~ N(0.1, 0.05): the table's three pairs of numbers, but each one row further, as the sample
               has them

Use `experiment` for the data. For variations take a `recipe`, replace fields, and call `draw_experiment`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.simulate.curves import (
    ABSORPTION,
    EMISSION,
    Bump,
    Curves,
    Parabola,
    Sine,
    SineSum,
    Step,
    draw_curves,
)
from badac.simulate.distributions import FloatArray, Normal
from badac.simulate.noise import bad_point_noise, gaussian_noise, wedding_cake_noise

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Setting = Literal["printed", "released"]


@dataclass(frozen=True)
class BadPoints:
    """A `share` of all points has `factor` times the reported error (Experiment 3).

    Examples
    --------
    >>> from badac.simulate import recipe
    >>> recipe(3).noise
    BadPoints(share=0.2, factor=5.0)
    """

    share: float = 0.2
    factor: float = 5.0


@dataclass(frozen=True)
class WeddingCake:
    """Objects of `kind` have correlated errors on top of the reported ones (Experiment 4).

    Examples
    --------
    >>> from badac.simulate import recipe
    >>> recipe(4).noise
    WeddingCake(kind=0, steps=5, height=0.1)
    """

    kind: int = 0
    steps: int = 5
    height: float = 0.1


@dataclass(frozen=True)
class Recipe:
    """How the objects of an experiment come about.

    Attributes
    ----------
    inliers : (Curves, ...)
        The known classes, labels 0, 1, ...: equally probable.
    anomalies : (Curves, ...)
        The outliers, with the labels after those; only in test sets, in equal numbers.
    sigma : (Normal, ...)
        Distribution of the reported error bars, one per label. What is not positive is drawn again.
    noise : None, BadPoints or WeddingCake
        How the errors differ from what is reported; None: they do not.

    Examples
    --------
    >>> from badac.simulate import recipe
    >>> [type(family).__name__ for family in recipe(1).inliers]
    ['Sine', 'Parabola']
    """

    inliers: tuple[Curves, ...]
    anomalies: tuple[Curves, ...]
    sigma: tuple[Normal, ...]
    noise: BadPoints | WeddingCake | None = None

    def __post_init__(self) -> None:
        if len(self.sigma) != len(self.families):
            raise ValueError(
                f"`sigma` must hold one distribution per kind: got {len(self.sigma)} for {len(self.inliers)} inlier "
                f"and {len(self.anomalies)} anomaly kinds."
            )

    @property
    def families(self) -> tuple[Curves, ...]:
        """Family of each label."""
        return self.inliers + self.anomalies


@dataclass(frozen=True, eq=False)
class Experiment:
    """Simulated training and test data, with everything that is known about them.

    Attributes
    ----------
    train, test : Measurements
        Noisy values with their reported sigma, at the points `at`.
    train_label, test_label : (n,) int
        Kind of each object: 0 and 1 are the known classes, 2 and up the anomalies (only in the test set).
    train_truth, test_truth : (n, m)
        Values without noise.
    train_parameters, test_parameters : (n, p)
        Parameters in the order of ``recipe.families[label].names``; NaN after the last.
    at : (m,)
        Coordinates of the points.
    recipe : Recipe
        How it was made.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import experiment
    >>> data = experiment(1, "released", n_train=20, n_test=10, contamination=0.2, rng=np.random.default_rng(0))
    >>> data.train
    Measurements(20 objects x 100 points, with sigma)
    >>> int(data.is_anomaly.sum())
    2
    """

    train: Measurements
    train_label: IntArray
    train_truth: FloatArray = field(repr=False)
    train_parameters: FloatArray = field(repr=False)
    test: Measurements
    test_label: IntArray
    test_truth: FloatArray = field(repr=False)
    test_parameters: FloatArray = field(repr=False)
    at: FloatArray = field(repr=False)
    recipe: Recipe = field(repr=False)

    @property
    def is_anomaly(self) -> BoolArray:
        """Whether a test object is an anomaly, (n,)."""
        return self.test_label >= len(self.recipe.inliers)


def experiment(
    number: int,
    setting: Setting = "printed",
    *,
    n_train: int = 15_000,
    n_test: int = 15_000,
    contamination: float = 0.01,
    n_points: int = 100,
    rng: np.random.Generator,
) -> Experiment:
    """One of the paper's experiments.

    Parameters
    ----------
    number : int
        1 to 4.
    setting : "printed" or "released"
        The paper's text, or the sample that its authors released.
    n_train, n_test, contamination, n_points, rng
        As in `draw_experiment`.

    Returns
    -------
    Experiment

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import experiment
    >>> data = experiment(1, "released", n_train=50, n_test=200, rng=np.random.default_rng(0))
    >>> data.test
    Measurements(200 objects x 100 points, with sigma)
    >>> int(data.is_anomaly.sum())
    2
    """
    return draw_experiment(
        recipe(number, setting),
        n_train=n_train,
        n_test=n_test,
        contamination=contamination,
        n_points=n_points,
        rng=rng,
    )


def recipe(number: int, setting: Setting = "printed") -> Recipe:
    """How the objects of Experiment `number` come about in the given setting.

    Examples
    --------
    >>> from badac.simulate import recipe
    >>> recipe(1, "released").sigma[0]
    Normal(mean=0.1, sd=0.01)
    """
    if setting == "printed":
        bump, usual, of_parabolas = Bump(), Normal(0.3, 0.0), Normal(0.5, 0.0)
    elif setting == "released":
        bump = Bump(Normal(1.0, 0.5), Normal(0.5, 0.2), Normal(0.1, 0.05))
        usual = of_parabolas = Normal(0.1, 0.01)
    else:
        raise ValueError(f"`setting` must be 'printed' or 'released': got {setting!r}.")
    gaussian = Recipe(
        (Sine(), Parabola()), (Step(), bump, SineSum()), (usual, of_parabolas, usual, usual, usual)
    )
    if number == 1:
        return gaussian
    if number == 2:
        return replace(gaussian, anomalies=(EMISSION, ABSORPTION), sigma=(usual, of_parabolas, usual, usual))
    if number == 3:
        return replace(gaussian, noise=BadPoints())
    if number == 4:
        return replace(gaussian, noise=WeddingCake())
    raise ValueError(f"`number` of the experiment must be 1, 2, 3 or 4: got {number!r}.")


def draw_experiment(
    recipe: Recipe,
    *,
    n_train: int,
    n_test: int,
    contamination: float = 0.01,
    n_points: int = 100,
    rng: np.random.Generator,
) -> Experiment:
    """Simulate training and test data after a recipe.

    Parameters
    ----------
    recipe : Recipe
        How the objects come about.
    n_train, n_test : int
        Numbers of objects. Training objects, and the normal ones of the test set, fall into the known
        classes by the toss of a coin, so their numbers are only roughly equal, as in the paper.
    contamination : float in [0, 1]
        Share of anomalies in the test set, rounded to whole objects and dealt out to the kinds in turn.
    n_points : int
        Points per curve, equally spaced from 0 to 1.
    rng : numpy.random.Generator
        The test set does not depend on `n_train`: both have their own child of this generator.

    Returns
    -------
    Experiment

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import draw_experiment, recipe
    >>> draw_experiment(recipe(1), n_train=20, n_test=10, n_points=30, rng=np.random.default_rng(0)).test
    Measurements(10 objects x 30 points, with sigma)
    """
    for name, size in (("n_train", n_train), ("n_test", n_test), ("n_points", n_points)):
        if size < 1:
            raise ValueError(f"`{name}` must be at least 1: got {size}.")
    if not 0.0 <= contamination <= 1.0:
        raise ValueError(f"`contamination` must be a share in [0, 1]: got {contamination}.")
    n_anomalies = round(contamination * n_test)
    if n_anomalies and not recipe.anomalies:
        raise ValueError("the recipe has no anomalies: use `contamination=0`.")
    at = np.linspace(0.0, 1.0, n_points)
    for_train, for_test = rng.spawn(2)
    train_label = _draw_inlier_labels(recipe, n_train, for_train)
    train, train_truth, train_parameters = _draw_objects(recipe, train_label, at, for_train)
    anomalies = len(recipe.inliers) + np.arange(n_anomalies) % max(len(recipe.anomalies), 1)
    normal = _draw_inlier_labels(recipe, n_test - n_anomalies, for_test)
    test_label = for_test.permutation(np.concatenate([normal, anomalies]))
    test, test_truth, test_parameters = _draw_objects(recipe, test_label, at, for_test)
    return Experiment(
        train=train,
        train_label=train_label,
        train_truth=train_truth,
        train_parameters=train_parameters,
        test=test,
        test_label=test_label,
        test_truth=test_truth,
        test_parameters=test_parameters,
        at=at,
        recipe=recipe,
    )


def _draw_inlier_labels(recipe: Recipe, n: int, rng: np.random.Generator) -> IntArray:
    return rng.integers(len(recipe.inliers), size=n)


def _draw_objects(
    recipe: Recipe, label: IntArray, at: FloatArray, rng: np.random.Generator
) -> tuple[Measurements, FloatArray, FloatArray]:
    """Noisy objects of the given kinds (n,), their truths (n, m) and parameters (n, p)."""
    truth = np.empty((label.size, at.size))
    sigma = np.empty_like(truth)
    error = np.empty_like(truth)
    parameters = np.full((label.size, max(len(family.names) for family in recipe.families)), np.nan)
    for kind, family in enumerate(recipe.families):
        rows = np.flatnonzero(label == kind)
        truth[rows], drawn = draw_curves(family, rows.size, at, rng)
        parameters[rows, : drawn.shape[1]] = drawn
        sigma[rows] = recipe.sigma[kind].draw_positive((rows.size, at.size), rng)
        error[rows] = _draw_error(recipe, kind, sigma[rows], rng)
    return Measurements(truth + error, sigma, at=at), truth, parameters


def _draw_error(recipe: Recipe, kind: int, sigma: FloatArray, rng: np.random.Generator) -> FloatArray:
    noise = recipe.noise
    if isinstance(noise, BadPoints):
        return bad_point_noise(sigma, rng, share=noise.share, factor=noise.factor)
    if isinstance(noise, WeddingCake) and noise.kind == kind:
        return wedding_cake_noise(sigma, rng, steps=noise.steps, height=noise.height)
    return gaussian_noise(sigma, rng)

"""Every hypothesis against its definition: dense covariances, one object at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from badac import Measurements
from badac._kernels import curve_log_evidence, latent_without
from badac._kernels.hypotheses import GridPoints, Sizes, mean_variance
from badac._kernels.latent import products
from badac.anomalies import (
    Bump,
    ClassSummary,
    Hypothesis,
    KernelCurves,
    OnGrid,
    ProcessAlone,
    ProcessOnClass,
    Scales,
    SmoothDeviation,
    SomethingElse,
)
from badac.anomalies.curves_on_a_grid import OnGridCurves
from badac.anomalies.hypothesis import UnderClasses
from badac.anomalies.sequence import SmoothCurves, bumps, cosines, spectrum
from badac.latent.class_summary import ObjectsUnderClass
from badac.latent.factor import Factor
from badac.latent.likelihood import LatentLikelihood, project, weighted_residuals
from badac.latent.mixture import Mixture
from badac.noise import Gaussian

M, R = 15, 2


@pytest.fixture(autouse=True)
def ask_every_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definitions sum over all classes; leaving out hopeless ones is tested by itself."""
    monkeypatch.setattr("badac.anomalies.hypothesis._HOPELESS", np.inf)


@dataclass(frozen=True)
class World:
    """Two known classes and six objects with gaps and uneven errors."""

    objects: Measurements
    classes: tuple[ClassSummary, ...]
    log_prior: np.ndarray
    scales: Scales

    @property
    def under(self) -> UnderClasses[ObjectsUnderClass]:
        return self.grid.under(self.objects)

    @property
    def grid(self) -> OnGrid:
        return OnGrid(self.classes, self.log_prior, self.scales)

    @property
    def without_order(self) -> World:
        return replace(self, scales=replace(self.scales, where=None))

    def log_density(self, hypothesis: Hypothesis) -> np.ndarray:
        return hypothesis.adds(self.scales).weighed_by(self.grid)(self.under)


@pytest.fixture
def world(rng: np.random.Generator) -> World:
    where = np.sort(rng.uniform(size=M))
    where = (where - where[0]) / np.ptp(where)
    classes = []
    for shift in (0.0, 0.4):
        factor = Factor(shift + np.sin(3 * where), rng.normal(0, 0.5, (M, R)), rng.uniform(0.01, 0.05, M))
        spread = rng.normal(size=(3, R, R))
        covariances = 0.2 * spread @ spread.transpose(0, 2, 1) + 0.1 * np.eye(R)
        classes.append(
            ClassSummary(
                factor, Mixture(np.array([0.5, 0.3, 0.2]), rng.normal(size=(3, R)), covariances), Gaussian()
            )
        )
    values = 0.3 + rng.normal(0, 0.7, (6, M))
    values[1, 3:6] = np.nan
    objects = Measurements(values, rng.uniform(0.1, 0.6, (6, M)))
    scales = Scales(where, 0.3, 0.8, np.full(M, 0.2), rng.uniform(0.5, 2.0, M))
    return World(objects, tuple(classes), np.log([0.7, 0.3]), scales)


def dense(world: World, row: int, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Log density of the observed points of one object, its own noise added."""
    seen = world.objects.observed[row]
    total = covariance + np.diag(np.where(seen, world.objects.sigma[row], 0.0) ** 2)
    return float(
        multivariate_normal.logpdf(world.objects.values[row, seen], mean[seen], total[np.ix_(seen, seen)])
    )


def noise_of(world: World, row: int, psi: np.ndarray | float) -> float:
    seen = world.objects.observed[row]
    return float(1.0 / np.mean(1.0 / (world.objects.sigma[row] ** 2 + psi)[seen]))


def components(one: ClassSummary) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Log weight, mean and covariance in the space of the points of each component of a class."""
    factor, mixture = one.factor, one.mixture
    return [
        (
            float(np.log(w)),
            factor.mean + factor.factors @ v,
            factor.factors @ t @ factor.factors.T + np.diag(factor.psi),
        )
        for w, v, t in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    ]


def test_objects_under_a_class_have_its_evidence(world: World) -> None:
    for one in world.under:
        expected = [
            logsumexp(
                [weight + dense(world, row, mean, cov) for weight, mean, cov in components(one.summary)]
            )
            for row in range(6)
        ]
        np.testing.assert_allclose(one.log_evidence, expected, rtol=1e-9)


def test_some_objects_under_a_class_are_those_objects_under_it(world: World) -> None:
    rows = np.array([4, 1])
    for one in world.under:
        np.testing.assert_allclose(one.take(rows).log_evidence, one.log_evidence[rows], rtol=1e-12)


def test_integrating_some_dimensions_first_changes_nothing(world: World, rng: np.random.Generator) -> None:
    columns, amplitude = rng.normal(size=(M, 4)), rng.uniform(0.5, 2.0, (6, 4))
    factor = world.classes[0].factor

    class Given:
        def on_grid(self, where: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
            return columns, (np.ones(4), np.ones(3))

        def at_points(self, x: np.ndarray) -> Iterator[np.ndarray]:
            raise AssertionError

    family = OnGridCurves.of(Given(), np.linspace(0, 1, M), factor.factors)
    weighed = weighted_residuals(world.objects, factor.mean, factor.psi)
    whole = project(world.objects, factor.mean, family.columns, factor.psi)
    amplitudes = amplitude, amplitude[:, :3]
    weight, scaled, offset = weighed
    reduced = weight @ family.products, scaled @ family.columns, offset
    by_layout = [
        LatentLikelihood(*latent_without(*reduced, size, layout))
        for size, layout in zip(amplitudes, family.layouts, strict=True)
    ]
    for found_by in (by_layout, family.without(whole, amplitudes)):
        for left, size in zip(found_by, amplitudes, strict=True):
            for row, found in enumerate(left.gaussian_log_evidence()):
                wide = columns[:, : size.shape[1]] * size[row]
                cov = wide @ wide.T + factor.factors @ factor.factors.T + np.diag(factor.psi)
                assert found == pytest.approx(dense(world, row, factor.mean, cov), rel=1e-9)
    # From the points in one pass, with one unit for all features.
    unit, one = np.sqrt(0.2 + 0.5 * mean_variance(weight)), Mixture.standard(factor.rank).components()
    points = GridPoints(world.objects.values, world.objects.sigma, factor.mean, factor.psi, np.arange(6))
    sizes = Sizes((amplitude[0], amplitude[0, :3]), base=0.2, share=0.5)
    for row, found in enumerate(curve_log_evidence(points, family.features, sizes, one)):
        densities = []
        for size in sizes.of_features:
            wide = columns[:, : size.size] * (size * unit[row])
            cov = wide @ wide.T + factor.factors @ factor.factors.T + np.diag(factor.psi)
            densities.append(dense(world, row, factor.mean, cov))
        assert found == pytest.approx(logsumexp(densities) - np.log(2.0), rel=1e-9)


def test_the_products_of_cosines_are_sums_of_few_columns(rng: np.random.Generator) -> None:
    where, curves = np.sort(rng.random(40)), SmoothCurves((0.05, 0.3))
    shared, first, second = curves.products_on_grid(where)
    features, powers = curves.on_grid(where)
    found = shared[:, first] + np.where(second >= 0, shared[:, second], 0.0)
    np.testing.assert_allclose(found, products(features), atol=1e-12)
    assert shared.shape[1] < 3 * features.shape[1] < first.size
    # Beside the factors of a class, and for the alternative with fewer features.
    factors = rng.standard_normal((40, 2))
    family = OnGridCurves.of(curves, where, factors)
    for power, (chosen, one, other) in zip(powers, family.layouts, strict=True):
        entries = family.products[:, one] + np.where(other >= 0, family.products[:, other], 0.0)
        assert chosen.size == power.size + 2
        np.testing.assert_allclose(entries, products(family.columns[:, chosen]), atol=1e-12)


def test_something_else_is_a_gaussian_process(world: World) -> None:
    found = world.log_density(SomethingElse(lengths=(0.1, 0.4), amplitudes=(0.5, 1.0)))
    jitter = 1e-6 * world.scales.variance
    for row in range(6):
        visible = world.scales.variance + 4.0 * noise_of(world, row, jitter)
        terms = []
        for length in (0.1, 0.4):
            power = spectrum(length)
            waves = cosines(world.scales.where, power.size)
            for amplitude in (0.5, 1.0):
                cov = visible * (amplitude**2 * (waves * power) @ waves.T + 1.0) + jitter * np.eye(M)
                terms.append(dense(world, row, np.full(M, 0.3), cov))
        assert found[row] == pytest.approx(logsumexp(terms) - np.log(4), rel=1e-8)


def test_something_else_without_an_order_is_independent(world: World) -> None:
    found, scales = world.without_order.log_density(SomethingElse(amplitudes=(1.0, 2.0))), world.scales
    for row in range(6):
        terms = [dense(world, row, scales.centre, np.diag((a * scales.scale) ** 2)) for a in (1.0, 2.0)]
        assert found[row] == pytest.approx(logsumexp(terms) - np.log(2), rel=1e-10)


def test_a_smooth_deviation_is_added_to_every_component(world: World) -> None:
    found = world.log_density(SmoothDeviation(lengths=(0.1, 0.3), amplitudes=(0.5, 2.0)))
    for row in range(6):
        terms = []
        for one, prior in zip(world.classes, world.log_prior, strict=True):
            noise = noise_of(world, row, one.factor.psi)
            for length in (0.1, 0.3):
                power = spectrum(length)
                waves = cosines(world.scales.where, power.size)
                for amplitude in (0.5, 2.0):
                    extra = amplitude**2 * noise * (waves * power) @ waves.T
                    terms += [
                        prior - np.log(4) + w + dense(world, row, c, t + extra) for w, c, t in components(one)
                    ]
        assert found[row] == pytest.approx(logsumexp(terms), rel=1e-8)


def test_without_an_order_a_deviation_widens_every_point(world: World) -> None:
    found = world.without_order.log_density(SmoothDeviation(amplitudes=(2.0,)))
    for row in range(6):
        terms = []
        for one, prior in zip(world.classes, world.log_prior, strict=True):
            own = np.where(world.objects.observed[row], world.objects.sigma[row], 0.0) ** 2 + one.factor.psi
            terms += [prior + w + dense(world, row, c, t + np.diag(4.0 * own)) for w, c, t in components(one)]
        assert found[row] == pytest.approx(logsumexp(terms), rel=1e-9)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("correlated", [True, False])
def test_a_bump_is_one_more_direction_of_unknown_height(
    world: World, ordered: bool, correlated: bool
) -> None:
    if correlated:
        seen = np.where(world.objects.observed, world.objects.sigma, 1.0)
        full = (
            seen[:, :, None] * seen[:, None, :] * 0.5 ** np.abs(np.subtract.outer(np.arange(M), np.arange(M)))
        )
        world = replace(world, objects=Measurements(world.objects.values, covariance=full))
    world = world if ordered else world.without_order
    bump = Bump(components=3)
    found = world.log_density(bump)
    every = bumps(world.scales.where, *bump.places(world.scales)) if ordered else np.eye(M)
    every = every[:, every.max(axis=0) > 0.5]
    for row in range(6):
        seen = world.objects.observed[row]
        shapes = every[seen]
        terms = []
        for one, prior in zip(world.classes, world.log_prior, strict=True):
            for weight, centre, cov in components(one):
                noise = (
                    world.objects.covariance[row]
                    if world.objects.covariance is not None
                    else np.diag(np.where(seen, world.objects.sigma[row], 0.0) ** 2)
                )
                total = (cov + noise)[np.ix_(seen, seen)]
                precision = np.linalg.inv(total)
                told = np.einsum("jp,jk,kp->p", shapes, precision, shapes) > 1e-3
                for shape in shapes[:, told].T:
                    height = 25.0 / (shape @ precision @ shape)
                    density = multivariate_normal.logpdf(
                        world.objects.values[row, seen], centre[seen], total + height * np.outer(shape, shape)
                    )
                    terms.append(prior + weight - np.log(told.sum()) + density)
        assert found[row] == pytest.approx(logsumexp(terms), rel=1e-7)


def test_an_object_with_nothing_observed_says_nothing(world: World) -> None:
    empty = replace(world, objects=Measurements(np.full((1, M), np.nan), 0.1))
    for hypothesis in (SomethingElse(), Bump(), SmoothDeviation()):
        for known in (empty, empty.without_order):
            assert known.log_density(hypothesis)[0] == pytest.approx(0.0, abs=1e-9)


def test_hopeless_classes_need_not_be_asked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [world.log_density(one) for one in (Bump(), SmoothDeviation())]
    monkeypatch.setattr("badac.anomalies.hypothesis._HOPELESS", 30.0)
    some = [world.log_density(one) for one in (Bump(), SmoothDeviation())]
    joint = np.stack([one.log_prior + one.log_evidence for one in world.under], axis=1)
    assert (np.ptp(joint, axis=1) > 30.0).any(), "otherwise nothing is left out here"
    # These objects are noise of no class, the worst case; a hundredth of a nat moves no ranking.
    np.testing.assert_allclose(some, every, atol=0.02)


def rough(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A kernel that is no squared exponential."""
    return np.exp(-np.abs(x - y) / 0.2)


def wave(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.cos(9.0 * (x - y))


@dataclass(frozen=True)
class Declared:
    """A hypothesis that adds whatever it is given."""

    added: ProcessOnClass | ProcessAlone

    def adds(self, scales: Scales) -> ProcessOnClass | ProcessAlone:
        return self.added


def test_a_kernel_of_your_own_is_added_to_a_class_or_stands_alone(world: World) -> None:
    curves = (KernelCurves(rough), KernelCurves(wave))
    on_class = world.log_density(Declared(ProcessOnClass(curves, (1.5,))))
    alone = world.log_density(Declared(ProcessAlone(curves, (0.5,))))
    where, variance = world.scales.where, world.scales.variance
    kernels = [kernel(where[:, None], where) for kernel in (rough, wave)]
    for row in range(6):
        terms = []
        for one, prior in zip(world.classes, world.log_prior, strict=True):
            size = 1.5**2 * noise_of(world, row, one.factor.psi)
            for near in kernels:
                terms += [
                    prior - np.log(2) + w + dense(world, row, c, t + size * near)
                    for w, c, t in components(one)
                ]
        # On a grid a thousandth of a kernel's variance is left out.
        assert on_class[row] == pytest.approx(logsumexp(terms), abs=0.02)
        visible = variance + 4.0 * noise_of(world, row, 1e-6 * variance)
        terms = [
            dense(world, row, np.full(M, 0.3), visible * (1.0 + 0.25 * near) + 1e-6 * variance * np.eye(M))
            for near in kernels
        ]
        assert alone[row] == pytest.approx(logsumexp(terms) - np.log(2), abs=0.02)

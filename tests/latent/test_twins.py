"""One way to call both factor models, and one way to ask both densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac import Measurements
from badac._kernels.latent import pack
from badac.latent import (
    Basis,
    Curve,
    Factor,
    FactorProcess,
    KernelDensity,
    LatentDensity,
    LatentLikelihood,
    Mixture,
    Process,
)

AT = np.linspace(0.0, 1.0, 9)


def process(rng: np.random.Generator, *, smooth: float = 0.0) -> FactorProcess:
    basis = Basis.over(0.0, 1.0, 5)
    remainder = Process(
        basis, "matern32", np.inf, 0.3, np.full((1, 1), smooth), np.full(1, 0.04), np.zeros((basis.size, 0))
    )
    curve = Curve(0.5, rng.standard_normal(basis.size), np.eye(basis.size))
    return FactorProcess(remainder, curve, rng.standard_normal((basis.size, 2)))


def objects(n: int, rng: np.random.Generator, **more: Any) -> Measurements:
    values = rng.standard_normal((n, AT.size))
    values[rng.random(values.shape) < 0.2] = np.nan
    return Measurements(values, rng.uniform(0.1, 0.5, values.shape), **more)


def test_a_process_on_a_grid_is_the_factor_model_there(rng: np.random.Generator) -> None:
    at_any_points = process(rng)
    features = at_any_points.process.basis(AT)
    mean = at_any_points.curve.origin + features @ at_any_points.curve.coefficients
    on_a_grid = Factor(mean, features @ at_any_points.factors, np.full(AT.size, 0.04))
    some = objects(20, rng, at=AT)
    one, other = on_a_grid.project(some), at_any_points.project(some)
    assert at_any_points.rank == on_a_grid.rank == other.rank
    for name in ("precision", "shift", "offset"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)


def test_a_projection_is_the_dense_gaussian(rng: np.random.Generator) -> None:
    model = process(rng, smooth=0.3)
    some = objects(6, rng, at=rng.random((6, AT.size)))
    found = model.project(some).gaussian_log_evidence()
    for row in range(6):
        seen = some.observed[row]
        at = some.at[row, seen]
        features = model.process.basis(at)
        lag = np.sqrt(3.0) * np.abs(at[:, None] - at) / 0.3
        shapes = features @ model.factors
        full = shapes @ shapes.T + 0.3 * (1.0 + lag) * np.exp(-lag)
        full += np.diag(0.04 + some.sigma[row, seen] ** 2)
        mean = 0.5 + features @ model.curve.coefficients
        expected = multivariate_normal(mean, full).logpdf(some.values[row, seen])
        np.testing.assert_allclose(found[row], expected, rtol=1e-9)


def test_evidence_under_any_gaussian_and_from_any_origin(rng: np.random.Generator) -> None:
    latent = process(rng).project(objects(8, rng, at=AT))
    np.testing.assert_allclose(
        latent.log_evidence_under(np.eye(2)), latent.gaussian_log_evidence(), rtol=1e-12
    )
    origin = rng.standard_normal((8, 2))
    moved = latent.seen_from(origin)
    # z ~ N(origin, I) is z - origin ~ N(0, I).
    expected = [
        Mixture(np.ones(1), origin[row : row + 1], np.eye(2)[None]).log_evidence(latent[row : row + 1])[0]
        for row in range(8)
    ]
    shifted = latent.seen_from(origin).gaussian_log_evidence()
    np.testing.assert_allclose(shifted, expected, rtol=1e-10)
    np.testing.assert_allclose(moved.seen_from(-origin).offset, latent.offset, rtol=1e-10)


def densities(rng: np.random.Generator) -> list[LatentDensity]:
    spread = np.array([[0.3, 0.1], [0.1, 0.2]])
    return [
        Mixture(np.array([0.3, 0.7]), rng.standard_normal((2, 2)), np.stack([spread, 2.0 * spread])),
        KernelDensity(rng.standard_normal((15, 2)), spread, np.array([0.1, 0.2, 0.3, 0.2, 0.2])),
    ]


def test_a_kernel_density_is_the_mixture_that_it_is(rng: np.random.Generator) -> None:
    density = densities(rng)[1]
    assert isinstance(density, KernelDensity)
    latent = process(rng).project(objects(10, rng, at=AT))
    same = density.as_mixture()
    np.testing.assert_allclose(density.log_evidence(latent), same.log_evidence(latent), rtol=1e-9)
    for one, other in zip(density.posterior(latent), same.posterior(latent), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_more_gaussian_dimensions_that_nobody_saw_change_nothing(
    which: int, rng: np.random.Generator
) -> None:
    density = densities(rng)[which]
    latent = process(rng).project(objects(10, rng, at=AT))
    wider = density.with_gaussian_dimensions(2)
    full = np.zeros((10, 4, 4))
    full[:, [0, 0, 1], [0, 1, 1]] = latent.precision
    padded = LatentLikelihood(pack(full), np.pad(latent.shift, ((0, 0), (0, 2))), latent.offset)
    np.testing.assert_allclose(wider.log_evidence(padded), density.log_evidence(latent), rtol=1e-9)


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_far_out_is_rare_not_impossible(which: int, rng: np.random.Generator) -> None:
    density = densities(rng)[which].with_one_more(98)
    # An object known to be at z = (9, 0), to a hundredth.
    far = LatentLikelihood(1e4 * np.array([[1.0, 0.0, 1.0]]), 1e4 * np.array([[9.0, 0.0]]), np.array([81e4]))
    assert density.log_evidence(far)[0] > -80.0

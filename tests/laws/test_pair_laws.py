"""Every registered noise under the laws of noise, and with every class model that takes it under those of class models."""

from __future__ import annotations

import numpy as np
import pytest
from registered_cases import World, made, registered
from scipy.special import logsumexp

from badac import Measurements
from badac.checks import check_class_model, check_noise
from badac.checks.law import nodes_of_point, with_values
from badac.classes import ClassModel
from badac.classes.model import takes_noise
from badac.noise import Gaussian, Noise, kind_of, needs_sigma

M = 4
CLASS_MODELS = registered("class_model")
NOISES = {
    name: entry
    for name, entry in registered("noise").items()
    # "auto" is replaced by what was learned, and noise by class by that of the class, before a class model sees it.
    if name not in ("AutoNoise", "CheckedNoise", "PerClass")
}
INTEGRAL, SCALING = "a density integrates to one", "scaling"
ORDER = ("order of members", "order of members left out")
EXCUSED: list[tuple[str, str, tuple[str, ...], str]] = [
    ("*", "Correlated", (SCALING,), "its covariance has the unit of the values"),
    ("LinearModel", "*", (SCALING,), "its prior has the unit of the values"),
    ("Parametric", "*", (SCALING,), "its prior has the unit of the values"),
    *(
        (
            "LinearModel",
            noise,
            (INTEGRAL,),
            "a Gaussian approximation of a single point: within 6 %, 11 % of two widths",
        )
        for noise in ("Numeric", "Outliers", "Student", "Widths")
    ),
    *(
        (
            model,
            noise,
            ORDER,
            "folds are drawn along the members in the order of their sums, and counts have ties",
        )
        for model in ("Population", "Subclasses")
        for noise in ("Binomial", "Poisson")
    ),
    *(("Parametric", noise, (INTEGRAL,), "takes seconds") for noise in NOISES if noise != "Gaussian"),
    ("*", "Numeric", (INTEGRAL,), "takes seconds"),
]
"""Class model, noise, laws that they do not keep together, and why."""


def data(world: World, seed: int, rows: slice) -> Measurements:
    found = world.objects(seed, 20)[rows]
    return Measurements(found.values[:, :M], found.sigma[:, :M] if found.has_errors else None)


def refused(model: ClassModel, members: Measurements, noise: Noise) -> str | None:
    """Return what a class model says when it does not take the noise, or the members."""
    try:
        model.fit(members, noise, np.random.default_rng(0)).log_evidence(members[:1])
    except ValueError as refusal:
        return str(refusal)
    return None


def world_of(noise: Noise) -> World:
    return World(counted=not needs_sigma(noise))


@pytest.mark.parametrize("noise_name", NOISES)
@pytest.mark.parametrize("name", CLASS_MODELS)
def test_a_class_model_keeps_the_laws_with_every_noise_that_it_takes(name: str, noise_name: str) -> None:
    noise = made(NOISES[noise_name], World(), M)
    world = world_of(noise)
    model = made(CLASS_MODELS[name], world, M)
    members, objects = data(world, 0, slice(0, 20, 2)), data(world, 1, slice(0, 3))
    if kind_of(noise) not in takes_noise(model):
        refusal = refused(model, members, noise)
        assert refusal is not None and "noise" in refusal
        pytest.skip(f"refused: {refusal}")
    excused = {
        law
        for one, other, laws, _ in EXCUSED
        for law in laws
        if one in ("*", name) and other in ("*", noise_name)
    }
    # A process stops climbing by a part of its log evidence, which moves with the unit.
    tolerance = 1e-2 if name in ("GaussianProcess", "IrregularPopulation") else 1e-6
    # What it says that it takes it does not refuse: this would raise.
    checked = check_class_model(
        model, members, objects, noise, np.random.default_rng(3), skip=excused, tolerance=tolerance
    )
    assert {"shapes", "threads change nothing", "nothing measured, nothing learned"} <= set(checked)


@pytest.mark.parametrize("noise_name", NOISES)
def test_every_noise_keeps_its_laws(noise_name: str) -> None:
    noise = made(NOISES[noise_name], World(), M)
    like = data(world_of(noise), 0, slice(0, 10, 2))
    excused = {"Correlated": ("scaling", "order of points"), "Numeric": ("draw follows log_match", INTEGRAL)}
    check_noise(
        noise,
        like,
        # Rates, or probabilities, or truths that are wide against the error bars.
        {"Poisson": (0.0, 30.0), "Binomial": (0.0, 1.0)}.get(noise_name, (-10.0, 10.0)),
        np.random.default_rng(1),
        skip=excused.get(noise_name, ()),
        tolerance=2e-3,
        # A function of the user's is integrated on a grid that ends where the values end.
        tail=1.5 if noise_name == "Numeric" else 1000.0,
    )


@pytest.mark.parametrize("name", CLASS_MODELS)
def test_a_missing_point_of_a_new_object_is_integrated_out(name: str) -> None:
    """Missing = absent: P(d without a point) is the integral of P(d) over what might have been measured there."""
    model = made(CLASS_MODELS[name], World(), M)
    objects = data(World(), 1, slice(2, 4))
    fitted = model.fit(data(World(), 0, slice(0, 20, 2)), Gaussian(), np.random.default_rng(0))
    nodes, weight = nodes_of_point(Gaussian(), data(World(), 0, slice(0, 20)), 1, n_nodes=601, tail=30.0)
    for row in range(2):
        values = np.repeat(objects.values[row : row + 1], len(nodes), axis=0)
        values[:, 1] = nodes
        grid = with_values(objects[np.full(len(nodes), row)], values)
        total = float(logsumexp(fitted.log_evidence(grid), b=weight))
        gap = objects.values[row : row + 1].copy()
        gap[0, 1] = np.nan
        alone = float(fitted.log_evidence(with_values(objects[row], gap))[0])
        # The parametric class is a sum over points of its parameters.
        assert total == pytest.approx(alone, abs=0.02 if name == "Parametric" else 2e-3)


@pytest.mark.parametrize("name", CLASS_MODELS)
def test_points_that_nobody_measured_change_nothing(name: str) -> None:
    """Missing = absent: objects with points of their own are padded, and padding says nothing."""
    found = World(gaps=False).objects(0, 12)
    rng = np.random.default_rng(2)
    at = np.sort(rng.random(found.shape), axis=1)
    curves = Measurements(found.values, found.sigma, at=at)
    model = made(CLASS_MODELS[name], World())
    refusal = refused(model, curves[:10], Gaussian())
    if refusal is not None:
        assert "points of their own" in refusal
        pytest.skip("needs a common grid")
    fitted = model.fit(curves[:10], Gaussian(), np.random.default_rng(0))
    new = curves[10:]
    nothing = np.full((len(new), 2), np.nan)
    padded = Measurements(
        np.hstack([new.values, nothing]),
        np.hstack([new.sigma, np.full_like(nothing, np.inf)]),
        at=np.hstack([new.at, nothing]),
    )
    np.testing.assert_allclose(fitted.log_evidence(padded), fitted.log_evidence(new), rtol=1e-9)

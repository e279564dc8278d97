"""Every noise with every class model: used as it is, or refused in words; what the documentation says of it is what happens."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import norm

from badac import BADACClassifier, Measurements, load, save
from badac.checks import LawBroken, check_class_model, check_noise
from badac.checks.noise_use import check_noise_use
from badac.classes import (
    Auto,
    ClassModel,
    DeconvolvedMixture,
    GaussianProcess,
    Instances,
    IrregularPopulation,
    LinearModel,
    Parametric,
    Population,
    Subclasses,
    Template,
)
from badac.classes.imputed import Imputed
from badac.classes.pointwise import Pointwise
from badac.noise import (
    Binomial,
    Correlated,
    Gaussian,
    Marginal,
    Noise,
    Numeric,
    Outliers,
    PerClass,
    Poisson,
    Student,
    Widths,
    kind_of,
)
from badac.noise.matches import sum_over_points
from badac.nuisance import Calibration, Shift

NOISE_PAGE = Path(__file__).resolve().parents[2] / "docs" / "noise.md"
AT = np.linspace(0.0, 1.0, 4)


def logistic(value: np.ndarray, truth: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    x = np.abs(value - truth) / sigma
    return -x - 2.0 * np.log1p(np.exp(-x)) - np.log(sigma)


def laplace_match(d: np.ndarray, d_sigma: np.ndarray, y: np.ndarray, y_sigma: np.ndarray) -> np.ndarray:
    """Two Laplace densities convolved; sigma is one standard deviation."""
    a, b = d_sigma / np.sqrt(2.0), y_sigma / np.sqrt(2.0)
    b = np.where(np.abs(a - b) < 1e-3 * a, 1.001 * a, b)
    far = np.abs(d - y)
    density = (a * np.exp(-far / a) - b * np.exp(-far / b)) / (2.0 * (a - b) * (a + b))
    return np.log(np.maximum(density, 1e-300))


@dataclass(frozen=True)
class Laplace:
    """Noise of a user's own: nothing but `log_match` and `draw`."""

    def log_match(self, objects: Measurements, curves: Measurements) -> np.ndarray:
        return sum_over_points(objects, curves, laplace_match)

    def draw(self, truth: np.ndarray, like: Measurements, rng: np.random.Generator) -> np.ndarray:
        scale = np.where(like.observed, like.sigma, 1.0) / np.sqrt(2.0)
        return np.where(like.observed, truth + rng.laplace(scale=scale), np.nan)


COVARIANCE = 0.2 * np.exp(-np.abs(np.subtract.outer(AT, AT)) / 0.3)
NOISES: dict[str, Noise] = {
    "`Gaussian()`": Gaussian(),
    "`Gaussian(scale=2)`": Gaussian(2.0),
    "`Outliers`": Outliers(0.2, 5.0),
    "`Student`": Student(3.0),
    "`Widths`": Widths([0.5, 0.3, 0.2], [0.7, 1.5, 4.0]),
    "`Correlated`": Correlated(COVARIANCE),
    "`Poisson`": Poisson(2.0),
    "`Binomial`": Binomial(12),
    "`Numeric`": Numeric(logistic, reach=25),
    "`Marginal`": Marginal((Gaussian(3.0), Gaussian(5.0))),
    "your own": Laplace(),
}


def curve(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A rate and a probability, both."""
    (slope,) = theta
    return 1.0 / (1.0 + np.exp(-slope * (1.0 + at)))


SHAPES = np.stack([np.ones(4), AT], axis=1)
MODELS: dict[str, ClassModel] = {
    "`auto`": Auto(),
    "`instances`": Instances(),
    "`population`": Population(shape="gaussian"),
    "`mixture`": DeconvolvedMixture(most_components=1),
    "`template`": Template(),
    "`subclasses`": Subclasses(),
    "`gp`": GaussianProcess(rank=0, n_knots=4),
    "irregular": IrregularPopulation(rank=0, n_knots=4, shape="gaussian"),
    "`LinearModel`": LinearModel(SHAPES, [0.5, 0.1], [0.3, 0.2]),
    "`Parametric`": Parametric(curve, [norm(0.0, 1.0)], n_prior=128, n_refined=64),
    "`Pointwise`": Pointwise(),
    "`Imputed`": Imputed(n_draws=2),
}
SIGMA = np.array([0.3, 0.4, 0.5, 0.35])


def data(noise: Noise, n: int, seed: int) -> Measurements:
    """Objects that the noise can have come from: rates or probabilities below one for counts."""
    rng = np.random.default_rng(seed)
    truth = curve(rng.standard_normal((1, n, 1)), AT)
    counts = isinstance(noise, Poisson | Binomial)
    like = Measurements(np.zeros((n, 4)), None if counts else SIGMA * rng.uniform(0.8, 1.2, (n, 4)), at=AT)
    values = noise.draw(truth, like, rng)
    return Measurements(values, None if counts else like.sigma, at=AT)


def declared(model: ClassModel, noise: Noise) -> str:
    kind = kind_of(noise)
    if kind not in type(model).takes_noise:
        return "refused"
    return "learned" if kind in getattr(model, "learns_noise", ()) else "used"


PAIRS = [(model, noise) for model in MODELS for noise in NOISES]


@pytest.mark.parametrize(("model", "noise"), PAIRS)
def test_noise_is_used_or_refused(model: str, noise: str) -> None:
    given = NOISES[noise]
    members, objects = data(given, 30, seed=1), data(given, 3, seed=2)

    def fit(data: Measurements, noise: Noise) -> ClassModel:
        return MODELS[model].fit(data, noise, np.random.default_rng(0))

    with warnings.catch_warnings():
        # A formula is asked about values that it hardly has.
        warnings.simplefilter("ignore")
        if declared(MODELS[model], given) == "refused":
            with pytest.raises(
                ValueError, match="which it cannot use. Class models that take it: .*Instances"
            ):
                fit(members, given)
        else:
            check_noise_use(fit, members, objects, given)


def test_the_documentation_has_the_table_of_what_is_used() -> None:
    rows = [["noise", *MODELS], ["---"] * (len(MODELS) + 1)]
    rows += [[name, *(declared(model, noise) for model in MODELS.values())] for name, noise in NOISES.items()]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    page = NOISE_PAGE.read_text(encoding="utf-8")
    found = re.search(r"<!-- noise:use -->\n(.*?)\n<!-- end noise:use -->", page, re.DOTALL)
    assert found is not None
    assert found[1] == table, f"docs/noise.md must say\n{table}"


class Deaf(Template):
    """A class model that was given some noise and takes it for Gaussian."""

    def fit(self, members, noise, rng, scales=None):  # type: ignore[no-untyped-def]
        return super().fit(members, Gaussian(), rng, scales)


@pytest.mark.parametrize(
    "name", ["`Gaussian(scale=2)`", "`Outliers`", "`Correlated`", "`Numeric`", "your own"]
)
def test_the_law_catches_a_model_that_drops_the_noise(name: str) -> None:
    noise = NOISES[name]
    members, objects = data(noise, 30, seed=1), data(noise, 3, seed=2)
    with pytest.raises(LawBroken, match="the noise that was given is used"):
        check_class_model(Deaf(), members, objects, noise, np.random.default_rng(0), skip=("scaling",))


def test_noise_that_claims_a_kind_it_is_not_is_caught() -> None:
    class Claims(Laplace):
        def gaussian_scales(self) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros(1), np.ones(1)

    like = Measurements(np.zeros((6, 3)), sigma=[0.1, 0.2, 0.3])
    with pytest.raises(LawBroken, match="the widths are those of the match"):
        check_noise(Claims(), like, (-1, 1), np.random.default_rng(0))


# -- the documented example, under the default class model -----------------------------------------------------------


def two_classes(noise: Noise, n: int = 60, m: int = 2) -> tuple[Measurements, np.ndarray]:
    rng = np.random.default_rng(5)
    label = np.arange(n) % 2
    like = Measurements(np.zeros((n, m)), 0.3)
    return Measurements(noise.draw(label[:, None] + np.zeros((n, m)), like, rng), 0.3), label


def laplace_density(value: float, centre: float, sigma: float) -> float:
    width = sigma / np.sqrt(2.0)
    return float(np.exp(-abs(value - centre) / width) / (2.0 * width))


def test_laplace_noise_is_used_by_the_default_class_model_and_named() -> None:
    train, label = two_classes(Laplace())
    model = BADACClassifier(noise=Laplace(), random_state=0).fit(train, label)
    plain = BADACClassifier(class_model="instances", random_state=0).fit(train, label)
    new = Measurements([[0.2, 1.1], [0.5, 2.0]], sigma=[[0.3, 0.3], [0.25, 0.4]])
    found = model.log_evidence(new)
    assert np.abs(found - plain.log_evidence(new)).max() > 0.1
    for row in range(2):
        for column in range(2):
            curves = train.values[label == column]
            densities = []
            for curve in curves:
                # Flat prior on the true values: the match of a point is an integral over its truth.
                points = [
                    quad(
                        lambda y, d=new.values[row, j], s=new.sigma[row, j], c=curve[j]: (
                            laplace_density(d, y, s) * laplace_density(c, y, 0.3)
                        ),
                        -5,
                        6,
                        points=sorted((new.values[row, j], curve[j])),
                        limit=200,
                    )[0]
                    for j in range(2)
                ]
                densities.append(np.prod(points))
            np.testing.assert_allclose(found[row, column], np.log(np.mean(densities)), atol=2e-3)
    assert model.class_report_ is not None
    assert set(model.class_report_.chosen().values()) == {"instances"}
    why = model.class_report_.candidates[0][0].why
    assert why == "chosen: only instances take this noise, Laplace(), as it is"
    assert model.score(train, label) > 0.9
    assert np.isfinite(model.anomaly_score(new)).all()


def test_an_unknown_factor_on_the_error_bars_is_used_by_the_default_class_model(tmp_path: Path) -> None:
    noise = Marginal((Gaussian(3.0), Gaussian(5.0)))
    train, label = two_classes(noise)
    model = BADACClassifier(noise=noise, random_state=0).fit(train, label)
    plain = BADACClassifier(random_state=0).fit(train, label)
    new = Measurements([[0.2, 1.1]], sigma=0.3)
    found = model.log_evidence(new)
    assert np.abs(found - plain.log_evidence(new)).max() > 0.1
    for column in range(2):
        curves = train.values[label == column]
        by_factor = []
        for factor in (3.0, 5.0):

            def match(a: float, b: float, curve: np.ndarray, f: float = factor) -> float:
                # Four normal densities of standard deviation 0.3 f; SciPy's take a hundred times as long.
                squares = sum(
                    (seen - truth) ** 2
                    for row in (new.values[0], curve)
                    for seen, truth in zip(row.tolist(), (b, a), strict=True)
                )
                variance = (0.3 * f) ** 2
                return math.exp(-0.5 * squares / variance) / (2.0 * math.pi * variance) ** 2

            closed = norm.pdf(new.values, curves, np.sqrt(2) * 0.3 * factor).prod(axis=1)
            integral = dblquad(match, -9, 10, -9, 10, args=(curves[0],), epsabs=1e-4, epsrel=1e-3)[0]
            np.testing.assert_allclose(integral, closed[0], rtol=1e-2)
            by_factor.append(closed.mean())
        np.testing.assert_allclose(found[0, column], np.log(np.mean(by_factor)), atol=1e-9)
    assert model.class_report_ is not None and "only instances take this noise" in str(model.class_report_)
    save(model, tmp_path / "model.badac")
    np.testing.assert_array_equal(load(tmp_path / "model.badac").anomaly_score(new), model.anomaly_score(new))


@pytest.mark.parametrize("class_model", ["population", "template", "subclasses", "gp"])
@pytest.mark.parametrize("noise", [Laplace(), Marginal((Gaussian(3.0), Gaussian(5.0)))])
def test_a_class_model_named_by_the_user_refuses_noise_that_it_cannot_use(
    class_model: str, noise: Noise
) -> None:
    train, label = two_classes(noise)
    model = BADACClassifier(class_model=class_model, noise=noise, random_state=0)
    named = f"got noise {type(noise).__name__}.*Class models that take it: Auto, Imputed, Instances, Parametric\\."
    with pytest.raises(ValueError, match=named):
        model.fit(train, label)


def test_irregular_objects_have_no_class_model_for_other_noise() -> None:
    train, label = two_classes(Laplace(), m=6)
    at = np.sort(np.random.default_rng(1).uniform(0, 1, train.shape), axis=1)
    irregular = Measurements(train.values, train.sigma, at=at)
    for class_model in ("auto", "gp"):
        with pytest.raises(ValueError, match=r"points of their own .* takes it"):
            BADACClassifier(class_model=class_model, noise=Laplace()).fit(irregular, label)
    with pytest.raises(ValueError, match="learned point by point"):
        BADACClassifier(noise="student").fit(irregular, label)
    assert BADACClassifier(noise="auto", random_state=0).fit(irregular, label).noise_ == Gaussian()


def test_each_class_has_the_noise_of_its_own() -> None:
    train, label = two_classes(Laplace())
    model = BADACClassifier(noise=PerClass((Laplace(), Gaussian())), random_state=0).fit(train, label)
    assert model.class_report_ is not None
    chosen = model.class_report_.chosen()
    assert chosen[0] == "instances" and chosen[1] != "instances"
    with pytest.raises(ValueError, match="a class model takes that of its own class"):
        Population().fit(train, PerClass((Laplace(),)), np.random.default_rng(0))


def test_what_a_population_learns_with_the_class_is_said() -> None:
    noise = Correlated(COVARIANCE)
    found = Auto().fit(data(noise, 40, seed=3), noise, np.random.default_rng(0))
    assert "learns the noise's covariance with its factors" in next(
        row.why for row in found.report if row.name == "population"
    )


def test_correlated_data_are_not_taken_for_independent_under_bad_points() -> None:
    rng = np.random.default_rng(0)
    train = Measurements(rng.standard_normal((30, 4)), covariance=COVARIANCE + 0.1 * np.eye(4))
    for model in (Population(), Template(), Instances()):
        with pytest.raises(ValueError, match="takes the errors of the points as independent"):
            model.fit(train, Outliers(0.1, 4.0), rng).log_evidence(train)


@pytest.mark.parametrize("wrapper", [Calibration(0.1, 0.1), Shift(0.1)])
def test_a_wrapper_takes_what_it_wraps_takes(wrapper: Calibration | Shift) -> None:
    noise = Laplace()
    members, objects = data(noise, 30, seed=1), data(noise, 3, seed=2)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="Population takes .* got noise Laplace"):
        type(wrapper)(wrapper.gain, of=Population()).fit(members, noise, rng) if isinstance(
            wrapper, Calibration
        ) else Shift(wrapper.width, of=Population()).fit(members, noise, rng)
    fitted = wrapper.wrap(Instances().fit(members, noise, rng), members)
    under = wrapper.wrap(Instances().fit(members, Gaussian(), rng), members)
    assert np.abs(fitted.log_evidence(objects) - under.log_evidence(objects)).max() > 0.01


@pytest.mark.parametrize("class_model", ["auto", "gp"])
def test_a_factor_on_the_error_bars_is_used_for_irregular_objects_too(class_model: str) -> None:
    rng = np.random.default_rng(4)
    label, shape = np.arange(40) % 2, (40, 8)
    at, band = np.sort(rng.uniform(0, 1, shape), axis=1), rng.integers(0, 2, shape)
    values = label[:, None] + 0.5 * band + np.sin(6 * at) + 0.2 * rng.standard_normal(shape)

    def objects(sigma: float) -> Measurements:
        return Measurements(values, sigma, at=at, band=band)

    doubled = BADACClassifier(class_model, noise=Gaussian(2.0), random_state=0).fit(objects(0.1), label)
    # As a model too: the estimator has units of its own only where all is given in words.
    plain = BADACClassifier(class_model, noise=Gaussian(), random_state=0).fit(objects(0.2), label)
    np.testing.assert_allclose(
        doubled.log_evidence(objects(0.1)), plain.log_evidence(objects(0.2)), rtol=1e-9
    )
    factors = [
        model.anomaly_model_.log_bayes_factor(new)
        for model, new in ((doubled, objects(0.1)), (plain, objects(0.2)))
    ]
    np.testing.assert_allclose(*factors, rtol=1e-9)

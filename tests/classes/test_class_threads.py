"""`n_threads` reaches the work of every class model, and changes no bit of what it says."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from badac import Measurements, _kernels
from badac._kernels import Backend, using
from badac._kernels.spare_threads import at_least_spare
from badac.classes import (
    Auto,
    ClassModel,
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
from badac.latent import process
from badac.noise import Gaussian, Noise, Outliers, Poisson
from badac.nuisance import Calibration

THREADS = 3
AT = np.linspace(0.0, 1.0, 12)


def line(at: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(at), at], axis=-1)


def wave(theta: Any, at: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(theta[0] * at))


def curves(n: int, seed: int = 0, *, own: bool = False) -> Measurements:
    rng = np.random.default_rng(seed)
    at = rng.random((n, 12)) if own else np.broadcast_to(AT, (n, 12))
    values = np.sin(rng.normal(5.0, 1.0, (n, 1)) * at) + 0.1 * rng.standard_normal((n, 12))
    return Measurements(values, 0.1, at=at if own else AT)


def correlated(n: int, seed: int = 0) -> Measurements:
    covariance = 0.01 * np.exp(-np.abs(AT[:, None] - AT) / 0.2)
    return Measurements(curves(n, seed).values, covariance=np.repeat(covariance[None], n, axis=0), at=AT)


def counts(n: int, seed: int = 0) -> Measurements:
    return Measurements(np.random.default_rng(seed).poisson(np.exp(1.0 + AT), (n, 12)).astype(float))


class Watched:
    """A backend that notes which kernels were called with one thread by the thread of the test itself."""

    def __init__(self) -> None:
        self.main, self.kernels, self.alone = threading.get_ident(), set[str](), set[str]()

    def backend(self) -> Backend:
        watched = {
            field.name: self._watch(field.name, getattr(_kernels.backend, field.name))
            for field in fields(Backend)
            if callable(getattr(_kernels.backend, field.name))
        }
        return replace(_kernels.backend, **watched)

    def _watch(self, name: str, kernel: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.kernels.add(name)
            if at_least_spare(kwargs.get("n_threads", 1)) != THREADS and threading.get_ident() == self.main:
                self.alone.add(name)
            return kernel(*args, **kwargs)

        return call


CASES: dict[str, tuple[ClassModel, Noise, Any]] = {
    "instances": (Instances(), Gaussian(), curves),
    "imputed": (Imputed(3), Gaussian(), curves),
    "pointwise": (Pointwise(), Gaussian(), curves),
    "template": (Template(), Gaussian(), curves),
    "template, outliers": (Template(), Outliers(0.1, 5.0), curves),
    "population": (Population(), Gaussian(), curves),
    "population, curves": (Population(shape="curves"), Gaussian(), curves),
    "population, outliers": (Population(), Outliers(0.1, 5.0), curves),
    "population, covariance": (Population(shape="gaussian"), Gaussian(), correlated),
    "population, counts": (Population(), Poisson(), counts),
    "auto": (Auto(), Gaussian(), curves),
    "subclasses": (Subclasses(), Gaussian(), curves),
    "linear model": (LinearModel(line, [0, 0], [3, 3]), Gaussian(), curves),
    "linear model, outliers": (LinearModel(line, [0, 0], [3, 3]), Outliers(0.1, 5.0), curves),
    "calibrated template": (Calibration(0.1, 0.1, of=Template()), Gaussian(), curves),
    "calibrated population": (Calibration(0.1, 0.1, of=Population(rank=1)), Gaussian(), curves),
}
# Without a kernel of their own: here NumPy's blocks are what is shared out.
BLOCKS: dict[str, tuple[ClassModel, Noise, Any]] = {
    "gp": (GaussianProcess(rank=1, n_knots=5), Gaussian(), lambda n, seed: curves(n, seed, own=True)),
    "irregular": (
        IrregularPopulation(rank=1, n_knots=5, shape="curves"),
        Gaussian(),
        lambda n, seed: curves(n, seed, own=True),
    ),
    "linear model, own points": (
        LinearModel(line, [0, 0], [3, 3]),
        Gaussian(),
        lambda n, seed: curves(n, seed, own=True),
    ),
    "parametric": (Parametric(wave, [norm(5, 1)], n_prior=64, n_refined=64), Gaussian(), curves),
    "instances, counts": (Instances(), Poisson(), counts),
    "calibrated instances": (Calibration(0.1, 0.1, of=Instances()), Gaussian(), curves),
    "parametric, sampler": (
        Parametric(wave, lambda n, rng: rng.normal(5, 1, (n, 1))),
        Gaussian(),
        curves,
    ),
}


@cache
def fit(case: str) -> tuple[ClassModel, Any]:
    model, noise, draw = (CASES | BLOCKS)[case]
    return model.fit(draw(40, seed=1), noise, np.random.default_rng(0)), draw


@pytest.mark.parametrize("case", CASES)
def test_kernels_get_the_threads(case: str) -> None:
    fitted, draw = fit(case)
    watched = Watched()
    with using(watched.backend()):
        fitted.log_evidence(draw(30, seed=2), n_threads=THREADS)
    assert watched.kernels, "no kernel was asked: this case belongs to BLOCKS"
    assert not watched.alone


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "likelihood._NUMBERS",
        "gain_offset._NUMBERS",
        "kernel_density._PAIRS",
    ):
        monkeypatch.setattr(f"badac.latent.{module}_PER_BLOCK", 256)
    monkeypatch.setitem(process.blocks.__kwdefaults__, "most_numbers", 256)
    monkeypatch.setattr("badac.noise.matches._PAIRS_PER_BLOCK", 256)
    monkeypatch.setattr("badac.classes.parametric.parametric._NUMBERS_PER_BLOCK", 1 << 14)


@pytest.mark.filterwarnings("ignore:the evidence of:badac.classes.LowSampleSizeWarning")
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("case", BLOCKS)
def test_blocks_are_shared_out(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, draw = fit(case)
    workers: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, count: int) -> None:
            workers.append(count)
            super().__init__(count)

    monkeypatch.setattr("badac.threads.ThreadPoolExecutor", Pool)
    monkeypatch.setattr("badac.threads._IDLE", {})
    fitted.log_evidence(draw(150, seed=2), n_threads=THREADS)
    assert set(workers) == {THREADS}


@pytest.mark.filterwarnings("ignore:the evidence of:badac.classes.LowSampleSizeWarning")
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("case", [*CASES, *BLOCKS])
def test_threads_change_no_bit(case: str) -> None:
    fitted, draw = fit(case)
    objects = draw(150, seed=2)
    np.testing.assert_array_equal(
        fitted.log_evidence(objects), fitted.log_evidence(objects, n_threads=THREADS)
    )
    np.testing.assert_array_equal(fitted.leave_one_out(), fitted.leave_one_out(n_threads=THREADS))

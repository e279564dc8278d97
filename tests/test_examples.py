"""Every example runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from badac import BADACClassifier
from badac.noise import Student

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_overview_draws_the_readme_picture(tmp_path: Path) -> None:
    _example("overview").main(str(tmp_path / "overview"), 400)
    assert (tmp_path / "overview.png").stat().st_size > 10_000


def test_laplace_noise_is_one_file_and_the_default_class_model_uses_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loss = _example("laplace_noise").main(120)
    assert loss["laplace"] < loss["gaussian"]
    said = capsys.readouterr().out
    assert "draw follows log_match" in said
    assert "chosen: only instances take this noise, Laplace(), as it is" in said


def test_a_kernel_density_class_is_one_file_and_keeps_the_laws(capsys: pytest.CaptureFixture[str]) -> None:
    module = _example("kernel_density_class")
    assert module.main(200) > 0.95
    assert "the noise that was given is used" in capsys.readouterr().out
    train, label = module.rings(40, np.random.default_rng(0))
    with pytest.raises(ValueError, match="KernelDensityClass takes Gaussian error bars: got noise Student"):
        BADACClassifier(module.KernelDensityClass(), noise=Student(4.0)).fit(train, label)


# Small enough to be quick, large enough to have every class and batch.
SIZES = {
    "parametric": (16,),
    "nuisance": (30,),
    "batches": (100, 1),
    "subclasses": (60,),
    "stream": (150,),
    "periodic_hypothesis": (50,),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_example_draws_its_figure(name: str, tmp_path: Path) -> None:
    _example(name).main(str(tmp_path / name), *SIZES[name])
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000

"""Every example runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_overview_draws_the_readme_picture(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("overview", EXAMPLES / "overview.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(str(tmp_path / "overview"), 400)
    assert (tmp_path / "overview.png").stat().st_size > 10_000


# Small enough to be quick, large enough to have every class and batch.
SIZES = {
    "parametric": (40,),
    "nuisance": (120,),
    "batches": (150, 1),
    "subclasses": (100,),
    "stream": (250,),
    "periodic_hypothesis": (80,),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_example_draws_its_figure(name: str, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    module.main(str(tmp_path / name), *SIZES[name])
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000

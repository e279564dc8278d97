"""Every example runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_overview_draws_the_readme_picture(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("overview", EXAMPLES / "overview.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(str(tmp_path / "overview"), 400)
    assert (tmp_path / "overview.png").stat().st_size > 10_000

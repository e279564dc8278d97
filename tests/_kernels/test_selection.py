"""Which implementation is chosen, and that the choice is open to the user."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def implementation(kernels: str | None, *, hide_core: bool = False) -> subprocess.CompletedProcess[str]:
    """Import in a fresh interpreter: the choice is made once, at import."""
    hide = "import sys; sys.modules['badac._kernels._core'] = None; " if hide_core else ""
    environment = {name: value for name, value in os.environ.items() if name != "BADAC_KERNELS"}
    if kernels is not None:
        environment["BADAC_KERNELS"] = kernels
    code = hide + "import badac._kernels as k; print(k.implementation, k.pair_logsumexp.__module__)"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_the_core_where_it_is_built() -> None:
    pytest.importorskip("badac._kernels._core", reason="the core is not built here")
    assert implementation(None).stdout.split() == ["compiled", "badac._kernels.compiled"]


def test_the_twin_on_request() -> None:
    assert implementation("reference").stdout.split() == ["reference", "badac._kernels.reference"]


def test_the_twin_without_a_core() -> None:
    assert implementation(None, hide_core=True).stdout.split() == ["reference", "badac._kernels.reference"]


def test_an_unknown_choice_is_refused() -> None:
    found = implementation("fortran")
    assert found.returncode != 0
    assert "BADAC_KERNELS must be 'compiled' or 'reference': got 'fortran'" in found.stderr

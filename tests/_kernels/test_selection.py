"""Which backend is chosen, that the choice is open to the user, and that another may take its place for a while."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import TABLE, kernels

from badac import _kernels
from badac._kernels import NUMPY, Backend, Pairs, using


def chosen(kernels: str | None, *, core: str | None = None) -> subprocess.CompletedProcess[str]:
    """Import in a fresh interpreter: the choice is made once, at import."""
    hide = "" if core is None else f"import sys; sys.modules['badac._kernels._core'] = {core}; "
    environment = {name: value for name, value in os.environ.items() if name != "BADAC_KERNELS"}
    if kernels is not None:
        environment["BADAC_KERNELS"] = kernels
    code = hide + "import badac._kernels as k; print(k.backend.name, k.backend.pair_logsumexp.__module__)"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_the_core_where_it_is_built() -> None:
    pytest.importorskip("badac._kernels._core", reason="the core is not built here")
    assert chosen(None).stdout.split() == ["compiled", "badac._kernels.compiled_pairs"]


def test_the_twin_on_request() -> None:
    assert chosen("reference").stdout.split() == ["reference", "badac._kernels.pairs"]


def test_the_twin_without_a_core() -> None:
    assert chosen(None, core="None").stdout.split() == ["reference", "badac._kernels.pairs"]


def test_an_unknown_choice_is_refused() -> None:
    found = chosen("fortran")
    assert found.returncode != 0
    assert "BADAC_KERNELS must be 'compiled' or 'reference': got 'fortran'" in found.stderr


def test_a_core_of_another_version_is_refused_in_words() -> None:
    """Not passed over for the definition, which would only seem slow."""
    found = chosen(None, core="type('Core', (), {'abi': 1})")
    assert found.returncode != 0
    assert "it has abi 1" in found.stderr
    assert chosen("reference", core="type('Core', (), {'abi': 1})").stdout.split()[0] == "reference"


def test_another_backend_for_a_while() -> None:
    before = _kernels.backend
    pairs = Pairs.of(np.ones((1, 1)), np.zeros((1, 1)), np.ones((2, 1)), np.zeros((2, 1)))
    mine = Backend("mine", pair_log_match=lambda pairs, *, n_threads=1: np.full((1, 2), 7.0))
    with using(mine) as other:
        assert other is _kernels.backend is mine
        assert _kernels.pair_log_match(pairs).tolist() == [[7.0, 7.0]]
    assert _kernels.backend is before
    with pytest.raises(ValueError, match="a pair needs a variance"), using(NUMPY):
        _kernels.pair_log_match(pairs)
    assert _kernels.backend is before


@pytest.mark.parametrize("kernel", kernels())
def test_a_call_by_name_goes_to_the_backend_in_use(kernel: str) -> None:
    arguments = TABLE[kernel].make(*TABLE[kernel].sizes[1])
    heard = []
    definition = getattr(NUMPY, kernel)

    def listening(*args: object, n_threads: int = 1, **more: object) -> object:
        heard.append(n_threads)
        return definition(*args, n_threads=n_threads, **more)

    with using(replace(NUMPY, name="listening", **{kernel: listening})):
        getattr(_kernels, kernel)(**arguments, n_threads=3)
    assert heard == [3]

"""What every test shares: seeds, and where the real data sets are."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20190225)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as on a terminal: a job that a shell put into the background is born deaf to it, and so are its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def authors_sample() -> dict[str, np.ndarray]:
    """The sample that the paper's authors released; skipped, saying so, where it is absent."""
    path = SHARED_DATA / "authors_sample" / "sample.npz"
    if not path.exists():
        pytest.skip(f"the authors' sample is not at {path}")
    with np.load(path, allow_pickle=False) as sample:
        return dict(sample)

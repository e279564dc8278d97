"""What every test shares: seeds, where the real data sets are, and which tests one of several processes runs together."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Files that share what is dear to make: a cluster, a tiny reproduction. One process runs all of them.
TOGETHER = ("tests/reproduction/", "tests/scale/")
# What takes longest is begun first, so that two processes end together.
LONGEST = (
    *TOGETHER,
    "tests/estimators/test_sklearn.py",
    "tests/test_gallery.py",
    "tests/test_examples.py",
    "tests/classes/test_subclasses.py",
    "tests/noise_learning/",
    "tests/triage/",
    "tests/reliability/",
    "tests/laws/",
    "tests/cli/",
    "tests/job/",
    "tests/classes/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((k for k, name in enumerate(LONGEST) if item.nodeid.startswith(name)), len(LONGEST))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By file, as `--dist loadfile`, and by folder where its files share something."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    config.option.loadscopereorder = False  # the order above, in place of the number of tests
    return ByFile(config, log)


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


@pytest.fixture
def one_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One drawing for every figure of a page, where figures are not what is held; a test marked `drawn` draws its own."""
    if request.node.get_closest_marker("drawn") is None:
        from badac.plots import page

        monkeypatch.setattr(
            page, "rendered", lambda figure, form: b'<svg xmlns="http://www.w3.org/2000/svg"/>'
        )


@pytest.fixture(scope="session")
def authors_sample() -> dict[str, np.ndarray]:
    """The sample that the paper's authors released; skipped, saying so, where it is absent."""
    path = SHARED_DATA / "authors_sample" / "sample.npz"
    if not path.exists():
        pytest.skip(f"the authors' sample is not at {path}")
    with np.load(path, allow_pickle=False) as sample:
        return dict(sample)

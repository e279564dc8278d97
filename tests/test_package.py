"""The package as a whole: its public names, its version, and what importing it brings along."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import badac


def test_public_names_exist_and_are_few() -> None:
    assert all(hasattr(badac, name) for name in badac.__all__)
    assert len(badac.__all__) <= 15


def test_version_is_that_of_the_distribution() -> None:
    assert badac.__version__ == importlib.metadata.version("badac")


def test_import_brings_no_optional_package() -> None:
    """Optional packages are imported only where they are used; scikit-learn's own imports do not count."""
    probe = (
        "import sys, sklearn.base, sklearn.utils.multiclass; before = set(sys.modules); from badac import *; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )
    found = subprocess.run(
        [sys.executable, "-c", probe], check=True, capture_output=True, text=True
    ).stdout.split()
    optional = {"pandas", "pyarrow", "astropy", "matplotlib", "typer", "rich", "dask", "distributed", "pyod"}
    assert not optional & set(found)


def test_test_files_have_names_of_their_own() -> None:
    """Without packages in the test tree two files of one name would hide each other."""
    names = [path.name for path in Path(__file__).parent.rglob("*.py") if path.name != "conftest.py"]
    assert len(names) == len(set(names))

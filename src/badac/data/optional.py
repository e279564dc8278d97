"""Packages that only some tables need, imported when they do."""

from __future__ import annotations

import importlib
from typing import Any


def needs(module: str, what: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{what} needs {package}, which is not installed: pip install 'badac[io]' brings it."
        ) from error

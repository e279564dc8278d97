"""Writing files so that they are whole or absent, and values as JSON has them."""

from __future__ import annotations

import math
import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is never seen half-written: under another name, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def plain(value: object) -> object:
    """Return a value as JSON has it: names as strings, tuples as lists, and null for numbers that JSON lacks."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

"""Writing files so that they are whole or absent, and values as JSON has them."""

from __future__ import annotations

import math
import os
from pathlib import Path


def check_file(path: Path, what: str, *, overwrite: bool) -> None:
    """Find out before the work, not after it, that a file could not be written, or would replace another."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: {what} is a file. Give its name too, with --output.")
    above = path.absolute().parent
    if not above.is_dir():
        raise ValueError(
            f"there is no folder {above} for {what}. Make it, or give another place with --output."
        )
    if not os.access(above, os.W_OK | os.X_OK):
        raise ValueError(f"{above} cannot be written to. Give another place with --output.")
    if path.exists() and not overwrite:
        raise ValueError(
            f"{path} is there already. Give another name with --output, or replace it with --overwrite."
        )


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

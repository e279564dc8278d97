"""The files of the page, from the package."""

from __future__ import annotations

from importlib.resources import files


def static(name: str) -> bytes:
    """Return a file of the page."""
    return (files("badac.triage") / "static" / name).read_bytes()

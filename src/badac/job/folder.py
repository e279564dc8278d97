"""Output folders that are whole or absent, and never take anybody's files with them.

The results are written into a folder of another name beside the wanted one, which is renamed at the end. An interruption, a
full disk or an error leaves what was there before.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OURS = frozenset(
    {"report.html", "ranking.parquet", "ranking.csv", "summary.json", "model.badac", "curves", "digits"}
    | {"verdicts", "bad_rows.csv"}
    | {f"{name}.{form}" for name in ("train", "new", "truth") for form in ("csv", "parquet")}
)
"""What a folder of results may hold; one with anything else is not replaced."""


def check_folder(path: Path, *, overwrite: bool) -> None:
    """Find out before the work, not after it, that the results could not be written."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file: the results need a folder. Give another one with --output.")
    if path.is_dir() and any(path.iterdir()):
        foreign = sorted(entry.name for entry in path.iterdir() if entry.name not in OURS)
        if foreign:
            raise ValueError(
                f"the folder {path} holds other files ({', '.join(foreign[:3])}{', ...' if len(foreign) > 3 else ''}) and is "
                "left alone. Give another one with --output."
            )
        if not overwrite:
            raise ValueError(
                f"the folder {path} holds earlier results. Give another one with --output, or replace them with --overwrite."
            )
    above = path.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ValueError(f"{above} cannot be written to. Give another folder with --output.")


@contextmanager
def output_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a folder to write into, which becomes `path` when all went well and vanishes otherwise."""
    check_folder(path, overwrite=overwrite)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    working = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        yield working
        working.chmod(0o777 & ~_umask())
        if path.exists():
            aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
            path.rename(aside / "old")
            working.rename(path)
            shutil.rmtree(aside)
        else:
            working.rename(path)
    finally:
        shutil.rmtree(working, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

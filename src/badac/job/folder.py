"""Output folders that are whole or absent, and never take anybody's files with them.

The results are written into a folder of another name beside the wanted one, which is renamed at the end. An interruption, a
full disk or an error leaves what was there before. Whoever writes holds a lock (`badac.locks`) from the first check to the last
rename, and asks it again before anything is replaced. What a killed run left behind goes when the next one takes the lock.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from badac.locks import Lock, locked
from badac.writing import sync_folder

_WORKING, _REPLACED = "working-", "replaced-"
FORMS = ("csv", "parquet", "fits", "vot", "ecsv")
"""Suffixes of the tables in a folder of results."""
OURS = frozenset(
    {
        "report.html",
        "summary.json",
        "model.badac",
        "curves",
        "light_curves",
        "catalogue",
        "labels.csv",
        "digits",
    }
    | {"verdicts", "bad_rows.csv"}
    | {f"{name}.{form}" for name in ("ranking", "train", "new", "truth") for form in FORMS}
)
"""What a folder of results may hold; one with anything else is not replaced."""


def check_folder(path: Path, *, overwrite: bool) -> None:
    """Find out before the work, not after it, that the results could not be written."""
    if os.path.islink(os.path.realpath(path)):
        raise ValueError(
            f"{path} is a link that leads to itself. Remove it, or give another folder with --output."
        )
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
def reserved(path: Path, *, overwrite: bool = False) -> Iterator[Lock]:
    """Hold the lock on an output folder while the results are on their way, so that two runs never meet there."""
    check_folder(path, overwrite=overwrite)
    with locked(path) as lock:
        _tidy(Path(os.path.realpath(path)))
        yield lock


@contextmanager
def output_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a folder to write into, which becomes `path`, or what a link there leads to, when all went well; else it goes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from badac.job import output_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with output_folder(Path(folder) / "results") as results:
    ...         _ = (results / "notes.txt").write_text("all went well")
    ...     (Path(folder) / "results" / "notes.txt").read_text()
    'all went well'
    """
    with reserved(path, overwrite=overwrite) as lock:
        path = Path(os.path.realpath(path))
        above = path.parent
        working = Path(tempfile.mkdtemp(prefix=f".{path.name}.{_WORKING}", dir=above))
        try:
            yield working
            working.chmod(0o777 & ~_umask())
            sync_folder(working)
            # Again: the work may have taken hours.
            lock.check()
            check_folder(path, overwrite=overwrite)
            _put(working, path)
            sync_folder(above)
        finally:
            shutil.rmtree(working, ignore_errors=True)


def _put(working: Path, path: Path) -> None:
    """Give a folder its name; what has that name is set aside first, and comes back if that fails."""
    if not path.exists():
        working.rename(path)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.{_REPLACED}", dir=path.absolute().parent))
    path.rename(aside / "old")
    try:
        working.rename(path)
    except BaseException:
        (aside / "old").rename(path)
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _tidy(path: Path) -> None:
    """Remove what dead runs left beside a folder whose lock is ours; results that one of them had set aside come back."""
    above, name = path.absolute().parent, glob.escape(path.name)
    for aside in above.glob(f".{name}.{_REPLACED}*"):
        if (aside / "old").exists() and not path.exists():
            (aside / "old").rename(path)
        shutil.rmtree(aside, ignore_errors=True)
    for left in above.glob(f".{name}.{_WORKING}*"):
        shutil.rmtree(left, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Options for many processes or machines, and the ranking on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from badac.cli.speech import counting, note, step

if TYPE_CHECKING:
    from badac.estimators import BADACClassifier
    from badac.job import Found, RankOptions


class OnErrorChoice(StrEnum):
    """What a row that cannot be used does to the run."""

    stop = "stop"
    report = "report"


Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "-w",
        help="Rank with so many processes; NEW is a Parquet file or a folder of them. A run that was interrupted goes on where "
        "it stopped.",
        min=1,
        show_default="this process",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", help="Rank on the Dask cluster with this address, such as tcp://10.0.0.1:8786."
    ),
]
OnError = Annotated[
    OnErrorChoice,
    typer.Option(
        "--on-error",
        help="With --workers or --scheduler: stop at rows that cannot be used, or finish the rest and list them in "
        "bad_rows.csv.",
    ),
]


def rank_on_cluster(
    model: BADACClassifier,
    new: Path,
    output: Path,
    options: RankOptions,
    *,
    workers: int | None,
    scheduler: str | None,
) -> Found:
    """Rank the objects of a file or folder on a cluster."""
    try:
        from badac.dask import cluster, rank_files
        from badac.dask.files import is_private
        from badac.dask.pieces import files_of
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"--workers and --scheduler need {missing.name}, which is not installed: pip install 'badac[scale]' brings it."
        ) from missing
    from badac.job import rows_in

    rows = sum(rows_in(path) for path in files_of(new))
    where = f"the cluster at {scheduler}" if scheduler else f"{workers} processes"
    if scheduler is None and not is_private():
        note(
            "Other users of this machine could send work to the processes that are started: their ports have no lock without "
            "the package cryptography (pip install cryptography).",
            warning=True,
        )
    with ExitStack() as stack:
        with step(f"Starting {where}"):
            client = stack.enter_context(cluster(workers, scheduler))
        done = stack.enter_context(counting(f"Ranking {new.name}", rows, "rows"))
        with kept_is_said():
            return rank_files(model, new, output, client, options, done=done)


@contextmanager
def kept_is_said(parts: str = "") -> Iterator[None]:
    """Say where the finished parts of a run are, if it is interrupted or the disk is full: they take room until it goes on."""
    try:
        yield
    except (KeyboardInterrupt, OSError):
        where = f" in {parts}" if parts else ""
        note(f"What is finished is kept{where}: the same command goes on from there.")
        raise


def keep_parts(found: Found, output: Path) -> None:
    """Move the verdicts of all objects, a file for each part of the data, into the folder of the results."""
    if found.parts:
        from badac.dask.parts import keep_parts

        keep_parts(found, output)

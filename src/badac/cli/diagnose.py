"""``badac diagnose``: do the error bars hold?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from badac.cli.drawing import check_figure, draw
from badac.cli.options import Json, OverwriteFile, Seed, read_labelled
from badac.cli.speech import plainly, step, tell
from badac.cli.table_options import reads_tables

if TYPE_CHECKING:
    from badac.job import TableOptions


@reads_tables
def diagnose(
    train: Annotated[
        Path,
        typer.Argument(help="Labelled table: CSV, Parquet, FITS, VOTable, ECSV or NPZ.", show_default=False),
    ],
    table: TableOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also draw the residuals into this PNG or SVG file.")
    ] = None,
    overwrite: OverwriteFile = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    r"""Check the error bars of a labelled table: too small, too large, bad points, correlated, or variances.

    For example:

    $ badac diagnose train.csv

    $ badac diagnose train.csv --json | jq .advice
    """
    with plainly():
        check_figure(output, overwrite=overwrite)
        import numpy as np

        training = read_labelled(train, table, quiet=as_json)
        if not training.catalogue.objects.has_errors:
            raise ValueError("there are no errors to diagnose (--errors none).")
        from badac.job.learning import check_noise

        with step("Comparing noise models"):
            found = check_noise(training.catalogue.objects, training.labels, np.random.default_rng(seed))
        if output is not None:
            from badac.plots import DiagnosisDisplay

            draw(DiagnosisDisplay(found.edges, found.density, f"noise: {found.best}"), output)
        tell("diagnose", found, output, as_json=as_json)

"""``badac simulate``: tables to try the commands on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from badac.cli.options import Overwrite, Seed
from badac.cli.rank import Form
from badac.cli.speech import note, plainly, step


class Kind(StrEnum):
    """What to simulate."""

    gaussian = "1"
    compact = "2"
    outliers = "3"
    correlated = "4"
    digits = "digits"
    stars = "stars"
    variables = "variables"
    spectra = "spectra"


class Setting(StrEnum):
    """Noise of the paper's text, or of its authors' data."""

    printed = "printed"
    released = "released"


def simulate(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="One of the paper's experiments, 1 to 4, digits, or tables as surveys have them."
        ),
    ] = Kind.compact,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables.")] = Path(
        "simulated"
    ),
    setting: Annotated[
        Setting, typer.Option("--setting", "-s", help="Noise as printed or as released.")
    ] = Setting.printed,
    size: Annotated[int, typer.Option("--size", "-n", help="Training and new curves.", min=20)] = 3000,
    form: Annotated[Form, typer.Option("--format", "-f", help="Kind of the files.")] = Form.parquet,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    r"""Write tables of simulated objects: a labelled one, a new one with anomalies in it, and the truth.

    For example:

    $ badac simulate 2 -o simulated

    $ badac rank simulated/train.parquet simulated/new.parquet
    """
    with plainly():
        from badac.job.folder import check_folder, output_folder
        from badac.job.simulated import SURVEYS, write_survey, write_tables
        from badac.job.simulated import simulate as draw

        check_folder(output, overwrite=overwrite)
        with step("Simulating"), output_folder(output, overwrite=overwrite) as working:
            if kind.value in SURVEYS:
                import numpy as np

                made = SURVEYS[kind.value](size, size, np.random.default_rng(seed))
                write_survey(made, working, form.suffix)
            else:
                drawn = draw(kind.value, setting=setting.value, size=size, seed=seed)
                write_tables(drawn, working, form.suffix)
        train, new = (output / f"{name}.{form.suffix}" for name in ("train", "new"))
        typer.echo(f"{train}\n{new}\n{output / 'truth.csv'}")
        note(f"Next: badac rank {train} {new}")

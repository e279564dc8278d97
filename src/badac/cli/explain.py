"""``badac explain``: why is this object strange?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from badac.cli.drawing import check_figure, draw
from badac.cli.options import Jobs, Json, OverwriteFile, load_model
from badac.cli.speech import note, plainly, step, tell, waiting


def explain(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Table with the object.", show_default=False)],
    name: Annotated[
        str,
        typer.Argument(
            metavar="OBJECT", help="Its name, or its row if the table has no names.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also draw it into this PNG or SVG file.")
    ] = None,
    overwrite: OverwriteFile = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    r"""Say why an object is strange: which window, which points, and what it should have looked like.

    For example:

    $ badac explain model.badac new.csv star-17 -o star-17.png
    """
    with plainly():
        check_figure(output, overwrite=overwrite)
        fitted = load_model(model)
        fitted.n_jobs = jobs
        from badac.job.explaining import explained, find_object

        with waiting(f"Looking for {name}"):
            one = find_object(fitted, new, name)
        for line in one.losses.notes:
            note(line, warning=True)
        with step(f"Comparing {name} with the known classes"):
            found = explained(fitted, one)
        if output is not None:
            draw(found.display, output)
        tell("explain", found, output, as_json=as_json)

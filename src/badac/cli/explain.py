"""``badac explain``: why is this object strange?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from badac.cli.drawing import check_figure, draw
from badac.cli.options import Jobs, Json, OverwriteFile, load_model, say_what_is_not_used
from badac.cli.speech import note, plainly, step, tell, waiting
from badac.cli.table_options import TRAINING_ONLY, reads_tables

if TYPE_CHECKING:
    from badac.data import Catalogue
    from badac.estimators import BADACClassifier
    from badac.job import TableOptions


@reads_tables
def explain(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|RESULTS",
            help="Model file, or the folder that badac rank has written.",
            show_default=False,
        ),
    ],
    table: TableOptions,
    new: Annotated[
        Path | None,
        typer.Argument(metavar="[NEW]", help="Table with the object; not with a folder.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[OBJECT]", help="Its name, or its row if the table has no names.", show_default=False
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option("--rank", "-r", help="Its place in the ranking instead: 1 is the strangest.", min=1),
    ] = None,
    ranking: Annotated[
        Path | None,
        typer.Option("--ranking", help="File or folder of the ranking, where MODEL is a model file."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also draw it into this PNG or SVG file.")
    ] = None,
    overwrite: OverwriteFile = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    r"""Say why an object is strange: which column, band or wavelength, and what it should have looked like.

    For example, the strangest object of a ranking, or one by its name:

    $ badac explain ranking --rank 1

    $ badac explain model.badac new.csv star-17 -o star-17.png
    """
    with plainly():
        check_figure(output, overwrite=overwrite)
        if model.is_dir() and new is not None and name is None:
            new, name = None, str(new)
        if (name is None) == (rank is None):
            raise typer.BadParameter(
                "say which object: by its name (badac explain MODEL NEW OBJECT) or by its place in the ranking (--rank 1)."
            )
        fitted, one, pvalue = _found(model, new, name, rank, ranking, table)
        fitted.n_jobs = jobs
        say_what_is_not_used(context, *TRAINING_ONLY, "label")
        for line in one.losses.notes:
            note(line, warning=True)
        from badac.job.explaining import explained

        with step(f"Comparing {one.ids[0]} with the known classes"):
            found = explained(fitted, one, pvalue=pvalue)
        if output is not None:
            draw(found.display, output)
        tell("explain", found, output, as_json=as_json)


def _found(
    model: Path,
    new: Path | None,
    name: str | None,
    rank: int | None,
    ranking: Path | None,
    table: TableOptions,
) -> tuple[BADACClassifier, Catalogue, float | None]:
    """Return the model, the object and its p-value, if a ranking has it."""
    from badac.job.explaining import Results, at_rank, find_object, ranked_now
    from badac.job.record import layout_of

    pvalue = None
    if model.is_dir():
        if new is not None or ranking is not None:
            raise typer.BadParameter(
                f"{model} is a folder of results, which knows its table and its ranking: give an object or --rank alone."
            )
        results = Results.of(model)
        model, new = results.model, results.table
        if rank is None:
            pvalue = results.pvalue(str(name))
        else:
            name, pvalue = results.at_rank(rank)
    elif new is None:
        raise typer.BadParameter("give the table with the object after the model, or a folder of results.")
    elif rank is not None and ranking is not None:
        name, pvalue = Results.of(ranking).at_rank(rank) if ranking.is_dir() else at_rank(ranking, rank)
    fitted = load_model(model)
    layout = table.over(layout_of(fitted))
    if name is None:
        assert rank is not None
        with step(f"Ranking {new.name} (--ranking FILE takes the order from an earlier ranking)"):
            return fitted, ranked_now(fitted, new, rank, layout), None
    with waiting(f"Looking for {name}"):
        return fitted, find_object(fitted, new, name, layout), pvalue

"""``badac evaluate``: how good are the classes, and does it find what is new?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from badac.cli.drawing import check_figure, draw
from badac.cli.options import (
    ClassOption,
    Jobs,
    Json,
    NoiseOption,
    OverwriteFile,
    Seed,
    is_model,
    load_model,
    read_labelled,
    say_what_is_not_used,
)
from badac.cli.speech import counting, plainly, step, tell, warn
from badac.cli.table_options import TRAINING_ONLY, reads_tables

if TYPE_CHECKING:
    from badac.job import TableOptions


@reads_tables
def evaluate(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|TRAIN",
            help="A model file, or a labelled table to cross-validate.",
            show_default=False,
        ),
    ],
    table: TableOptions,
    labelled: Annotated[
        Path | None,
        typer.Argument(metavar="[LABELLED]", help="Labelled objects that the model has not seen."),
    ] = None,
    class_model: ClassOption = "auto",
    noise: NoiseOption = "checked",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.", min=2)] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also draw the calibration curve into this PNG or SVG file."),
    ] = None,
    overwrite: OverwriteFile = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    r"""Judge the probabilities: by cross-validation of a labelled table, or on labelled objects that a model has not seen.

    Objects with a label that the model does not know count as anomalies, and the ranking is judged by them.

    For example:

    $ badac evaluate train.csv

    $ badac evaluate model.badac held-out.csv --label type
    """
    with plainly():
        check_figure(output, overwrite=overwrite)
        from badac.job.evaluation import by_cross_validation, on_labelled

        if is_model(model):
            if labelled is None:
                raise typer.BadParameter(
                    "a model is judged on labelled objects: badac evaluate MODEL LABELLED; without a model the table is "
                    "cross-validated: badac evaluate TRAIN."
                )
            fitted = load_model(model)
            fitted.n_jobs = jobs
            say_what_is_not_used(context, *TRAINING_ONLY, "class_model", "noise", "folds", "seed")
            with counting(f"Judging {labelled.name}", 0, "objects") as done:
                found = on_labelled(fitted, labelled, table, done=done, say=warn)
        else:
            if labelled is not None:
                raise typer.BadParameter(
                    f"{model} is a table: first badac fit {model} -o model.badac, then badac evaluate model.badac {labelled}."
                )
            from badac.job import Settings

            training = read_labelled(model, table, quiet=as_json)
            with step(f"Cross-validating, {folds} folds"):
                found = by_cross_validation(
                    training, Settings(class_model, noise, seed=seed, folds=folds), n_jobs=jobs
                )
        if output is not None:
            draw(found.calibration, output)
        tell("evaluate", found, output, as_json=as_json)

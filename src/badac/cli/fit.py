"""``badac fit``: learn the classes of a labelled table and keep them in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from badac.cli.options import (
    MODEL_BEGINS,
    ClassOption,
    Diagnose,
    Folds,
    Jobs,
    Json,
    NoiseOption,
    OverwriteFile,
    Prior,
    Seed,
    Verdicts,
    VerdictsTable,
    read_labelled,
)
from badac.cli.speech import inform, plainly, print_json, printable, step, to_stdout
from badac.cli.table_options import reads_tables
from badac.writing import check_file

if TYPE_CHECKING:
    from badac.job import TableOptions


@reads_tables
def fit(
    train: Annotated[
        Path,
        typer.Argument(help="Labelled table: CSV, Parquet, FITS, VOTable, ECSV or NPZ.", show_default=False),
    ],
    table: TableOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes.")] = Path(
        "model.badac"
    ),
    overwrite: OverwriteFile = False,
    class_model: ClassOption = "auto",
    noise: NoiseOption = "checked",
    anomaly_prior: Prior = 0.01,
    folds: Folds = 3,
    diagnose: Diagnose = True,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
    verdicts: Verdicts = None,
    verdicts_table: VerdictsTable = None,
) -> None:
    r"""Learn the classes of a labelled table, and keep them in a model file.

    A wide table has one row per object, and beside each value column one with its standard deviation (flux_g and flux_g_err).
    A long table has one row per measurement (object, time, band, flux, flux_err). The column of the labels is recognised if it
    is called label, class, type or target; labels may be in another file (--labels).

    For example:

    $ badac fit train.csv

    $ badac fit curves.parquet --labels objects.csv --label target --find-period

    $ badac fit stars.parquet --label var_type --noise auto -o stars.badac

    $ badac fit train.csv --verdicts new.triage.jsonl        # with what was said on the triage page
    """
    with plainly():
        check_file(output, "the model", overwrite=overwrite, begins=(MODEL_BEGINS,))
        training = read_labelled(train, table, quiet=as_json)
        if verdicts is not None:
            from badac.triage.verdict_files import with_verdicts

            training, count = with_verdicts(training, verdicts, verdicts_table)
            inform(f"{verdicts.name}: {count} objects that somebody gave a class or a new kind learn too.")
        from badac.job import Record, Settings, learn
        from badac.store import save

        model = learn(
            training,
            Settings(class_model, noise, anomaly_prior, seed, folds, diagnose),
            n_jobs=jobs,
            step=step,
        )
        # Again: learning takes its time.
        check_file(output, "the model", overwrite=overwrite, begins=(MODEL_BEGINS,))
        save(model, output)
        record = Record.of(model)
        assert record is not None
        if as_json:
            found = {"schema": "badac.fit/1", "model": str(output), **record.numbers()}
            print_json(found | {"score": model.score_meaning_})
            return
        console = to_stdout()
        for line in [*record.lines(), f"Score: {model.score_meaning_}"]:
            console.print(printable(line), highlight=False, soft_wrap=True)
        inform(f"Model: {output}\nNext: badac rank {output} NEW")

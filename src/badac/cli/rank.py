"""``badac rank``: what is each new object, and what to look at first."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from badac.cli.options import (
    ClassOption,
    Diagnose,
    Folds,
    Jobs,
    Json,
    NoiseOption,
    Overwrite,
    Prior,
    Seed,
    Verdicts,
    is_model,
    load_model,
    read_labelled,
    reserve,
    say_what_is_not_used,
    typed,
)
from badac.cli.speech import counting, inform, plainly, print_json, printable, step, to_stdout, warn
from badac.cli.table_options import TRAINING_ONLY, reads_tables
from badac.cli.workers import (
    OnError,
    OnErrorChoice,
    Scheduler,
    Workers,
    keep_parts,
    kept_is_said,
    rank_on_cluster,
)

if TYPE_CHECKING:
    from badac.job import Found, TableOptions


TRAINING_OPTIONS = (
    *TRAINING_ONLY,
    "label",
    "class_model",
    "noise",
    "anomaly_prior",
    "folds",
    "diagnose",
    "seed",
)


class Form(StrEnum):
    """Kind of file of the ranking."""

    parquet = "parquet"
    csv = "csv"
    fits = "fits"
    votable = "votable"
    ecsv = "ecsv"

    @property
    def suffix(self) -> str:
        """Of the file's name, without the dot."""
        return "vot" if self is Form.votable else self.value


@reads_tables
def rank(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|TRAIN", help="A model file, or the labelled table itself.", show_default=False
        ),
    ],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="New objects, laid out as the training.", show_default=False)
    ],
    table: TableOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the ranking and the report.")
    ] = Path("ranking"),
    form: Annotated[Form, typer.Option("--format", "-f", help="File of the ranking.")] = Form.parquet,
    fdr: Annotated[
        float, typer.Option("--fdr", help="Share of false alarms that a list of discoveries may hold.")
    ] = 0.1,
    overwrite: Overwrite = False,
    class_model: ClassOption = "auto",
    noise: NoiseOption = "checked",
    anomaly_prior: Prior = 0.01,
    folds: Folds = 3,
    diagnose: Diagnose = True,
    seed: Seed = 0,
    jobs: Jobs = -1,
    batch: Annotated[
        int | None, typer.Option("--batch", help="Rows read at a time.", min=1, show_default="20480")
    ] = None,
    show: Annotated[
        int, typer.Option("--show", help="How many of the strangest objects the report draws.", min=1)
    ] = 20,
    workers: Workers = None,
    scheduler: Scheduler = None,
    on_error: OnError = OnErrorChoice.stop,
    as_json: Json = False,
    verdicts: Verdicts = None,
) -> None:
    r"""Classify new objects, rank them by how strange they are, and write a report.

    Writes ranking.parquet (object, class, probabilities, anomaly probability, p-value, rank, and the columns of the table that
    are no features, such as ra and dec) and report.html into the output folder. Files larger than memory are read and written
    in batches.

    For example, in one step or in two:

    $ badac rank train.csv new.csv

    $ badac fit train.csv -o model.badac

    $ badac rank model.badac new.parquet -o results --format csv

    Or on many processes, from a folder of Parquet files:

    $ badac rank model.badac survey/ -o results --workers 8

    With a model file, options about the training have no effect, and are named if given; --pair, --missing, --errors, --column
    and --period then speak of the new table.
    """
    with plainly():
        if not 0.0 < fdr < 1.0:
            raise typer.BadParameter(f"--fdr is a share between 0 and 1: got {fdr:g}.")
        command = typed(context)
        reserve(context, output, overwrite=overwrite)
        on_cluster = workers is not None or scheduler is not None
        _check_there(new, folder_too=on_cluster)
        if on_error is OnErrorChoice.report and not on_cluster:
            raise typer.BadParameter("--on-error report needs --workers or --scheduler.")
        without: frozenset[str] = frozenset()
        if verdicts is not None:
            from badac.triage.verdict_files import dismissed

            without = dismissed(verdicts)
        from badac.job.record import layout_of

        if is_model(model):
            with step(f"Loading {model.name}"):
                fitted = load_model(model)
            fitted.n_jobs = jobs
            say_what_is_not_used(context, *TRAINING_OPTIONS)
            layout = table.over(layout_of(fitted))
        else:
            training = read_labelled(model, table, quiet=as_json, new_too=True)
            from badac.job import Settings, check_readable, learn

            layout = table.over(training.layout)
            if on_error is OnErrorChoice.stop:
                check_readable(new, layout, batch)

            settings = Settings(class_model, noise, anomaly_prior, seed, folds, diagnose)
            fitted = learn(training, settings, n_jobs=jobs, step=step)
        from badac.job import RankOptions, output_folder, rank_file, rows_in, write_results

        # Beside the results there is room for them, and a folder of temporary files may be part of the memory.
        scratch = next((folder for folder in output.absolute().parents if folder.exists()), None)
        options = RankOptions(
            layout, fdr, batch, show, command, on_error.value, without=without, scratch=scratch
        )
        if on_cluster:
            found = rank_on_cluster(fitted, new, output, options, workers=workers, scheduler=scheduler)
            for line in found.notes:
                warn(line)
        else:
            with step("Learning once more without a part of the known objects, to compare with those"):
                fitted.prepare_pvalues()
            with counting(f"Ranking {new.name}", rows_in(new), "rows") as done:
                found = rank_file(fitted, new, options, done=done, say=warn)
        if verdicts is not None:
            inform(
                f"{verdicts.name}: {found.n_without} objects that somebody has explained are left out of ranking and list."
            )
        with kept_is_said(found.parts) if found.parts else nullcontext():
            with output_folder(output, overwrite=overwrite) as working, step("Writing the report"):
                stored = model if is_model(model) else None
                about_files = write_results(found, working, form.suffix, table=new, model=stored)
            keep_parts(found, output)
        if as_json:
            print_json(found.summary() | {"folder": str(output)})
        else:
            _show(found)
        for line in about_files:
            warn(line)
        if not as_json:
            inform(f"Ranking: {output / f'ranking.{form.suffix}'}\nReport: {output / 'report.html'}")
            # Labels are of no use to new objects, unless their columns or periods stand there too.
            asked = layout.beside or layout.preparation.get("period") or layout.preparation.get("fold")
            beside = table.objects or (table.labels if asked else "")
            inform(f"Next: badac explain {output} --rank 1{f' --objects {beside}' if beside else ''}")


def _show(found: Found) -> None:
    from rich import box
    from rich.table import Table

    from badac.job.report import headline

    console = to_stdout()
    inform(f"{found.source}: {found.recognised}.")
    if found.comparison is not None:
        for one in found.comparison.differences:
            warn(f"{one.what}: {one.words}")
        if not found.comparison.differences:
            inform(str(found.comparison))
    console.print(printable(headline(found)), highlight=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    top = found.columns(stop=10)
    shown = ("rank", "object", "anomaly_proba", "pvalue", "class", "class_proba")
    for name in shown:
        table.add_column(name, justify="left" if name in ("object", "class") else "right")
    for row in range(len(top["rank"])):
        cells = (top[name][row] for name in shown)
        table.add_row(
            *(
                f"{cell:.3g}" if top[name].dtype.kind == "f" else printable(str(cell))
                for name, cell in zip(shown, cells, strict=True)
            )
        )
    console.print(table)


def _check_there(path: Path, *, folder_too: bool = False) -> None:
    from badac.data.files import kind_of

    if path.is_dir() and folder_too:
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder: add --workers N to rank all Parquet files in it.")
    kind_of(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist (looked in {Path.cwd()})")

"""``make reproduce``: run the paper's experiments and put the paper's numbers beside ours."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from badac.cli import INTERRUPTED
from badac.cli.speech import FAILED, plainly, progress, to_stderr, to_stdout, waiting

if TYPE_CHECKING:
    from rich.table import Table

    from reproduction.cells import Cell
    from reproduction.report import Reproduction
    from reproduction.results import Result
    from reproduction.tables import Row

_WIDE = 112

app = typer.Typer(
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a traceback is for bug reports and should be the plain one
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
)


class SettingChoice(StrEnum):
    """Which of the two settings to run."""

    printed = "printed"
    released = "released"
    both = "both"


@app.command()
def reproduce(
    experiments: Annotated[
        list[int] | None, typer.Argument(help="Experiments, 1 to 4; all if none is named.", min=1, max=4)
    ] = None,
    setting: Annotated[
        SettingChoice, typer.Option("--setting", "-s", help="The paper's text, its authors' data, or both.")
    ] = SettingChoice.both,
    size: Annotated[
        str,
        typer.Option(
            "--size", "-n", help="small (1,500 curves), medium (5,000), paper (15,000), or a number."
        ),
    ] = "small",
    seeds: Annotated[int, typer.Option("--seeds", "-k", help="How many seeds to average over.", min=1)] = 1,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the report, figures and numbers.")
    ] = Path("paper-results"),
    algorithm: Annotated[
        list[str] | None, typer.Option("--algorithm", "-a", help="Only this algorithm; may be repeated.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Cells run at a time; by default one per core.", min=1)
    ] = None,
    finished: Annotated[
        bool,
        typer.Option("--finished", help="Report on what is done already in the folder; compute nothing."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON instead of tables.")
    ] = False,
    write_docs: Annotated[
        Path | None, typer.Option("--write-docs", help="Also write the tables into this Markdown file.")
    ] = None,
) -> None:
    r"""Run the paper's four experiments again, with the paper's value beside ours.

    Finished parts are kept in the output folder: after an interruption the same command goes on where it stopped.

    For example, all four, small, in both settings, in under two minutes:

    $ make reproduce

    Two experiments with the noise that the paper really used:

    $ make reproduce ARGS="1 3 --setting released"

    The paper's size, averaged over five seeds:

    $ make reproduce ARGS="--size paper --seeds 5"

    What is done of it so far, as a report (rows with fewer seeds say so):

    $ make reproduce ARGS="--size paper --seeds 5 --finished"
    """
    with plainly():
        from reproduction.cells import Size, not_installed, plan
        from reproduction.report import Reproduction, write_report

        try:
            cells = plan(
                Size.parse(size),
                experiments=experiments or (),
                settings=() if setting is SettingChoice.both else (setting.value,),
                n_seeds=seeds,
                algorithms=algorithm or (),
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        _check_places(output, write_docs)
        if finished:
            cells = _done(cells, output / "cells")
        results, failed = _run(cells, output / "cells", jobs)
        skipped = [] if algorithm else not_installed()
        command = _command(experiments or [], setting.value, size, seeds, algorithm or [])
        run = Reproduction(results, cells[0].size, command, skipped)
        if results:
            with waiting("Drawing the figures"):
                report = write_report(run, output)
            if write_docs is not None:
                from reproduction.documentation import write_documentation

                write_documentation(run, write_docs)
            _show(run, as_json=as_json)
            to_stderr().print(f"Report: {report}", soft_wrap=True)
        for cell, words in failed:
            to_stderr().print(
                Text.assemble(("Failed:", "bold red"), f" {cell.name}: {words}"), soft_wrap=True
            )
        if failed:
            raise typer.Exit(FAILED)


def _run(cells: list[Cell], directory: Path, jobs: int | None) -> tuple[list[Result], list[tuple[Cell, str]]]:
    """Run all cells with progress; return the results in the order of the plan, and what failed."""
    from reproduction.run import cores, run_cells

    results: dict[Cell, Result] = {}
    failed: list[tuple[Cell, str]] = []
    workers = jobs or cores()
    bar = progress("cells")
    task = bar.add_task(
        "Reproducing",
        total=sum(cell.expected_seconds for cell in cells),
        done=0,
        of=len(cells),
        workers=workers,
    )
    try:
        with bar:
            for outcome in run_cells(cells, directory, n_processes=jobs):
                if outcome.result is None:
                    failed.append((outcome.cell, outcome.error or "unknown error"))
                else:
                    results[outcome.cell] = outcome.result
                done = len(results) + len(failed)
                if outcome.kept:
                    # What is there already takes no time, and must not make the rest look quick.
                    bar.update(
                        task, total=(bar.tasks[0].total or 0.0) - outcome.cell.expected_seconds, done=done
                    )
                else:
                    bar.update(task, advance=outcome.cell.expected_seconds, done=done)
    except KeyboardInterrupt:
        to_stderr().print(
            f"\nInterrupted: {len(results)} of {len(cells)} cells are done and kept in {directory}. "
            "The same command goes on from there.",
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    return [results[cell] for cell in cells if cell in results], failed


def _done(cells: list[Cell], directory: Path) -> list[Cell]:
    """Return the cells whose results are kept."""
    from reproduction.kept import recall

    done = [cell for cell in cells if recall(directory, cell) is not None]
    if not done:
        raise ValueError(
            f"nothing that the present code would give is done in {directory}. Leave out --finished."
        )
    return done


def _check_places(output: Path, documentation: Path | None) -> None:
    """Find out before the work, not after it, that a result could not be written."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file: the results need a folder. Give another one with --output.")
    output.mkdir(parents=True, exist_ok=True)
    if not os.access(output, os.W_OK):
        raise ValueError(f"the folder {output} cannot be written to. Give another one with --output.")
    if documentation is not None:
        from reproduction.documentation import check_place

        check_place(documentation)


def _command(experiments: list[int], setting: str, size: str, seeds: int, algorithms: list[str]) -> str:
    words = [*map(str, experiments), "--setting", setting, "--size", size, "--seeds", str(seeds)]
    for name in algorithms:
        words += ["--algorithm", name]
    return f'make reproduce ARGS="{" ".join(words)}"'


def _show(run: Reproduction, *, as_json: bool) -> None:
    if as_json:
        from reproduction.kept import as_json as json_text

        typer.echo(json_text(run.as_dict()), nl=False)
        return
    from reproduction.tables import by_experiment

    console = to_stdout()
    if run.size.caveat:
        console.print(f"Note: {run.size.caveat}\n", style="yellow")
    for (setting, number), rows in by_experiment(run.rows).items():
        console.print(_table(setting, number, rows, narrow=console.width < _WIDE))
    if run.skipped:
        console.print(
            f"Left out, not installed: {', '.join(run.skipped)} (pip install 'badac\\[peers]').", style="dim"
        )


def _table(setting: str, number: int, rows: list[Row], *, narrow: bool) -> Table:
    from rich import box
    from rich.table import Table

    from reproduction.published import TITLES
    from reproduction.results import METRICS

    short = dict(METRICS) | {"accuracy": "Acc. %", "ece": "Calib. err."}
    # A terminal of 80 columns has no room for what the paper does not print; the report has it all.
    metrics = [metric for metric in METRICS if not narrow or metric not in ("log_loss", "ece")]
    shown = [metric for metric in metrics if any(metric in row.values for row in rows)]
    table = Table(
        title=Text.assemble(
            (f"Experiment {number}", "bold"),
            f": {TITLES[number]}, setting {setting} ",
            ("(in parentheses: the paper)", "dim"),
        ),
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )
    table.add_column("", no_wrap=True)
    for metric in shown:
        table.add_column(short[metric], justify="right")
    if not narrow:
        table.add_column("CPU s", justify="right")
    for row in rows:
        texts = (row.text(metric) for metric in shown)
        cells = [
            Text.assemble(ours, (f" ({theirs})", "dim")) if theirs else Text(ours) for ours, theirs in texts
        ]
        if not narrow:
            cells.append(Text(f"{row.fit_seconds + row.score_seconds:.1f}"))
        table.add_row(row.label, *cells, style="bold" if row.algorithm == "badac" else "")
    return table

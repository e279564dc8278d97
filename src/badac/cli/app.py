"""The table of verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from badac.cli import demo, diagnose, evaluate, explain, fit, rank, simulate, triage
from badac.cli.options import ModelCommand

app: typer.Typer = typer.Typer(
    name="badac",
    help="What a noisy object is, or that it is something new, with its error bars.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a traceback is for bug reports and should be the plain one
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from badac import __version__

        typer.echo(f"badac {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Say the version and stop.", callback=_say_version, is_eager=True),
    ] = False,
) -> None:
    """Tell what noisy objects are, or that they are something new, with their error bars."""


app.command("fit", cls=ModelCommand)(fit.fit)
app.command("rank", cls=ModelCommand)(rank.rank)
app.command("explain")(explain.explain)
app.command("evaluate", cls=ModelCommand)(evaluate.evaluate)
app.command("triage")(triage.triage)
app.command("diagnose")(diagnose.diagnose)
app.command("simulate")(simulate.simulate)
app.command("demo")(demo.demo)

"""Options that several verbs share, spelled once."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from badac.cli.speech import inform, note, step

if TYPE_CHECKING:
    from badac.estimators import BADACClassifier
    from badac.job import TableOptions, Training

WORDS: dict[str, tuple[str, ...]] = {
    "class_model": ("auto", "gp", "instances", "mixture", "population", "subclasses", "template"),
    "noise": ("auto", "checked", "correlated", "gaussian", "outliers", "poisson", "student"),
}
"""The registered words (`badac.registry`; a test compares the two): help and completion wait for no import of the models."""


def _check(parameter: str) -> Callable[[str], str]:
    """Return what refuses a word that is not registered (`badac.registry`); looked up when a verb runs, not before."""

    def checked(value: str) -> str:
        if value not in _words(parameter):
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(_words(parameter))}.")
        return value

    return checked


def _complete(parameter: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [word for word in WORDS[parameter] if word.startswith(incomplete)]

    return complete


def _words(parameter: str) -> tuple[str, ...]:
    from badac.estimators.choices import words

    return words(parameter)


class ModelCommand(TyperCommand):
    """A verb that learns: its help lists the registered words."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            if parameter.name in WORDS:
                parameter.metavar = f"<{'|'.join(WORDS[parameter.name])}>"
        super().format_help(ctx, formatter)


ClassOption = Annotated[
    str,
    typer.Option(
        "--class-model",
        help="What a class is.",
        callback=_check("class_model"),
        autocompletion=_complete("class_model"),
    ),
]
NoiseOption = Annotated[
    str,
    typer.Option(
        "--noise",
        help="How measurements scatter; auto learns it from the data.",
        callback=_check("noise"),
        autocompletion=_complete("noise"),
    ),
]
Prior = Annotated[
    float,
    typer.Option(
        "--anomaly-prior", help="Share of new objects that belong to no known class.", min=0.0, max=1.0
    ),
]
Folds = Annotated[int, typer.Option("--folds", help="Folds of the cross-validation; 0 for none.", min=0)]
Diagnose = Annotated[
    bool, typer.Option("--diagnose/--no-diagnose", help="Whether to check that the error bars hold.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of what is drawn at random.", min=0)]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.", show_default="all cores")
]
Verdicts = Annotated[
    Path | None,
    typer.Option(
        "--verdicts", help="What was said of objects: a session of badac triage, or a table of verdicts."
    ),
]
VerdictsTable = Annotated[
    Path | None,
    typer.Option("--verdicts-table", help="Table with those objects, if the session does not know it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for pipes.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace earlier results in the output folder.")]
OverwriteFile = Annotated[bool, typer.Option("--overwrite", help="Replace the output file, if there is one.")]


def reserve(context: typer.Context, output: Path, *, overwrite: bool) -> None:
    """Keep an output folder for this run until the verb ends; who is at work there already is named."""
    from badac.job.folder import reserved

    lock = context.with_resource(reserved(output, overwrite=overwrite))
    if lock.stale is not None:
        note(
            f"An earlier run into {output} by {lock.stale} ended without cleaning up. Its lock was taken over."
        )


def say_what_is_not_used(context: typer.Context, *names: str) -> None:
    """Say which options about the training were given and have no effect, since a model has learned already."""
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    ]
    if given:
        note(
            f"The model was learned already, so {', '.join(given)} {'has' if len(given) == 1 else 'have'} no effect: badac fit "
            "takes what is about the training.",
            warning=True,
        )


def typed(context: typer.Context) -> str:
    """Return the command line that is running, as the user gave it: what was left at its default is left out."""
    words = context.command_path.split()
    words[0] = "badac"
    arguments = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        value = context.params.get(parameter.name or "")
        if source is None or source.name != "COMMANDLINE" or value is None:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            if parameter.param_type_name == "argument":
                arguments.append(str(one))
            elif isinstance(one, bool):
                words.append((parameter.opts if one else parameter.secondary_opts)[0])
            else:
                words += [parameter.opts[0], str(one)]
    return shlex.join([words[0], *words[1:2], *arguments, *words[2:]])


MODEL_BEGINS = b"BADAC\x00"
"""First bytes of a model file (`badac.store.files`, which this need not import)."""


def is_model(path: Path) -> bool:
    """Whether a file is a fitted model rather than a table."""
    if path.suffix == ".badac":
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(MODEL_BEGINS)) == MODEL_BEGINS
    except OSError:
        return False


def load_model(path: Path) -> BADACClassifier:
    """Load a model file; a table in its place is told apart."""
    from badac.store import load

    if not is_model(path) and path.exists():
        raise ValueError(
            f"{path} is not a model. Make one with: badac fit {path} -o model.badac, and give that file."
        )
    model: Any = load(path)
    return model  # type: ignore[no-any-return]


def read_labelled(path: Path, table: TableOptions, *, quiet: bool = False, new_too: bool = False) -> Training:
    """Read the training table and say how it was understood; `new_too`: the verb reads new objects as well."""
    from badac.job import read_training

    if table.objects and not new_too:
        raise typer.BadParameter("--objects is the table of new objects; that of these is --labels FILE.")

    with step(f"Reading {path.name}"):
        training = read_training(path, table)
    if not quiet:
        found = training.catalogue
        inform(f"{path.name}: {found.recognised}.")
        classes = ", ".join(f"{name} ({count:,})" for name, count in list(training.counts.items())[:8])
        more = ", ..." if len(training.counts) > 8 else ""
        inform(f"Labels from {training.label!r}: {len(training.counts)} classes: {classes}{more}.")
    for line in training.notes:
        note(line, warning=True)
    return training

"""Options about tables: one set, spelled once, for every verb that reads one.

    @reads_tables
    def fit(train: Path, table: TableOptions, ...): ...

The decorator gives the verb these options in place of its parameter `table`, and hands it what was said as one thing.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from badac.cli.speech import be_quiet, plainly

if TYPE_CHECKING:
    from badac.job import TableOptions

ROLES = ("object", "time", "band", "value", "error")


class ErrorsChoice(StrEnum):
    """What the error columns hold (`badac.data.conventions.ERRORS`; a test compares the two)."""

    sigma = "sigma"
    variance = "variance"
    ivar = "ivar"
    relative = "relative"
    percent = "percent"
    over_error = "over_error"
    two_sigma = "two_sigma"
    three_sigma = "three_sigma"
    two_sigma_percent = "two_sigma_percent"
    none = "none"


class AlignChoice(StrEnum):
    """What times are counted from."""

    peak = "peak"


_PANEL = "The table"
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        help="Column of the labels; recognised by itself if it is called so.",
        rich_help_panel=_PANEL,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="File with the labels, a row per object: its name and its label. Other columns of it travel along; --columns puts "
        "some of them beside the curves.",
        rich_help_panel=_PANEL,
    ),
]
Objects = Annotated[
    Path | None,
    typer.Option(
        "--objects",
        help="File with a row per new object: its name, its period, what stands beside its curve. Default: the --labels file.",
        rich_help_panel=_PANEL,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        metavar="ROLE=NAME",
        help=f"A column with an unusual name; roles: {', '.join(ROLES)}. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="COLUMN",
        help="Of counts (--noise poisson): column that says how long or how deep each object was looked at; no errors needed.",
        rich_help_panel=_PANEL,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Value columns to use, with commas between and stars for any letters: 'mag_*,z'. Default: all with errors. With "
        "light curves: columns of the --labels file that count beside them.",
        rich_help_panel=_PANEL,
    ),
]
PairOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        metavar="VALUE=ERROR",
        help="Which column is the error of which, where names do not tell: 'psf_*=noise_*', 'w_*=iv_*:ivar'; 'z=' is exact, "
        "'=sigma_v' no error. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Missing = Annotated[
    list[float] | None,
    typer.Option(
        "--missing",
        metavar="NUMBER",
        help="A number that means missing, such as 99. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Errors = Annotated[
    ErrorsChoice,
    typer.Option(
        "--errors",
        "-e",
        help="What error columns hold: standard deviations, variances, inverse variances (0: missing) ...; none: values are "
        "exact.",
        rich_help_panel=_PANEL,
    ),
]
_CURVES = "Light curves, before the model sees them"
PeriodOption = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="COLUMN|FILE",
        help="Where periods come from: a column, or a file with a row per object. Folds.",
        rich_help_panel=_CURVES,
    ),
]
FindPeriod = Annotated[
    bool, typer.Option("--find-period", help="Look for each object's period. Folds.", rich_help_panel=_CURVES)
]
Fold = Annotated[
    bool,
    typer.Option("--fold", help="Compare in phase, at the column called period.", rich_help_panel=_CURVES),
]
Align = Annotated[
    AlignChoice | None,
    typer.Option(
        "--align",
        help="Count times from the peak, in units of it; with a period, put phase 0 there.",
        rich_help_panel=_CURVES,
    ),
]
Flux = Annotated[
    bool | None,
    typer.Option(
        "--flux/--mag", help="Turn magnitudes into fluxes, or the other way.", rich_help_panel=_CURVES
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress and no remarks on how tables were read; warnings stay."),
]

TABLE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "label": (Label, None),
    "labels": (Labels, None),
    "objects": (Objects, None),
    "column": (Columns, None),
    "columns": (Features, None),
    "exposure": (Exposure, None),
    "pair": (PairOption, None),
    "missing": (Missing, None),
    "errors": (Errors, ErrorsChoice.sigma),
    "period": (PeriodOption, None),
    "find_period": (FindPeriod, False),
    "fold": (Fold, False),
    "align": (Align, None),
    "flux": (Flux, None),
    "quiet": (Quiet, False),
}
"""Name of each parameter with its type and default."""

TRAINING_ONLY = ("columns", "fold", "align", "flux")
"""What a model has learned with and keeps to; the others may be said again of a new table."""


def reads_tables(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options about tables; its parameter `table` becomes what was said, a `badac.job.TableOptions`."""
    own = inspect.signature(verb)
    # Its type is imported when a verb runs: `badac --help` waits for no table.
    verb.__annotations__.pop("table")
    hints = typing.get_type_hints(verb, include_extras=True)
    parameters = []
    for parameter in own.parameters.values():
        if parameter.name == "table":
            parameters += [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
                for name, (kind, default) in TABLE_OPTIONS.items()
            ]
        else:
            parameters.append(
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
            )

    @functools.wraps(verb)
    def wrapped(**given: Any) -> None:
        said = {name: given.pop(name) for name in TABLE_OPTIONS}
        be_quiet(said["quiet"])
        with plainly():
            table = table_options(**said)
        verb(**given, table=table)

    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del wrapped.__wrapped__
    return wrapped


def table_options(**said: Any) -> TableOptions:
    """Return what was said on the command line about a table, by the names of `TABLE_OPTIONS`."""
    from badac.data import Conventions, Preparation
    from badac.job import TableOptions

    period, find = said["period"] or "", said["find_period"]
    if period and find:
        raise typer.BadParameter(
            "--period says where periods are, --find-period that they are looked for: give one."
        )
    quantity = "" if said["flux"] is None else ("flux" if said["flux"] else "magnitude")
    preparation = Preparation(
        quantity=quantity,
        period="find" if find else period,
        fold=bool(said["fold"] or period or find),
        align=said["align"].value if said["align"] else "",
    )
    return TableOptions(
        label=said["label"],
        labels=str(said["labels"] or ""),
        objects=str(said["objects"] or ""),
        columns={**roles(said["column"]), **({"exposure": said["exposure"]} if said["exposure"] else {})},
        features=tuple(
            name.strip() for text in said["columns"] or () for name in text.split(",") if name.strip()
        ),
        conventions=Conventions.of(
            pair=said["pair"] or (),
            missing=said["missing"] or (),
            errors="none" if said["exposure"] else said["errors"].value,
        ),
        preparation=preparation,
    )


def roles(columns: Sequence[str] | None) -> dict[str, str]:
    """Turn ROLE=NAME into a mapping."""
    found: dict[str, str] = {}
    for text in columns or ():
        role, equals, name = text.partition("=")
        if not equals or role not in ROLES or not name:
            raise typer.BadParameter(
                f"--column takes ROLE=NAME with a role of {', '.join(ROLES)}: got {text!r}."
            )
        found[role] = name
    return found

"""``badac triage``: look at what is strange, say what it is, and let the queue learn from it."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from badac.cli.options import Jobs, load_model, say_what_is_not_used
from badac.cli.speech import note, plainly, step, to_stdout
from badac.cli.table_options import TRAINING_ONLY, reads_tables

if TYPE_CHECKING:
    from badac.job import TableOptions
    from badac.triage.view import Desk


@reads_tables
def triage(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|RESULTS",
            help="A model file, or a folder that badac rank has written.",
            show_default=False,
        ),
    ],
    table: TableOptions,
    new: Annotated[
        Path | None,
        typer.Argument(metavar="[NEW]", help="Table with the objects to look at.", show_default=False),
    ] = None,
    session: Annotated[
        Path | None,
        typer.Option("--session", "-s", help="File of the session.", show_default="NEW.triage.jsonl"),
    ] = None,
    who: Annotated[str, typer.Option("--who", help="Who looks.", show_default="your user name")] = "",
    value: Annotated[
        list[str] | None,
        typer.Option("--value", help="What objects are worth, as NAME=NUMBER; may be repeated."),
    ] = None,
    teach: Annotated[
        float, typer.Option("--teach", help="Share of looks that teach most.", min=0.0, max=0.99)
    ] = 0.0,
    other_model: Annotated[
        bool, typer.Option("--other-model", help="Go on with a session of another model, by names.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write what was said into this file instead of opening the page."),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--as", help="What to export: verdicts, coniferest or astronomaly."),
    ] = "verdicts",
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; others can reach another.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port; 0 for a free one.", min=0, max=65535)
    ] = 8357,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    jobs: Jobs = -1,
) -> None:
    r"""Look at objects on a page, the most promising first; what you say of one is learned before the next is shown.

    For example:

    $ badac triage model.badac new.parquet

    $ badac triage ranking                # a folder of badac rank

    $ badac triage new.triage.jsonl --export verdicts.csv

    What is said is kept in one file, line by line: stop with Ctrl-C and go on later with the same command.
    """
    with plainly():
        if export is not None and new is None and model.suffix == ".jsonl":
            _export(model, export, form)
            return
        values = _values(value)
        asked = {"who": who, "values": values, "teach": teach, "other_model": other_model, "jobs": jobs}
        if export is not None:
            _export(_desk(context, model, new, session, asked | {"table": table}).session.path, export, form)
            return
        from badac.triage.server import listening

        # Before the work, not after it: the port may be taken.
        with listening(host, port) as sock:
            made = _desk(context, model, new, session, asked | {"table": table})
            learning = _serve(made, sock, host, open_browser=browser)
        for line in made.session.figures().lines():
            note(line)
        note(f"The session is in {made.session.path}: the same command goes on with it.")
        if learning.is_alive():
            # Compiled code cannot be stopped half-way. Every line is on the disk: end now, not when it is done.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def _serve(made: Desk, sock: socket.socket, host: str, *, open_browser: bool) -> threading.Thread:
    """Say where the page is, and serve it until interrupted; return who prepares p-values meanwhile."""
    from badac.triage.server import serve

    token = secrets.token_urlsafe(24)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{sock.getsockname()[1]}/?token={token}"
    if host not in ("127.0.0.1", "::1", "localhost"):
        note(
            f"{host} can be reached from other machines: whoever has the address can look and say.",
            warning=True,
        )
    to_stdout().print(
        f"Looking at {len(made.session.ids):,} objects: {address}", soft_wrap=True, highlight=False
    )
    note(f"Session: {made.session.path}\nStop with Ctrl-C; nothing is lost.")
    # What p-values need takes a while to learn; the page shows them once it is there.
    learning = threading.Thread(target=made.session.model.prepare_pvalues, daemon=True)
    if not made.pvalues:
        learning.start()
    if open_browser:
        import webbrowser

        webbrowser.open(address)
    with suppress(KeyboardInterrupt):  # uvicorn stops serving first, and then passes it on
        serve(made, sock, token, tuple(dict.fromkeys((name, "127.0.0.1", "localhost", "[::1]"))))
    return learning


def _desk(
    context: typer.Context, model: Path, new: Path | None, session: Path | None, asked: dict[str, Any]
) -> Desk:
    """Load the model and the table, and open the session or begin it."""
    from badac.job.record import layout_of
    from badac.triage.tables import open_desk, place_of

    source = place_of(model, new)
    with step(f"Loading {source.model.name}"):
        fitted = load_model(source.model)
    fitted.n_jobs = asked["jobs"]
    layout = layout_of(fitted)
    say_what_is_not_used(context, *TRAINING_ONLY, "label")
    with step(f"Judging the objects of {source.table.name}"):
        made = open_desk(fitted, source, session, asked | {"layout": asked["table"].over(layout)})
    for line in (*str(made.catalogue.losses).splitlines(), *made.session.notes):
        if line != "nothing left out":
            note(line, warning=True)
    return made


def _values(given: list[str] | None) -> dict[str, float]:
    found = {}
    for text in given or ():
        name, equals, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise typer.BadParameter(f"--value takes NAME=NUMBER: got {text!r}.")
    return found


def _export(session: Path, path: Path, form: str) -> None:
    from badac.triage.exports import write_export

    written = write_export(session, path, form)
    note(f"{written} objects: {path}")

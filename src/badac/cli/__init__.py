"""The command line: one file a verb.

Results go to standard output, progress and errors to standard error. Progress is shown on a terminal only; in a pipe nothing
but the result is written. Exit codes: 0 done, 1 failed, 2 the command was wrong, 130 interrupted.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line (the entry point ``badac``)."""
    try:
        from badac.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name not in {"typer", "rich", "click"}:
            raise
        print(
            f"badac's command line needs {missing.name}, which is not installed: pip install 'badac[cli]'.",
            file=sys.stderr,
        )
        sys.exit(1)
    app()

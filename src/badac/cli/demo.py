"""``badac demo``: the main job on data that the package makes, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from badac.cli.speech import plainly, to_stderr, to_stdout, waiting


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")] = Path("demo"),
    seed: Annotated[int, typer.Option("--seed", help="Seed of the generated data.", min=0)] = 0,
    size: Annotated[int, typer.Option("--size", "-n", help="Training and test curves.", min=100)] = 3000,
) -> None:
    r"""Learn classes from noisy objects, classify new ones and rank the strange, on generated data.

    Needs no network and no files:

    $ badac demo

    Ends by saying where the report is.
    """
    with plainly():
        from rich.table import Table

        from badac.demo import run, table, write

        with waiting("Learning classes from noisy curves and digits, and looking for strangers"):
            found = run(seed, size)
            path = write(found, output)
        columns, rows = table(found)
        shown = Table(*columns, title="What is it?")
        for row in rows:
            shown.add_row(*row)
        console = to_stdout()
        console.print(shown)
        detection = found.detection
        console.print(
            f"Is it something new? {detection.n_anomalies} of {detection.n_objects} curves are: MCC {detection.mcc:.3f}, "
            f"AUC {detection.auc:.3f}, rank-weighted score {detection.rws:.3f}. The strangest:"
        )
        console.print(str(found.ranking.head(5)), highlight=False)
        to_stderr().print(f"Report: {path}\nNext: badac reproduce, or open README.md.", soft_wrap=True)

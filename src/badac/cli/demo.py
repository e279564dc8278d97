"""``badac demo``: the main job on data that the package makes, in a minute or two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from badac.cli.options import Jobs, Overwrite
from badac.cli.speech import note, plainly, step, to_stdout


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the reports.")] = Path("demo"),
    seed: Annotated[int, typer.Option("--seed", help="Seed of the generated data.", min=0)] = 1,
    size: Annotated[int, typer.Option("--size", "-n", help="Training and new curves.", min=100)] = 3000,
    overwrite: Overwrite = False,
    jobs: Jobs = -1,
) -> None:
    r"""Learn classes from noisy objects, classify new ones and rank the strange, on generated data.

    Needs no network and no files:

    $ badac demo

    Ends by saying where the report is and what to try next.
    """
    with plainly():
        from badac.job.folder import check_folder

        check_folder(output, overwrite=overwrite)
        from rich.table import Table

        from badac.demo import DemoOptions, run, table

        note(
            "One data set of each kind, with an error bar on every number: curves, light curves, a catalogue. A minute ..."
        )
        parts = run(output, DemoOptions(seed, size, jobs), overwrite=overwrite, step=step)
        columns, rows = table(parts)
        shown = Table(*columns, title="What is it, and is it something new?")
        for row in rows:
            shown.add_row(*row)
        to_stdout().print(shown)
        note(
            f"\nReport: {output / 'report.html'}\n"
            "Next, with these tables or your own:\n"
            f"  badac explain {output / 'light_curves'} --rank 1 -o strange.png\n"
            f"  badac fit {output / 'curves' / 'train.parquet'} -o model.badac\n"
            f"  badac rank model.badac {output / 'curves' / 'new.parquet'} -o ranking\n"
            f"Look at them one by one, and say what they are:\n  badac triage {output / 'light_curves'}"
        )

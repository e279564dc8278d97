"""The folder of results: the ranking, the report, and a summary for scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

from badac.job.found import Found, write_ranking
from badac.job.report import report_page
from badac.store import save
from badac.writing import named_in_errors, plain, write_whole


def write_results(
    found: Found,
    folder: Path,
    form: str = "parquet",
    *,
    table: Path | None = None,
    model: Path | None = None,
) -> list[str]:
    """Write the ranking, the report and the summary into a folder.

    Parameters
    ----------
    found : Found
    folder : path
    form : str
        Suffix of the ranking, such as "parquet".
    table, model : path, optional
        Where the objects and the model are: with both, ``badac explain FOLDER --rank 1`` needs nothing else. A model that has
        no file yet is written into the folder.

    Returns
    -------
    list of str
        What is to be said about the files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac.job import RankOptions, Settings, learn, output_folder, rank_file, read_training, write_results
    >>> rng = np.random.default_rng(0)
    >>> g = np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40)
    >>> table = pd.DataFrame({"g": g, "g_err": 0.1, "class": np.repeat(["a", "b"], 20)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "stars.csv"
    ...     table.to_csv(path, index=False)
    ...     model = learn(read_training(path), Settings("template", folds=2, diagnose=False))
    ...     found = rank_file(model, path, RankOptions(n_shown=1))
    ...     with output_folder(Path(folder) / "results") as results:
    ...         _ = write_results(found, results, "csv")
    ...     sorted(one.name for one in (Path(folder) / "results").iterdir())
    ['ranking.csv', 'report.html', 'summary.json']
    """
    file = f"ranking.{form}"
    with named_in_errors(folder / file):
        notes = write_ranking(found, folder / file)
    write_whole(folder / "report.html", report_page(found, file=file).render())
    summary = found.summary()
    if table is not None:
        if model is None:
            model = folder / "model.badac"
            save(found.model, model)
        summary |= {
            name: os.path.relpath(path, folder) for name, path in (("table", table), ("model", model))
        }
    write_whole(folder / "summary.json", json.dumps(plain(summary), indent=1, allow_nan=False))
    return notes

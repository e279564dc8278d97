"""A list of a survey in a file, through the command line: `badac rank MODEL FILE --fdr 0.1`. Cells of benchmarks/lists.py.

One in a thousand of the new curves is an anomaly; they lie in a Parquet file in row groups of 25,000 curves with 50 points,
which is read in batches, and the list is read from what the command writes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import badac
from badac import BADACClassifier, Measurements
from badac.simulate import experiment

POINTS, PER_FILE, SHARE, FDR = 50, 25_000, 0.001, 0.1


def frame(objects: Measurements, first: int) -> pd.DataFrame:
    """Return a table of curves, one a row, numbered from `first`."""
    names = [f"y{point:02d}" for point in range(objects.n_points)]
    values = pd.DataFrame(objects.values.astype(np.float32), columns=names)
    sigma = pd.DataFrame(objects.sigma.astype(np.float32), columns=[f"{name}_err" for name in names])
    return pd.concat(
        [pd.Series(np.arange(first, first + len(objects)), name="object"), values, sigma], axis=1
    )


def from_files(setting: str, number: str, n_train: str, n_new: str, seed: int) -> dict[str, Any]:
    """Return what the list of so many new curves in files was worth, and what it cost."""
    total = int(n_new)
    strange = np.zeros(total, dtype=np.bool_)
    with tempfile.TemporaryDirectory() as where:
        survey, model_file, out = (Path(where) / name for name in ("survey.parquet", "model.badac", "out"))
        writer: pq.ParquetWriter | None = None
        for first in range(0, total, PER_FILE):
            rng = np.random.default_rng([seed, first])
            data = experiment(
                int(number),  # type: ignore[arg-type]
                setting,  # type: ignore[arg-type]
                n_train=int(n_train) if first == 0 else 2,
                n_test=min(PER_FILE, total - first),
                contamination=SHARE,
                n_points=POINTS,
                rng=rng,
            )
            if first == 0:
                table = frame(data.train, 0).drop(columns="object")
                model = BADACClassifier(anomaly_prior=SHARE, random_state=seed).fit(table, data.train_label)
                badac.save(model.prepare_pvalues(), model_file)
            rows = pa.Table.from_pandas(frame(data.test, first), preserve_index=False)
            writer = writer or pq.ParquetWriter(survey, rows.schema)
            writer.write_table(rows)
            strange[first : first + len(data.test)] = data.is_anomaly
        assert writer is not None
        writer.close()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(Path(sys.executable).parent / "badac"), "rank", str(model_file), str(survey)]
        subprocess.run([*command, "--fdr", str(FDR), "-o", str(out)], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads((out / "summary.json").read_text())
        ranking = pd.read_parquet(out / "ranking.parquet", columns=["object"])["object"]
        listed = ranking.to_numpy(dtype=np.int64)[: summary["discoveries"]]
    return {
        "listed": len(listed),
        "power": float(strange[listed].sum() / strange.sum()),
        "false": float((~strange[listed]).mean()) if len(listed) else 0.0,
        "bound": summary["false_share_bound"],
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }

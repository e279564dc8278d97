"""Verdicts in Spark: a `pandas_udf` around the pure function that judges a partition.

    spark-submit examples/spark_udf.py model.badac survey.parquet verdicts.parquet

The table has an array column of values and one of errors, ``values`` and ``sigma``. `verdicts` below needs no Spark: it is a
function of a model and two columns of lists, and Spark calls it with as many rows at a time as it likes. The model goes to the
executors once, as a broadcast variable.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import badac
from badac.partition import judged, lean

SCHEMA = "score double, anomaly_proba double, class string, class_proba double"
NAMES = ["score", "anomaly_proba", "class", "class_proba"]


def verdicts(model: badac.BADACClassifier, values: pd.Series, sigma: pd.Series) -> pd.DataFrame:
    """Judge objects given as columns of lists; the columns of `SCHEMA` come out, one row an object."""
    if not len(values):
        return pd.DataFrame({name: pd.Series(dtype=str if name == "class" else float) for name in NAMES})
    objects = badac.Measurements(np.stack(values.tolist()), np.stack(sigma.tolist()))
    table = judged(objects, model, values.index)[NAMES]
    return table.astype({"class": str})


def main(model_path: str, survey: str, target: str) -> None:
    """Judge a table on Spark."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, pandas_udf

    spark = SparkSession.builder.getOrCreate()
    sent = spark.sparkContext.broadcast(lean(badac.load(model_path), pvalues=False))

    @pandas_udf(SCHEMA)
    def judge(batches: Iterator[tuple[Any, Any]]) -> Iterator[pd.DataFrame]:
        for values, sigma in batches:
            yield verdicts(sent.value, values, sigma)

    table = spark.read.parquet(survey)
    table = table.withColumn("verdict", judge(col("values"), col("sigma")))
    table.select("*", "verdict.*").drop("verdict").write.parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:4])

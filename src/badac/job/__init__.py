"""The main job: from a labelled table with error bars to classes, a ranking and a report.

    training table -> learn -> model with its record -> score new objects batch by batch -> merge -> ranking, report

`learn` fits the classes, cross-validates them and diagnoses the noise; what it found travels with the model as a `Record`.
`score_batch` is a pure function of a model and a batch of objects, and `merge` one of the batches' verdicts, so the same job
runs on a file larger than memory or on many machines. The command line (`badac rank`) only names these steps.
"""

from badac.data import Layout
from badac.job.batches import batches, check_readable, rows_in
from badac.job.folder import output_folder
from badac.job.found import Found
from badac.job.learning import Settings, learn
from badac.job.ranking import RankOptions, merge, rank_file, score_batch
from badac.job.record import Record
from badac.job.report import report_page
from badac.job.results import write_results
from badac.job.table_options import TableOptions
from badac.job.training import Training, read_training

__all__ = [  # noqa: RUF022  (reading order)
    "Training",
    "TableOptions",
    "read_training",
    "Layout",
    "Settings",
    "learn",
    "Record",
    "batches",
    "check_readable",
    "rows_in",
    "score_batch",
    "merge",
    "RankOptions",
    "Found",
    "rank_file",
    "report_page",
    "write_results",
    "output_folder",
]

"""From a laptop to a survey: the same verbs on Dask (extra `scale`).

    LazyClassifier(model).predict_proba(survey)      probabilities, partition by partition
    LazyClassifier(model).rank(survey, fdr=0.1)      one list for all partitions, by a tree reduction
    fit(BADACClassifier(), survey, "label")          classes of any size, by sums over their members
    rank_files(model, files, folder, client)         files to files, resumable (what `badac rank --workers` runs)

Nothing computes inside a call but in `rank_files`, which is the whole job: answers are dask collections. They equal those
of the model itself on the same objects to rounding.
"""

from badac.dask.classifier import LazyClassifier
from badac.dask.files import cluster, rank_files
from badac.dask.fitting import fit
from badac.dask.reduction import Tally, cut_off, discoveries, strangest, tally

__all__ = [  # noqa: RUF022  (reading order)
    "LazyClassifier",
    "strangest",
    "discoveries",
    "cut_off",
    "tally",
    "Tally",
    "fit",
    "cluster",
    "rank_files",
]

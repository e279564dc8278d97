"""The judge: everything that was learned, and the one walk from objects to verdicts, whoever asks.

    objects -> evidence -> base outputs (where there is a stack) -> posterior
                        -> odds of an anomaly, or rank among left-out objects -> score -> p-value

A `FittedModel` is frozen, can be pickled, and knows nothing of the estimator that learned it: the estimator, a stream, Dask,
LSDB and the command line all ask the same one. `FittedModel.judge` takes objects and returns a `Judgement`, which does each
step of the walk once, when it is first asked for; `FittedModel.verdicts` returns the steps as a table (`badac.verdicts`).

P-values compare an object with known ones that the model has not seen. Where a stack was learned, objects were left out
already (`badac.calibration.null_distribution`). Otherwise every training object is scored once by a model that was learned
without it (`badac.calibration.pvalues.LeftOut`): an object that a model has learned from looks less strange than a new one of
its kind. The same scores say how far the odds of an anomaly can be believed (`badac.calibration.caution`).
"""

from badac.judge.fitted_model import FittedModel
from badac.judge.judgement import Judgement

__all__ = ["FittedModel", "Judgement"]

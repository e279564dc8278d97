"""Does the noise model hold? By evidence, and by what is left over.

`diagnose` first tells the variety of the classes from noise, or says that it cannot (`badac.noise_learning.variety`). At points
where noise shows, it compares noise families by the evidence of held-out members (log Bayes factors against plain Gaussian
error bars, with their spread), and looks at the residuals: pulls ``residual / sigma``, their quantiles (0, +-1, +-2, +-3 if the
error bars hold) and autocorrelation, and the factor by which error bars are too small or too large. Families with heavy tails
are tried where the pulls have any. It ends in one sentence of advice.

A sample of the objects says as much as all of them, so that a diagnosis costs no more than a fit.
"""

from badac.diagnostics.diagnose import diagnose
from badac.diagnostics.diagnosis import Diagnosis

__all__ = ["Diagnosis", "diagnose"]

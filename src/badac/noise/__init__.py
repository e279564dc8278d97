"""How measurements scatter around the truth."""

from badac.noise.auto import AutoNoise
from badac.noise.binomial import Binomial
from badac.noise.correlated import Correlated
from badac.noise.gaussian import Gaussian
from badac.noise.marginal import Marginal, correlated_grid
from badac.noise.model import (
    LinkedNoise,
    Noise,
    OpenNoise,
    PerClassNoise,
    ScaleMixture,
    is_open,
    log_mixture,
    needs_sigma,
    noise_of_class,
)
from badac.noise.numeric import Numeric
from badac.noise.outliers import Outliers
from badac.noise.per_class import PerClass
from badac.noise.poisson import Poisson
from badac.noise.student import Student

__all__ = [
    "AutoNoise",
    "Binomial",
    "Correlated",
    "Gaussian",
    "LinkedNoise",
    "Marginal",
    "Noise",
    "Numeric",
    "OpenNoise",
    "Outliers",
    "PerClass",
    "PerClassNoise",
    "Poisson",
    "ScaleMixture",
    "Student",
    "correlated_grid",
    "is_open",
    "log_mixture",
    "needs_sigma",
    "noise_of_class",
]

"""How measurements scatter around the truth."""

from badac.noise.auto import AutoNoise, CheckedNoise
from badac.noise.binomial import Binomial
from badac.noise.correlated import Correlated
from badac.noise.gaussian import Gaussian
from badac.noise.kinds import ANY_NOISE, LATENT_NOISE, NoiseKind, kind_of
from badac.noise.marginal import Marginal, correlated_grid
from badac.noise.matches import log_mixture
from badac.noise.model import (
    LearnableNoise,
    LinkedNoise,
    Noise,
    OpenNoise,
    PerClassNoise,
    ScaleMixture,
    is_open,
    needs_sigma,
    noise_of_class,
)
from badac.noise.numeric import Numeric
from badac.noise.outliers import Outliers
from badac.noise.per_class import PerClass
from badac.noise.poisson import Poisson
from badac.noise.student import Student
from badac.noise.widths import Widths

__all__ = [
    "ANY_NOISE",
    "LATENT_NOISE",
    "AutoNoise",
    "Binomial",
    "CheckedNoise",
    "Correlated",
    "Gaussian",
    "LearnableNoise",
    "LinkedNoise",
    "Marginal",
    "Noise",
    "NoiseKind",
    "Numeric",
    "OpenNoise",
    "Outliers",
    "PerClass",
    "PerClassNoise",
    "Poisson",
    "ScaleMixture",
    "Student",
    "Widths",
    "correlated_grid",
    "is_open",
    "kind_of",
    "log_mixture",
    "needs_sigma",
    "noise_of_class",
]

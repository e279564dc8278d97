"""How measurements scatter around the truth."""

from badac.noise.gaussian import Gaussian
from badac.noise.model import Noise, log_mixture

__all__ = ["Gaussian", "Noise", "log_mixture"]

"""Data whose truth is known: the paper's curves, anomalies, noise and experiments."""

from badac.simulate.curves import (
    ABSORPTION,
    EMISSION,
    Bump,
    CompactAnomaly,
    Curves,
    Parabola,
    Sine,
    SineSum,
    Step,
    draw_curves,
)
from badac.simulate.digits import NoisyDigits, noisy_digits
from badac.simulate.distributions import Distribution, Normal, Uniform
from badac.simulate.experiments import (
    BadPoints,
    Experiment,
    Recipe,
    WeddingCake,
    draw_experiment,
    experiment,
    recipe,
)
from badac.simulate.noise import (
    bad_point_noise,
    gaussian_noise,
    wedding_cake_covariance,
    wedding_cake_noise,
)

__all__ = [  # noqa: RUF022  (reading order)
    "Normal",
    "Uniform",
    "Distribution",
    "Curves",
    "Sine",
    "Parabola",
    "Step",
    "Bump",
    "SineSum",
    "draw_curves",
    "CompactAnomaly",
    "EMISSION",
    "ABSORPTION",
    "gaussian_noise",
    "bad_point_noise",
    "wedding_cake_noise",
    "wedding_cake_covariance",
    "BadPoints",
    "WeddingCake",
    "Recipe",
    "recipe",
    "Experiment",
    "experiment",
    "draw_experiment",
    "NoisyDigits",
    "noisy_digits",
]

"""Learned noise: what a noise model leaves open, found in the scatter of the members within their classes."""

from badac.noise_learning.comparison import Comparison
from badac.noise_learning.families import FAMILIES, compare_families
from badac.noise_learning.parameters import learn_noise

__all__ = ["FAMILIES", "Comparison", "compare_families", "learn_noise"]

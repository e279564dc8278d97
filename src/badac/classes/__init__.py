"""Class models: what a class looks like, learned from its noisy members."""

from badac.classes.gp import GaussianProcess
from badac.classes.instances import Instances
from badac.classes.model import ClassModel, Surroundings

__all__ = ["ClassModel", "GaussianProcess", "Instances", "Surroundings"]

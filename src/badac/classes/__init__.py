"""Class models: what a class looks like, learned from its noisy members."""

from badac.classes.auto import Auto, Candidate
from badac.classes.division import Division
from badac.classes.expansion import Expansion
from badac.classes.gp import GaussianProcess
from badac.classes.instances import Instances
from badac.classes.irregular import IrregularPopulation
from badac.classes.linear_model import LinearModel
from badac.classes.model import ClassModel, Surroundings
from badac.classes.parametric import LowSampleSizeWarning, Parametric
from badac.classes.population import Population
from badac.classes.report import ClassReport
from badac.classes.shared_conditions import SharedConditions, separate_conditions
from badac.classes.subclasses import Subclasses
from badac.classes.template import Template

__all__ = [
    "Auto",
    "Candidate",
    "ClassModel",
    "ClassReport",
    "Division",
    "Expansion",
    "GaussianProcess",
    "Instances",
    "IrregularPopulation",
    "LinearModel",
    "LowSampleSizeWarning",
    "Parametric",
    "Population",
    "SharedConditions",
    "Subclasses",
    "Surroundings",
    "Template",
    "separate_conditions",
]

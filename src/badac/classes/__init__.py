"""Class models: what a class looks like, learned from its noisy members."""

from badac.classes.auto import Auto
from badac.classes.deconvolved import DeconvolvedMixture
from badac.classes.gp import GaussianProcess
from badac.classes.imputed import Imputed
from badac.classes.instances import Instances
from badac.classes.irregular import IrregularPopulation
from badac.classes.model import ClassModel
from badac.classes.parametric.expansion import Expansion
from badac.classes.parametric.linear_model import LinearModel
from badac.classes.parametric.parametric import LowSampleSizeWarning, Parametric
from badac.classes.population.population import Population
from badac.classes.report import Candidate, ClassReport
from badac.classes.shared_conditions import SharedConditions, separate_conditions
from badac.classes.shared_exposures import SharedExposures, separate_exposures
from badac.classes.subclasses.division import Division
from badac.classes.subclasses.subclasses import Subclasses
from badac.classes.template import Template
from badac.training import TrainingScales

__all__ = [
    "Auto",
    "Candidate",
    "ClassModel",
    "ClassReport",
    "DeconvolvedMixture",
    "Division",
    "Expansion",
    "GaussianProcess",
    "Imputed",
    "Instances",
    "IrregularPopulation",
    "LinearModel",
    "LowSampleSizeWarning",
    "Parametric",
    "Population",
    "SharedConditions",
    "SharedExposures",
    "Subclasses",
    "Template",
    "TrainingScales",
    "separate_conditions",
    "separate_exposures",
]

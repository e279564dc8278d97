"""What an object says of its latent position: the one thing that classes, hypotheses, nuisances and explanations share.

    d = mean + factors z + remainder + noise ,      log P(d | z) = -(offset - 2 shift'z + z' precision z) / 2

A *factor model* knows mean, factors and remainder of a class: `Factor` on a common grid, `FactorProcess` where they are
functions of the coordinate and every object has points of its own. Either reduces objects to their `LatentLikelihood` by
``project(objects)``, and from there on nobody needs to know how many points there were, where they were, or which were
missing. A *density* says where the class's objects are in the latent space (`Mixture`, `KernelDensity`; the protocol is
`LatentDensity`) and integrates over it.

Two objects of three points, one of them missing, seen through one factor that moves all points together:

>>> import numpy as np
>>> from badac import Measurements
>>> from badac.latent import Factor, Mixture
>>> objects = Measurements([[1.1, 0.9, 1.0], [-0.9, np.nan, -1.1]], 0.1)
>>> factor = Factor(mean=np.zeros(3), factors=np.ones((3, 1)), psi=np.zeros(3))
>>> latent = factor.project(objects)
>>> latent.position.round(2)
array([[ 1.],
       [-1.]])

Under a class whose members are either at +1 or at -1 they are likelier than under ``N(0, 1)``:

>>> groups = Mixture(np.array([0.5, 0.5]), np.array([[1.0], [-1.0]]), np.full((2, 1, 1), 0.01))
>>> (groups.log_evidence(latent) - latent.gaussian_log_evidence()).round(1)
array([2. , 1.9])

The same factor as a curve, for objects at points of their own:

>>> from badac.latent import Basis, Curve, FactorProcess, Process
>>> basis = Basis.over(0.0, 1.0, n_knots=2)
>>> remainder = Process(basis, "matern32", np.inf, 1.0, np.zeros((1, 1)), np.zeros(1), np.zeros((3, 0)))
>>> level = np.array([[1.0], [0.0], [0.0]])  # the basis begins with a constant
>>> curves = FactorProcess(remainder, Curve(0.0, np.zeros(3), np.eye(3)), level)
>>> own = Measurements([[1.1, 0.9, 1.0], [-0.9, -1.1, np.nan]], 0.1, at=[[0.1, 0.5, 0.7], [0.2, 0.3, np.nan]])
>>> np.allclose(curves.project(own).posterior[0], latent.posterior[0])
True

`latent_likelihood` does the same under noise that is not Gaussian. The README of this folder has the formulas, the order in
which an object goes through the files, and what is approximate.
"""

from badac.latent.basis import Basis
from badac.latent.class_summary import ClassSummary, reconstruct
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.kernel_density import KernelDensity
from badac.latent.likelihood import FactorModel, LatentLikelihood
from badac.latent.marginalise import marginalise
from badac.latent.mixture import Mixture, deconvolve
from badac.latent.moments import Spectrum
from badac.latent.process import Curve, FactorProcess, Process
from badac.latent.process_summary import ProcessSummary
from badac.latent.shape import Shape, choose_shape

__all__ = [
    "Basis",
    "ClassSummary",
    "Curve",
    "Factor",
    "FactorModel",
    "FactorProcess",
    "KernelDensity",
    "LatentDensity",
    "LatentLikelihood",
    "Mixture",
    "Process",
    "ProcessSummary",
    "Shape",
    "Spectrum",
    "choose_shape",
    "deconvolve",
    "expectation_maximisation",
    "latent_likelihood",
    "marginalise",
    "reconstruct",
]

"""The laws of noise models, class models and anomaly models, for anyone's own.

A model of yours that keeps these laws works everywhere in badac. `check_noise`, `check_class_model` and `check_anomaly_model`
raise `LawBroken` with the law, what was found and what was expected; they return the names of the laws that were checked.

>>> import numpy as np
>>> from badac import Measurements
>>> from badac.checks import check_noise
>>> from badac.noise import Gaussian
>>> like = Measurements(np.zeros((6, 3)), sigma=[0.1, 0.2, 0.3])
>>> check_noise(Gaussian(), like, truth_range=(-1, 1), rng=np.random.default_rng(0))[0]
'shapes'
"""

from badac.checks.anomaly_model import check_anomaly_model
from badac.checks.class_model import check_class_model
from badac.checks.law import LawBroken
from badac.checks.noise import check_noise
from badac.checks.noise_use import check_noise_use

__all__ = ["LawBroken", "check_anomaly_model", "check_class_model", "check_noise", "check_noise_use"]

"""What a template says of its own members, left out, is what it says of new objects: also under bad points."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.classes import Population, Template
from badac.noise import Gaussian, Noise, Outliers


@pytest.mark.parametrize("noise", [Gaussian(), Outliers(0.2, 5.0)])
@pytest.mark.parametrize("model", [Template(), Population()])
def test_left_out_members_and_new_objects_have_the_same_mean_evidence(
    model: Template | Population, noise: Noise
) -> None:
    rng = np.random.default_rng(4)
    n, m = 1500, 12
    blank = Measurements(np.zeros((n, m)), rng.uniform(0.2, 0.4, (n, m)))

    def draw() -> Measurements:
        truth = np.linspace(-1, 1, m) + 0.5 * rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, m))
        return Measurements(noise.draw(truth, blank, rng), blank.sigma)

    fitted = model.fit(draw(), noise, rng)
    left_out, new = fitted.leave_one_out(), fitted.log_evidence(draw())
    error = np.hypot(left_out.std(), new.std()) / np.sqrt(n)
    # Four standard errors of the difference of the two means, and a tenth of a nat for what n - 1 members know less.
    assert abs(left_out.mean() - new.mean()) < 4 * error + 0.1

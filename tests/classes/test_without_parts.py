"""A population without each part of its members: no part tells of its own copy, and each copy is next to what a refit says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from badac.classes.model import RefittableWithoutParts
from badac.classes.population import without_parts
from badac.classes.population.population import Population
from badac.data.measurements import Measurements
from badac.noise import Gaussian, Outliers
from badac.noise.model import Noise
from badac.training import TrainingScales
from populations import gaussian, sines

N, N_PARTS = 600, 6


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("badac.classes.population.population.FEWEST", N)


def correlated(seed: int) -> Measurements:
    truth = gaussian(N, seed, sigma=1e-6)[0].values
    covariance = 0.05 * np.exp(-np.abs(np.subtract.outer(np.arange(15), np.arange(15))) / 3.0)
    noise = np.random.default_rng(seed + 10).multivariate_normal(np.zeros(15), covariance, N)
    return Measurements(truth + noise, covariance=covariance)


CASES = {
    "bent": (lambda seed: sines(N, seed), Gaussian()),
    "straight": (lambda seed: gaussian(N, seed)[0], Gaussian()),
    "gaps": (lambda seed: gaussian(N, seed, missing=0.2)[0], Gaussian()),
    "correlated": (correlated, Gaussian()),
    "bad points": (lambda seed: sines(N, seed), Outliers(share=0.1, width=4.0)),
}


def fitted(members: Measurements, noise: Noise) -> tuple[Population, np.ndarray]:
    part = np.random.default_rng(3).permutation(N) % N_PARTS
    return Population().fit(members, noise, np.random.default_rng(0)), part


@pytest.mark.parametrize("case", CASES)
def test_each_is_next_to_a_refit_and_no_part_is_told_of_by_its_own(case: str) -> None:
    draw, noise = CASES[case]
    members, new = draw(1), draw(2)
    model, part = fitted(members, noise)
    scales = TrainingScales.of(members)
    assert isinstance(model, RefittableWithoutParts)
    found = model.refit_without_each(members, part, noise, np.random.default_rng(4), scales)
    assert found is not None and len(found) == N_PARTS
    for number, one in enumerate(found):
        again = model.refit(members[part != number], noise, np.random.default_rng(5), scales)
        assert again is not None
        gain = again.log_evidence(new) - one.log_evidence(new)
        # A tenth of a nat of mean evidence is what another start of a mixture changes.
        assert abs(gain.mean()) < 0.1 + 3.0 * gain.std() / np.sqrt(N)
    # Other members in a part change the copies of all parts but its own.
    other = members.values.copy()
    other[part == 2] = new.values[part == 2]
    changed = model.refit_without_each(members.replaced(other), part, noise, np.random.default_rng(4), scales)
    assert changed is not None
    for name in ("mean", "factors", "psi"):
        np.testing.assert_array_equal(getattr(changed[2], name), getattr(found[2], name))
    np.testing.assert_array_equal(changed[2].log_evidence(new), found[2].log_evidence(new))
    assert not np.array_equal(changed[3].log_evidence(new), found[3].log_evidence(new))


def test_who_needs_a_refit_is_refitted() -> None:
    members = gaussian(N, 1)[0]
    model, part = fitted(members, Gaussian())
    rng = np.random.default_rng(0)
    assert without_parts.FEWEST > N  # as it is outside of these tests
    assert model.refit_without_each(members[: N - 1], part[: N - 1], Gaussian(), rng) is None
    assert model.refit_without_each(members, part % 3, Gaussian(), rng) is None
    assert Population().refit_without_each(members, part, Gaussian(), rng) is None
    slipped = members.values.copy()
    slipped[5, 3] = 1e9
    assert model.refit_without_each(members.replaced(slipped), part, Gaussian(), rng) is None
    assert model.plan is not None
    without_factors = replace(model, plan=replace(model.plan, rank=0))
    assert without_factors.refit_without_each(members, part, Gaussian(), rng) is None

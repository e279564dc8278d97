"""Weights of a few densities, and the fewest of them that do."""

from __future__ import annotations

import numpy as np

from badac.latent.mixture_weights import best_weights, fewest


def _densities(widths: list[float], n: int = 200) -> np.ndarray:
    """Log density (n, h) of numbers, half of them narrow and half wide, under normal densities of some widths."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal(n) * np.where(np.arange(n) % 2, 1.0, 8.0)
    width = np.array(widths)
    return np.asarray(-0.5 * (numbers[:, None] / width) ** 2 - np.log(width))


def test_neighbours_that_say_the_same_leave() -> None:
    evidence = _densities([1.0, 1.001, 1.002, 8.0, 8.01])
    kept = fewest(evidence, best_weights(evidence), np.zeros(5, dtype=np.bool_))
    assert kept[:3].sum() == 1 and kept[3:].sum() == 1


def test_what_tells_stays_and_what_is_needed_too() -> None:
    evidence = _densities([1.0, 8.0, 9.0])
    needed = np.array([False, False, True])
    kept = fewest(evidence, best_weights(evidence), needed)
    assert kept[0] and kept[2]


def test_next_to_nothing_is_lost() -> None:
    evidence = _densities([0.9, 1.0, 1.2, 2.0, 5.0, 8.0, 9.0])
    weights = best_weights(evidence)
    kept = fewest(evidence, weights, np.zeros(7, dtype=np.bool_))
    assert 2 <= kept.sum() < 7
    before = np.log(np.exp(evidence) @ weights).sum()
    after = np.log(np.exp(evidence[:, kept]) @ best_weights(evidence[:, kept])).sum()
    assert after > before - 0.5 * (~kept).sum()


def test_a_weight_of_zero_is_no_density() -> None:
    evidence = _densities([1.0, 3.0, 8.0])
    kept = fewest(evidence, np.array([0.5, 0.0, 0.5]), np.zeros(3, dtype=np.bool_))
    assert kept.tolist() == [True, False, True]


def test_an_object_that_no_density_explains_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    log_evidence = np.log(rng.uniform(0.5, 1.0, (50, 3)))
    without = fewest(log_evidence, np.array([0.8, 0.1, 0.1]), np.array([True, False, False]))
    wild = np.vstack([log_evidence, [-5e13, -3e4, -3e3]])
    found = fewest(wild, np.array([0.9, 0.1, 0.0]), np.array([True, False, False]))
    assert found[0] and found.sum() <= without.sum()

"""Objects beyond the columns that training had are judged with less of the log odds; those within it with all."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from badac.calibration.stacking.coverage import Coverage
from badac.calibration.stacking.ensemble import Ensemble
from badac.data import Measurements
from badac.posterior import log_posterior


def with_column(values: np.ndarray) -> Measurements:
    """Curves of two points in band 0, and a column as the only point of band 1."""
    n = len(values)
    seen = np.column_stack([np.zeros((n, 2)), values])
    at, band = np.tile([0.0, 1.0, 0.3], (n, 1)), np.tile([0, 0, 1], (n, 1))
    return Measurements(seen, 0.1, at=at, band=band)


def test_a_quarter_of_the_log_odds_counts_beyond_all_training_objects_and_all_of_it_among_them() -> None:
    training = np.random.default_rng(0).permutation(np.arange(1000.0))
    coverage = Coverage.of(with_column(training))
    assert coverage is not None
    new = np.array([-5.0, 0.5, 1.5, 2.0, 500.0, 997.0, 997.5, 998.5, 999.5, 1e9, np.nan])
    expected = [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.25, 1.0]
    np.testing.assert_allclose(coverage.exponent(with_column(new)), expected)
    # As a file of an earlier version has it: ten of each end.
    longer = Coverage(coverage.bands, np.arange(10.0)[None], np.arange(990.0, 1000.0)[None])
    np.testing.assert_allclose(longer.exponent(with_column(new)), expected)


def test_the_column_that_is_farthest_out_decides() -> None:
    training = np.arange(500.0)
    both = Measurements(
        np.column_stack([np.zeros(500), training, training[::-1]]), 0.1, at=np.tile([0.0, 0.3, 0.3], (500, 1))
    )
    curves = Measurements(both.values, 0.1, at=both.at, band=np.tile([0, 1, 2], (500, 1)))
    coverage = Coverage.of(curves)
    assert coverage is not None
    new = Measurements([[0.0, 250.0, -1.0], [0.0, 250.0, 250.0]], 0.1, at=curves.at[:2], band=curves.band[:2])
    np.testing.assert_allclose(coverage.exponent(new), [0.25, 1.0])


def test_few_training_objects_and_curves_without_columns_ask_for_no_caution() -> None:
    assert Coverage.of(with_column(np.arange(199.0))) is None
    plain = Measurements(np.zeros((300, 3)), 0.1, at=np.random.default_rng(0).random((300, 3)))
    assert Coverage.of(plain) is None


def test_frequencies_count_as_much_as_evidence_does() -> None:
    """With a quarter of the log odds an object that no evidence places is nearer to even odds than its class is frequent."""
    log_prior, believed = np.log([0.9, 0.1]), np.array([1.0, 0.25])
    found = np.exp(log_posterior(np.zeros((2, 2)), believed[:, None] * log_prior))
    np.testing.assert_allclose(found[0], [0.9, 0.1])
    np.testing.assert_allclose(found[1, 0] / found[1, 1], 9.0**0.25)
    hopeless = np.exp(log_posterior(np.full((2, 2), -np.inf), believed[:, None] * log_prior))
    np.testing.assert_allclose(hopeless, found)


def test_who_was_adapted_needs_no_caution() -> None:
    objects = with_column(np.array([500.0, 1e9]))
    outputs = SimpleNamespace(objects=objects, stacked=np.zeros((2, 3)))
    coverage = Coverage.of(with_column(np.arange(1000.0)))
    for beyond, covered, expected in (
        (None, coverage, [1.0, 0.25]),
        (object(), coverage, [1.0, 1.0]),
        (None, None, [1.0, 1.0]),
    ):
        ensemble = SimpleNamespace(coverage=covered, beyond=beyond)
        np.testing.assert_allclose(Ensemble.believed(ensemble, outputs), expected)  # type: ignore[arg-type]

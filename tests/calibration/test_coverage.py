"""Objects beyond the columns that training had are judged with less of the evidence; those within it with all."""

from __future__ import annotations

import numpy as np

from badac.calibration.stacking.coverage import Coverage
from badac.data import Measurements


def with_column(values: np.ndarray) -> Measurements:
    """Curves of two points in band 0, and a column as the only point of band 1."""
    n = len(values)
    seen = np.column_stack([np.zeros((n, 2)), values])
    at, band = np.tile([0.0, 1.0, 0.3], (n, 1)), np.tile([0, 0, 1], (n, 1))
    return Measurements(seen, 0.1, at=at, band=band)


def test_half_of_the_evidence_counts_beyond_all_training_objects_and_all_of_it_among_them() -> None:
    training = np.random.default_rng(0).permutation(np.arange(1000.0))
    coverage = Coverage.of(with_column(training))
    assert coverage is not None
    new = np.array([-5.0, 0.5, 4.5, 9.0, 500.0, 990.0, 995.5, 999.5, 1e9, np.nan])
    expected = [0.5, 0.55, 0.75, 1.0, 1.0, 1.0, 0.7, 0.5, 0.5, 1.0]
    np.testing.assert_allclose(coverage.exponent(with_column(new)), expected)


def test_the_column_that_is_farthest_out_decides() -> None:
    training = np.arange(500.0)
    both = Measurements(
        np.column_stack([np.zeros(500), training, training[::-1]]), 0.1, at=np.tile([0.0, 0.3, 0.3], (500, 1))
    )
    curves = Measurements(both.values, 0.1, at=both.at, band=np.tile([0, 1, 2], (500, 1)))
    coverage = Coverage.of(curves)
    assert coverage is not None
    new = Measurements([[0.0, 250.0, -1.0], [0.0, 250.0, 250.0]], 0.1, at=curves.at[:2], band=curves.band[:2])
    np.testing.assert_allclose(coverage.exponent(new), [0.5, 1.0])


def test_few_training_objects_and_curves_without_columns_ask_for_no_caution() -> None:
    assert Coverage.of(with_column(np.arange(199.0))) is None
    plain = Measurements(np.zeros((300, 3)), 0.1, at=np.random.default_rng(0).random((300, 3)))
    assert Coverage.of(plain) is None

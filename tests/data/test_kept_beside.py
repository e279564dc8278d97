"""Whoever makes objects out of objects keeps what stands beside them, columns and exposure, or refuses in words."""

import re
from pathlib import Path

import numpy as np
import pytest

import badac
from badac import Measurements
from badac.calibration.unusual_gaps import without_columns
from badac.checks.law import only_points, scaled, with_values
from badac.classes import Template
from badac.classes.instances import fill_gaps, widen
from badac.classes.moving import move_objects
from badac.classes.parametric.parametric import with_scatter
from badac.classes.population.gross_outliers import without
from badac.comparison.common_cause import with_offset
from badac.data import add_noise, align_at_peak, concatenate, fold
from badac.data.error_scale import with_error_scale
from badac.data.folding import binned
from badac.data.magnitudes import as_fluxes, as_magnitudes
from badac.data.units import in_units, within
from badac.latent.gain_offset import corrected
from badac.noise import Gaussian
from badac.noise.correlated import add_covariance
from badac.nuisance.alignment import with_error
from badac.training import TrainingScales

N, AT = 6, np.linspace(0.0, 1.0, 5)


def _template(objects):
    plain = Measurements(objects.values, 0.5, at=AT)
    return Template().fit(plain, Gaussian(), np.random.default_rng(0), TrainingScales.of(plain))


def _own(objects):
    """The same objects at points of their own."""
    return objects.replaced(objects.values, at=np.broadcast_to(AT, objects.shape))


FUNCTIONS = {
    "slice": lambda x: x[1:],
    "points": lambda x: x.points([0, 1]),
    "concatenate": lambda x: concatenate([x[:2], x[2:]]),
    "padded": lambda x: concatenate([_own(x), _own(x).points([0, 1])]),
    "replaced": lambda x: x.replaced(x.values),
    "replaced, errors": lambda x: x.replaced(x.values, 0.3),
    "in_units": lambda x: in_units(x, 4.0),
    "within": lambda x: within(x, 3.0),
    "fold": lambda x: fold(x, 0.3),
    "binned": lambda x: binned(x, [0.0, 0.5, 1.1]),
    "as_fluxes": as_fluxes,
    "as_magnitudes": as_magnitudes,
    "add_noise": lambda x: add_noise(x, 0.1, np.random.default_rng(0)),
    "align_at_peak": align_at_peak,
    "align_at_peak, no scale": lambda x: align_at_peak(x, scale=False),
    "with_error": lambda x: with_error(x, _template(x), AT, np.full(N, 0.1)),
    "with_values": lambda x: with_values(x, x.values + 1.0),
    "only_points": lambda x: only_points(x, np.array([0, 2])),
    "scaled": lambda x: scaled(x, 2.0),
    "without": lambda x: without(x, np.eye(N, 5, dtype=bool)),
    "with_scatter": lambda x: with_scatter(x, 0.1),
    "widen": lambda x: widen(x, np.full(5, 0.1)),
    "fill_gaps": lambda x: fill_gaps(without(x, np.eye(N, 5, dtype=bool)), TrainingScales.of(x)),
    "move_objects, a step": lambda x: move_objects(x, AT, 0.25),
    "move_objects, half a step": lambda x: move_objects(x, AT, 0.125),
    "corrected": lambda x: corrected(x, np.full(N, 2.0), np.zeros(N)),
    "add_covariance": lambda x: add_covariance(x, 0.1 * np.eye(5)),
    "with_error_scale": lambda x: with_error_scale(x, 2.0),
    "with_offset": lambda x: with_offset(x, 2.0),
    "without_columns": lambda x: without_columns(x, np.arange(5) == 1),
}
REFUSE_COUNTS = {
    "replaced, errors",
    "in_units",
    "binned",
    "as_fluxes",
    "as_magnitudes",
    "add_noise",
    "align_at_peak",
    "with_error",
    "scaled",
    "with_scatter",
    "widen",
    "move_objects, half a step",
    "corrected",
    "add_covariance",
}


def _values():
    return np.random.default_rng(1).poisson(5.0, (N, 5)) + 1.0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_stay_beside_the_objects(name):
    redshift = np.linspace(0.1, 0.6, N)
    objects = Measurements(_values(), 0.5, at=AT).with_columns({"redshift": (redshift, 0.02)})
    made = FUNCTIONS[name](objects)
    assert "redshift" in made.columns
    expected = redshift[1:] if name == "slice" else np.tile(redshift, len(made) // N)
    np.testing.assert_array_equal(made.columns["redshift"].values, expected)
    np.testing.assert_array_equal(made.columns["redshift"].sigma, 0.02)
    assert made.has_errors and not made.counted


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_exposure_stays_or_is_refused(name):
    exposure = np.linspace(1.0, 3.0, N)[:, None]
    objects = Measurements(_values(), exposure=exposure, at=AT)
    if name in REFUSE_COUNTS:
        with pytest.raises(ValueError, match="counts with an exposure cannot be changed"):
            FUNCTIONS[name](objects)
        return
    made = FUNCTIONS[name](objects)
    assert made.counted and made.exposure is not None
    assert (made.exposure[made.observed] > 0).all() and (made.exposure[~made.observed] == 0).all()
    if made.n_objects == N and name not in ("fill_gaps", "with_error_scale", "with_offset"):
        np.testing.assert_allclose(
            made.exposure, np.where(made.observed, np.broadcast_to(exposure, made.shape), 0.0)
        )


def test_a_filled_gap_of_counts_has_the_mean_of_counts_and_exposures():
    objects = Measurements([[2.0, np.nan], [3.0, 4.0], [3.0, 8.0]], exposure=[[1.0], [2.0], [4.0]])
    filled = fill_gaps(objects, TrainingScales.of(objects))
    assert filled.exposure is not None
    assert (filled.values[0, 1], filled.exposure[0, 1]) == (6.0, 3.0)


def test_nobody_copies_coordinates_and_bands_by_hand():
    """`Measurements(..., at=objects.at, band=objects.band)` forgets the columns: `objects.replaced` is there for it."""
    by_hand = re.compile(r"Measurements(?:\._trusted)?\([^()]*(?:\([^()]*\)[^()]*)*\bband=(\w+)\.band\b")
    root = Path(badac.__file__).parent
    guilty = [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*.py"))
        if path.name != "measurements.py" and by_hand.search(path.read_text(encoding="utf-8"))
    ]
    assert guilty == []

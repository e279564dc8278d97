"""The paper's experiments: shares, noise, reproducibility, and the authors' own sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from badac.simulate import (
    Bump,
    Normal,
    Parabola,
    Recipe,
    Sine,
    Step,
    draw_experiment,
    experiment,
    recipe,
    wedding_cake_covariance,
)

CASES = [(number, setting) for number in (1, 2, 3, 4) for setting in ("printed", "released")]


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("number", "setting"), CASES)
def test_shares_shapes_and_truths(number, setting):
    data = experiment(number, setting, n_train=400, n_test=1200, contamination=0.1, rng=rng(number))
    assert data.train.shape == (400, 100)
    assert data.test.shape == (1200, 100)
    np.testing.assert_array_equal(data.at, np.linspace(0.0, 1.0, 100))
    np.testing.assert_array_equal(data.test.at, data.at)
    assert set(data.train_label) == {0, 1}
    kinds = len(data.recipe.anomalies)
    assert kinds == (2 if number == 2 else 3)
    np.testing.assert_array_equal(np.bincount(data.test_label)[2:], np.full(kinds, 120 / kinds))
    np.testing.assert_array_equal(data.is_anomaly, data.test_label >= 2)
    for label, truth, parameters in [
        (data.train_label, data.train_truth, data.train_parameters),
        (data.test_label, data.test_truth, data.test_parameters),
    ]:
        for kind, family in enumerate(data.recipe.families):
            rows, p = label == kind, len(family.names)
            np.testing.assert_allclose(family.truth(parameters[rows, :p], data.at), truth[rows])
            assert np.isnan(parameters[rows, p:]).all()


def test_classes_are_tossed_with_a_fair_coin():
    data = experiment(1, n_train=20_000, n_test=10, n_points=2, rng=rng(1))
    assert abs(np.mean(data.train_label) - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def test_the_papers_one_percent():
    data = experiment(1, n_train=10, n_test=1500, n_points=2, rng=rng(2))
    np.testing.assert_array_equal(np.bincount(data.test_label)[2:], [5, 5, 5])
    # Anomalies stand anywhere in the test set, not in one block.
    assert np.ptp(np.flatnonzero(data.is_anomaly)) > 500


def test_printed_error_bars_belong_to_the_kind():
    data = experiment(1, "printed", n_train=100, n_test=400, contamination=0.2, rng=rng(3))
    np.testing.assert_array_equal(
        data.test.sigma, np.where(data.test_label == 1, 0.5, 0.3)[:, None].repeat(100, 1)
    )


def test_released_error_bars_are_drawn_for_every_point():
    data = experiment(3, "released", n_train=200, n_test=10, rng=rng(4))
    assert stats.kstest(data.train.sigma.ravel(), stats.norm(0.1, 0.01).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("number", "setting"), [(1, "printed"), (1, "released"), (2, "printed"), (2, "released")]
)
def test_gaussian_errors_match_their_bars(number, setting):
    data = experiment(number, setting, n_train=1, n_test=3000, contamination=0.5, rng=rng(5))
    z = (data.test.values - data.test_truth) / data.test.sigma
    assert stats.kstest(z[:, ::5].ravel(), "norm").pvalue > 1e-4
    # The mean square of n normal numbers scatters by sqrt(2 / n): five of that, in every kind and in all.
    for group in [z, *(z[data.test_label == kind] for kind in range(len(data.recipe.families)))]:
        assert abs(np.mean(group**2) - 1.0) < 5 * np.sqrt(2 / group.size)


@pytest.mark.parametrize("setting", ["printed", "released"])
def test_bad_points_in_every_kind(setting):
    data = experiment(3, setting, n_train=1, n_test=6000, contamination=0.6, rng=rng(6))
    z = (data.test.values - data.test_truth) / data.test.sigma

    def cdf(t):
        return 0.8 * stats.norm.cdf(t) + 0.2 * stats.norm.cdf(t / 5)

    for group in [z, *(z[data.test_label == kind] for kind in range(5))]:
        assert stats.kstest(group[:, ::10].ravel(), cdf).pvalue > 1e-4
        # Mean square 0.8 + 0.2 * 25 and its variance from the fourth moment 3 (0.8 + 0.2 * 625): five standard errors.
        error = np.sqrt((3 * 125.8 - 5.8**2) / group.size)
        assert abs(np.mean(group**2) - 5.8) < 5 * error
        # Beyond four sigma nearly all points are bad: their share tells share and factor apart.
        beyond = 2 * cdf(-4.0)
        assert abs(np.mean(np.abs(group) > 4) - beyond) < 5 * np.sqrt(beyond / group.size)


@pytest.mark.parametrize(("setting", "variance"), [("printed", 0.09), ("released", 0.1**2 + 0.01**2)])
def test_only_class_0_is_correlated(setting, variance):
    data = experiment(4, setting, n_train=30_000, n_test=600, contamination=0.5, n_points=20, rng=rng(7))
    residual = data.train.values - data.train_truth
    # Tolerance: six standard errors of an entry of a sample covariance, (C_ii C_jj + C_ij^2) / n.
    expected = wedding_cake_covariance(20, np.sqrt(variance))
    of_class_0 = residual[data.train_label == 0]
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / len(of_class_0))
    assert np.max(np.abs(of_class_0.T @ of_class_0 / len(of_class_0) - expected) / error) < 6.0
    z = ((data.test.values - data.test_truth) / data.test.sigma)[data.test_label > 0]
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-4
    # The bars that are reported are those of the independent part.
    assert data.train.covariance is None
    assert data.train.sigma.mean() == pytest.approx(
        np.where(data.train_label == 1, 0.5, 0.3).mean() if setting == "printed" else 0.1, rel=1e-3
    )


@pytest.mark.parametrize(("number", "setting"), CASES)
def test_same_seed_same_data(number, setting):
    first, second, other = (
        experiment(number, setting, n_train=20, n_test=200, rng=rng(seed)) for seed in (8, 8, 9)
    )
    np.testing.assert_array_equal(first.train.values, second.train.values)
    np.testing.assert_array_equal(first.test.values, second.test.values)
    np.testing.assert_array_equal(first.test_label, second.test_label)
    assert not np.array_equal(first.train.values, other.train.values)


def test_test_set_does_not_depend_on_the_training_size():
    small = experiment(1, n_train=10, n_test=100, rng=rng(10))
    large = experiment(1, n_train=50, n_test=100, rng=rng(10))
    np.testing.assert_array_equal(small.test.values, large.test.values)


def test_two_draws_of_one_generator_differ():
    one = rng(11)
    first, second = (experiment(1, n_train=10, n_test=10, rng=one) for _ in range(2))
    assert not np.array_equal(first.test.values, second.test.values)


def test_no_anomalies_and_only_anomalies():
    assert not experiment(1, n_train=5, n_test=50, contamination=0.0, rng=rng()).is_anomaly.any()
    assert experiment(1, n_train=5, n_test=50, contamination=1.0, rng=rng()).is_anomaly.all()


def test_a_recipe_of_ones_own():
    sines = Recipe((Sine(Normal(3.0, 0.0)), Parabola()), (), (Normal(0.1, 0.0), Normal(0.2, 0.0)))
    data = draw_experiment(sines, n_train=30, n_test=20, contamination=0.0, n_points=7, rng=rng(12))
    np.testing.assert_allclose(
        data.train_truth[data.train_label == 0],
        np.sin(3.0 * data.at)[None, :].repeat(sum(data.train_label == 0), 0),
    )
    tiny = replace(sines, sigma=(Normal(0.1, 0.2), Normal(0.1, 0.2)))
    drawn = draw_experiment(tiny, n_train=200, n_test=1, contamination=0.0, rng=rng(13))
    assert drawn.train.sigma.min() > 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 5}, "1, 2, 3 or 4: got 5"),
        ({"setting": "text"}, "'printed' or 'released': got 'text'"),
        ({"n_train": 0}, "`n_train` must be at least 1"),
        ({"n_test": 0}, "`n_test` must be at least 1"),
        ({"n_points": 0}, "`n_points` must be at least 1"),
        ({"contamination": 1.5}, "`contamination`"),
    ],
)
def test_impossible_experiments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        experiment(**({"number": 1, "rng": rng()} | options))


def test_impossible_recipes_are_refused():
    with pytest.raises(ValueError, match="one distribution per kind: got 1"):
        Recipe((Sine(), Parabola()), (Step(),), (Normal(0.1, 0.0),))
    no_anomalies = Recipe((Sine(),), (), (Normal(0.1, 0.0),))
    with pytest.raises(ValueError, match="`contamination=0`"):
        draw_experiment(no_anomalies, n_train=1, n_test=100, rng=rng())


@pytest.mark.shared_data
def test_released_curves_match_the_authors_sample(authors_sample):
    data = experiment(1, "released", n_train=4000, n_test=1, rng=rng(14))
    np.testing.assert_allclose(authors_sample["x"], data.at)
    for kind in (0, 1):
        theirs = authors_sample["train_values"][authors_sample["train_label"] == kind]
        ours = data.train.values[data.train_label == kind]
        for point in (0, 10, 30, 55, 80, 99):
            assert stats.ks_2samp(theirs[:, point], ours[:, point]).pvalue > 1e-4
        # Covariances entry by entry, in the errors of both, whose curves are no normal variates: fourth moments.
        centred = [values - values.mean(axis=0) for values in (theirs, ours)]
        first, second = (c.T @ c / len(c) for c in centred)
        error = (
            sum((c**2).T @ c**2 / len(c) ** 2 for c in centred)
            - first**2 / len(theirs)
            - second**2 / len(ours)
        )
        assert np.max(np.abs(first - second) / np.sqrt(error)) < 6.0


@pytest.mark.shared_data
def test_released_error_bars_match_the_authors_sample(authors_sample):
    data = experiment(1, "released", n_train=2000, n_test=1, rng=rng(15))
    for kind in (0, 1):
        theirs = authors_sample["train_sigma"][authors_sample["train_label"] == kind]
        assert stats.ks_2samp(theirs[:, ::7].ravel(), data.train.sigma[:, ::7].ravel()).pvalue > 1e-4


def closest_bump(values, sigma, at):
    """Centre and width of the best bump on a grid, with its height and chi-square."""
    best = (np.inf,)
    for centre in np.linspace(0.0, 1.0, 51):
        for width in np.geomspace(0.015, 2.0, 40):
            shape = np.exp(-(((at - centre) / width) ** 2)) / sigma
            height = shape @ (values / sigma) / (shape @ shape)
            best = min(best, (np.sum((values / sigma - height * shape) ** 2), height, centre, width))
    return best


@pytest.mark.shared_data
def test_the_bumps_of_the_authors_sample_are_the_released_ones(authors_sample):
    at, rows = authors_sample["x"], np.flatnonzero(authors_sample["test_label"] == 3)
    found = np.array(
        [closest_bump(authors_sample["test_values"][i], authors_sample["test_sigma"][i], at) for i in rows]
    )
    # Each fits as a bump (100 points), and the fitted parameters are probable under the released numbers but not under
    # the printed ones: chi-square with one degree per bump and parameter, at the 1e-4 level.
    assert stats.chi2.sf(found[:, 0].sum(), 97 * len(rows)) > 1e-4

    def surprise(bump):
        z = [
            (found[:, 1] - bump.height.mean) / bump.height.sd,
            (found[:, 2] - bump.centre.mean) / bump.centre.sd,
            (np.abs(found[:, 3]) - bump.width.mean) / bump.width.sd,
        ]
        return stats.chi2.sf(np.sum(np.square(z)), 3 * len(rows))

    _, released, _ = recipe(1, "released").anomalies
    assert surprise(released) > 1e-4
    assert surprise(Bump()) < 1e-12


@pytest.mark.shared_data
def test_the_other_outliers_of_the_authors_sample_match(authors_sample):
    data = experiment(1, "released", n_train=1, n_test=3000, contamination=1.0, rng=rng(16))
    for kind in (2, 4):
        theirs = authors_sample["test_values"][authors_sample["test_label"] == kind]
        ours = data.test.values[data.test_label == kind]
        for summary in (np.mean, np.std, np.max):
            assert stats.ks_2samp(summary(theirs, axis=1), summary(ours, axis=1)).pvalue > 1e-4

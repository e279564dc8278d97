"""Classes learned from partitions are those learned in memory."""

from __future__ import annotations

from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.utils import check_random_state
from surveys import curves, frame_of

from badac import BADACClassifier, Measurements
from badac.classes import Population, TrainingScales
from badac.dask import LazyClassifier, fit
from badac.dask.survey import Sample, Survey
from badac.noise import Gaussian
from badac.partition import BadRows


@pytest.fixture(scope="module")
def labelled() -> tuple[Measurements, np.ndarray]:
    objects, label = curves(600, seed=5)
    values = objects.values.copy()
    values[::9, 3] = np.nan
    return Measurements(values, np.where(np.isnan(values), np.inf, objects.sigma)), label


def test_a_class_from_partitions_is_the_class_in_memory(
    client: Any, labelled: tuple[Measurements, np.ndarray]
) -> None:
    objects, label = labelled
    table = frame_of(objects, label)
    table.loc[len(table)] = table.loc[0]
    table.loc[len(table) - 1, "label"] = None
    lazy = fit(BADACClassifier("population", random_state=0), dd.from_pandas(table, npartitions=5), "label")
    fitted = client.compute(lazy).result(timeout=300)
    seed = check_random_state(0).randint(2**31 - 1)
    for number, name in enumerate(["down", "up"]):
        # Same members, same choices by chance; only the order of the sums differs.
        rng = np.random.default_rng([seed, number])
        expected = Population().fit(objects[label == name], Gaussian(), rng, TrainingScales.of(objects))
        found = fitted.class_models_[number]
        assert found.plan.rank == expected.plan.rank > 0
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8)
        np.testing.assert_allclose(found.psi, expected.psi, rtol=1e-6)
        np.testing.assert_allclose(found.log_evidence(objects), expected.log_evidence(objects), atol=1e-6)
        np.testing.assert_allclose(
            np.sort(found.leave_one_out()), np.sort(expected.leave_one_out()), atol=1e-6
        )
    np.testing.assert_allclose(np.exp(fitted.class_log_prior_), [(label == n).mean() for n in ("down", "up")])
    assert (fitted.predict(objects) == label).mean() > 0.95
    assert fitted.rank(objects).score.shape == (600,)
    assert LazyClassifier(fitted).predict(dd.from_pandas(table, npartitions=2)).npartitions == 2


def test_members_beyond_the_sample_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("badac.dask.survey.MEMBERS_TO_START_FROM", 200)
    objects, label = curves(3000, seed=6)
    frame = dd.from_pandas(frame_of(objects, label), npartitions=6)
    model = BADACClassifier("population", anomaly="tophat", random_state=0)
    fitted = fit(model, frame, "label").compute(scheduler="sync")
    assert len(fitted.training_) == 400
    for number, name in enumerate(["down", "up"]):
        members = objects[label == name]
        # The mean of all members has a standard error of sqrt(0.5^2 + 0.2^2 + ...) / sqrt(1500) = 0.014; that of the sample
        # 0.038.
        error = np.abs(fitted.class_models_[number].mean - members.values.mean(axis=0)).max()
        assert error < 0.02
    np.testing.assert_allclose(
        np.exp(fitted.class_log_prior_), [(label == name).mean() for name in ("down", "up")]
    )


def test_surveys_add_up_in_any_order() -> None:
    objects, label = curves(300, seed=7)
    values = 1e6 + objects.values

    def part(rows: slice, seed: int) -> Survey:
        own = Measurements(values[rows], objects.sigma[rows])
        members = {name: own[label[rows] == name] for name in np.unique(label[rows]).tolist()}
        return Survey.of(members, np.random.default_rng(seed), 6)

    parts = [part(slice(0, 50), 1), part(slice(50, 51), 2), part(slice(51, 300), 3)]
    whole = TrainingScales.of(Measurements(values, objects.sigma))
    for order in ((0, 1, 2), (2, 0, 1)):
        total = parts[order[0]] + parts[order[1]] + parts[order[2]]
        found = total.scales
        np.testing.assert_allclose(found.centre, whole.centre, rtol=1e-13)
        np.testing.assert_allclose(found.scale, whole.scale, rtol=1e-9)
        assert (found.lower, found.upper) == (whole.lower, whole.upper)
        assert total.count == {name: int((label == name).sum()) for name in ("down", "up")}


def test_every_member_has_the_same_chance_to_be_drawn() -> None:
    drawn = np.zeros(60)
    for seed in range(400):
        draw = np.random.default_rng(seed).random(60)
        every = [
            Sample(Measurements(np.arange(60.0)[rows, None]), draw[rows])
            for rows in (slice(0, 5), slice(5, 40), slice(40, 60))
        ]
        kept = every[0].merged(every[1], 12).merged(every[2], 12)
        assert len(kept.members) == 12
        drawn[kept.members.values[:, 0].astype(int)] += 1
    # Each is drawn 400 * 12 / 60 = 80 times; five standard deviations of a binomial.
    assert np.abs(drawn - 80).max() < 5 * np.sqrt(400 * 0.2 * 0.8)


@pytest.mark.parametrize(
    ("options", "label", "message"),
    [
        ({"class_model": "instances"}, "label", '`class_model` must be "population"'),
        ({"noise": "student"}, "label", '`noise` must be "gaussian"'),
        ({}, "kind", "no column 'kind' for the label"),
    ],
)
def test_what_cannot_be_fitted_is_told_while_the_graph_is_built(
    options: dict[str, str], label: str, message: str
) -> None:
    frame = dd.from_pandas(frame_of(*curves(20, seed=8)), npartitions=2)
    with pytest.raises(ValueError, match=message):
        fit(BADACClassifier(**options), frame, label)


def test_columns_are_checked_and_bad_rows_named() -> None:
    table = frame_of(*curves(20, seed=9))
    with pytest.raises(ValueError, match="'y1' must hold numbers"):
        fit(BADACClassifier(), dd.from_pandas(table.assign(y1="a"), npartitions=2), "label")
    with pytest.raises(ValueError, match="lacks any column with an error column"):
        fit(
            BADACClassifier(),
            dd.from_pandas(pd.DataFrame({"y": [1.0], "label": [0]}), npartitions=1),
            "label",
        )
    with pytest.raises(ValueError, match="lacks the column 'z'"):
        fit(BADACClassifier(), dd.from_pandas(table, npartitions=2), "label", features=["z"])
    table.loc[15, "y2_err"] = np.nan
    with pytest.raises(BadRows, match="partition 1: 1 of 10 rows .* row 15: no error"):
        fit(BADACClassifier(), dd.from_pandas(table, npartitions=2), "label").compute(scheduler="sync")

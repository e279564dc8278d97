import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier, Measurements, load, save
from badac.data.concatenation import concatenate
from badac.noise import Gaussian, Poisson
from badac.noise.counts import depths_differ, total_exposure, usual_shares
from badac.noise_learning import learn_noise

POINTS = 12


def cells(n: int, seed: int, *, depth: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (n, POINTS) of two kinds of cells, whose depths differ by a factor of ten; exposures and labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    rate = np.exp(np.linspace(-1.0, 1.0, POINTS) * np.where(label == 0, 0.7, -0.7)[:, None])
    exposure = np.exp(rng.uniform(-1.5, 1.0, n)) if depth else np.ones(n)
    counts = rng.poisson(exposure[:, None] * rate * np.exp(0.2 * rng.standard_normal((n, POINTS))))
    return counts.astype(float), exposure, label


def test_exposures_of_objects_of_points_and_of_both() -> None:
    counts = np.ones((2, 3))
    for given in ([2.0, 4.0], np.array([[2.0], [4.0]]), np.array([[2.0] * 3, [4.0] * 3])):
        np.testing.assert_array_equal(Measurements(counts, exposure=given).exposure, [[2.0] * 3, [4.0] * 3])
    np.testing.assert_array_equal(Measurements(counts, exposure=[1.0, 2.0, 4.0]).exposure[1], [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(Measurements(counts, exposure=2.0).exposure, np.full((2, 3), 2.0))
    assert Measurements(counts, 0.1).exposure is None
    assert "with exposure" in repr(Measurements(counts, exposure=2.0))


def test_what_an_exposure_cannot_be_is_refused_in_words() -> None:
    counts = np.ones((3, 3))
    with pytest.raises(ValueError, match=r"one per object or one per point.*exposure\[:, None\]"):
        Measurements(counts, exposure=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"`exposure` must be one number.*got \(4,\)"):
        Measurements(counts, exposure=np.ones(4))
    with pytest.raises(ValueError, match="`exposure` must be >= 0 and finite"):
        Measurements(counts, exposure=np.array([[1.0], [-1.0], [1.0]]))
    with pytest.raises(ValueError, match="`exposure` or `sigma`"):
        Measurements(counts, 0.1, exposure=1.0)


def test_no_exposure_is_a_missing_point() -> None:
    one = Measurements([[3.0, 0.0]], exposure=[[2.0, 0.0]])
    np.testing.assert_array_equal(one.observed, [[True, False]])
    assert one.exposure is not None and one.exposure[0, 1] == 0.0


def test_an_exposure_survives_slices_and_joins() -> None:
    objects = Measurements(np.ones((4, 2)), exposure=[1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(objects[2:].points([0]).exposure, [[3.0], [4.0]])
    np.testing.assert_array_equal(concatenate([objects[:1], objects[3:]]).exposure[:, 0], [1.0, 4.0])
    with pytest.raises(ValueError, match="same kind of errors"):
        concatenate([objects, Measurements(np.ones((1, 2)), 1.0)])


def test_the_noise_reads_it() -> None:
    counts, exposure, _ = cells(5, seed=1)
    objects = Measurements(counts, exposure=exposure)
    curves = Measurements(counts[:2], exposure=exposure[:2])
    old = Measurements(counts, 1.0 / np.repeat(exposure[:, None], POINTS, axis=1))
    np.testing.assert_allclose(
        Poisson().log_match(objects, curves), Poisson("1/sigma").log_match(old, old[:2]), rtol=1e-12
    )


def test_what_is_not_known_is_found_in_the_totals() -> None:
    counts, exposure, label = cells(300, seed=2)
    rng = np.random.default_rng(0)
    assert learn_noise(Poisson(), Measurements(counts, exposure=exposure), label, rng).exposure == "1/sigma"
    found = learn_noise(Poisson(), Measurements(counts), label, rng)
    assert found.exposure == "total"
    np.testing.assert_allclose(found.share.sum(), 1.0)
    same = Measurements(cells(300, seed=3, depth=False)[0])
    assert not depths_differ(same, label)
    assert learn_noise(Poisson(), same, label, rng).exposure == 1.0
    # A total that tells the class is a clue, not an accident.
    brighter = Measurements(
        np.random.default_rng(4).poisson(np.where(label == 0, 2.0, 20.0)[:, None], (300, 20)) * 1.0
    )
    assert not depths_differ(brighter, label)


def test_a_total_with_gaps_is_made_up_for() -> None:
    counts, _, _ = cells(2000, seed=5)
    whole = Measurements(counts)
    share = usual_shares(whole)
    holes = counts.copy()
    holes[:, ::2] = np.nan
    ratio = (
        total_exposure(Measurements(holes), share)[:, 0].mean() / total_exposure(whole, share)[:, 0].mean()
    )
    np.testing.assert_allclose(ratio, 1.0, atol=0.02)


@pytest.mark.parametrize("known", [True, False])
def test_depths_do_not_tell_the_class(known: bool, tmp_path) -> None:  # type: ignore[no-untyped-def]
    counts, exposure, label = cells(160, seed=6)
    new, other, truth = cells(200, seed=7)
    model = BADACClassifier(noise="poisson", random_state=0)
    model.fit(counts, label, exposure=exposure if known else None)
    objects = Measurements(new, exposure=other) if known else Measurements(new)
    proba = model.predict_proba(objects)
    loss = -np.log(proba[np.arange(200), truth]).mean()
    # Equal rates but for the shape: the best that can be told by the true rates, and a little for learning them.
    rate = np.exp(np.linspace(-1.0, 1.0, POINTS) * np.array([[0.7], [-0.7]]))
    mean = other[:, None, None] * rate
    logs = (new[:, None] * np.log(mean) - mean).sum(axis=2)
    best = (np.logaddexp.reduce(logs, axis=1) - logs[np.arange(200), truth]).mean()
    assert loss < best + 0.1
    save(model, tmp_path / "model.badac")
    np.testing.assert_array_equal(load(tmp_path / "model.badac").predict_proba(objects), proba)
    with pytest.raises(ValueError, match="Give `exposure` to both"):
        model.predict(Measurements(new) if known else Measurements(new, exposure=other))


def test_an_exposure_is_used_or_refused() -> None:
    counts, exposure, label = cells(40, seed=8)
    objects = Measurements(counts, exposure=exposure)
    with pytest.raises(ValueError, match="counts with an exposure.*noise='poisson'"):
        BADACClassifier().fit(objects, label)
    with pytest.raises(ValueError, match="exposure of their own"):
        BADACClassifier(noise=Poisson(2.0)).fit(objects, label)
    with pytest.raises(ValueError, match="X_err"):
        BADACClassifier(noise="poisson").fit(counts, label, X_err=1.0, exposure=exposure)
    with pytest.raises(ValueError, match="is a Measurements"):
        BADACClassifier(noise="poisson").fit(objects, label, exposure=exposure)
    assert learn_noise(Gaussian(), Measurements(counts, 1.0), label, np.random.default_rng(0)) == Gaussian()


def test_exposures_beside_new_counts_and_in_a_column(tmp_path) -> None:  # type: ignore[no-untyped-def]
    counts, exposure, label = cells(24, seed=9)
    new, other, _ = cells(25, seed=10)
    model = BADACClassifier(noise="poisson", class_model="template", random_state=0)
    model.fit(counts, label, exposure=exposure)
    proba = model.predict_proba(Measurements(new, exposure=other))
    np.testing.assert_array_equal(model.predict_proba(new, exposure=other), proba)
    assert model.rank(new, exposure=other).objects.size == 25
    assert model.predict(new, exposure=other).shape == model.anomaly_score(new, exposure=other).shape == (25,)
    with pytest.raises(ValueError, match="Give `exposure` to both"):
        model.predict(new)
    names = [f"g{number}" for number in range(POINTS)]
    known, asked = (pd.DataFrame(each, columns=names) for each in (counts, new))
    for name, given in (("depth", "depth"), ("Library_Size", None)):
        model.fit(known.assign(**{name: exposure}), label, exposure=given)
        assert f"the column {name!r}" in model.describe()
        save(model, tmp_path / "model.badac")
        for one in (model, load(tmp_path / "model.badac")):
            np.testing.assert_allclose(one.predict_proba(asked.assign(**{name: other})), proba)
        with pytest.raises(ValueError, match=f"exposures of the column '{name}'"):
            model.predict(asked)
    with pytest.raises(ValueError, match="'time', that is not there"):
        model.fit(known, label, exposure="time")
    # Error bars are no counts: a column of that name is a feature like any other.
    plain = BADACClassifier(class_model="template").fit(known.assign(exposure=exposure), label)
    assert plain.n_features_in_ == POINTS + 1

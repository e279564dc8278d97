"""Model files: the identity on good ones, a clear refusal of bad ones, nothing half-written."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import badac
from badac import BADACClassifier, Measurements, store

RNG = np.random.default_rng(2)
X = Measurements(
    np.vstack([RNG.normal(0, 1, (20, 4)), RNG.normal(3, 1, (20, 4))]), RNG.uniform(0.1, 0.4, (40, 4))
)
Y = np.repeat(["a", "b"], 20)


def fitted(**keywords: object) -> BADACClassifier:
    return BADACClassifier(**{"class_model": "instances", **keywords}).fit(X, Y)


MODELS = {
    "instances": {},
    "priors": {"priors": {"a": 0.3, "b": 0.7}},
    "broad": {"anomaly": "broad"},
    "contamination": {"anomaly": "contamination"},
    "seen": {"anomaly": badac.anomalies.Seen(X[:3])},
    "evidence": {"anomaly": "evidence"},
    "default": {"class_model": "auto"},
}


@pytest.mark.parametrize("name", MODELS)
def test_save_and_load_is_the_identity(tmp_path: Path, name: str) -> None:
    model = fitted(**MODELS[name])
    badac.save(model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.anomaly_score(X), model.anomaly_score(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    badac.save(again, tmp_path / "again.badac")
    assert (tmp_path / "again.badac").read_bytes() == (tmp_path / "model.badac").read_bytes()


def saved(tmp_path: Path) -> Path:
    badac.save(fitted(), tmp_path / "model.badac")
    return tmp_path / "model.badac"


def test_every_damaged_byte_and_every_truncation_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    places = [*range(60), *range(60, len(whole), max(1, len(whole) // 200))]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with pytest.raises(store.ModelFileError):
            badac.load(path)
        path.write_bytes(whole[:place])
        with pytest.raises(store.ModelFileError):
            badac.load(path)
    path.write_bytes(whole + b"more")
    with pytest.raises(store.ModelFileError, match="damaged"):
        badac.load(path)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, 6, store.FORMAT_VERSION + 1)
    path.write_bytes(bytes(data))
    with pytest.raises(store.ModelFileError, match="version 2.*Upgrade badac"):
        badac.load(path)


class Bomb:
    def __reduce__(self) -> tuple:
        return (os.abort, ())


def test_pickles_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.badac"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(store.ModelFileError, match="pickle, which badac never loads"):
        badac.load(path)


def test_object_arrays_inside_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a right checksum that declares an array of Python objects."""
    monkeypatch.setattr(store, "_KINDS", "fiubUO")
    model = fitted()
    model.extra_ = np.array([{"a": 1}], dtype=object)
    monkeypatch.setattr(store, "_bytes", lambda array: memoryview(b"\0" * array.nbytes))
    badac.save(model, tmp_path / "model.badac")
    monkeypatch.undo()
    with pytest.raises(store.ModelFileError, match="pickle"):
        badac.load(tmp_path / "model.badac")


def test_unknown_parts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.setattr(store, "STORABLE", {k: v for k, v in store.STORABLE.items() if k != "Instances"})
    with pytest.raises(store.ModelFileError, match="Instances"):
        badac.load(path)


class MyNoise(badac.noise.Gaussian):
    pass


def test_a_model_of_ones_own_is_refused_at_saving(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"MyNoise.*Only badac's own"):
        badac.save(fitted(noise=MyNoise()), tmp_path / "model.badac")
    assert not list(tmp_path.iterdir())


def test_saving_what_is_not_fitted(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="fitted"):
        badac.save(BADACClassifier(), tmp_path / "model.badac")


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        badac.save(fitted(anomaly="broad"), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.badac"]


def test_a_missing_file_or_folder_is_said_by_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        badac.load(tmp_path / "nothing.badac")
    with pytest.raises(FileNotFoundError):
        badac.save(fitted(), tmp_path / "no folder" / "model.badac")


@pytest.mark.parametrize("class_model", ["population", "template", "gp"])
def test_every_class_model_is_stored(tmp_path: Path, class_model: str) -> None:
    model = fitted(class_model=class_model, random_state=0)
    badac.save(model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.anomaly_score(X), model.anomaly_score(X))
    np.testing.assert_array_equal(again.anomaly_pvalue(X), model.anomaly_pvalue(X))
    assert str(again.explain(X[:2])) == str(model.explain(X[:2]))

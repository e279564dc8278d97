"""Model files: the identity on good ones, a clear refusal of bad ones, nothing half-written, and old ones that still load."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import struct
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import badac
from badac import BADACClassifier, Measurements, registry, store
from badac.store import files, migrations
from badac.store.migrations import Gathered, Migration, migrated
from badac.store.parts import Encoder, StoredPart

FILES = Path(__file__).parent / "store_files"
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


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_model_with_a_generator_is_stored_with_its_next_seed(tmp_path: Path, make: type) -> None:
    model = fitted(random_state=make(5))
    before = pickle.dumps(model.prepare_pvalues().random_state)
    badac.save(model, tmp_path / "model.badac")
    assert pickle.dumps(model.random_state) == before
    again = badac.load(tmp_path / "model.badac")
    assert isinstance(again.random_state, int)
    np.testing.assert_array_equal(again.anomaly_pvalue(X), model.anomaly_pvalue(X))


def test_matrices_lie_in_memory_as_they_did(tmp_path: Path) -> None:
    """Products of one along its columns differ in the last digit from those along its rows, with some libraries."""
    rows = np.arange(6.0).reshape(2, 3)
    kept = [rows, np.asfortranarray(rows), rows[:, 0].copy(), np.zeros((0, 3)), np.array(1.0)]
    files.write_file(tmp_path / "arrays", {}, kept, key="a secret")
    _, again = files.read_file(tmp_path / "arrays", key="a secret")
    for one, other in zip(kept, again, strict=True):
        np.testing.assert_array_equal(other, one)
        assert other.flags.c_contiguous == one.flags.c_contiguous
    encoder = Encoder()
    for array in (rows, rows.T, rows[:, ::2]):
        encoder.encode(array, "here")
    assert [array.flags.c_contiguous for array in encoder.arrays] == [True, False, True]


def saved(tmp_path: Path, **keywords: object) -> Path:
    badac.save(fitted(**keywords), tmp_path / "model.badac")
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
    with pytest.raises(store.ModelFileError, match=f"version {store.FORMAT_VERSION + 1}.*Upgrade badac"):
        badac.load(path)


class Bomb:
    def __reduce__(self) -> tuple:
        return (os.abort, ())


def test_pickles_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.badac"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(store.ModelFileError, match="pickle, which badac never loads"):
        badac.load(path)


def rewritten(path: Path, change: object) -> Path:
    """The same file with another header and a right checksum."""
    header, arrays = files.read_file(path)
    header.pop("arrays")
    change(header)  # type: ignore[operator]
    files.write_file(path, header, arrays)
    return path


def test_object_arrays_inside_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a right checksum that declares an array of Python objects."""
    monkeypatch.setattr(files, "_bytes", lambda array: memoryview(b"\0" * array.nbytes))
    files.write_file(tmp_path / "model.badac", {"tree": {"array": 0}}, [np.array([{"a": 1}], dtype=object)])
    monkeypatch.undo()
    with pytest.raises(store.ModelFileError, match="pickle"):
        badac.load(tmp_path / "model.badac")


@pytest.mark.parametrize(
    "tree",
    [
        None,
        {"array": 3},
        {"function": "system"},
        {"distribution": "rv_continuous", "args": {"tuple": []}, "kwds": {"dict": []}},
        {"part": "os", "fields": {}},
        {"part": "Gaussian", "fields": {"scale": 1.0, "more": 2.0}},
        {"part": "Gaussian"},
        {"list": [1, 2]},
        {"unheard": "of"},
    ],
    ids=str,
)
def test_headers_that_hold_no_model_are_refused(tmp_path: Path, tree: object) -> None:
    path = saved(tmp_path)
    rewritten(path, lambda header: header.update(tree=tree))
    with pytest.raises(store.ModelFileError, match=r"model\.badac.*written by badac"):
        badac.load(path)


def test_unknown_parts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.delitem(registry._ENTRIES, "Instances")
    with pytest.raises(store.ModelFileError, match="Instances.*import the module that registers it"):
        badac.load(path)


class MyNoise(badac.noise.Gaussian):
    pass


def test_a_model_of_ones_own_is_refused_at_saving(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"MyNoise.*Only badac's own.*registered"):
        badac.save(fitted(noise=MyNoise()), tmp_path / "model.badac")
    assert not list(tmp_path.iterdir())


def test_a_registered_class_of_ones_own_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))

    @registry.registered("noise", "mine", version=3)
    @dataclass(frozen=True)
    class Mine(badac.noise.Gaussian):
        scale: float = 1.5

        @cached_property
        def derived(self) -> float:
            return 2.0 * self.scale

    model = fitted(noise="mine")
    assert model.noise_.derived == 3.0
    badac.save(model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac")
    assert again.noise_ == Mine()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "derived" not in vars(again.noise_)
    header, _ = files.read_file(tmp_path / "model.badac")
    assert header["schemas"]["Mine"] == 3
    monkeypatch.undo()
    with pytest.raises(store.ModelFileError, match="'Mine'.*import the module"):
        badac.load(tmp_path / "model.badac")


def test_saving_what_is_not_fitted(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="fitted BADACClassifier or Stream"):
        badac.save(BADACClassifier(), tmp_path / "model.badac")


def test_what_an_estimator_does_not_declare_is_not_stored_in_silence(tmp_path: Path) -> None:
    model = fitted()
    model.extra_ = 1.0
    with pytest.raises(TypeError, match="extra_.*does not declare"):
        badac.save(model, tmp_path / "model.badac")


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


def test_a_saved_file_is_on_the_disk_before_its_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), rename(*names)))
    saved(tmp_path)
    assert done == ["sync", "rename", "sync"]


def test_a_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    assert saved(tmp_path).stat().st_mode == (tmp_path / "other").stat().st_mode


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


# -- schemas and versions --------------------------------------------------------------------------------------------


def test_a_file_says_who_wrote_it_and_the_schemas_of_its_parts(tmp_path: Path) -> None:
    header, _ = files.read_file(saved(tmp_path))
    assert header["badac"] == badac.__version__
    assert header["schemas"]["Instances"] == registry.part("Instances").version
    assert {"BADACClassifier", "Measurements", "Gaussian"} <= set(header["schemas"])


def test_a_part_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = rewritten(
        saved(tmp_path), lambda header: (header.update(badac="7.1"), header["schemas"].update(Gaussian=99))
    )
    with pytest.raises(store.ModelFileError, match=r"written by badac 7\.1.*Gaussian has schema 99.*Upgrade"):
        badac.load(path)


def test_a_part_of_an_older_schema_without_a_migration_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    entry = registry.part("Gaussian")
    monkeypatch.setitem(registry._ENTRIES, "Gaussian", replace(entry, version=entry.version + 1))
    with pytest.raises(
        store.ModelFileError,
        match=rf"written by badac {badac.__version__}.*Gaussian has schema {entry.version}.*fit the model again",
    ):
        badac.load(path)


def test_a_part_of_an_older_schema_goes_through_its_migration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted()
    badac.save(model, tmp_path / "model.badac")

    def older(header: dict) -> None:
        text = json.dumps(header["tree"]).replace(
            '"Gaussian", "fields": {"scale": 1.0}', '"Normal", "fields": {"times": 1.0}'
        )
        header.update(tree=json.loads(text))
        header["schemas"]["Normal"] = header["schemas"].pop("Gaussian")

    path = rewritten(tmp_path / "model.badac", older)
    with pytest.raises(store.ModelFileError, match="'Normal' is no class"):
        badac.load(path)
    entry = registry.part("Gaussian")
    monkeypatch.setattr(migrations, "_TABLE", dict(migrations._TABLE))
    migrations.register_migration(
        Migration("Normal", entry.version, to="Gaussian", renamed={"times": "scale"})
    )
    monkeypatch.setitem(registry._ENTRIES, "Gaussian", replace(entry, version=entry.version + 1))
    np.testing.assert_array_equal(badac.load(path).predict_proba(X), model.predict_proba(X))


def test_migrations_rename_drop_add_gather_and_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_TABLE", {})
    migrations.register_migration(
        Migration("Old", 0, renamed={"a": "b"}, dropped=("c",), added={"d": 4}),
        Migration("Old", 1, to="New", gathered={"inner": Gathered("Inner", {"left": "b", "right": "e"})}),
        Migration("New", 2, changed=lambda fields: {"total": fields["d"] + 1, "inner": fields["inner"]}),
        Migration("Inner", 1, renamed={"left": "first"}),
    )
    found = migrated(StoredPart("Old", 0, {"a": 1, "c": 3, "e": 5}))
    assert found == StoredPart(
        "New", 3, {"total": 5, "inner": StoredPart("Inner", 2, {"first": 1, "right": 5})}
    )
    assert migrated(StoredPart("Unchanged", 0, {"a": 1})) == StoredPart("Unchanged", 1, {"a": 1})
    with pytest.raises(ValueError, match="'Old' from version 0 already"):
        migrations.register_migration(Migration("Old", 0))


def test_migrations_lead_to_classes_of_today() -> None:
    """A migration that no longer ends at a registered class was forgotten when the class was renamed."""
    for name, version in migrations._TABLE:
        part = StoredPart(name, version, {})
        while (part.name, part.version) in migrations._TABLE:
            found = migrations._TABLE[part.name, part.version]
            part = StoredPart(found.to or part.name, part.version + 1, {})
        entry = registry.part(part.name)
        assert entry is not None, part
        assert part.version <= entry.version


EXPECTED = json.loads((FILES / "expected.json").read_text())


def old_objects(name: str) -> Measurements:
    with np.load(FILES / "objects.npz") as arrays:
        at = arrays.get(f"{name}_at")
        return Measurements(arrays[f"{name}_values"], arrays[f"{name}_sigma"], at=at)


def unpacked(name: str, folder: Path) -> Path:
    path = folder / f"{name}.badac"
    path.write_bytes(gzip.decompress((FILES / f"{name}.badac.gz").read_bytes()))
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_format_1_load_and_say_what_they_said(tmp_path: Path, name: str) -> None:
    expected, model = EXPECTED[name], badac.load(unpacked(name, tmp_path))
    new = old_objects(expected["objects"])
    if name == "stream":
        np.testing.assert_array_equal(model.assignment_, expected["assignment"])
        np.testing.assert_array_equal(model.process(new), expected["again"])
        return
    # Another machine rounds elsewhere in its last bits.
    score = model.anomaly_score(new)
    if name in ("instances", "template", "nuisance"):
        # Top-hat and broad anomalies have a far tail since: a thousandth of every point, and more where the density ended.
        assert (score >= np.array(expected["anomaly_score"]) - 1.1e-3 * new.n_points).all()
    elif name == "irregular":
        # Random curves at an object's own points are cosines since, to 4e-4 of the kernel's covariance.
        np.testing.assert_allclose(score, expected["anomaly_score"], rtol=0, atol=1e-3)
    else:
        np.testing.assert_allclose(score, expected["anomaly_score"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(new), expected["predict_proba"], rtol=1e-9, atol=1e-12)
    badac.save(model, tmp_path / "again.badac")
    header, _ = files.read_file(tmp_path / "again.badac")
    assert header["badac"] == badac.__version__
    np.testing.assert_array_equal(
        badac.load(tmp_path / "again.badac").anomaly_score(new), model.anomaly_score(new)
    )


def test_a_file_of_format_1_that_cannot_be_read_says_who_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_TABLE", {})
    with pytest.raises(
        store.ModelFileError, match=r"written by badac 0\.1 \(format 1\).*fit the model again"
    ):
        badac.load(unpacked("grid", tmp_path))


def schemas() -> dict[str, dict[str, object]]:
    """What this badac writes of every part."""
    return {
        entry.part: {"version": entry.version, "fields": list(entry.fields)}
        for entry in registry.entries()
        if entry.ours
    }


def test_schemas_change_with_their_version_only() -> None:
    pinned = json.loads((FILES / "schemas.json").read_text())
    found = schemas()
    for name in {*pinned, *found}:
        assert found.get(name) == pinned.get(name), (
            f"what a model file holds of {name} has changed: raise the version of its registration by one, add a Migration to "
            "badac.store.migrations, and write schemas.json again with: python tests/test_store.py"
        )


if __name__ == "__main__":
    (FILES / "schemas.json").write_text(
        "{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in schemas().items())
        + "\n}\n"
    )

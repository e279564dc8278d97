"""Model files that were changed and sealed again: every part looks at itself, and the refusal is a `ModelFileError`."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import badac
from badac import BADACClassifier, registry, store
from badac.store import files
from badac.store.invariants import Broken, check

Change = Callable[[dict[str, Any], list[np.ndarray]], None]


@pytest.fixture
def path(tmp_path: Path, small_model: BADACClassifier) -> Path:
    badac.save(small_model, tmp_path / "model.badac")
    return tmp_path / "model.badac"


def resealed(path: Path, change: Change) -> Path:
    """The same file with something changed, and a right checksum."""
    header, arrays = files.read_file(path)
    header.pop("arrays")
    arrays = [array.copy() for array in arrays]
    change(header, arrays)
    files.write_file(path, header, arrays)
    return path


def parts(tree: Any, name: str) -> list[dict[str, Any]]:
    """Fields of all parts of a name in a header's tree."""
    if isinstance(tree, list):
        return [found for item in tree for found in parts(item, name)]
    if not isinstance(tree, dict):
        return []
    own = [tree["fields"]] if tree.get("part") == name else []
    return own + [found for item in tree.values() for found in parts(item, name)]


def set_number(part: str, field: str, value: float) -> Change:
    def change(header: dict[str, Any], arrays: list[np.ndarray]) -> None:
        arrays[parts(header["tree"], part)[0][field]["array"]].flat[-1] = value

    return change


@pytest.mark.parametrize(
    ("part", "field", "value", "words"),
    [
        ("Population", "psi", np.nan, "psi holds nan"),
        ("Population", "psi", -0.1, r"psi holds -0\.1 at 3, which must be >= 0"),
        ("Population", "mean", np.inf, "mean holds inf"),
        ("Population", "factors", -np.inf, "factors holds -inf"),
        ("TrainingScales", "scale", np.nan, "scale holds nan"),
        ("BADACClassifier", "class_log_prior_", np.nan, r"(class_)?log_prior_? holds nan"),
    ],
)
def test_numbers_that_no_fit_makes(path: Path, part: str, field: str, value: float, words: str) -> None:
    with pytest.raises(
        store.ModelFileError, match=rf"its part \w+ is none that could have been saved: {words}"
    ):
        badac.load(resealed(path, set_number(part, field, value)))


def set_field(part: str, field: str, value: Any) -> Change:
    def change(header: dict[str, Any], arrays: list[np.ndarray]) -> None:
        parts(header["tree"], part)[-1][field] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        # Of 160 kB, it took 23 GB: an anomaly's process whose basis has other bands than its class.
        (set_field("Basis", "n_bands", 10**9), "n_bands holds 1000000000"),
        (set_field("Basis", "n_bands", 7), r"basis\.n_bands .*7"),
        (set_number("Measurements", "band", -(2**40)), "band holds -"),
        (set_number("Measurements", "band", 9), "holds no model"),
        (set_number("ColumnsBeside", "scale", 0.0), "scale holds 0"),
        (set_field("ColumnsBeside", "logarithm", True), "logarithm"),
        (set_field("BADACClassifier", "anomaly_prior", [0.1]), "model.badac"),
    ],
)
def test_curves_that_no_class_knows(
    tmp_path: Path, curves_model: tuple[BADACClassifier, Any], change: Change, words: str
) -> None:
    """Sizes, bands and columns that the parts of a model do not share, found when it is loaded and not when it is asked."""
    badac.save(curves_model[0], tmp_path / "model.badac")
    with pytest.raises(store.ModelFileError, match=words):
        badac.load(resealed(tmp_path / "model.badac", change))


def test_a_covariance_must_be_one(path: Path) -> None:
    def change(header: dict[str, Any], arrays: list[np.ndarray]) -> None:
        found = (*parts(header["tree"], "Mixture"), *parts(header["tree"], "KernelDensity"))
        for number in {(one.get("covariances") or one["spread"])["array"] for one in found}:
            arrays[number][...] *= -1.0

    with pytest.raises(store.ModelFileError, match=r"(covariances|spread) must be a covariance"):
        badac.load(resealed(path, change))


@pytest.mark.parametrize("number", [10**6, -1, 1.5, "0", None, True])
def test_an_array_that_is_not_there(path: Path, number: Any) -> None:
    def change(header: dict[str, Any], arrays: list[np.ndarray]) -> None:
        parts(header["tree"], "Population")[0]["psi"]["array"] = number

    with pytest.raises(store.ModelFileError, match="arrays, and asks for number"):
        badac.load(resealed(path, change))


@pytest.mark.parametrize(
    "value", [None, "text", 3, {"list": []}, {"float": "nan"}, {"part": "Gaussian", "fields": {}}]
)
def test_values_of_other_types(path: Path, value: Any) -> None:
    for field in ("scales_", "class_log_prior_", "class_models_", "classes_", "coarsening_"):

        def change(header: dict[str, Any], arrays: list[np.ndarray], field: str = field) -> None:
            header["tree"]["fields"][field] = value

        with pytest.raises(store.ModelFileError):
            badac.load(resealed(path, change))


def test_shapes_that_do_not_fit_each_other(path: Path) -> None:
    def shorter(header: dict[str, Any], arrays: list[np.ndarray]) -> None:
        which = parts(header["tree"], "Population")[0]["psi"]["array"]
        arrays[which] = arrays[which][:-1].copy()

    with pytest.raises(store.ModelFileError, match="psi has the length 3 where its other fields have 4"):
        badac.load(resealed(path, shorter))


def deep(levels: int) -> bytes:
    return b'{"tree": ' + b'{"list": [' * levels + b"1" + b"]}" * levels + b', "arrays": []}'


def sealed(text: bytes, payload: bytes = b"", length: int | None = None) -> bytes:
    import hashlib

    body = text + payload
    digest = hashlib.sha256(body).digest()
    return struct.pack("<6sIQ32s", b"BADAC\0", 2, len(text) if length is None else length, digest) + body


@pytest.mark.parametrize(
    "content",
    [
        sealed(deep(100_000)),
        sealed(deep(900)),
        sealed(b'{"tree": 1, "arrays": [{"dtype": "<f8", "shape": [1099511627776, 1099511627776]}]}'),
        sealed(b'{"tree": 1, "arrays": [{"dtype": "<f8", "shape": [-1]}]}'),
        sealed(b'{"tree": 1, "arrays": [{"dtype": "<f8", "shape": [1.0]}]}', b"\0" * 8),
        sealed(b'{"tree": 1, "arrays": [{"dtype": "|O", "shape": [1]}]}', b"\0" * 8),
        sealed(b'{"tree": 1, "arrays": [{"dtype": ">f8", "shape": [1]}]}', b"\0" * 8),
        sealed(b'{"tree": 1, "arrays": [{"dtype": {"names": ["a"]}, "shape": [1]}]}', b"\0" * 8),
        sealed(b'{"tree": 1, "arrays": 7}'),
        sealed(b"[]"),
        sealed(b"null"),
        sealed(b"\xff\xfe"),
        sealed(b'{"tree": {"array": 0}, "arrays": []}'),
        sealed(b'{"tree": {"distribution": "norm", "args": 1, "kwds": 2}, "arrays": []}'),
        sealed(b'{"tree": {"part": ["a"], "fields": {}}, "arrays": []}'),
        sealed(b'{"tree": {"part": "Factor", "fields": []}, "arrays": []}'),
        sealed(b'{"tree": {"dict": [[{"list": []}, 1]]}, "arrays": []}'),
        sealed(b"{}", length=2**63),
        sealed(b"{}", length=3),
    ],
)
def test_headers_made_to_break_the_reader(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.badac").write_bytes(content)
    with pytest.raises(store.ModelFileError):
        badac.load(tmp_path / "model.badac")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_a_file_without_end_takes_no_memory(tmp_path: Path) -> None:
    with pytest.raises(store.ModelFileError, match="not a badac model file"):
        badac.load("/dev/zero")
    # A sparse file of a terabyte that says it is ours.
    path = tmp_path / "huge.badac"
    with path.open("wb") as file:
        file.write(struct.pack("<6sIQ32s", b"BADAC\0", 2, 1 << 50, b"\0" * 32))
        file.truncate(1 << 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(store.ModelFileError, match="its header alone would have"):
        badac.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


def test_signed_models(tmp_path: Path, small_model: BADACClassifier, path: Path) -> None:
    signed = tmp_path / "signed.badac"
    badac.save(small_model, signed, key="our secret")
    for key in (b"our secret", "our secret", None):
        np.testing.assert_array_equal(
            badac.load(signed, key=key).class_log_prior_, small_model.class_log_prior_
        )
    with pytest.raises(store.ModelFileError, match="signed with another key, or was changed"):
        badac.load(signed, key="another")
    with pytest.raises(store.ModelFileError, match="not signed, and a key was given"):
        badac.load(path, key="our secret")
    with pytest.raises(ValueError, match="must not be empty"):
        badac.save(small_model, signed, key="")
    # Changed and sealed again by somebody without the key: the checksum is right, the signature is not.
    data = bytearray(signed.read_bytes())
    length = struct.unpack_from("<Q", data, 10)[0]
    data[50 + length] ^= 1
    import hashlib

    data[18:50] = hashlib.sha256(data[50:]).digest()
    signed.write_bytes(bytes(data))
    with pytest.raises(store.ModelFileError, match="changed since"):
        badac.load(signed, key="our secret")


@pytest.mark.parametrize("entry", registry.entries(), ids=lambda entry: entry.part)
def test_every_rule_names_fields_that_are_there(entry: registry.Entry) -> None:
    names = {name.split(".")[0] for name in entry.holds}
    assert names <= set(entry.fields), entry.part


def test_a_rule_that_is_misspelt_is_an_error_of_ours(small_model: BADACClassifier) -> None:
    scales = small_model.scales_
    entry = registry.entry_of(type(scales))
    assert entry is not None
    check(scales, entry)
    wrong = registry.Entry(entry.cls, entry.kind, holds={"scale": "(p,) == 3"})
    with pytest.raises(KeyError):
        check(scales, wrong)
    impossible = registry.Entry(entry.cls, entry.kind, holds={"scale": "(p,) <= 0"})
    with pytest.raises(Broken, match="scale holds"):
        check(scales, impossible)


def test_no_nan_is_an_answer(small_model: BADACClassifier) -> None:
    """A model that is broken in memory, where no file was read: it says so."""
    import copy

    broken = copy.deepcopy(small_model)
    object.__setattr__(broken.class_models_[0], "psi", np.full(4, np.nan))
    with pytest.raises(ValueError, match="is not a number"):
        broken.predict_proba(np.zeros((2, 4)), X_err=0.3)
    with pytest.raises(ValueError, match="is not a number"):
        broken.rank(np.zeros((2, 4)), X_err=0.3)


def test_the_command_line_refuses_it_in_one_sentence(small_files: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.badac"
    path.write_bytes((small_files / "model.badac").read_bytes())
    resealed(path, set_number("Population", "psi", np.nan))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from badac.cli import main; main()",
            "rank",
            str(path),
            str(small_files / "new.csv"),
            "-o",
            str(tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "psi holds nan" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["class_report_", "ensemble_", "training_", "noise_", "fitted_with_errors_"])
def test_a_model_that_lacks_a_part_is_none(path: Path, name: str) -> None:
    """All that is there may be right: a model is one only if it answers."""

    def lacking(header: dict[str, Any], _: list[np.ndarray]) -> None:
        (estimator,) = parts(header["tree"], "BADACClassifier")
        del estimator[name]

    with pytest.raises(store.ModelFileError, match="model.badac"):
        badac.load(resealed(path, lacking))


def test_a_class_without_its_parameters_is_none(path: Path) -> None:
    def unfitted(header: dict[str, Any], _: list[np.ndarray]) -> None:
        for fields in parts(header["tree"], "Population"):
            fields["mean"] = None

    with pytest.raises(store.ModelFileError, match="model.badac"):
        badac.load(resealed(path, unfitted))

"""Damaged input of every kind, at random but seeded: a clear refusal or a right answer, never a crash, a hang or a NaN.

A third of a second each by default. For longer: ``make fuzz SECONDS=600`` says how many cases there were and
how each ended; another ``BADAC_FUZZ_SEED`` draws others.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_tables import small_table
from tally import counted, record

import badac
from badac import BADACClassifier
from badac.data import read_frame, write_table
from badac.data.files import TableFileError
from badac.job import Settings, learn, read_training
from badac.store import ModelFileError
from badac.triage import Session

SECONDS = float(os.environ.get("BADAC_FUZZ_SECONDS", "0.3"))
SEED = int(os.environ.get("BADAC_FUZZ_SEED", "0"))
FEWEST = 15  # cases, however slow the machine is
Rng = np.random.Generator


def cases(name: str) -> Iterator[Rng]:
    """Generators, one a case, until the time is up."""
    end, number = time.process_time() + SECONDS, 0
    while number < FEWEST or time.process_time() < end:
        yield np.random.default_rng([SEED, number, *name.encode()])
        number += 1


def _record(what: str, ends: collections.Counter[str]) -> None:
    """Only a suite that went to its end without a crash, a hang, a NaN or a wrong kind of error comes here."""
    record(
        f"fuzz: {what}",
        f"{ends.total():,} cases ({SECONDS:g} s, seed {SEED})",
        f"{counted(ends)}; no failure",
    )


def flipped(data: bytes, rng: Rng) -> bytes:
    """Damage as disks and networks do it: bits, zeros, cuts, pieces twice or elsewhere."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, max(len(out), 1)))
        length = int(rng.integers(1, 64))
        kind = int(rng.integers(0, 6))
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            out[at : at + length] = bytes(len(out[at : at + length]))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            out[at:at] = out[at : at + length]
        elif kind == 4:
            out[at : at + length] = rng.bytes(length)
        else:
            del out[at : at + length]
    return bytes(out)


def resealed(data: bytes, rng: Rng) -> bytes:
    """A model file whose numbers or header were changed, with a right checksum."""
    length = struct.unpack_from("<Q", data, 10)[0]
    text, payload = data[50 : 50 + length], bytearray(data[50 + length :])
    if rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(0, len(payload) // 8)) * 8
            value = rng.choice(
                [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, -1e-300, 5e-324, rng.standard_normal()]
            )
            payload[at : at + 8] = struct.pack("<d", value)
    else:
        text = json.dumps(_mutated(json.loads(text), rng)).encode()
    body = bytes(text) + bytes(payload)
    return struct.pack("<6sIQ32s", b"BADAC\0", 2, len(text), hashlib.sha256(body).digest()) + body


def _mutated(tree: Any, rng: Rng) -> Any:
    """A JSON tree with one place changed."""
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, dict | list):
                visit(value)

    visit(tree)
    node, key = places[int(rng.integers(0, len(places)))]
    wrong: list[Any] = [
        None,
        -1,
        10**9,
        1.5,
        "x",
        [],
        {},
        True,
        {"array": 0},
        {"float": "nan"},
        {"tuple": []},
    ]
    if isinstance(node, dict) and rng.random() < 0.3:
        del node[key]
    else:
        node[key] = wrong[int(rng.integers(0, len(wrong)))]
    return tree


@pytest.mark.parametrize(
    ("name", "damage"),
    [("small", flipped), ("small", resealed), ("stacked", resealed), ("curves", resealed)],
    ids=["raw", "resealed", "resealed, stack and trees", "resealed, curves and columns"],
)
@pytest.mark.filterwarnings("ignore")
def test_model_files(
    tmp_path: Path, request: pytest.FixtureRequest, name: str, damage: Callable[[bytes, Rng], bytes]
) -> None:
    path, ends = tmp_path / "model.badac", collections.Counter[str]()
    made = request.getfixturevalue(f"{name}_model")
    model, new = (made, badac.Measurements(np.zeros((3, 4)), 0.3)) if name == "small" else made
    badac.save(model, path)
    whole = path.read_bytes()
    for rng in cases(f"model {name} {damage.__name__}"):
        given = damage(whole, rng)
        path.write_bytes(given)
        try:
            model = badac.load(path)
        except ModelFileError:
            ends["refused"] += 1
            continue
        try:
            found, score = model.predict_proba(new), model.anomaly_score(new)
            # Members are looked through by an explanation alone; p-values may have to be learned first.
            if name == "curves":
                model.explain(new[:1])
            elif name == "stacked":
                assert np.isfinite(model.anomaly_pvalue(new)).all()
        except ValueError:
            ends["refused when it was asked"] += 1
            continue
        assert np.isfinite(found).all() and not np.isnan(score).any()
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)
        # Without a checksum made anew there is no way through but bytes that are as they were.
        assert damage is resealed or given == whole
        ends["answered" if given != whole else "answered, no byte changed"] += 1
    _record(f"model files, {name}, {damage.__name__}", ends)
    assert ends["refused"] > 0


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "csv.gz", "parquet", "feather", "fits", "vot", "ecsv", "npz", "json", "jsonl"]
)
@pytest.mark.filterwarnings("ignore")
def test_tables_of_every_reader(tmp_path: Path, kind: str) -> None:
    """Bytes of a table damaged: read, or refused as a `ValueError` that names the file."""
    table, path, ends = small_table(20, 3), tmp_path / f"table.{kind}", collections.Counter[str]()
    if kind == "npz":
        np.savez(
            path,
            **{
                name: table[name].to_numpy().astype("U8" if name in ("object", "label") else float)
                for name in table
            },
        )
    elif kind == "feather":
        table.to_feather(path)
    elif kind in ("json", "jsonl"):
        table.to_json(path, orient="records", lines=kind == "jsonl")
    elif kind == "csv.gz":
        table.to_csv(path, index=False)
    else:
        write_table({name: table[name].to_numpy() for name in table}, path)
    whole = path.read_bytes()
    for rng in cases(f"table {kind}"):
        path.write_bytes(flipped(whole, rng))
        try:
            frame = read_frame(path)
        except TableFileError:
            ends["refused"] += 1
        else:
            assert len(frame.columns) >= 0
            ends["read"] += 1
    _record(f"tables, {kind}", ends)


def _reworded(data: bytes, rng: Rng) -> bytes:
    """The file of a session with one place of one line changed, still JSON; or lines twice, away, or in another order."""
    lines = data.splitlines()
    which = int(rng.integers(0, len(lines)))
    kind = int(rng.integers(0, 6))
    if kind < 3:
        lines[which] = json.dumps(_mutated(json.loads(lines[which]), rng)).encode()
    elif kind == 3:
        odd = [
            b"[" * 3000,
            b'{"a":' * 3000,
            b"null",
            b"",
            b'{"badac_triage": "x"}',
            b"\xff\xfe{",
            b"1" * 5000,
        ]
        odd += [lines[1][:-1] + b', "value": %s}' % value for value in (b"NaN", b"1e999", b"1e308", b"-3")]
        odd += [lines[1][:-1] + b', "who": "\\ud800"}']
        lines.insert(which, odd[int(rng.integers(0, len(odd)))])
    elif kind == 4:
        lines.insert(which, lines[int(rng.integers(0, len(lines)))])
    else:
        rng.shuffle(lines)
    return b"\n".join(lines) + (b"\n" if rng.random() < 0.8 else b"")


@pytest.mark.parametrize("damage", [flipped, _reworded], ids=["raw", "reworded"])
def test_session_files(
    tmp_path: Path, small_model: BADACClassifier, damage: Callable[[bytes, Rng], bytes]
) -> None:
    """A session that goes on, in finite numbers and without loss of a byte, or a `ValueError` that leaves the file alone."""
    path, ends = tmp_path / "looks.jsonl", collections.Counter[str]()
    new = small_table(12, 5)[[f"y{j}" for j in range(4)]].to_numpy()
    objects = badac.Measurements(new, 0.3)
    first = Session(small_model, objects, path)
    for row, what in enumerate(("new", "artefact", "dull", "interesting", "unsure")):
        first.say(row, what, f"kind {row}" if row < 2 else None)
    first.undo()
    first.set_value("kind 0", 2.0)
    whole = path.read_bytes()
    aside = path.with_name("looks.jsonl.damaged")
    for rng in cases(f"session {damage.__name__}"):
        given = damage(whole, rng)
        path.write_bytes(given)
        aside.unlink(missing_ok=True)
        try:
            session = Session.open(path, small_model, objects)
        except ValueError as error:
            names_the_file = "looks.jsonl" in str(error)
            assert names_the_file
            assert path.read_bytes().startswith(given) or aside.exists()
            ends["refused"] += 1
            continue
        before = len(session.statements)
        left = session.next()
        if len(left):
            session.say(left[0], "new", "ring")
            assert len(session.statements) == before + 1
        assert np.isfinite(session.value).all()
        assert np.isfinite(session.interest).all()
        kept = path.read_bytes()
        if aside.exists():
            half = aside.read_bytes()[:-1]
            assert given.endswith(half)
            assert kept.startswith(given[: len(given) - len(half)])
            ends["gone on with, the last line aside"] += 1
        else:
            assert kept.startswith(given)
            ends["gone on with"] += 1
    _record(f"session files, {damage.__name__.strip('_')}", ends)
    assert ends["refused"] > 0
    assert ends["gone on with"] + ends["gone on with, the last line aside"] > 0


@pytest.mark.filterwarnings("ignore")
def test_cells_of_a_training_table(tmp_path: Path) -> None:
    """Cells that nobody expects: a model without a NaN, or a `ValueError`."""
    ends = collections.Counter[str]()
    wrong: list[Any] = [
        np.nan,
        np.inf,
        -np.inf,
        1e308,
        -1e308,
        "text",
        "",
        None,
        0.0,
        -1.0,
        99,
        -9999,
        "1,5",
        "=1+1",
    ]
    for rng in cases("cells"):
        table = small_table(24, int(rng.integers(0, 1000))).astype(object)
        for _ in range(int(rng.integers(1, 8))):
            row, column = int(rng.integers(0, len(table))), int(rng.integers(0, len(table.columns)))
            table.iat[row, column] = wrong[int(rng.integers(0, len(wrong)))]
        if rng.random() < 0.1:
            table.iloc[:, int(rng.integers(0, len(table.columns)))] = wrong[int(rng.integers(0, len(wrong)))]
        path = tmp_path / "train.csv"
        table.to_csv(path, index=False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                training = read_training(path)
                model = learn(training, Settings("template", folds=0, diagnose=False))
                found = model.predict_proba(training.catalogue.objects)
        except ValueError:
            ends["refused"] += 1
            continue
        assert np.isfinite(found).all()
        ends["learned"] += 1
    _record("cells of training tables", ends)
    assert isinstance(table, pd.DataFrame)

"""Archives that declare more than they hold, or than a machine has: refused before memory is taken."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from badac.data import npz_files, read_frame
from badac.data.files import TableFileError


def header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def test_an_array_that_declares_a_terabyte(tmp_path: Path) -> None:
    path = tmp_path / "huge.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("values.npy", header((1 << 20, 1 << 17)) + bytes(80))
    with pytest.raises(TableFileError, match=r"'values' declares 1,099,511,627,776 bytes, and 80 are there"):
        read_frame(path)


def test_an_archive_larger_than_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", values=np.zeros((1000, 10)), sigma=np.ones((1000, 10)))
    assert len(read_frame(tmp_path / "bomb.npz")) == 1000
    monkeypatch.setattr(npz_files, "_memory", lambda: 10_000)
    with pytest.raises(TableFileError, match="this machine has 0 GB of memory"):
        read_frame(tmp_path / "bomb.npz")

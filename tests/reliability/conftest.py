"""A small model and its tables, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_tables import small_table, straying

from badac import BADACClassifier, Measurements, save


@pytest.fixture(scope="session")
def small_model() -> BADACClassifier:
    table = small_table(80, 1)
    values = table[[f"y{j}" for j in range(4)]].to_numpy()
    return BADACClassifier("population", random_state=0).fit(values, table["label"], X_err=0.3)


@pytest.fixture(scope="session")
def stacked_model() -> tuple[BADACClassifier, Measurements]:
    """The default with a stack of base models and its trees, ready for p-values; and new objects."""
    values, label = straying(160, 1)
    model = BADACClassifier(random_state=0).fit(values, label, X_err=0.05).prepare_pvalues()
    assert model.ensemble_ is not None
    return model, Measurements(straying(4, 2)[0], 0.05)


@pytest.fixture(scope="session")
def curves_model() -> tuple[BADACClassifier, Measurements]:
    """Curves at their own times in two bands with a column beside them: processes; and new objects."""
    rng = np.random.default_rng(0)
    label = np.arange(124) % 2
    at = np.sort(rng.uniform(-20.0, 60.0, (124, 12)), axis=1)
    band = np.broadcast_to(np.arange(12) % 2, at.shape)
    truth = 10.0 * np.where(
        at < 0.0, np.exp(at / 5.0), np.exp(-at / np.where(label == 0, 12.0, 40.0)[:, None])
    )
    objects = Measurements(truth + 0.5 * rng.standard_normal(at.shape), 0.5, at=at, band=band)
    objects = objects.with_columns({"z": (0.5 * label + 0.2 * rng.standard_normal(124), np.full(124, 0.1))})
    return BADACClassifier("gp", random_state=0).fit(objects[4:], label[4:]), objects[:4]


@pytest.fixture(scope="session")
def small_files(tmp_path_factory: pytest.TempPathFactory, small_model: BADACClassifier) -> Path:
    """A folder with train.csv, new.csv and model.badac."""
    folder = tmp_path_factory.mktemp("small")
    small_table(80, 1).to_csv(folder / "train.csv", index=False)
    small_table(40, 2).drop(columns="label").to_csv(folder / "new.csv", index=False)
    from badac.job import Record, Settings, learn, read_training

    model = learn(read_training(folder / "train.csv"), Settings("population", folds=2, diagnose=False))
    assert Record.of(model) is not None
    save(model, folder / "model.badac")
    return folder

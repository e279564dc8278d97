"""A small model and its tables, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_tables import small_table

from badac import BADACClassifier, save


@pytest.fixture(scope="session")
def small_model() -> BADACClassifier:
    table = small_table(80, 1)
    values = table[[f"y{j}" for j in range(4)]].to_numpy()
    return BADACClassifier("population", random_state=0).fit(values, table["label"], X_err=0.3)


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

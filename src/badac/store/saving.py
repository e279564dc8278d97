"""Save and load: a fitted model to a file and back, whole, checked and through migrations."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

# What a file may hold is what they are made of: importing them registers it.
import badac.estimators
import badac.stream
from badac import registry
from badac.data import Measurements
from badac.store.files import read_file, write_file
from badac.store.migrations import migrated
from badac.store.parts import Encoder, ModelFileError, StoredPart, build, decode

# Format 1 said neither who wrote it nor the versions of its parts: those have the version 0.
_FIRST_WRITER = "0.1 (format 1)"


def save(model: Any, path: str | os.PathLike[str], *, key: bytes | str | None = None) -> None:
    """Write a fitted estimator to a file, atomically.

    What p-values need is made ready before, if it is not yet (`BADACClassifier.prepare_pvalues`, about as long as `fit`), so
    that whoever ranks with the file learns nothing again.

    Parameters
    ----------
    model : BADACClassifier or Stream
        A fitted model made of registered classes: badac's own, and those of yours that `badac.registry.registered` knows.
    path : path
        By custom with the suffix ``.badac``.
    key : bytes or str, optional
        A secret to sign the file with (HMAC-SHA256). Whoever knows it can load with ``key=`` and be sure that the file is as it
        was saved, by somebody who knows it too.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import badac
    >>> model = badac.BADACClassifier("template", anomaly="tophat").fit(np.eye(6), [0, 0, 0, 1, 1, 1], X_err=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     badac.save(model, Path(folder) / "model.badac")
    ...     again = badac.load(Path(folder) / "model.badac")
    >>> bool(np.all(again.predict_proba(np.eye(6), X_err=0.1) == model.predict_proba(np.eye(6), X_err=0.1)))
    True
    """
    entry = registry.entry_of(type(model))
    if entry is None or entry.kind != "estimator" or not hasattr(model, "classes_"):
        known = " or ".join(one.part for one in registry.entries("estimator"))
        raise TypeError(f"badac.save stores a fitted {known}: got {model!r}.")
    if hasattr(model, "prepare_pvalues") and len(model.training_):
        model.prepare_pvalues()
    encoder = Encoder()
    tree = encoder.encode(model, type(model).__name__)
    header = {"badac": _version(), "schemas": encoder.schemas, "tree": tree}
    write_file(path, header, encoder.arrays, key)


def load(
    path: str | os.PathLike[str],
    *,
    functions: Sequence[Callable[..., Any]] = (),
    key: bytes | str | None = None,
) -> Any:
    """Read a model that `save` wrote; refuse anything else with a `ModelFileError` that says why.

    Parameters
    ----------
    path : path
    functions : functions, optional
        Those of the model's parametric classes, of the names they had when it was saved: the file holds no code.
    key : bytes or str, optional
        That it was saved with: a file that is not signed with it is refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import badac
    >>> model = badac.BADACClassifier("template", anomaly="tophat").fit(np.eye(6), [0, 0, 0, 1, 1, 1], X_err=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     badac.save(model, Path(folder) / "model.badac", key="a secret")
    ...     badac.load(Path(folder) / "model.badac", key="a secret").classes_
    array([0, 1])
    """
    header, arrays = read_file(path, key)
    writer = header.get("badac", _FIRST_WRITER)
    try:
        root = decode(header["tree"], arrays, header.get("schemas", {}), functions, migrated)
        if not isinstance(root, StoredPart):
            raise ModelFileError("it holds no model.")
        return _answering(build(root))
    except ModelFileError as error:
        raise ModelFileError(f"{path}, written by badac {writer}, cannot be loaded: {error}") from error
    except Exception as error:  # whatever a file that was made to break it may set off
        raise ModelFileError(
            f"{path}, written by badac {writer}, holds no model that badac {_version()} knows: {error!r}. Load it with the "
            "version that wrote it, or fit the model again."
        ) from error


def _answering(model: Any) -> Any:
    """Return the model, or raise whatever comes of asking it about training objects of its own.

    Each part of a file may be as it should be while another is missing: only a model that answers is one.
    """
    asked = getattr(model, "model", model)  # a stream judges by one
    fitted, training = asked.fitted_, asked.training_
    if len(training):
        known = training[_to_ask(training)]
        # Columns beside the points are points of training objects already.
        joined = getattr(asked, "beside_", None) is not None
        walk = fitted.judge(known) if joined else asked.judge(known, warn=False)
        assert walk.proba.shape == (len(known), len(asked.classes_))
        assert walk.score.shape == (len(known),)
        # What p-values need is in the file, or is learned when they are asked for.
        if fitted.left_out is not None or fitted.ranks_left_out:
            assert ((walk.pvalue >= 0.0) & (walk.pvalue <= 1.0)).all()
    return model


def _to_ask(training: Measurements) -> list[int]:
    """Rows of the first object, and of one with the last of the bands: a band that no class knows is no band of theirs."""
    if training.band is None or training.band.ndim < 2 or not training.band.size:
        return [0]
    return sorted({0, int(training.band.max(axis=1).argmax())})


def _version() -> str:
    return badac.__version__

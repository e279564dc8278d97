r"""Model files: arrays plus a JSON header, versioned and checksummed. Loading runs no code from the file.

Layout: ``BADAC\0`` magic, format version (uint32), header length (uint64), SHA-256 of all that follows, the JSON header,
the arrays' raw bytes one after the other. The header describes the model as a tree: plain JSON values, arrays by number,
and dataclasses by a name that must be in the table `STORABLE` below. A function of yours (a parametric class) is stored by its
name alone: whoever loads the model passes the function itself. Files are written to a temporary name and renamed, so
that an interrupted save leaves the old file as it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import struct
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from badac import anomalies, classes, noise, nuisance
from badac.anomalies.own_class import OwnClass
from badac.anomalies.own_points import OwnPoints
from badac.calibration.coarsening import Coarsening
from badac.calibration.missingness import Missingness
from badac.calibration.null_distribution import NullDistribution, Strangeness
from badac.calibration.stacking.base_models import BaseModels
from badac.calibration.stacking.ensemble import Ensemble
from badac.calibration.stacking.gridded import Gridded
from badac.calibration.stacking.trees import Trees
from badac.calibration.stacking.weights import Stacking
from badac.classes.imputed import Imputed
from badac.classes.pointwise import Pointwise
from badac.classes.population.plan import Plan
from badac.classes.population.shape import Shape
from badac.classes.population.tails import Tails
from badac.classes.processes.fit_process import Curve
from badac.data.gridding import Grid
from badac.data.measurements import Measurements
from badac.estimators import BADACClassifier
from badac.latent.basis import Basis
from badac.latent.factor import Factor
from badac.latent.kernel_density import KernelDensity
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.latent.process import Process
from badac.stream import Stream
from badac.stream.new_class_prior import Alikeness, YoungClass
from badac.stream.state import NewClass, Pool, StreamState

FORMAT_VERSION = 1
_MAGIC = b"BADAC\x00"
_PREFIX = struct.Struct("<6sIQ32s")
_KINDS = "fiubU"

STORABLE: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Measurements,
        classes.Instances,
        classes.TrainingScales,
        classes.Population,
        classes.Template,
        classes.Subclasses,
        classes.Division,
        classes.ClassReport,
        classes.Candidate,
        Coarsening,
        Ensemble,
        BaseModels,
        Trees,
        Gridded,
        Grid,
        Strangeness,
        NullDistribution,
        Stacking,
        Pointwise,
        Imputed,
        Plan,
        Shape,
        KernelDensity,
        Tails,
        Factor,
        Mixture,
        classes.Parametric,
        classes.LinearModel,
        classes.Expansion,
        nuisance.Calibration,
        nuisance.Shift,
        classes.GaussianProcess,
        classes.IrregularPopulation,
        Missingness,
        Process,
        Curve,
        Basis,
        noise.Gaussian,
        noise.AutoNoise,
        noise.Correlated,
        noise.Marginal,
        noise.Outliers,
        noise.Student,
        noise.Poisson,
        noise.Binomial,
        noise.PerClass,
        noise.Widths,
        anomalies.Deviations,
        OwnClass,
        OwnPoints,
        anomalies.Described,
        anomalies.Ground,
        anomalies.SomethingElse,
        anomalies.Bump,
        anomalies.SmoothDeviation,
        anomalies.TopHat,
        anomalies.Broad,
        anomalies.Seen,
        anomalies.Contamination,
        Alikeness,
        YoungClass,
        LatentLikelihood,
        NewClass,
        Pool,
        StreamState,
    )
}
ESTIMATORS: dict[str, type] = {cls.__name__: cls for cls in (BADACClassifier, Stream)}


class ModelFileError(ValueError):
    """A file that is not a whole, readable badac model."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file, atomically.

    Parameters
    ----------
    model : BADACClassifier or Stream
        A fitted model made of badac's own parts. A model with a noise or class model of your own cannot be stored: its
        code is not ours to load.
    path : path
        By custom with the suffix ``.badac``.
    """
    if type(model).__name__ not in ESTIMATORS or not hasattr(model, "classes_"):
        raise TypeError(f"badac.save stores a fitted {' or '.join(ESTIMATORS)}: got {model!r}.")
    arrays: list[npt.NDArray[Any]] = []
    tree = _encode_estimator(model, arrays)
    specs = [{"dtype": array.dtype.str, "shape": array.shape} for array in arrays]
    header = json.dumps({"tree": tree, "arrays": specs}, allow_nan=False).encode()
    digest = hashlib.sha256(header)
    for array in arrays:
        digest.update(_bytes(array))
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_PREFIX.pack(_MAGIC, FORMAT_VERSION, len(header), digest.digest()))
            file.write(header)
            for array in arrays:
                file.write(_bytes(array))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str], *, functions: Sequence[Callable[..., Any]] = ()) -> Any:
    """Read a model that `save` wrote; refuse anything else with a `ModelFileError` that says why.

    Parameters
    ----------
    path : path
    functions : functions, optional
        Those of the model's parametric classes, of the names they had when it was saved: the file holds no code.
    """
    data = Path(path).read_bytes()
    if not data.startswith(_MAGIC):
        hint = " It looks like a pickle, which badac never loads." if data[:1] == b"\x80" else ""
        raise ModelFileError(
            f"{path} is not a badac model file.{hint} Write one with badac.save(model, path)."
        )
    if len(data) < _PREFIX.size:
        raise ModelFileError(f"{path} is truncated: it has {len(data)} bytes. Copy or save it again.")
    _, version, header_length, digest = _PREFIX.unpack_from(data)
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; this badac reads up to {FORMAT_VERSION}. Upgrade badac to load it."
        )
    body = memoryview(data)[_PREFIX.size :]
    if hashlib.sha256(body).digest() != digest:
        raise ModelFileError(
            f"{path} is damaged or truncated: its checksum does not match its {len(data)} bytes. Copy or save it again."
        )
    try:
        header = json.loads(bytes(body[:header_length]))
        arrays = _read_arrays(header["arrays"], body[header_length:])
        tree = header["tree"]
        known = {_name(function): function for function in functions}
        model = _decode_estimator(tree, arrays, known)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} holds no model that this badac knows: {error!r}.") from error
    return model


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _encode_estimator(model: Any, arrays: list[npt.NDArray[Any]]) -> dict[str, Any]:
    return {
        "estimator": type(model).__name__,
        "params": _encode(model.get_params(deep=False), arrays, "params"),
        "state": _encode({k: v for k, v in vars(model).items() if k.endswith("_")}, arrays, "state"),
    }


def _decode_estimator(
    tree: dict[str, Any], arrays: list[npt.NDArray[Any]], known: Mapping[str, Callable[..., Any]]
) -> Any:
    model = ESTIMATORS[tree["estimator"]](**_decode(tree["params"], arrays, known))
    for name, value in _decode(tree["state"], arrays, known).items():
        setattr(model, name, value)
    return model


def _encode(value: Any, arrays: list[npt.NDArray[Any]], where: str) -> Any:
    """Turn a value into JSON, with its arrays moved to the list."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return {"array": _keep(value, arrays, where)}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_encode(item, arrays, where) for item in value]}
    if isinstance(value, dict):
        return {
            "dict": [
                [_encode(k, arrays, where), _encode(v, arrays, f"{where}.{k}")] for k, v in value.items()
            ]
        }
    name = type(value).__name__
    if ESTIMATORS.get(name) is type(value):
        return _encode_estimator(value, arrays)
    if STORABLE.get(name) is type(value) and dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {"part": name, "fields": {k: _encode(v, arrays, f"{where}.{k}") for k, v in fields.items()}}
    family = getattr(getattr(value, "dist", None), "name", None)
    if family is not None and isinstance(
        getattr(stats, family, None), stats.rv_continuous | stats.rv_discrete
    ):
        return {
            "distribution": family,
            "args": _encode(tuple(value.args), arrays, where),
            "kwds": _encode(value.kwds, arrays, where),
        }
    if isinstance(value, types.FunctionType) and value.__name__ != "<lambda>":
        return {"function": _name(value)}
    raise TypeError(
        f"{where} cannot be stored in a model file: got {type(value).__module__}.{name}. "
        "Only badac's own models, named functions, scipy.stats distributions, numbers, strings and numeric arrays can."
    )


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function)).rpartition("<locals>.")[2]


def _keep(array: npt.NDArray[Any], arrays: list[npt.NDArray[Any]], where: str) -> int:
    """Move an array to the list and return its number; the same memory is stored once."""
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"{where} cannot be stored: an array of {array.dtype} would need pickle.")
    for number, kept in enumerate(arrays):
        same = kept.__array_interface__["data"] == array.__array_interface__["data"]
        if same and kept.shape == array.shape and kept.strides == array.strides and kept.dtype == array.dtype:
            return number
    arrays.append(np.ascontiguousarray(array).reshape(array.shape))
    return len(arrays) - 1


def _read_arrays(specs: list[dict[str, Any]], payload: memoryview) -> list[npt.NDArray[Any]]:
    arrays, start = [], 0
    for spec in specs:
        dtype = np.dtype(spec["dtype"])
        if dtype.kind not in _KINDS:
            raise ModelFileError(
                f"the file holds an array of {dtype}, which would need pickle; badac never loads it."
            )
        shape = tuple(int(length) for length in spec["shape"])
        size = math.prod(shape) * dtype.itemsize
        if start + size > len(payload):
            raise ModelFileError("the file is truncated: an array ends beyond its end.")
        arrays.append(np.frombuffer(payload[start : start + size], dtype=dtype).reshape(shape))
        start += size
    return arrays


def _decode(value: Any, arrays: list[npt.NDArray[Any]], known: Mapping[str, Callable[..., Any]]) -> Any:
    """Undo `_encode`; `known` functions by their names."""
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        return arrays[value["array"]]
    if "list" in value:
        return [_decode(item, arrays, known) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, arrays, known) for item in value["tuple"])
    if "dict" in value:
        return {_decode(k, arrays, known): _decode(v, arrays, known) for k, v in value["dict"]}
    if "function" in value:
        if value["function"] not in known:
            raise ModelFileError(
                f"the model needs your function {value['function']!r}, which a file cannot hold: load it with "
                f"badac.load(path, functions=[{value['function']}])."
            )
        return known[value["function"]]
    if "distribution" in value:
        family = getattr(stats, value["distribution"], None)
        if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
            raise ModelFileError(
                f"the file names a distribution that scipy.stats has not: {value['distribution']!r}."
            )
        return family(*_decode(value["args"], arrays, known), **_decode(value["kwds"], arrays, known))
    if "estimator" in value:
        return _decode_estimator(value, arrays, known)
    cls = STORABLE[value["part"]]
    given = {name: _decode(item, arrays, known) for name, item in value["fields"].items()}
    expected = {field.name for field in dataclasses.fields(cls)}
    if set(given) != expected:
        raise ModelFileError(
            f"{cls.__name__} has the fields {sorted(expected)}; the file has {sorted(given)}."
        )
    made: Any = object.__new__(cls)
    for name, item in given.items():
        object.__setattr__(made, name, item)
    return made

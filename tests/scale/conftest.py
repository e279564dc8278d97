"""A real cluster of two worker processes, one for all tests, and a survey that was cut into partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from surveys import curves

distributed = pytest.importorskip("distributed", reason="needs the extra `scale`")

from badac import BADACClassifier, Measurements  # noqa: E402


def cluster_of_two() -> Any:
    """Start two worker processes of one thread each, on this machine only."""
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        # Workers import what the tests import; a lost worker must be missed at once, not after a minute.
        silence_logs=50,
    )


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    with cluster_of_two() as cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture(scope="session")
def model() -> BADACClassifier:
    """A model ready for p-values."""
    objects, label = curves(300, seed=1)
    fitted = BADACClassifier("template", random_state=0).fit(objects, label)
    fitted.anomaly_pvalue(objects[:1])
    return fitted


@pytest.fixture(scope="session")
def survey() -> Measurements:
    """Objects to be judged: some missing points, and some objects twice, so that scores tie."""
    objects, _ = curves(200, seed=2, strange=10)
    values = objects.values.copy()
    values[::7, 2] = np.nan
    values[100:120], sigma = values[:20], objects.sigma.copy()
    sigma[100:120] = sigma[:20]
    return Measurements(values, np.where(np.isnan(values), np.inf, sigma))

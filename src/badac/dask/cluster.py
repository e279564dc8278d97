"""A cluster to work on: processes of this machine, or one that runs already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cluster(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Yield a client of a cluster, and take down what was started for it.

    Parameters
    ----------
    workers : int, optional
        Number of worker processes on this machine, of one thread each.
    scheduler : str, optional
        Address of a running scheduler, such as ``tcp://10.0.0.1:8786``. Its workers need badac and must see the same files.
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "several workers need dask and distributed: pip install 'badac[scale]' brings them."
        ) from error
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"no scheduler answers at {scheduler!r}: {error}. Start one with `dask scheduler`, and give its address."
            ) from error
        with client:
            if not client.scheduler_info()["workers"]:
                raise ValueError(
                    f"the scheduler at {scheduler} has no workers: start some with `dask worker {scheduler}`."
                )
            yield client
        return
    with (
        distributed.LocalCluster(
            n_workers=workers or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # A port of its own: another cluster may run here.
            dashboard_address="127.0.0.1:0",
            # Tornado's and the nannies' words about lost connections are no news to the user of a command.
            silence_logs=50,
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client

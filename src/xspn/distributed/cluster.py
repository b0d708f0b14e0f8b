"""Connect to a cluster, for everything below: Dask's collections, and joblib's parallel loops."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

from xspn.core.errors import ClusterError
from xspn.data.out_of_core import dask_module

LOCAL = "local"
WITHOUT_PORT = ("inproc", "ucx")  # addresses that Dask itself cannot take apart


@contextmanager
def connected(address: str = LOCAL, n_workers: int | None = None, memory_limit: str = "auto") -> Iterator[Any]:
    """Provide a Dask client; until it is closed, joblib's loops run on the cluster too.

    So grid searches of scikit-learn, bags of circuits and the experiments go to the cluster without knowing of it.

    Args:
        address: That of a scheduler, such as "tcp://10.0.0.1:8786"; "local" makes a cluster of this machine's cores.
        n_workers: The number of processes of a local cluster; one for each core by default.
        memory_limit: What each of them may use, such as "3GB".

    Examples:
        >>> from xspn import XSPN
        >>> with connected("local", n_workers=4) as client:  # doctest: +SKIP
        ...     model = XSPN().fit("baskets.parquet", checkpoint="fit.json")
    """
    distributed = dask_module("distributed")
    with _own_cluster(distributed, address, n_workers, memory_limit) as where:
        try:
            if isinstance(where, str) and where.partition("://")[0] not in WITHOUT_PORT:
                distributed.comm.get_address_host_port(where)  # a wrong one would leave a client behind for later work
            client = distributed.Client(where)
        except (OSError, ValueError) as error:  # after the time that `distributed.comm.timeouts.connect` says
            raise ClusterError(
                f"{address}: no Dask scheduler answers there ({error}); start one: dask scheduler"
            ) from error
        with client, joblib.parallel_config(backend="dask", n_jobs=-1):
            yield client


@contextmanager
def _own_cluster(distributed: Any, address: str, n_workers: int | None, memory_limit: str) -> Iterator[Any]:
    """Provide a cluster of this machine's processes, or the address of another one."""
    if address != LOCAL:
        yield address
        return
    workers = joblib.cpu_count() if n_workers is None else n_workers
    # One thread a worker: the arithmetic is done by libraries that keep a core busy by themselves. Any free port
    # for the status page: with the usual one a second cluster on the machine would warn.
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=":0"
    ) as cluster:
        yield cluster

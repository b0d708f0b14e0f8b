"""Connect to a cluster, for everything below: Dask's collections, and joblib's parallel loops."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import joblib

from xspn.core.errors import ClusterError, XSPNError
from xspn.data.frames import dask_module

LOCAL = "local"
WITHOUT_PORT = ("inproc", "ucx")  # addresses that Dask itself cannot take apart
RETRIES = 1  # a partition that fails twice is given up
FAN_IN = 8  # so many summaries are merged at a time
CONTINUE = "what was saved by fit(checkpoint=…) is not lost: fit again with the same checkpoint to continue"


@contextmanager
def connected(address: str = LOCAL, n_workers: int | None = None, memory_limit: str = "auto") -> Iterator[Any]:
    """Provide a Dask client; until it is closed, joblib's loops run on the cluster too.

    So grid searches of scikit-learn, bagged ensembles and the experiments go to the cluster without knowing of it.

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


def merge_tree(parts: Sequence[Any], merge: Any) -> Any:
    """Return the merging of delayed parts as a tree, so that no worker ever holds all of them."""
    delayed = dask_module("dask").delayed
    while len(parts) > 1:
        parts = [delayed(merge, pure=False)(list(parts[k : k + FAN_IN])) for k in range(0, len(parts), FAN_IN)]
    return parts[0]


def n_workers() -> int:
    """Return the number of worker processes; 1 without a cluster."""
    client = current_client()
    return 1 if client is None else max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)


def current_client() -> Any | None:
    """Return the client of the cluster that is connected, or None: then threads of this process do the work."""
    try:
        return dask_module("distributed").get_client()
    except ValueError:
        return None


def compute(outputs: Sequence[Any], of_partitions: Sequence[Any], sources: Sequence[str]) -> list[Any]:
    """Compute delayed outputs.

    Args:
        outputs: What is wanted.
        of_partitions: What is computed of each partition on the way: a failure is reported with the partition's name.
        sources: The names of the partitions.
    """
    client = current_client()
    if client is None:
        with _in_one_line():
            return list(dask_module("dask").compute(*outputs))
    delayed = dask_module("dask").delayed
    markers = [delayed(_is_done, pure=False)(own) for own in of_partitions]
    with _in_one_line():
        futures = client.compute([*outputs, *markers], retries=RETRIES)
        wanted, marks = futures[: len(outputs)], futures[len(outputs) :]
        try:
            return list(client.gather(wanted))
        except XSPNError:
            raise
        except Exception as error:
            failed = next((source for mark, source in zip(marks, sources, strict=True) if mark.status == "error"), None)
            if failed is None:
                raise
            raise ClusterError(f"{failed}: failed {RETRIES + 1} times ({_reason(error)}); {CONTINUE}") from error


def _is_done(result: Any) -> bool:
    return True


def _reason(error: Exception) -> str:
    if type(error).__name__ == "KilledWorker":
        return "every worker that took it died, perhaps for want of memory"
    return f"{type(error).__name__}: {error}"


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn what Dask raises into an error of ours."""
    try:
        yield
    except XSPNError:
        raise
    except Exception as error:
        raise ClusterError(f"the cluster could not finish ({_reason(error)}); {CONTINUE}") from error

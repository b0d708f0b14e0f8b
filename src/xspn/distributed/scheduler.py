"""Have Dask compute something, and say in one line what went wrong if it fails."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xspn.core.errors import ClusterError, XSPNError
from xspn.data.out_of_core import dask_module

RETRIES = 1  # a partition that fails twice is given up
FAN_IN = 8  # so many summaries are merged at a time
CONTINUE = "what was saved by fit(checkpoint=…) is not lost: fit again with the same checkpoint to go on from there"


def tree(parts: Sequence[Any], merge: Any) -> Any:
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
        of_partitions: What is computed of each partition on the way: a failure is told with the partition's name.
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

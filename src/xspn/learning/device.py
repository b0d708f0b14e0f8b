"""Where EM computes: with the library's own kernels, or on a device of torch."""

import re
import warnings
from importlib.util import find_spec

from xspn.core.errors import ParameterError

KNOWN = re.compile(r"cpu|cuda(:\d+)?")  # others lack double precision, or nobody has tried them


def known_device(device: str | None) -> None:
    """Raise unless a device is None or has a name of one that is supported, there or not.

    Examples:
        >>> known_device("gpu")
        Traceback (most recent call last):
        xspn.core.errors.ParameterError: device: expected None, 'cpu', 'cuda', or 'cuda:1' and so on, found 'gpu'
    """
    if device is not None and not (isinstance(device, str) and KNOWN.fullmatch(device)):
        raise ParameterError(f"device: expected None, 'cpu', 'cuda', or 'cuda:1' and so on, found {device!r}")


def learning_device(device: str | None) -> str | None:
    """Return the device of torch to learn on; None for the library's own kernels on the CPU.

    Where torch or the device is missing, a warning says so and learning goes on without it.

    Examples:
        >>> learning_device(None) is None
        True
    """
    known_device(device)
    if device is None:
        return None
    missing = _missing(device)
    if missing is None:
        return device
    warnings.warn(
        f"device={device!r}: {missing}; learning goes on with the library's own kernels on the CPU, which is slower",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _missing(device: str) -> str | None:
    """Return what is missing to use a device, in words; None if it can be used."""
    if find_spec("torch") is None:
        return "the package torch is not installed (pip install 'xspn[torch]')"
    import torch

    if device == "cpu":
        return None
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no CUDA device"
    number, index = torch.cuda.device_count(), int(device.partition(":")[2] or 0)
    return None if index < number else f"torch sees only {number} CUDA device{'s' if number > 1 else ''}"

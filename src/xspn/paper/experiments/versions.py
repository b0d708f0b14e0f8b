"""The versions that a result depends on."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from xspn._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn")


@cache
def versions() -> dict[str, str]:
    """Return the versions of this library, of Python and of the packages at the core.

    Examples:
        >>> sorted(versions())
        ['numpy', 'python', 'scikit-learn', 'scipy', 'xspn']
    """
    return {"xspn": __version__, "python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"

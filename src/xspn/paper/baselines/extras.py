"""Optional packages, imported when they are first needed."""

from importlib import import_module
from typing import Any

from xspn.core.errors import MissingExtraError


def import_extra(module: str, extra: str, what: str) -> Any:
    """Return an optional module, or say which extra brings it.

    Args:
        module: The module to import.
        extra: The extra of this package that installs it.
        what: What it is needed for.

    Examples:
        >>> import_extra("math", "arithmetic", "sums").floor(2.5)
        2
        >>> import_extra("no_such_module", "arithmetic", "sums")
        Traceback (most recent call last):
        ...
        xspn.core.errors.MissingExtraError: sums: needs the package no_such_module; pip install 'xspn[arithmetic]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise  # the package is there, but broken
        raise MissingExtraError(f"{what}: needs the package {module}; pip install 'xspn[{extra}]'") from error

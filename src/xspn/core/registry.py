"""Code found by its name: classes behind a file's `"type"` or a user's option, and optional packages."""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from xspn.core.errors import MissingExtraError, RegistryError, with_known_names

T = TypeVar("T")


class Registry(Generic[T]):
    """A mapping from names to things of one kind, refusing unknown names with the nearest known one.

    Examples:
        >>> colors = Registry("color")
        >>> colors.add("red", 1)
        >>> colors["red"]
        1
        >>> colors["read"]
        Traceback (most recent call last):
        ...
        xspn.core.errors.RegistryError: unknown color 'read'; did you mean 'red'? Known: red
    """

    def __init__(self, kind: str, entry_points: str | None = None) -> None:
        """Make a registry of one kind of things.

        Args:
            kind: What messages call them.
            entry_points: The group of entry points by which installed packages offer more of them: an unknown name is
                looked up there, and what it points to is imported, which registers the thing under that name.
        """
        self._kind, self._entry_points = kind, entry_points
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Register `item` under `name`, once."""
        if name in self._items:
            raise RegistryError(f"{self._kind} {name!r} is registered already")
        self._items[name] = item

    def _import(self, name: str) -> None:
        """Import what installed packages offer under an unknown name."""
        for point in entry_points(group=self._entry_points, name=name) if self._entry_points else ():
            try:
                point.load()
            except Exception as error:
                package = point.dist.name if point.dist else point.value
                raise RegistryError(
                    f"{self._kind} {name!r}: the package {package} cannot be loaded ({error})"
                ) from error

    def __getitem__(self, name: str) -> T:
        if isinstance(name, str) and name not in self._items:
            self._import(name)
        if not isinstance(name, str) or name not in self._items:
            raise RegistryError(f"unknown {self._kind} {with_known_names(name, self._items)}")
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


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

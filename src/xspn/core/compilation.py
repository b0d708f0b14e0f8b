"""Functions compiled by numba whose code is kept for the next process; imported where something is compiled only.

Code is kept in the folder that `NUMBA_CACHE_DIR` names, beside the sources, or in the user's cache, whichever comes
first and can be written to. Where code was compiled ahead of time (`python -m xspn.engine.kernels`) reading will do.
Where none can be kept, each process compiles for itself.
"""

import hashlib
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])
numbas: Any = caching  # it has no types
NOT_KEPT = (
    "compiled kernels cannot be kept, so that each process compiles them anew, which takes a minute: set "
    "NUMBA_CACHE_DIR to a folder that can be written to, or run `python -m xspn.engine.kernels` while the package's "
    "own folder can be written to"
)
not_kept: list[str] = []  # the functions whose code is in this process alone


def kept(**options: Any) -> Callable[[Function], Function]:
    """Compile a function that Python calls, and keep the code for the next process.

    Unlike numba's own `cache=True` this knows a change in any source of the same folder, of which one may be compiled
    into another; it reads code from folders that cannot be written to; and it goes on where nothing can be kept.
    """

    def decorate(function: Function) -> Function:
        dispatcher = njit(**options)(function)
        try:
            dispatcher._cache = _Kept(function)
        except Exception:  # no folder, or another numba than those known: compiling is all that is lost
            if not not_kept:
                warnings.warn(NOT_KEPT, RuntimeWarning, stacklevel=2)
            not_kept.append(function.__name__)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


@lru_cache
def stamp_of(folder: Path) -> str:
    """Return a fingerprint of all sources in a folder."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()[:16]


def _place(numbas_own: Any) -> Any:
    """Return one of the classes by which numba finds a folder, changed to know the stamp and to do with reading."""

    def stamp(self: Any) -> str:
        return stamp_of(Path(self._py_file).parent)

    def ensure_cache_path(self: Any) -> None:
        if not any(Path(self.get_cache_path()).glob(f"*-{stamp(self)}.py*.nbi")):
            numbas_own.ensure_cache_path(self)

    changed = {"ensure_cache_path": ensure_cache_path, "get_disambiguator": stamp, "get_source_stamp": stamp}
    return type(numbas_own.__name__, (numbas_own,), changed)


class _Places(numbas.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_place(own) for own in numbas.CompileResultCacheImpl._locator_classes]  # noqa: RUF012


class _Kept(numbas.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, in which a file that cannot be read or written is none."""

    _impl_class = _Places

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with suppress(Exception):
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)

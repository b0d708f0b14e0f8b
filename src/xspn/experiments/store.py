"""`Store`: a folder with one result file for each finished unit. Files appear whole or not at all."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from xspn._core.errors import FormatError, ParameterError
from xspn.experiments.result import Result
from xspn.experiments.unit import Unit
from xspn.io.files import write_text

STALE_SECONDS = 3600


@dataclass(frozen=True)
class Merged:
    """What came of a merge: how many results were new, the same, and in conflict (kept as they were)."""

    new: int
    same: int
    conflicts: tuple[str, ...]


class Store:
    """Results by unit.

    Several runs, on one machine or on a shared file system, may use one folder at the same time: at worst a unit is
    done twice, with the same outcome.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, unit: Unit) -> Path:
        """Return where the unit's result is, or will be."""
        return self.folder / unit.path

    def read(self, unit: Unit) -> Result | None:
        """Return the unit's result; None if it is not finished, or its file is damaged and must be made anew."""
        path = self.path(unit)
        try:
            result = Result.from_json(path.read_text(encoding="utf-8"), str(path))
        except (FileNotFoundError, FormatError, UnicodeDecodeError):
            return None
        return result if result.unit == unit else None

    def read_all(self, units: Iterable[Unit]) -> dict[Unit, Result]:
        """Return the finished ones among the units."""
        found = ((unit, self.read(unit)) for unit in units)
        return {unit: result for unit, result in found if result is not None}

    def write(self, result: Result) -> None:
        """Keep a result."""
        path = self.path(result.unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, result.to_json())

    def __iter__(self) -> Iterator[Result]:
        """Yield all results in the folder, in order of their paths; files that are no results are passed over."""
        return self.below(self.folder)

    def below(self, folder: Path) -> Iterator[Result]:
        """Yield the results in one folder of the store."""
        for path in sorted(folder.rglob("*.json")):
            try:
                yield Result.from_json(path.read_text(encoding="utf-8"), str(path))
            except (FormatError, UnicodeDecodeError):
                continue

    def merge(self, other: Path) -> Merged:
        """Take over the results of another folder that this one lacks."""
        if not other.is_dir():
            raise ParameterError(f"merge: expected a folder of results at {other}, found none")
        new = same = 0
        conflicts = []
        for theirs in Store(other):
            own = self.read(theirs.unit)
            if own is None:
                self.write(theirs)
                new += 1
            elif (own.test_score, own.valid_score) == (theirs.test_score, theirs.valid_score):
                same += 1
            else:
                conflicts.append(f"{theirs.unit}: {own.test_score:.4f} here, {theirs.test_score:.4f} there")
        return Merged(new, same, tuple(conflicts))

    def sweep(self) -> None:
        """Remove unfinished files that a killed run left behind; younger ones may belong to a run that is going on."""
        if not self.folder.is_dir():
            return
        for path in self.folder.rglob(".*.part"):
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink(missing_ok=True)

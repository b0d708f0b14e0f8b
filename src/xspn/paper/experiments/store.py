"""`Store`: a folder with one result file for each finished unit. Files appear whole or not at all."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from xspn.core.errors import FormatError, ParameterError
from xspn.core.files import write_text
from xspn.paper.experiments.results import MOST_BYTES, Unit, UnitResult

STALE_SECONDS = 3600
Planned = Callable[[Unit], Unit | None]  # the plan's own unit for one that was read; None for one that it lacks


@dataclass(frozen=True)
class Merged:
    """What came of a merge: how many results were new, the same, in conflict (ours are kept), and refused."""

    new: int
    same: int
    conflicts: tuple[str, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The results in a folder, and the files that are none and why."""

    results: tuple[UnitResult, ...]
    refused: tuple[str, ...]


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

    def read(self, unit: Unit) -> UnitResult | None:
        """Return the unit's result; None if it is not finished, or its file is damaged and must be made anew."""
        path = self.path(unit)
        if not path.exists():
            return None
        try:
            result = read_result(path)
        except FormatError:
            return None
        return result if result.unit == unit else None

    def write(self, result: UnitResult) -> None:
        """Keep a result, in a file that links do not take out of the store's folder."""
        path = self.path(result.unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise ParameterError(f"{path}: a link that leaves the folder of results; remove it")
        write_text(path, result.to_json())

    def __iter__(self) -> Iterator[UnitResult]:
        """Yield all results in the folder, in order of their paths; files that are no results are passed over."""
        return self.below(self.folder)

    def below(self, folder: Path) -> Iterator[UnitResult]:
        """Yield the results in one folder of the store."""
        for path in sorted(folder.rglob("*.json")):
            try:
                yield read_result(path)
            except FormatError:
                continue

    def found(self, planned: Planned | None = None) -> Found:
        """Return all results in the folder, and why other files are none.

        A result counts in its own place only, and if as many test rows were scored as in most results on its data set.

        Args:
            planned: Which units there are; all by default.
        """
        results, refused = [], []
        for path in sorted(self.folder.rglob("*.json")):
            try:
                result = read_result(path, planned)
                if path != self.path(result.unit):
                    raise FormatError(f"{path}: the result of another unit, {result.unit}")
                results.append(result)
            except FormatError as error:
                refused.append(str(error))
        sizes: dict[tuple[str, str, bool], Counter[int]] = {}
        for result in results:
            sizes.setdefault(_rows_of(result), Counter())[len(result.test_rows)] += 1
        usual = {key: max(counts, key=lambda size: (counts[size], size)) for key, counts in sizes.items()}
        odd = [result for result in results if len(result.test_rows) != usual[_rows_of(result)]]
        refused += [
            f"{self.path(own.unit)}: expected {usual[_rows_of(own)]} test rows as in other results, found "
            f"{len(own.test_rows)}"
            for own in odd
        ]
        return Found(tuple(result for result in results if result not in odd), tuple(refused))

    def merge(self, other: Path, planned: Planned | None = None) -> Merged:
        """Take over the results of another folder that this one lacks; no file that is here is replaced.

        Args:
            other: The folder.
            planned: Which units there are; all by default. A unit decides where its result is kept.
        """
        if not other.is_dir():
            raise ParameterError(f"merge: expected a folder of results at {other}, found none")
        new = same = 0
        conflicts, refused = [], []
        for path in sorted(other.rglob("*.json")):
            try:
                theirs = read_result(path, planned)
            except FormatError as error:
                refused.append(str(error))
                continue
            own = self.read(theirs.unit)
            if own is None and self.path(theirs.unit).exists():
                conflicts.append(f"{theirs.unit}: {self.path(theirs.unit)} is no result of it; remove that file first")
            elif own is None:
                self.write(theirs)
                new += 1
            elif (own.test_score, own.valid_score) == (theirs.test_score, theirs.valid_score):
                same += 1
            else:
                conflicts.append(f"{theirs.unit}: {own.test_score:.4f} here, {theirs.test_score:.4f} there")
        return Merged(new, same, tuple(conflicts), tuple(refused))

    def sweep(self) -> None:
        """Remove unfinished files that a killed run left behind; younger ones may belong to a run that is going on."""
        if not self.folder.is_dir():
            return
        for path in self.folder.rglob(".*.part"):
            with suppress(FileNotFoundError):  # another run may have swept it
                if time.time() - path.lstat().st_mtime > STALE_SECONDS:
                    path.unlink()


def read_result(path: Path, planned: Planned | None = None) -> UnitResult:
    """Return the result in a file, or say why there is none."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{path}: expected a file of at most {MOST_BYTES:,} bytes")
        result = UnitResult.from_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: cannot be read ({error})") from error
    if planned is None:
        return result
    unit = planned(result.unit)
    if unit is None:
        raise FormatError(f"{path}: {result.unit} is not part of any table")
    return replace(result, unit=unit)


def _rows_of(result: UnitResult) -> tuple[str, str, bool]:
    """Return what all results have in common that were scored on the same rows."""
    return result.unit.experiment, result.unit.dataset, result.unit.generated

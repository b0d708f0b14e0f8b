"""`Unit` and `UnitResult`: the smallest piece of work, one (data set, model, setting), and what came of it."""

import base64
import json
import math
import platform
import re
import zlib
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

import numpy as np

from xspn._version import __version__
from xspn.core.arrays import FloatArray
from xspn.core.checks import is_finite_number, is_text
from xspn.core.errors import FormatError

Experiment = Literal["density", "classification", "pairwise"]
Setting = float | int | str | bool

WORD = re.compile(r"\w[\w.+-]*")  # what names of data sets, models and settings are made of: one part of a path
LARGEST_SEED = 2**63

SHORT = {
    "independence_threshold": "rho",
    "min_instances": "m",
    "significance": "p",
    "n_components": "k",
    "columns": "n",
}
PACKAGES = ("numpy", "scipy", "scikit-learn")
SCHEMA = 1
MOST_BYTES = 64_000_000  # of a file; those of the paper's largest data sets have less than a hundredth of it
MOST_ROWS = 10_000_000
WORDS_FOR_NUMBERS = ("inf", "-inf", "nan")  # which JSON has no numbers for


@dataclass(frozen=True, slots=True)
class Unit:
    """One model with one setting on one data set.

    Attributes:
        experiment: "density" (table 1 and the ablation study), "classification" (table 2) or "pairwise".
        dataset: The data set's name in the paper.
        model: The model's name in the experiment's list.
        settings: The hyper-parameters, as pairs of name and value.
        seed: The random seed.
        generated: Whether the data set is drawn anew from its model, because the authors' files are not at hand.

    Examples:
        >>> unit = Unit("density", "senate", "XSPN-TF", (("independence_threshold", 5.0), ("min_instances", 20)))
        >>> str(unit), unit.path.as_posix()
        ('senate XSPN-TF rho=5 m=20', 'density/senate/XSPN-TF/rho=5,m=20,seed=0.json')
    """

    experiment: Experiment
    dataset: str
    model: str
    settings: tuple[tuple[str, Setting], ...] = ()
    seed: int = 0
    generated: bool = False

    @property
    def path(self) -> PurePosixPath:
        """Where the result is kept, below the folder of results."""
        folder = f"{self.dataset}~generated" if self.generated else self.dataset
        words = ",".join([*self._words(), f"seed={self.seed}"])
        return PurePosixPath(self.experiment, folder, self.model, f"{words}.json")

    def setting(self, name: str) -> Setting | None:
        """Return the value of a hyper-parameter, or None."""
        return dict(self.settings).get(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the unit as plain values, for JSON."""
        return {
            "experiment": self.experiment,
            "dataset": self.dataset,
            "model": self.model,
            "settings": dict(self.settings),
            "seed": self.seed,
            "generated": self.generated,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Unit":
        """Return the unit that `to_dict` wrote down; its words are plain ones, so that its path leads nowhere else."""
        unit = cls(**{**values, "settings": tuple(values["settings"].items())})
        words = [unit.dataset, unit.model, *(name for name, _ in unit.settings)]
        words += [value for _, value in unit.settings if isinstance(value, str)]
        odd = [word for word in words if not isinstance(word, str) or len(word) > 80 or not WORD.fullmatch(word)]
        if unit.experiment not in get_args(Experiment) or odd:
            raise FormatError(f"unit: expected a data set and a model, found {(odd or [unit.experiment])[0]!r:.60}")
        if type(unit.seed) is not int or not 0 <= unit.seed < LARGEST_SEED or type(unit.generated) is not bool:
            raise FormatError(f"unit: expected a seed, and whether rows were generated, found {unit.seed!r:.60}")
        numbers = [value for _, value in unit.settings if not isinstance(value, str)]
        if not all(isinstance(value, bool) or is_finite_number(value) for value in numbers):
            raise FormatError("unit: expected settings that are numbers or words")
        return unit

    def _words(self) -> list[str]:
        return [
            f"{SHORT.get(name, name)}={value:g}"
            if isinstance(value, int | float)
            else f"{SHORT.get(name, name)}={value}"
            for name, value in self.settings
        ]

    def __str__(self) -> str:
        return " ".join([self.dataset, self.model, *self._words()])


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


@dataclass(frozen=True, eq=False)
class UnitResult:
    """The outcome of one unit.

    Attributes:
        unit: What was run.
        valid_score: What settings are chosen by: mean log-likelihood or accuracy on the validation rows.
        test_score: The same on the test rows.
        test_rows: The score of each test row, for paired tests; float32 is enough for that.
        parameters: The number of free parameters, where the model has such a number.
        seconds: Processor seconds by name ("fit" and "score"): other work on the machine does not change them.
        versions: The versions of everything that matters.
        facts: Further findings by name: the limit, the levels for which the circuit is the same, …
    """

    unit: Unit
    valid_score: float
    test_score: float
    test_rows: FloatArray
    parameters: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def to_json(self, rows: bool = True) -> str:
        """Return the result as text.

        Args:
            rows: Whether the scores of the single test rows are included.
        """
        return json.dumps(self.to_dict(rows), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Return the result as plain values."""
        values = {
            "schema": SCHEMA,
            "unit": self.unit.to_dict(),
            "valid_score": _number(self.valid_score),
            "test_score": _number(self.test_score),
            "n_test": len(self.test_rows),
            "parameters": self.parameters,
            "seconds": {name: float(f"{value:.4g}") for name, value in self.seconds.items()},
            "versions": self.versions,
            "facts": self.facts,
        }
        if rows:
            values["test_rows"] = _packed(self.test_rows)
        return values

    @classmethod
    def from_json(cls, text: str, source: str = "result") -> "UnitResult":
        """Return the result that `to_json` wrote; anything else is refused."""
        try:
            values = json.loads(text, parse_constant=_no_constant)
            if not is_text(json.dumps(values, ensure_ascii=False)):  # it could not be written again
                raise FormatError("letters that no text has (half a surrogate pair)")
            if values["schema"] != SCHEMA:
                raise FormatError(f"expected schema {SCHEMA}, found {values['schema']!r:.60}")
            return cls(
                unit=Unit.from_dict(values["unit"]),
                valid_score=_score(values, "valid_score"),
                test_score=_score(values, "test_score"),
                test_rows=_unpacked(values["test_rows"], values["n_test"]),
                parameters=values["parameters"],
                seconds=values["seconds"],
                versions=values["versions"],
                facts=values["facts"],
            )._checked()
        except FormatError as error:
            raise FormatError(f"{source}: {error}") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, zlib.error) as error:
            raise FormatError(f"{source}: not a result of an experiment, or damaged ({error!s:.100})") from error

    def _checked(self) -> "UnitResult":
        """Return the result if all that the tables ask of it is there."""
        size, experiment = self.parameters, self.unit.experiment
        if size is not None and (type(size) is not int or not 0 <= size < 2**63):
            raise FormatError(f"parameters: expected a whole number, found {size!r:.60}")
        timed = {"fit", "test"} if experiment == "pairwise" else {"fit"}
        if not timed <= set(self.seconds) or not all(is_finite_number(value, 0.0) for value in self.seconds.values()):
            raise FormatError(f"seconds: expected times, {' and '.join(sorted(timed))} among them")
        if not all(isinstance(text, str) for text in self.versions.values()):
            raise FormatError("versions: expected texts")
        facts = self.facts
        needed = {"density": None, "classification": "majority", "pairwise": "circuit"}[experiment]
        if not isinstance(facts, dict) or (needed is not None and needed not in facts):
            raise FormatError(f"facts: {needed} is missing")
        for name in ("limit", "majority", "valid_log_loss"):
            if facts.get(name) is not None and not is_finite_number(facts[name]):
                raise FormatError(f"facts: expected a number as {name}, found {facts[name]!r:.60}")
        levels = facts.get("same_for_levels", [1.0, 0.0])
        if not (isinstance(levels, list) and len(levels) == 2 and all(is_finite_number(level) for level in levels)):
            raise FormatError(f"facts: expected two levels, found {levels!r:.60}")
        if len(self.test_rows):
            with np.errstate(invalid="ignore"):
                mean = float(self.test_rows.mean())
            if not np.isclose(mean, self.test_score, rtol=1e-3, atol=1e-3, equal_nan=True):
                raise FormatError(f"test_score: expected the mean of the rows, {mean:g}, found {self.test_score:g}")
        return self


def _number(value: float) -> float | str:
    """Return a number that JSON can hold; infinities and NaN as text, which `float` reads back."""
    return float(value) if math.isfinite(value) else str(float(value))


def _packed(rows: FloatArray) -> str:
    return base64.b64encode(zlib.compress(np.asarray(rows, dtype="<f4").tobytes(), 9)).decode("ascii")


def _unpacked(text: str, n_rows: int) -> FloatArray:
    """Return the scores of so many rows; what would be longer is never unpacked."""
    if type(n_rows) is not int or not 0 <= n_rows <= MOST_ROWS:
        raise FormatError(f"n_test: expected a number of rows up to {MOST_ROWS:,}, found {n_rows!r:.60}")
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(base64.b64decode(text, validate=True), 4 * n_rows + 1)
    if len(content) != 4 * n_rows or not unpacking.eof:
        raise FormatError(f"expected {n_rows} test rows, found {'more' if len(content) > 4 * n_rows else 'fewer'}")
    return np.frombuffer(content, dtype="<f4").astype(np.float64)


def _no_constant(name: str) -> None:
    raise FormatError(f"{name} is not a JSON number")


def _score(values: dict[str, Any], name: str) -> float:
    """Return a number, or what a word stands for that JSON has no number for."""
    found = values[name]
    if not (is_finite_number(found) or found in WORDS_FOR_NUMBERS):
        raise FormatError(f"{name}: expected a number, found {found!r:.60}")
    return float(found)

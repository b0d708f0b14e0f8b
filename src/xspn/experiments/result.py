"""`Result`: what came of one unit, with everything that is needed to trust and to compare it."""

import base64
import json
import math
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.errors import FormatError
from xspn.experiments.unit import Unit

SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Result:
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
        return json.dumps(self.to_dict(rows), indent=1, ensure_ascii=False) + "\n"

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
    def from_json(cls, text: str, source: str = "result") -> "Result":
        """Return the result that `to_json` wrote; anything else is refused."""
        try:
            values = json.loads(text)
            if values["schema"] != SCHEMA:
                raise FormatError(f"{source}: expected schema {SCHEMA}, found {values['schema']!r}")
            rows = _unpacked(values["test_rows"])
            if len(rows) != values["n_test"]:
                raise FormatError(f"{source}: expected {values['n_test']} test rows, found {len(rows)}")
            return cls(
                unit=Unit.from_dict(values["unit"]),
                valid_score=float(values["valid_score"]),
                test_score=float(values["test_score"]),
                test_rows=rows,
                parameters=values["parameters"],
                seconds=values["seconds"],
                versions=values["versions"],
                facts=values["facts"],
            )
        except FormatError:
            raise
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            raise FormatError(f"{source}: not a result of an experiment, or damaged ({error})") from error


def _number(value: float) -> float | str:
    """Return a number that JSON can hold; infinities and NaN as text, which `float` reads back."""
    return float(value) if math.isfinite(value) else str(float(value))


def _packed(rows: FloatArray) -> str:
    return base64.b64encode(zlib.compress(np.asarray(rows, dtype="<f4").tobytes(), 9)).decode("ascii")


def _unpacked(text: str) -> FloatArray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f4").astype(np.float64)

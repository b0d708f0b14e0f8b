"""`Dataset`: three tables of zeros and ones, with names."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn.circuit import Circuit
from xspn.core.checks import table
from xspn.core.errors import DataError, default_name

BinaryTable = NDArray[np.uint8]


def zeros_and_ones(X: Any, what: str) -> BinaryTable:
    """Return `X` as a table of type uint8, or say where it holds something other than 0 and 1."""
    array = table(X, what=what)
    good = (array == 0) | (array == 1)
    if not good.all():
        row, column = (int(i) for i in np.argwhere(~good)[0])
        raise DataError(f"{what}: expected 0 or 1, found {array[row, column]} at row {row}, column {column}")
    return np.asarray(array, dtype=np.uint8)


def default_names(n: int) -> tuple[str, ...]:
    """Return X0, X1, …: the names of variables that have none."""
    return tuple(map(default_name, range(n)))


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Training, validation and test rows of one data set.

    Attributes:
        name: The data set's name.
        train: The training rows, uint8, (rows, variables).
        valid: The validation rows.
        test: The test rows.
        feature_names: The variables' names; X0, X1, … by default.
        source: Where the data comes from.
        truth: The circuit that the data is a sample of, where it is known.

    Examples:
        >>> d = Dataset("coins", [[0, 1], [1, 1]], [[0, 0]], [[1, 0]], source="tossed by hand")
        >>> d
        Dataset('coins', 2 variables, 2 + 1 + 1 rows)
        >>> d.train.dtype, d.feature_names
        (dtype('uint8'), ('X0', 'X1'))
    """

    name: str
    train: BinaryTable
    valid: BinaryTable
    test: BinaryTable
    feature_names: tuple[str, ...] = ()
    source: str = ""
    truth: Circuit | None = field(default=None)

    def __post_init__(self) -> None:
        for split in ("train", "valid", "test"):
            object.__setattr__(self, split, zeros_and_ones(getattr(self, split), f"{self.name} {split}"))
        widths = {part.shape[1] for part in (self.train, self.valid, self.test)}
        if len(widths) != 1:
            raise DataError(f"{self.name}: expected the same number of columns in every split, found {sorted(widths)}")
        names = tuple(str(n) for n in self.feature_names) or default_names(self.n_variables)
        if len(names) != self.n_variables or len(set(names)) != len(names):
            raise DataError(
                f"{self.name}: expected {self.n_variables} different names, found {len(names)}, "
                f"{len(set(names))} of them different"
            )
        object.__setattr__(self, "feature_names", names)

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return int(self.train.shape[1])

    @property
    def n_rows(self) -> tuple[int, int, int]:
        """The numbers of rows of the three splits."""
        return len(self.train), len(self.valid), len(self.test)

    def __repr__(self) -> str:
        rows = " + ".join(str(n) for n in self.n_rows)
        return f"Dataset({self.name!r}, {self.n_variables} variables, {rows} rows)"

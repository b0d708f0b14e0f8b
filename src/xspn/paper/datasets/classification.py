"""Data sets with a variable to predict: the classification tasks of the paper's appendix."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xspn.core.checks import column_index
from xspn.core.errors import DataError, ParameterError, RegistryError
from xspn.core.random import RandomState, generator
from xspn.paper.datasets.catalog import info
from xspn.paper.datasets.dataset import BinaryTable, Dataset, default_names
from xspn.paper.datasets.loading import load
from xspn.paper.datasets.synthetic import CONSTRAINTS, N_CONSTRAINED

Labels = NDArray[np.uint8]

CLASSIFICATION_NAMES = (*CONSTRAINTS, "conference", "exam", "senate", "house", "bundestag")


@dataclass(frozen=True, eq=False, repr=False)
class LabeledDataset:
    """Training, validation and test rows, each with its class.

    Attributes:
        name: The data set's name.
        X_train: The inputs of the training rows, uint8, (rows, variables).
        y_train: The classes of the training rows, 0 or 1, (rows,).
        X_valid: The inputs of the validation rows.
        y_valid: The classes of the validation rows.
        X_test: The inputs of the test rows.
        y_test: The classes of the test rows.
        feature_names: The inputs' names.
        target: What the class is.
        source: Where the data comes from.
    """

    name: str
    X_train: BinaryTable
    y_train: Labels
    X_valid: BinaryTable
    y_valid: Labels
    X_test: BinaryTable
    y_test: Labels
    feature_names: tuple[str, ...]
    target: str
    source: str = ""

    @property
    def n_variables(self) -> int:
        """The number of inputs."""
        return int(self.X_train.shape[1])

    def __repr__(self) -> str:
        rows = " + ".join(str(len(y)) for y in (self.y_train, self.y_valid, self.y_test))
        return f"LabeledDataset({self.name!r}, {self.n_variables} variables → {self.target}, {rows} rows)"


def most_balanced(table: BinaryTable) -> int:
    """Return the column whose fraction of ones is nearest to one half; the first of several.

    Examples:
        >>> most_balanced(np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 0, 1]]))
        1
    """
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise DataError(f"most_balanced: expected at least one row and one column, found shape {table.shape}")
    twice = 2 * table.sum(axis=0, dtype=np.int64)
    return int(np.argmin(np.abs(twice - len(table))))


def with_target(data: Dataset, target: int | str | None = None) -> LabeledDataset:
    """Return the data set with one variable as the class and all others as inputs.

    Args:
        data: The data set.
        target: The variable, by name or column; by default the one that is hardest to guess: its fraction of ones in
            the training rows is nearest to one half (the first of several).

    Examples:
        >>> d = Dataset("votes", [[1, 0, 1], [1, 1, 1]], [[1, 0, 0]], [[0, 0, 0]], ("ann", "bob", "cem"))
        >>> with_target(d)
        LabeledDataset('votes', 2 variables → bob, 2 + 1 + 1 rows)
        >>> with_target(d, "cem").y_train.tolist()
        [1, 1]
    """
    if data.n_variables < 2:
        raise DataError(f"{data.name}: expected at least two variables, found {data.n_variables}")
    column = most_balanced(data.train) if target is None else column_index(target, data.n_variables, data.feature_names)
    rest = [i for i in range(data.n_variables) if i != column]
    return LabeledDataset(
        name=data.name,
        X_train=data.train[:, rest],
        y_train=data.train[:, column],
        X_valid=data.valid[:, rest],
        y_valid=data.valid[:, column],
        X_test=data.test[:, rest],
        y_test=data.test[:, column],
        feature_names=tuple(data.feature_names[i] for i in rest),
        target=data.feature_names[column],
        source=data.source,
    )


def classification(name: str, *, data: Dataset | None = None, random_state: RandomState = 0) -> LabeledDataset:
    """Return one of the paper's classification tasks.

    - threshold, exact, parity, counting: rows drawn uniformly from {0,1}¹⁰⁰; class 1 if the constraint of that name is
      met. The sizes are those of the data set of that name (the paper does not say them).
    - conference: overflow, given everything else.
    - exam, senate, house, bundestag: one variable, given all others. The paper chose it arbitrarily and does not name
      it; here it is the one whose fraction of ones in the training rows is nearest to one half (the first of several),
      since it is the hardest to guess.

    Args:
        name: One of the nine names.
        data: The data set to take rows from, e.g. of `make`; by default `load(name)`. Not used for the first four.
        random_state: The seed of the first four.

    Examples:
        >>> task = classification("parity")
        >>> task
        LabeledDataset('parity', 100 variables → parity, 10000 + 5000 + 5000 rows)
        >>> bool((task.y_test == (task.X_test.sum(axis=1) % 2 == 0)).all())
        True
    """
    own_name = info(name).name
    if own_name not in CLASSIFICATION_NAMES:
        raise RegistryError(
            f"the paper has no classification task for {own_name!r}; it has {', '.join(CLASSIFICATION_NAMES)}. "
            "Use with_target(load(name), target) for one of your own"
        )
    if own_name in CONSTRAINTS:
        if data is not None:
            raise ParameterError(f"data: expected None, since the rows of {own_name} are drawn uniformly; leave it out")
        return _constrained(own_name, random_state)
    return with_target(data or load(own_name), "overflow" if own_name == "conference" else None)


def _constrained(name: str, random_state: RandomState) -> LabeledDataset:
    """Return uniform rows, labeled by the constraint."""
    parts = []
    for rng, size in zip(generator(random_state).spawn(3), info(name).n_rows, strict=True):
        X = rng.integers(0, 2, size=(size, N_CONSTRAINED), dtype=np.uint8)
        counts = X.sum(axis=1, dtype=np.int64)
        parts.append((X, np.asarray(CONSTRAINTS[name](counts), dtype=np.uint8)))
    (X_train, y_train), (X_valid, y_valid), (X_test, y_test) = parts
    return LabeledDataset(
        name=name,
        X_train=X_train,
        y_train=y_train,
        X_valid=X_valid,
        y_valid=y_valid,
        X_test=X_test,
        y_test=y_test,
        feature_names=default_names(N_CONSTRAINED),
        target=name,
        source=f"datasets.classification({name!r})",
    )

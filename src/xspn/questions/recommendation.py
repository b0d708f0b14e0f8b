"""Next items for a basket: how probable each open item is to be the one more, given that there is exactly one more.

The event is "the basket and exactly one more item": P(item j | basket, one more) = P(basket + j) / Σᵢ P(basket + i),
where every other item is absent. Whoever takes one item out of a basket at random and asks which it was is answered by
just this distribution, so no other ranking of the same model is right more often. Columns that are not items are
summed out, or given.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names, suggestion
from xspn.core.errors import DataError, EvidenceError, ParameterError
from xspn.core.logspace import logsumexp_quiet
from xspn.core.names import matching
from xspn.data.schema import Schema
from xspn.engine import Backend
from xspn.questions.reading import evidence_row

CELLS_AT_ONCE = 1 << 22  # of rows that are evaluated together


@dataclass(frozen=True)
class NextItem:
    """An item that may come next.

    Attributes:
        item: The name of its column.
        probability: That it is the one more item, given the basket and that there is exactly one more.
        lift: How many times its part of all items that are open, whatever the basket is.

    Examples:
        >>> print(NextItem("butter", 0.25, 5.0))
        butter 0.25 (lift 5)
    """

    item: str
    probability: float
    lift: float

    def __str__(self) -> str:
        return f"{self.item} {self.probability:.4g} (lift {self.lift:.3g})"


def recommendations(
    backend: Backend,
    schema: Schema,
    baskets: Any,
    k: int = 10,
    given: Any = None,
    items: str | Iterable[int | str] | None = None,
    exclude: Iterable[int | str] = (),
) -> list[NextItem] | list[list[NextItem]]:
    """Return the k likeliest next items of a basket, or of each of several; see `Circuit.recommend`."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"k: expected a number of items of at least 1, found {k!r}")
    known = _known_row(given, schema)
    shop = Shop.of(schema, items, known)
    rows, is_one = shop.rows(baskets)
    never = np.zeros(len(schema), dtype=bool)
    never[[shop.place(item, "exclude") for item in _listed(exclude, "exclude")]] = True
    found = next_item_probabilities(backend, rows, shop.items, known, never, schema.names)
    popular = _popularity(backend, known, schema)
    answers = [_best(own, popular, int(k), schema) for own in found]
    return answers[0] if is_one else answers


def next_item_probabilities(
    backend: Backend,
    rows: AnyArray,
    items: IntArray,
    known: FloatArray,
    never: BoolArray,
    names: Names | None = None,
) -> FloatArray:
    """Return P(item is the one more | basket, exactly one more): (baskets, columns), NaN for what is not open.

    Args:
        backend: What runs the circuit.
        rows: The baskets as codes: an item is in one where its column is 1, and open otherwise.
        items: The columns that are items.
        known: One row of evidence about other columns, NaN where nothing is known.
        never: Columns that are not recommended.
        names: The names of the columns, for messages.
    """
    full = np.broadcast_to(known, rows.shape).copy()
    full[:, items] = rows[:, items] == 1
    distinct, which = np.unique(full[:, items], axis=0, return_inverse=True)
    out = np.full((len(distinct), full.shape[1]), np.nan)
    step = max(1, CELLS_AT_ONCE // max(1, len(items) * full.shape[1]))
    for start in range(0, len(distinct), step):
        own = distinct[start : start + step]
        basket, place = np.nonzero((own == 0) & ~never[items])  # one row for each basket and each item open to it
        table = np.broadcast_to(known, (len(basket), full.shape[1])).copy()
        table[:, items] = own[basket]
        table[np.arange(len(basket)), items[place]] = 1.0
        logs = np.full(own.shape, -np.inf)
        if len(table):
            logs[basket, place] = backend.log_likelihood(table, names)
        with np.errstate(invalid="ignore"):
            chances = np.exp(logs - logsumexp_quiet(logs, axis=1)[:, None])
        out[start + basket, items[place]] = chances[basket, place]
    answer = out[which.reshape(-1)]
    is_open = (full[:, items] == 0) & ~never[items]
    impossible = is_open.any(axis=1) & np.isnan(answer[:, items]).all(axis=1)
    if impossible.any():
        row = int(np.argmax(impossible))
        where = "the basket" if len(rows) == 1 else f"the basket in row {row}"
        raise EvidenceError(f"{where} with one more item has probability zero; nothing can be recommended")
    return answer


@dataclass(frozen=True)
class Shop:
    """Which columns are items, and how baskets are read.

    Attributes:
        schema: What is known of the columns.
        items: The columns that are items, in order.
    """

    schema: Schema
    items: IntArray

    @classmethod
    def of(cls, schema: Schema, items: str | Iterable[int | str] | None, known: FloatArray) -> "Shop":
        """Return the shop of some columns; by default of all that have two values and mean no and yes."""
        if items is None:
            bits = [j for j, own in enumerate(schema.domains) if own is not None and own.cardinality == 2]
            found = [j for j in bits if schema.meanings[j] is None and np.isnan(known[j])]
            if not found:
                raise ParameterError("items: the model has no column that says whether an item is there (0 or 1)")
        else:
            found = [j for item in _listed(items, "items", single=True) for j in _places(item, schema, "items")]
            schema.binary(list(dict.fromkeys(found)), "items")
            told = [j for j in found if not np.isnan(known[j])]
            if told:
                raise ParameterError(f"given: {schema.name(told[0])} is an item; put it into the basket")
        return cls(schema, np.array(sorted(set(found)), dtype=np.int64))

    def place(self, item: int | str, what: str) -> int:
        """Return the column of an item."""
        column = _places(item, self.schema, what, one=True)[0]
        if column not in self.items:
            raise DataError(f"{what}: {self.schema.name(column)} is a column of the model, but not an item")
        return column

    def rows(self, baskets: Any) -> tuple[FloatArray, bool]:
        """Return baskets as rows of codes, and whether it is a single one rather than a table or a list of them."""
        if isinstance(baskets, str):
            raise DataError(f"basket: expected a list of items, found {baskets!r}; one item is [{baskets!r}]")
        if isinstance(baskets, Mapping):
            raise DataError("basket: expected a list of items, found a mapping; what is known besides goes into given")
        if not isinstance(baskets, list | tuple | set | frozenset):
            return np.asarray(self.schema.encode(baskets, "basket"), dtype=np.float64), False
        single = not any(isinstance(own, list | tuple | set | frozenset) for own in baskets)
        lists = [baskets] if single else baskets
        rows = np.zeros((len(lists), len(self.schema)))
        for row, own in zip(rows, lists, strict=True):
            row[[self.place(item, "basket") for item in _listed(own, "basket")]] = 1.0
        return rows, single


def _listed(items: Any, what: str, single: bool = False) -> list[int | str]:
    if single and isinstance(items, str):
        return [items]
    if isinstance(items, str) or not isinstance(items, Collection | Iterable):
        raise DataError(f"{what}: expected a list of items, found {items!r}; one item is [{items!r}]")
    return list(items)


def _places(item: Any, schema: Schema, what: str, one: bool = False) -> list[int]:
    """Return the columns that a name, an index or a pattern stands for."""
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if not 0 <= item < len(schema):
            raise DataError(f"{what}: expected a column from 0 to {len(schema) - 1}, found {item}")
        return [int(item)]
    if not isinstance(item, str):
        raise DataError(f"{what}: expected the name of an item, found {item!r}")
    names = schema.shown_names
    found = [names.index(item)] if one and item in names else [] if one else matching(item, names)
    if not found:
        raise DataError(f"{what}: there is no item {item!r}{suggestion(item, names)}")
    return found


def _known_row(given: Any, schema: Schema) -> FloatArray:
    """Return what is known besides the basket, as one row of codes."""
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, list | tuple) and texts and all(isinstance(text, str) for text in texts):
        return evidence_row(texts, schema)
    return schema.row({} if given is None or (isinstance(given, list | tuple) and not given) else given, "given")


def _popularity(backend: Backend, known: FloatArray, schema: Schema) -> FloatArray:
    """Return P(column = 1) of every column, given what is known besides baskets."""
    return backend.marginals(known[None, :], schema.names)[0, :, 1]


def _best(chances: FloatArray, popular: FloatArray, k: int, schema: Schema) -> list[NextItem]:
    """Return the likeliest of the items that are open; ties by the order of columns."""
    is_open = np.flatnonzero(~np.isnan(chances))
    order = is_open[np.argsort(-chances[is_open], kind="stable")][:k]
    usual = popular / popular[is_open].sum() if len(is_open) else popular
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = chances / usual
    return [NextItem(schema.shown_name(int(j)), float(chances[j]), float(lift[j])) for j in order]

"""Circuits as lines of text, one node each: what `.jpc`, `.spn` and `.psdd` files share.

A line is words between blanks. Numbers are read within bounds, an error names the file and the line, and nothing is
built before all lines have been read. Weights and probabilities are logarithms; as other programs compute in single
precision, those of a sum may be off 1 by `TOLERANCE`, and are divided by their sum.

The formats have sums, products and single discrete variables. To be written, whatever else a circuit is made of is
replaced by an equal circuit of those, or refused with the node and its family.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, fsum, inf
from typing import Any, NamedTuple

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import FormatError, QueryError
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum, children_first
from xspn.io.json_format import MOST_NODES, UNUSABLE, shown_error
from xspn.leaves.base import Leaf
from xspn.leaves.expansion import indicator, mixture_node, univariate
from xspn.statistics.base import LARGEST_TABLE

TOLERANCE = 1e-4
SPARSE = 10_000  # variables, or values of one, may be numbered up to this without there being so many
DENSE = 10  # beyond it, one in ten of the numbers occurs
MOST_EXPANDED = 5_000_000  # nodes of a circuit that leaves are replaced in
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,6})?")
_IMPOSSIBLE = re.compile(r"-inf(inity)?", re.IGNORECASE)
_LONGEST = 60  # characters of a number, or of a word that is shown


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, as words.

    Attributes:
        source: The name of the file.
        number: The place of the line, from 1.
        words: What stands between blanks.
    """

    source: str
    number: int
    words: list[str]

    def error(self, fault: str) -> FormatError:
        """Return an error that names the line."""
        return FormatError(f"{self.source}: line {self.number}: {fault}")

    def integer(self, place: int, what: str, least: int = 0, most: int = 10**18) -> int:
        """Return a whole number within bounds."""
        word = self.word(place, what)
        if not _INTEGER.fullmatch(word):
            raise self.error(f"expected {what}, found {word[:_LONGEST]!r}")
        if not least <= (value := int(word)) <= most:
            raise self.error(f"expected {what} from {least} to {most}, found {value}")
        return value

    def log_probability(self, place: int) -> float:
        """Return the logarithm of a probability; −inf where it is 0."""
        word = self.word(place, "a log-probability")
        if _IMPOSSIBLE.fullmatch(word):
            return -inf
        if len(word) > _LONGEST or not _NUMBER.fullmatch(word):
            raise self.error(f"expected a log-probability, found {word[:_LONGEST]!r}")
        value = float(word)
        if value > TOLERANCE:
            raise self.error(f"expected a log-probability of at most 0, found {word[:_LONGEST]}")
        return value

    def word(self, place: int, what: str) -> str:
        """Return a word that must be there."""
        if place >= len(self.words):
            raise self.error(f"expected {what}, found the end of the line")
        return self.words[place]

    def count(self, expected: int, form: str) -> None:
        """Refuse a line with more or fewer words."""
        if len(self.words) != expected:
            raise self.error(f"expected {form}, found {len(self.words)} words")


def lines_of(content: bytes, source: str, comment: str | None = "c") -> Iterator[Line]:
    """Yield the lines that say something: neither empty ones nor comments, which begin with a word of their own."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{source}: not a text file; the file is damaged or not a circuit") from error
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if words and words[0] != comment:
            yield Line(source, number, words)


def begins_with(content: bytes, word: bytes) -> bool:
    """Whether the first line of a text that is neither empty nor a comment begins with a word."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        words = content[start : min(end, start + 4096)].split(maxsplit=1)
        if words and words[0] != b"c":
            return words[0] == word
        start = end + 1
    return False


# -- nodes of a file ---------------------------------------------------------------------------------------------------

# One of ("value", variable, value), ("table", variable, logs), ("product", children), ("sum", children, logs), where
# children are places among the records.
_Record = tuple[Any, ...]


class NodeLines:
    """The nodes that lines describe, in order; every child has been described before.

    Args:
        source: The name of the file.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.records: list[_Record] = []
        self._numbers: list[int] = []  # the line of each record
        self._places: dict[int, int] = {}  # by the name that the file has for a node
        self._sizes: dict[int, int] = {}  # one more than the largest value of each variable
        self._seen: dict[int, set[int]] = {}  # the values that are named one by one
        self._tables: dict[int, int] = {}  # the sizes of tables
        self._indicators: dict[tuple[int, int], Node] = {}
        self._widest: tuple[int, int] = (-1, 0)  # the largest variable, and the line that has it

    def value(self, line: Line, variable: int, value: int, least_size: int = 2) -> int:
        """Add a variable that has one value for certain; return the place of the record."""
        self._variable(line, variable, max(value + 1, least_size))
        self._seen.setdefault(variable, set()).add(value)
        return self._add(line, ("value", variable, value))

    def table(self, line: Line, variable: int, logs: Sequence[float]) -> int:
        """Add a distribution of one variable."""
        if len(logs) < 2:
            raise line.error(f"expected the log-probabilities of at least 2 values, found {len(logs)}")
        if self._tables.setdefault(variable, len(logs)) != len(logs):
            known = self._tables[variable]
            raise line.error(f"variable {variable} has {len(logs)} values here, and {known} on an earlier line")
        self._variable(line, variable, len(logs))
        return self._add(line, ("table", variable, self._normalized(line, logs)))

    def product(self, line: Line, children: Sequence[int]) -> int:
        """Add a product of records."""
        return self._add(line, ("product", tuple(children)))

    def sum(self, line: Line, children: Sequence[int], logs: Sequence[float]) -> int:
        """Add a sum of records; children of weight 0 are left out."""
        self._normalized(line, logs)
        live = [k for k, log_weight in enumerate(logs) if exp(log_weight) > 0]
        own = self._normalized(line, [logs[k] for k in live])
        return self._add(line, ("sum", tuple(children[k] for k in live), own))

    def name(self, line: Line, name: int, place: int) -> None:
        """Let a record have the name that the file gives it."""
        if name in self._places:
            raise line.error(f"node {name} is there twice")
        self._places[name] = place

    def named(self, line: Line, name: int) -> int:
        """Return the record of an earlier node."""
        if name not in self._places:
            raise line.error(f"node {name} is not described on an earlier line")
        return self._places[name]

    def _add(self, line: Line, record: _Record) -> int:
        if len(self.records) >= MOST_NODES:
            raise line.error(f"more than the {MOST_NODES:,} nodes that are supported")
        self.records.append(record)
        self._numbers.append(line.number)
        return len(self.records) - 1

    def _variable(self, line: Line, variable: int, size: int) -> None:
        self._sizes[variable] = max(size, self._sizes.get(variable, 0))
        self._widest = max(self._widest, (variable, line.number))

    def _normalized(self, line: Line, logs: Sequence[float]) -> FloatArray:
        if not logs:
            raise line.error("expected at least one log-probability")
        total = fsum(exp(value) for value in logs)
        if abs(total - 1) > TOLERANCE:
            raise line.error(f"expected probabilities that sum to 1, found {total:.6g}")
        return np.asarray(np.array(logs) - np.log(total))

    # -- the circuit -------------------------------------------------------------------------------------------------

    def circuit(self, n_variables: int | None = None) -> Circuit:
        """Return the circuit of the last record.

        Args:
            n_variables: The number of columns; one more than the largest variable if not given.
        """
        if not self.records:
            raise FormatError(f"{self.source}: there are no nodes; the file is truncated or not a circuit")
        widest, number = self._widest
        if n_variables is None and widest >= SPARSE + DENSE * len(self._sizes):
            raise FormatError(
                f"{self.source}: line {number}: variable {widest} in a file of {len(self._sizes)} variables"
            )
        self._check_sizes()
        nodes: list[Node | None] = []
        try:
            while len(nodes) < len(self.records):
                number = self._numbers[len(nodes)]
                nodes.append(self._node(len(nodes), nodes))
            columns = widest + 1 if n_variables is None else n_variables
            return Circuit(self._built(len(nodes) - 1, nodes), n_variables=columns)
        except UNUSABLE as error:
            raise FormatError(f"{self.source}: line {number}: {shown_error(error)}") from error

    def _check_sizes(self) -> None:
        """Refuse values that are not in the tables of their variable, and numbers of values that few lines have."""
        for variable, seen in self._seen.items():
            size, most = self._sizes[variable], max(seen)
            if most >= self._tables.get(variable, size):
                raise FormatError(
                    f"{self.source}: variable {variable} has the value {most}, and a table of "
                    f"{self._tables[variable]} values"
                )
            if variable not in self._tables and size > SPARSE + DENSE * len(seen):
                raise FormatError(f"{self.source}: variable {variable} takes {size} values, of which {len(seen)} occur")

    def _node(self, place: int, nodes: list[Node | None]) -> Node | None:
        """Return the node of a record; values of variables are built where they are needed."""
        kind, *content = self.records[place]
        if kind == "value":
            return None
        if kind == "table":
            return univariate(*content)
        below = [self.records[child] for child in content[0]]
        if kind == "product":
            children = [self._built(child, nodes) for child in content[0]]
            return children[0] if len(children) == 1 else Product(children)
        if all(own[0] == "value" and own[1] == below[0][1] for own in below) and len(set(below)) == len(below):
            table = np.full(self._sizes[below[0][1]], -np.inf)  # values of one variable are a leaf
            table[[own[2] for own in below]] = content[1]
            return univariate(below[0][1], table)
        weights = np.exp(content[1])
        return Sum(weights / weights.sum(), [self._built(child, nodes) for child in content[0]])

    def _built(self, place: int, nodes: list[Node | None]) -> Node:
        node = nodes[place]
        if node is not None:
            return node
        _, variable, value = self.records[place]
        if (variable, value) not in self._indicators:
            size = self._sizes[variable]
            if (len(self._indicators) + 1) * size > LARGEST_TABLE:
                raise FormatError(f"the values of variable {variable} take more numbers than are supported")
            self._indicators[variable, value] = indicator(variable, value, size)
        return self._indicators[variable, value]


# -- writing -----------------------------------------------------------------------------------------------------------


class Expanded(NamedTuple):
    """A circuit whose leaves have one discrete variable each.

    Attributes:
        graph: The nodes.
        origin: For each node, the node of the circuit that it comes from.
        cardinalities: The number of values of each variable, 0 for one that the circuit does not have.
    """

    graph: Graph
    origin: list[int]
    cardinalities: list[int]


def expanded(circuit: Circuit, form: str) -> Expanded:
    """Return a circuit with leaves over one discrete variable each, without children of weight 0.

    Args:
        circuit: The circuit.
        form: What the format is called, for messages.
    """
    origin: dict[int, int] = {}
    kept: list[Node] = []  # an `id` is one as long as its node is there

    def visit(node: Node, children: Sequence[Node]) -> Node:
        place = circuit.graph.id_of(node)
        if isinstance(node, Leaf):
            own = _leaf_circuit(circuit, node, place, form)
        elif isinstance(node, Sum):
            own = mixture_node(node.weights, children)
        else:
            own = children[0] if len(children) == 1 else Product(children)
        new = [own] if id(own) in origin or not isinstance(node, Leaf) else children_first(own)
        for part in new:
            origin.setdefault(id(part), place)
        kept.extend(new)
        if len(origin) > MOST_EXPANDED:
            raise FormatError(f"{form}: more than {MOST_EXPANDED:,} nodes without leaves over several variables")
        return own

    root = circuit.graph.rebuild(visit)
    graph = Graph(root, circuit.n_variables)
    sizes = [0 if domain is None else domain.cardinality or 0 for domain in graph.domains]
    return Expanded(graph, [origin[id(node)] for node in graph.nodes], sizes)


def _leaf_circuit(circuit: Circuit, leaf: Leaf, place: int, form: str) -> Node:
    real = [v for v, domain in zip(leaf.variables, leaf.domains, strict=True) if not domain.is_discrete]
    if real:
        name = circuit.schema.shown_name(real[0])
        raise FormatError(
            f"{form}: node {place} is a {type(leaf).__name__} leaf with the real variable {name!r}; the format has "
            "discrete variables only"
        )
    try:
        return leaf.expansion()
    except QueryError as error:
        raise FormatError(
            f"{form}: node {place} is a {type(leaf).__name__} leaf that the format has no form for ({error})"
        ) from error


def log_table(leaf: Leaf) -> FloatArray:
    """Return the log-probability of each value of a leaf over one discrete variable."""
    size = leaf.domains[0].cardinality or 0
    return leaf.log_prob(np.arange(size, dtype=np.float64)[:, None])

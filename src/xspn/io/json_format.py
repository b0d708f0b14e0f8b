"""A circuit as JSON text: flat, versioned, with a digest. No pickle, no eval.

```
{"format": "xspn-circuit", "schema": 2, "digest": "sha256 of everything else", "names": [...] or null,
 "domains": [{"cardinality": 2}, {"cardinality": 5, "ordered": true}, {"cardinality": null}, ...],
 "labels": [["no", "yes"], null, ...] or null, "dtypes": ["bool", null, ...] or null,
 "attributes": {"party": ["left", null, ...]} where there are any, "nodes": [
    {"type": "bernoulli", "variables": [0], "p": 0.4},
    {"type": "sum", "weights": [...], "children": [ids of earlier nodes]}, ...]}
```

Beside the nodes there may be "notes", an object of any content: how the circuit was learned, say. Among them
"provenance" (`xspn.data.provenance`) has a form of its own: version, learner, settings, seed, and of the table rows,
columns, missing cells and digest; files without it are read as before.
Labels are what the values of a column stand for, dtypes the types of a DataFrame's columns. Schema 1 has neither, and
no order in domains; circuits that need none of them are still written in schema 1. Children come before parents and
the last node is the root. Numbers are written with as many digits as bring back the same bits; −inf, which JSON has no
number for, is the string "-inf".

Whatever the format, these limits are checked before memory or time is spent on a file's content:

| what | limit |
|---|---|
| a model as JSON text | 512 MiB; larger models are stored in the binary form |
| a model in the binary form | 16 GiB |
| an integer in JSON | 40 digits |
| nesting of JSON lists and objects | 100 levels |
| columns of a table | 10,000,000 |
| nodes of a circuit | 100,000,000 |
| values of one variable, classes of a statistic | 20,000,000 (`xspn.statistics.base.LARGEST_TABLE`) |
| the head of a binary file | 512 MiB, and never more than the file |

A variable's index is below the number of columns that the file declares, a child's is below its parent's, and an array
lies inside its file, so that what is read never takes much more memory than the file itself.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NoReturn

from xspn.circuit import Circuit
from xspn.core.errors import DataTypeError, FormatError, XSPNError
from xspn.data.domain import Domain
from xspn.data.schema import Schema
from xspn.graph.graph import Graph, from_records
from xspn.graph.nodes import Node, Sum
from xspn.leaves.base import Leaf, leaf_from_params

LARGEST_TEXT = 512 << 20  # bytes
LARGEST_FILE = 16 << 30
MOST_DIGITS = 40
DEEPEST = 100
MOST_COLUMNS = 10_000_000
MOST_NODES = 100_000_000

# The types of columns that pandas has and this library can hand out: anything else in a file was not written by it.
_PLAIN_TYPE = r"(bool|boolean|object|str|string|double|float|large_string|u?int(8|16|32|64)|float(16|32|64|128)?)"
_TYPE = re.compile(rf"(category(\[.{{1,80}}\])?|Sparse\[.{{1,80}}\]|{_PLAIN_TYPE}(\[[\w, ]{{1,40}}\])?)", re.IGNORECASE)
FORMAT = "xspn-circuit"
SCHEMA = 2
KEYS = {1: ("names", "domains", "nodes"), 2: ("names", "domains", "labels", "dtypes", "nodes")}
OPTIONAL = ("names", "labels", "dtypes")  # null where there are none
LONGEST_MESSAGE = 1000
# What building from a file's content can raise when the content is not what this library writes.
UNUSABLE = (XSPNError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
_SUM_KEYS, _PRODUCT_KEYS = {"type", "children", "weights"}, {"type", "children"}


# -- limits ------------------------------------------------------------------------------------------------------------


def parse_json(text: str | bytes, source: str) -> Any:
    """Return the content of a JSON text within the limits, or say where the text is damaged."""
    if not isinstance(text, str | bytes):
        raise DataTypeError(f"{source}: expected a JSON text, found {type(text).__name__}")
    if len(text) > LARGEST_TEXT:
        raise FormatError(
            f"{source}: {len(text):,} bytes of JSON, more than the {LARGEST_TEXT:,} that are read; "
            "store large models in the binary form"
        )

    def integer(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            raise FormatError(f"{source}: an integer of {len(digits)} digits, at most {MOST_DIGITS} are read")
        return int(digits)

    def constant(name: str) -> NoReturn:
        raise FormatError(f"{source}: some number is not finite ({name}), which JSON has no number for")

    try:
        return json.loads(text, parse_int=integer, parse_constant=constant)
    except RecursionError as error:
        raise FormatError(f"{source}: nested deeper than the {DEEPEST} levels that are read") from error
    except FormatError:
        raise
    except ValueError as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else f"{error}"
        raise FormatError(f"{source}: not a complete JSON text ({where}); the file is truncated or damaged") from error


def check_depth(value: Any, source: str) -> None:
    """Refuse plain values that are nested too deep; level by level, so that this needs no depth of its own."""
    level = [value]
    for _ in range(DEEPEST):
        level = [item for parent in level for item in _items(parent) if isinstance(item, dict | list | tuple)]
        if not level:
            return
    raise FormatError(f"{source}: nested deeper than the {DEEPEST} levels that are supported")


def _items(parent: Any) -> Iterable[Any]:
    return parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list | tuple) else ()


def check_columns(count: int, source: str) -> None:
    """Refuse more columns than are supported."""
    if count > MOST_COLUMNS:
        raise FormatError(f"{source}: {count:,} columns, more than the {MOST_COLUMNS:,} that are supported")


def check_nodes(count: int, source: str) -> None:
    """Refuse circuits without nodes, and those of more nodes than are supported."""
    if not count:
        raise FormatError(f"{source}: there are no nodes")
    if count > MOST_NODES:
        raise FormatError(f"{source}: {count:,} nodes, more than the {MOST_NODES:,} that are supported")


def check_schema(found: Any, known: int, source: str) -> int:
    """Return the version of a file's schema, or refuse one that this version does not know."""
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise FormatError(f"{source}: unreadable schema version {found!r}")
    if found > known:
        raise FormatError(f"{source}: written in schema {found}, this version reads up to {known}; upgrade xspn")
    return found


def check_dtypes(dtypes: Iterable[Any], source: str) -> None:
    """Refuse types of columns that are none."""
    for dtype in dtypes:
        if dtype is not None and not isinstance(dtype, str):
            raise FormatError(f"{source}: some type of a column is not a text; the file was altered")
        if dtype is not None and not _TYPE.fullmatch(dtype):
            raise FormatError(f"{source}: {dtype[:40]!r} is not a type of a column; the file was altered")


# -- circuits ----------------------------------------------------------------------------------------------------------


def to_json(circuit: Circuit, indent: int | None = None, notes: dict[str, Any] | None = None) -> str:
    """Return the circuit as JSON text, with notes of any kind beside it.

    Examples:
        >>> from xspn import Bernoulli
        >>> from_json(to_json(Circuit(Bernoulli(0, p=0.1), names=["rain"]))).root
        Bernoulli(0, p=0.1)
    """
    own = circuit.schema
    check_depth(notes, "notes")
    content: dict[str, Any] = {**head_of_columns(own), "nodes": plain_nodes(circuit.graph)}
    ordered = any(domain is not None and domain.ordered for domain in own.domains)
    schema = 2 if ordered or notes or own.attributes or content["labels"] or content["dtypes"] else 1
    kept = (*KEYS[schema], "attributes") if "attributes" in content else KEYS[schema]
    content = {key: content[key] for key in kept} | ({"notes": notes} if notes else {})
    head = {"format": FORMAT, "schema": schema, "digest": _digest(content)}
    return json.dumps({**head, **content}, indent=indent, allow_nan=False, ensure_ascii=False)


def head_of_columns(columns: Schema) -> dict[str, Any]:
    """Return what a file holds of the columns, in plain values."""
    attributes = {name: list(values) for name, values in columns.attributes}
    return {
        "names": None if columns.names is None else list(columns.names),
        "domains": [None if domain is None else domain.to_params() for domain in columns.domains],
        "labels": [own and list(own) for own in columns.labels] if any(columns.labels) else None,
        "dtypes": list(columns.dtypes) if any(columns.dtypes) else None,
        **({"attributes": attributes} if attributes else {}),
    }


def columns_in_head(head: dict[str, Any], source: str) -> int:
    """Return the number of columns of a file after the types of what it holds of them have been checked."""
    for key in ("names", "domains", "labels", "dtypes"):
        value = head.get(key)
        if not (isinstance(value, list) or (key in OPTIONAL and value is None)):
            raise FormatError(f"{source}: {key!r} is not a list; the file was altered")
    if not all(isinstance(name, str) for name in head["names"] or ()):
        raise FormatError(f"{source}: some name is not a text; the file was altered")
    check_dtypes(head.get("dtypes") or (), source)
    check_columns(len(head["domains"]), source)
    attributes = head.get("attributes", {})
    if not isinstance(attributes, dict) or not all(
        isinstance(own, list) and all(value is None or isinstance(value, str) for value in own)
        for own in attributes.values()
    ):
        raise FormatError(f"{source}: 'attributes' are not texts for columns; the file was altered")
    return len(head["domains"])


def columns_of_head(head: dict[str, Any], domains: Sequence[Domain | None], source: str) -> Schema:
    """Return the columns that a file describes, if they are those of the leaves with these domains."""
    ordered = [_ordered(domain, stored) for domain, stored in zip(domains, head["domains"], strict=True)]
    if head["domains"] != [None if domain is None else domain.to_params() for domain in ordered]:
        raise FormatError(f"{source}: the domains do not fit the leaves; the file was altered")
    attributes = tuple((name, tuple(values)) for name, values in head.get("attributes", {}).items())
    return Schema.of(ordered, head["names"], head.get("labels"), head.get("dtypes"), attributes=attributes)


def plain_nodes(graph: Graph) -> list[dict[str, Any]]:
    """Return the nodes as plain values, children before parents."""
    return [
        _node(node, children) if children else _plain_leaf(node)
        for node, children in zip(graph.nodes, graph.children(), strict=True)
    ]


def root_of_plain(nodes: list[dict[str, Any]]) -> Node:
    """Return the root of nodes that `plain_nodes` wrote.

    Examples:
        >>> from xspn import Bernoulli
        >>> root_of_plain(plain_nodes(Graph(Bernoulli(0, p=0.1))))
        Bernoulli(0, p=0.1)
    """
    families: dict[str, set[str]] = {}
    return from_records([_record(node, index, MOST_COLUMNS, families) for index, node in enumerate(nodes)])


def _node(node: Node, children: list[int]) -> dict[str, Any]:
    if isinstance(node, Sum):
        return {"type": "sum", "weights": node.weights.tolist(), "children": children}
    return {"type": "product", "children": children}


def _plain_leaf(leaf: Any) -> dict[str, Any]:
    stored = {"type": leaf.family, "variables": list(leaf.variables)}
    for key, value in leaf.to_params().items():
        stored[key] = _plain(value) if isinstance(value, list) or value == -inf else value
    return stored


def _plain(value: Any) -> Any:
    """Replace −inf by text, in lists of any depth."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return "-inf" if isinstance(value, float) and value == -inf else value


def _numbers(value: Any, levels: int = DEEPEST) -> Any:
    """Undo `_plain`."""
    if isinstance(value, list):
        if not levels:
            raise FormatError(f"nested deeper than the {DEEPEST} levels that are read")
        return [_numbers(item, levels - 1) for item in value]
    return -inf if value == "-inf" else value


def _digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the content in its one canonical spelling."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def to_json_bytes(circuit: Circuit, notes: dict[str, Any]) -> list[bytes | memoryview]:
    """Return the content of a JSON file, in parts to be written one after the other."""
    return [to_json(circuit, notes=notes).encode("utf-8"), b"\n"]


def from_json_bytes(content: bytes, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of a JSON file and the notes beside it, or say what is wrong with the file."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{source}: not a text file; the file is damaged or not a circuit") from error
    return from_json_with_notes(text, source)


def from_json(text: str, source: str = "JSON text") -> Circuit:
    """Return the circuit of a JSON text, or say where the text is damaged."""
    return from_json_with_notes(text, source)[0]


def from_json_with_notes(text: str, source: str = "JSON text") -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of a JSON text and the notes beside it, if there are any."""
    data = _parse(text, source)
    return _build(data, source), data.get("notes") or {}


def _parse(text: str, source: str) -> dict[str, Any]:
    data = parse_json(text, source)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f'{source}: not a circuit file (no "format": "{FORMAT}")')
    schema = check_schema(data.get("schema"), SCHEMA, source)
    missing = [key for key in ("digest", *KEYS[schema]) if key not in data]
    if missing:
        raise FormatError(f"{source}: {missing[0]!r} is missing; the file was altered")
    own = [*KEYS[schema], *(key for key in ("attributes", "notes") if key in data)]
    _check_content({key: data[key] for key in own}, data["digest"], source)
    return data


def _check_content(content: dict[str, Any], digest: Any, source: str) -> None:
    try:
        same = _digest(content) == digest
    except ValueError as error:
        raise FormatError(f"{source}: some number is not finite; the file was altered") from error
    except RecursionError as error:
        raise FormatError(f"{source}: nested deeper than the {DEEPEST} levels that are read") from error
    if not same:
        raise FormatError(f"{source}: the content does not match its digest; the file was altered")
    notes = content.get("notes", {})
    if not isinstance(notes, dict):
        raise FormatError(f"{source}: 'notes' is not an object; the file was altered")
    columns_in_head(content, source)
    check_depth([content[key] for key in content if key != "nodes"], source)
    if not isinstance(content["nodes"], list):
        raise FormatError(f"{source}: 'nodes' is not a list; the file was altered")
    check_nodes(len(content["nodes"]), source)


def _build(data: dict[str, Any], source: str) -> Circuit:
    records: list[Any] = []
    families: dict[str, set[str]] = {}
    n_variables = len(data["domains"])
    for index, node in enumerate(data["nodes"]):
        try:
            records.append(_record(node, index, n_variables, families))
        except UNUSABLE as error:
            raise FormatError(f"{source}: node {index} is unusable ({shown_error(error)})") from error
    try:
        graph = Graph(from_records(records), n_variables)
        return Circuit.of_schema(graph, columns_of_head(data, graph.domains, source))
    except UNUSABLE as error:
        raise FormatError(f"{source}: the nodes do not form a circuit ({shown_error(error)})") from error


def shown_error(error: BaseException) -> str:
    """Return what an error says, without all of a file's content in it."""
    text = str(error)
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} …"


def _ordered(domain: Domain | None, stored: Any) -> Domain | None:
    """Return a leaf's domain with the order that the file says its values have."""
    if domain is None or not domain.is_discrete or not isinstance(stored, dict):
        return domain
    return Domain(domain.cardinality, stored.get("ordered", False))


def _record(
    node: dict[str, Any], index: int, n_variables: int, families: dict[str, set[str]]
) -> tuple[str, Any, tuple[int, ...]]:
    """Return a node as `from_records` takes it; `families` keeps which keys the leaves of a family have."""
    kind = node["type"]
    if kind in ("sum", "product"):
        _refuse_others(node, _SUM_KEYS if kind == "sum" else _PRODUCT_KEYS)
        children = tuple(node["children"])
        if not all(type(child) is int and 0 <= child < index for child in children):
            raise FormatError(f"children {list(children)[:5]} are not all earlier nodes")
        return kind, node.get("weights"), children
    variables = tuple(node["variables"])
    if not all(type(v) is int and 0 <= v < n_variables for v in variables):
        raise FormatError(f"variables {list(variables)[:5]} are not all columns from 0 to {n_variables - 1}")
    params = {key: value if type(value) is float else _numbers(value) for key, value in node.items()}
    del params["type"], params["variables"]
    leaf: Leaf = leaf_from_params(kind, variables, params)
    if not node.keys() <= families.get(kind, set()):  # most leaves of a family have the same keys
        families[kind] = {"type", "variables", *leaf.to_params()}
        _refuse_others(node, families[kind])
    return "leaf", leaf, ()


def _refuse_others(node: dict[str, Any], known: set[str]) -> None:
    """Refuse parameters that nothing would read: a misspelt one must not be dropped in silence."""
    if not node.keys() <= known:
        unknown = sorted(set(node) - known)
        raise FormatError(f"unknown parameter {unknown[0]!r} of a {node['type']}")

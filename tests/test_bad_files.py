"""Truncated, altered and foreign model files: a FormatError that names the file and the place."""

import hashlib
import json
import resource
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from xspn import (
    Bernoulli,
    Categorical,
    ChowLiu,
    Circuit,
    Exchangeable,
    Gaussian,
    Product,
    Sum,
    XSPNError,
    load,
    read_table,
    save,
)
from xspn.core.errors import DataTypeError, FormatError
from xspn.data.schema import Schema
from xspn.io import from_json, open_program, save_program, to_json
from xspn.io.json_format import from_json_with_notes
from xspn.statistics import Blocks

SWITCHES = [
    Product(
        [
            Exchangeable.from_class_probabilities([0, 1], [0.2, 0.8, 0.0]),
            ChowLiu([2, 3], [-1, 0], [[0.5, 0.5], [0.1, 0.8]]),
            Categorical(4, [0.25, 0.25, 0.5]),
            Gaussian(5, mean=0.5, std=2.0),
            Bernoulli(6, p=p),
        ]
    )
    for p in (0.125, 1.0)
]
BLOCKS = Exchangeable.uniform([7, 8], Blocks([[0], [1]]))
CIRCUIT = Circuit(Product([Sum([0.75, 0.25], SWITCHES), BLOCKS]), names=list("abcdefghi"))
TEXT = to_json(CIRCUIT)
NODES = json.loads(TEXT)["nodes"]


def place_of(kind):
    return next(i for i, node in enumerate(NODES) if node["type"] == kind)


def altered(change, digest=True):
    """The file with its content changed; with a new digest, as one who means harm would write it."""
    data = json.loads(TEXT)
    change(data)
    if digest and all(key in data for key in ("names", "domains", "nodes")):
        content = {key: data[key] for key in ("names", "domains", "nodes")}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        data["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps(data)


def test_the_file_is_good_to_begin_with():
    assert from_json(TEXT).summary() == CIRCUIT.summary()
    assert from_json(altered(lambda data: None)).summary() == CIRCUIT.summary()


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", np.linspace(0, 0.999, 40).round(3).tolist())
def test_a_truncated_file(tmp_path, fraction):
    path = tmp_path / "model.json"
    path.write_text(TEXT[: int(fraction * len(TEXT))], encoding="utf-8")
    with pytest.raises(FormatError, match=r"model\.json: not a complete JSON text \(line 1, column \d+\)"):
        load(path)


@pytest.mark.parametrize("seed", range(60))
def test_one_digit_changed(seed):
    rng = np.random.default_rng(seed)
    digits = [i for i, character in enumerate(TEXT) if character.isdigit()]
    at = int(rng.choice(digits))
    other = str((int(TEXT[at]) + int(rng.integers(1, 10))) % 10)
    with pytest.raises(FormatError):
        from_json(TEXT[:at] + other + TEXT[at + 1 :])


@pytest.mark.parametrize("seed", range(60))
def test_one_character_lost(seed):
    at = int(np.random.default_rng(seed).integers(len(TEXT)))
    if TEXT[at] == " ":
        assert from_json(TEXT[:at] + TEXT[at + 1 :]).summary() == CIRCUIT.summary()
        return
    with pytest.raises(FormatError):
        from_json(TEXT[:at] + TEXT[at + 1 :])


@pytest.mark.parametrize("noise", [b"\xff\xfe\x00\x01", b"\x80abc", "Ω".encode("utf-16")])
def test_something_else_than_text(tmp_path, noise):
    path = tmp_path / "model.json"
    path.write_bytes(noise)
    with pytest.raises(FormatError, match=r"model\.json"):
        load(path)


@pytest.mark.parametrize(
    "text", ["", " ", "{}", "[]", "null", "5", '"xspn-circuit"', '{"format": "spn"}', "[" * 100_000, "1" * 10_000]
)
def test_other_texts(text):
    with pytest.raises(FormatError, match="JSON text"):
        from_json(text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.json")


def test_saving_leaves_nothing_behind_when_it_fails(tmp_path):
    path = tmp_path / "model.json"
    save(CIRCUIT, path)
    before = path.read_text(encoding="utf-8")
    with pytest.raises(DataTypeError, match=r"expected a Circuit or a fitted XSPN, .* found NoneType"):
        save(None, path)
    assert path.read_text(encoding="utf-8") == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


# -- versions and digests ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [3, 4, 10**9])
def test_a_newer_schema(schema):
    with pytest.raises(FormatError, match=f"written in schema {schema}, this version reads up to 2; upgrade"):
        from_json(altered(lambda data: data.update(schema=schema)))


@pytest.mark.parametrize("schema", [0, -1, "1", None, 1.0, [1], True])
def test_an_unreadable_schema(schema):
    with pytest.raises(FormatError, match="unreadable schema version"):
        from_json(altered(lambda data: data.update(schema=schema)))


@pytest.mark.parametrize("key", ["digest", "names", "domains", "nodes", "format", "schema"])
def test_a_missing_part(key):
    with pytest.raises(FormatError, match=rf"{key}|format"):
        from_json(altered(lambda data: data.pop(key), digest=False))


@pytest.mark.parametrize("digest", ["", "0" * 64, None, 5])
def test_a_wrong_digest(digest):
    with pytest.raises(FormatError, match="does not match its digest"):
        from_json(altered(lambda data: data.update(digest=digest), digest=False))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have(number):
    with pytest.raises(FormatError):
        from_json(TEXT.replace("0.125", number))


# -- altered content under a good digest -------------------------------------------------------------------------------


def in_node(kind, **values):
    def change(data):
        data["nodes"][place_of(kind)].update(values)

    return change


def drop(kind, key):
    return lambda data: data["nodes"][place_of(kind)].pop(key)


@pytest.mark.parametrize(
    "change",
    [
        in_node("bernoulli", p=1.5),
        in_node("bernoulli", p=None),
        in_node("bernoulli", p="0.5"),
        in_node("bernoulli", p=[0.5]),
        in_node("bernoulli", p=True),
        in_node("bernoulli", variables=[]),
        in_node("bernoulli", variables=[6, 7]),
        in_node("bernoulli", variables=[-6]),
        in_node("bernoulli", variables=6),
        in_node("bernoulli", variables=["6"]),
        in_node("bernoulli", variables=None),
        drop("bernoulli", "p"),
        drop("bernoulli", "variables"),
        drop("bernoulli", "type"),
        in_node("bernoulli", type="bernouli"),
        in_node("bernoulli", type=["bernoulli"]),
        in_node("bernoulli", type=None),
        in_node("categorical", probabilities=[0.5, 0.6]),
        in_node("categorical", probabilities=[]),
        in_node("categorical", probabilities={"0": 1.0}),
        in_node("categorical", probabilities=["-inf", 1.0, 0.0]),
        in_node("gaussian", std=0),
        in_node("gaussian", std="-inf"),
        in_node("gaussian", mean=None),
        in_node("chow_liu", parents=[1, 0]),
        in_node("chow_liu", parents=5),
        in_node("chow_liu", p=[[0.5, 0.5], [0.5]]),
        in_node("chow_liu", p=[[0.5, 0.5], [0.5, 2.0]]),
        in_node("exchangeable", log_weights=[-1.0, -1.0]),
        in_node("exchangeable", log_weights=[-1.0, -1.0, "inf"]),
        in_node("exchangeable", log_weights=[-1.0, -1.0, -1.0]),
        in_node("exchangeable", statistic="count"),
        in_node("exchangeable", statistic={"name": "cout"}),
        in_node("exchangeable", statistic={"name": "blocks"}),
        in_node("exchangeable", statistic={"name": "blocks", "parts": 5, "statistics": 5}),
        in_node("exchangeable", statistic={"name": ["count"]}),
        in_node("exchangeable", statistic={"name": "total", "cardinality": "2"}),
        in_node("sum", children=[0]),
        in_node("sum", children=[10**6, 0]),
        in_node("sum", children=[-1, 0]),
        in_node("sum", children="01"),
        in_node("sum", children=None),
        in_node("sum", children=[0.0, 1.0]),
        in_node("sum", weights=None),
        in_node("sum", weights=[0.5, 0.6]),
        in_node("sum", weights=["a", "b"]),
        in_node("sum", weights={"a": 1}),
        drop("sum", "weights"),
        drop("sum", "children"),
        drop("product", "children"),
        in_node("product", children=[]),
        lambda data: data.update(nodes=[]),
        lambda data: data.update(nodes=None),
        lambda data: data.update(nodes=5),
        lambda data: data.update(nodes={}),
        lambda data: data.update(nodes=[None]),
        lambda data: data.update(nodes=["sum"]),
        lambda data: data["nodes"].reverse(),
        lambda data: data.update(names=["a"] * 9),
        lambda data: data.update(names=["a", "b"]),
        lambda data: data.update(names=5),
        lambda data: data.update(names="abcdefghi"),
        lambda data: data.update(names=list(range(9))),
        lambda data: data.update(domains=[]),
        lambda data: data.update(domains=None),
        lambda data: data.update(domains=9),
        lambda data: data["domains"].__setitem__(0, {"cardinality": 3}),
        lambda data: data["domains"].__setitem__(5, {"cardinality": 2}),
        lambda data: data["domains"].__setitem__(0, None),
        lambda data: data["domains"].append({"cardinality": 2}),
    ],
)
def test_altered_content(change):
    with pytest.raises(FormatError, match=r"^model\.json: "):
        from_json(altered(change), source="model.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_node("bernoulli", p=1.5), rf"node {place_of('bernoulli')} is unusable \(Bernoulli: expected a probability"),
        (in_node("bernoulli", type="bernouli"), "did you mean 'bernoulli'"),
        (in_node("sum", weights=[0.5, 0.6]), "expected a sum of 1, found 1.1"),
        (in_node("sum", children=[10**6, 0]), rf"node {place_of('sum')} .*not all earlier nodes"),
        (in_node("chow_liu", variables=[0, 3]), r"shares variables \{0\}"),
        (lambda data: data["domains"].__setitem__(0, {"cardinality": 3}), "domains do not fit the leaves"),
    ],
)
def test_the_place_is_named(change, message):
    with pytest.raises(FormatError, match=message):
        from_json(altered(change))


def test_unknown_keys_are_refused():
    """A parameter that is misspelt or from the future must not be dropped in silence."""
    with pytest.raises(FormatError, match="colour"):
        from_json(altered(in_node("bernoulli", colour="red")))


def test_layout_and_order_of_keys_do_not_matter():
    data = json.loads(TEXT)
    shuffled = json.dumps(dict(reversed(data.items())), indent=3, ensure_ascii=True)
    assert from_json(shuffled).summary() == CIRCUIT.summary()


# -- content without bounds --------------------------------------------------------------------------------------------


@contextmanager
def little_memory():
    """Allow no more than 200 MB on top of what the process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + 200_000_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def deep(levels):
    value = 0.5
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_node("bernoulli", variables=[10**10]), "not all columns from 0 to 8"),
        (in_node("bernoulli", variables=[10**30]), "not all columns from 0 to 8"),
        (in_node("exchangeable", variables=[0, 10**9]), "not all columns from 0 to 8"),
        (in_node("bernoulli", variables=[True]), "not all columns"),
        (in_node("sum", children=[True, 0]), "not all earlier nodes"),
        (in_node("exchangeable", statistic={"name": "total", "cardinality": 10**30}), "at most 20000000"),
        (in_node("exchangeable", statistic={"name": "value_counts", "cardinality": 10**30}), "at most 20000000"),
        (in_node("exchangeable", statistic={"name": "value_counts", "cardinality": 10**7}), "classes, more than"),
        (in_node("exchangeable", statistic={"name": "total", "cardinality": 10**4200}), "40 are read"),
        (in_node("bernoulli", p=10**300), "40 are read"),
        (in_node("bernoulli", p=deep(150)), "nested deeper than the 100 levels"),
        (in_node("bernoulli", p=deep(700)), "nested deeper than the 100 levels"),
        (lambda data: data["domains"].__setitem__(0, {"cardinality": 10**4200}), "40 are read"),
        (lambda data: data["domains"].__setitem__(0, {"cardinality": 10**30}), "domains do not fit"),
        (lambda data: data["domains"].__setitem__(0, deep(300)), "nested deeper|domains do not fit"),
    ],
)
def test_content_without_bounds_is_refused_at_once(change, message):
    """A variable of 10**10 took 1.5 GB, a cardinality of 10**4200 four minutes."""
    text = altered(change)
    with little_memory(), pytest.raises(FormatError, match=message):
        from_json(text)


@pytest.mark.parametrize("levels", [101, 500, 990, 5000])
def test_notes_nested_without_end(levels):
    text = to_json(CIRCUIT, notes={"kept": "HERE"}).replace('"HERE"', "[" * levels + "]" * levels)
    with pytest.raises(FormatError, match=r"nested deeper|does not match"):
        from_json(text)
    with pytest.raises(FormatError, match="nested deeper than the 100 levels"):
        to_json(CIRCUIT, notes={"kept": deep(levels)})


@pytest.mark.parametrize("dtype", ["evil", "datetime64[ns]", "int64; import os", "", "O" * 1000, "int63", 5])
def test_types_of_columns_that_are_none(dtype):
    def change(data):
        data.update(schema=2, labels=None, dtypes=[dtype] * 9)
        content = {key: data[key] for key in ("names", "domains", "labels", "dtypes", "nodes")}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        data["digest"] = hashlib.sha256(canonical.encode()).hexdigest()

    with pytest.raises(FormatError, match="is not a t"):
        from_json(altered(change, digest=False))


@pytest.mark.parametrize(
    "dtype",
    [
        *(
            "bool",
            "boolean",
            "object",
            "str",
            "string",
            "string[python]",
            "int8",
            "uint64",
            "Int64",
            "Float64",
            "float32",
        ),
        *("category", "category[int64]", "category[string]", "int64[pyarrow]", "double[pyarrow]", "Sparse[int64, 0]"),
    ],
)
def test_types_of_columns_that_pandas_has(dtype):
    circuit = Circuit.of_schema(CIRCUIT.graph, Schema.of(CIRCUIT.domains, dtypes=[dtype] * 9))
    assert from_json(to_json(circuit)).schema.dtypes == (dtype,) * 9


def test_large_labels_and_notes_are_read():
    """Limits are for what costs memory or time: numbers that a table held are none of that."""
    circuit = Circuit(Bernoulli(0, p=0.5), labels=[[2**64 - 1, 10**30]])
    notes = {"count": 10**39, "list": list(range(1000))}
    again, found = from_json_with_notes(to_json(circuit, notes=notes))
    assert again.labels == circuit.labels
    assert found == notes


@pytest.mark.parametrize(
    "change",
    [
        in_node("bernoulli", variables=deep(900)),
        in_node("bernoulli", type=deep(900)),
        in_node("sum", weights=deep(900)),
        in_node("sum", children=deep(900)),
        in_node("exchangeable", statistic={"name": deep(900)}),
        in_node("exchangeable", statistic=deep(900)),
        lambda data: data.update(names=deep(900)),
        lambda data: data.update(nodes=deep(900)),
        lambda data: data.update(domains=deep(900)),
        in_node("bernoulli", p=["x"] * 100_000),
    ],
)
def test_deep_or_long_content_anywhere(change):
    with pytest.raises(FormatError) as refused:
        from_json(altered(change))
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize("path", [None, 5, b"model.json", ["model.json"], "a\0b"])
def test_what_can_be_no_path(path):
    for use in (
        load,
        open_program,
        partial(save, CIRCUIT),
        partial(save_program, CIRCUIT),
        CIRCUIT.explore,
        read_table,
    ):
        with pytest.raises(XSPNError, match="path"):
            use(path)


@pytest.mark.parametrize("text", [None, 5, ["{}"]])
def test_what_can_be_no_text(text):
    with pytest.raises(DataTypeError, match="expected a JSON text"):
        from_json(text)

"""Model files in both forms: the same circuit to the last bit, whole or not at all, and damage is always noticed."""

import os
import stat
import threading

import numpy as np
import pytest

from support.cases import any_case
from support.mutations import mutated, resealed
from xspn import (
    Bernoulli,
    Categorical,
    ChowLiu,
    Circuit,
    Exchangeable,
    Gaussian,
    Product,
    Sum,
    load,
    save,
)
from xspn.cli import main as command_line
from xspn.core.errors import FormatError, ParameterError
from xspn.graph import Graph
from xspn.io import load_with_notes, to_json
from xspn.io.binary_format import FORMAT, SCHEMA
from xspn.io.container import MAGIC, packed_file, unpacked_file
from xspn.io.files import FORMATS, ModelFormat, model_of_content
from xspn.io.json_format import from_json_with_notes
from xspn.leaves.base import Leaf, leaves
from xspn.statistics import Blocks, Total, ValueCounts

PARTS = [
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
TOTALS = [Exchangeable.uniform([9, 10], T) for T in (Total(3), ValueCounts(3))]
ROOT = Product([Sum([0.75, 0.25], PARTS), BLOCKS, Sum([0.5, 0.5], TOTALS)])
CIRCUIT = Circuit(ROOT, names=list("abcdefghijk"), labels={"e": ["x", "y", "z"], "a": [False, True]})


def binary(circuit, path, **notes):
    save(circuit, path / "model.xspn", **notes)
    return (path / "model.xspn").read_bytes()


@pytest.mark.parametrize("seed", range(30))
def test_both_forms_hold_the_same_circuit(seed, tmp_path):
    circuit, _, rows, _ = any_case(seed)
    save(circuit, tmp_path / "model.json")
    assert binary(circuit, tmp_path).startswith(MAGIC)
    from_text, from_arrays = load(tmp_path / "model.json"), load(tmp_path / "model.xspn")
    assert to_json(from_arrays) == to_json(circuit) == to_json(from_text)
    assert from_arrays.summary() == circuit.summary()
    np.testing.assert_array_equal(from_arrays.log_likelihood(rows), circuit.log_likelihood(rows))
    np.testing.assert_array_equal(from_arrays.to().log_likelihood(rows), circuit.to().log_likelihood(rows))


@pytest.mark.parametrize("family", list(leaves))
def test_leaves_packed_together_are_the_same_to_the_last_bit(family):
    """Whatever slot a leaf has: parameters, and what is derived from them."""
    rng = np.random.default_rng(0)
    own = [leaves[family].example(rng, int(rng.integers(4))) for _ in range(200)]
    built = leaves[family].unpack([leaf.variables for leaf in own], leaves[family].pack(own))
    slots = {slot for base in leaves[family].__mro__ for slot in getattr(base, "__slots__", ())}
    for old, new in zip(own, built, strict=True):
        assert type(new) is type(old)
        for slot in slots:
            a, b = getattr(old, slot), getattr(new, slot)
            if isinstance(a, np.ndarray):
                assert (a.shape, a.tobytes()) == (b.shape, b.tobytes())
                assert not b.flags.writeable
            elif isinstance(a, Leaf):  # inside another one
                assert (type(a), a.variables, a.to_params()) == (type(b), b.variables, b.to_params())
            else:
                assert a == b
        with pytest.raises(AttributeError, match="immutable"):
            new.scope = None


def test_a_family_that_says_nothing_is_packed_all_the_same():
    """A family of one's own needs no arrays of its own."""
    base = leaves["gaussian"]

    class Plain(base):
        pack = classmethod(base.__mro__[2].pack.__func__)
        unpack = classmethod(base.__mro__[2].unpack.__func__)

    own = [Plain(0, 1.5, 2.0), Plain(3, -0.1, 1e-100)]
    assert [leaf.to_params() for leaf in Plain.unpack([(0,), (3,)], Plain.pack(own))] == [
        leaf.to_params() for leaf in own
    ]


def test_loaded_nodes_are_like_any_others(tmp_path):
    binary(CIRCUIT, tmp_path)
    loaded = load(tmp_path / "model.xspn")
    again = Graph(loaded.root, loaded.n_variables)
    assert again.nodes == loaded.graph.nodes
    assert again.domains == loaded.graph.domains
    assert again.levels.tolist() == loaded.graph.levels.tolist()
    assert [node.height for node in again.nodes] == CIRCUIT.graph.levels.tolist()
    for found, expected in zip(again.edges, loaded.graph.edges, strict=True):
        np.testing.assert_array_equal(found, expected)
    for old, new in zip(CIRCUIT.graph.nodes, loaded.graph.nodes, strict=True):
        assert old.scope == new.scope
        assert len(old.children) == len(new.children)
    assert to_json(loaded.simplify()) == to_json(CIRCUIT.simplify())
    with pytest.raises(AttributeError, match="immutable"):
        loaded.root.children = ()


def test_notes_and_columns_travel(tmp_path):
    notes = {"learned": {"rows": 3, "β": [1.5, None, True]}, "trace": [{"node": 0}] * 3}
    binary(CIRCUIT, tmp_path, notes=notes)
    circuit, found = load_with_notes(tmp_path / "model.xspn")
    assert found == notes
    assert circuit.schema == CIRCUIT.schema


def test_the_suffix_chooses_the_form_and_the_content_tells_it(tmp_path):
    for name, is_binary in (("a.xspn", True), ("b.XSPN", True), ("c.json", False), ("d", False)):
        save(CIRCUIT, tmp_path / name)
        content = (tmp_path / name).read_bytes()
        assert content.startswith(MAGIC) == is_binary
        assert to_json(model_of_content(content, "standard input")[0]) == to_json(CIRCUIT)
    (tmp_path / "a.xspn").rename(tmp_path / "a.json")
    assert to_json(load(tmp_path / "a.json")) == to_json(CIRCUIT)


def test_a_new_format_is_a_line_in_the_table(tmp_path, monkeypatch):
    def write(circuit, notes):
        return [b"TOY!", to_json(circuit, notes=notes).encode().hex().encode()]

    def read(content, source):
        return from_json_with_notes(bytes.fromhex(content[4:].decode()).decode(), source)

    toy = ModelFormat(".toy", b"TOY!", 1000, write, read)
    monkeypatch.setattr("xspn.io.files.FORMATS", (toy, *FORMATS))
    small = Circuit(Bernoulli(0, p=0.25), names=["rain"])
    for name in ("a.toy", "b.xspn", "c.json"):
        save(small, tmp_path / name, notes={"by": name})
        circuit, notes = load_with_notes((tmp_path / name).rename(tmp_path / "model"))
        assert (to_json(circuit), notes) == (to_json(small), {"by": name})
    with pytest.raises(ParameterError, match=r"more than the 1,000 that are read back; .* ends in \.xspn or \.json"):
        save(Circuit(Product([Bernoulli(v, p=0.5) for v in range(20)])), tmp_path / "large.toy")


def test_shared_and_repeated_children_stay_so(tmp_path):
    shared = Bernoulli(1, p=0.5)
    twice = Bernoulli(0, p=0.25)
    circuit = Circuit(Sum([0.5, 0.5], [Product([Sum([0.5, 0.5], [twice, twice]), shared]), Product([twice, shared])]))
    binary(circuit, tmp_path)
    loaded = load(tmp_path / "model.xspn")
    assert len(loaded.graph) == len(circuit.graph) == 6
    assert loaded.graph.n_parents.tolist() == circuit.graph.n_parents.tolist()


# -- damaged and altered -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(6))
def test_damage_is_noticed(part, tmp_path):
    """600 files with lost, added, changed and swapped bytes: every one is refused."""
    content = binary(CIRCUIT, tmp_path)
    for seed in range(100 * part, 100 * part + 100):
        with pytest.raises(FormatError, match=r"^model\.xspn: "):
            model_of_content(mutated(content, np.random.default_rng(seed)), "model.xspn")


@pytest.mark.parametrize("part", range(4))
def test_altered_content_under_a_good_digest_is_refused_or_a_circuit(part, tmp_path):
    """Any number replaced by any other: what loads is a distribution that can be written again."""
    head, arrays = unpacked_file(np.frombuffer(binary(CIRCUIT, tmp_path), np.uint8), "", FORMAT, SCHEMA)
    for seed in range(100 * part, 100 * part + 100):
        rng = np.random.default_rng(seed)
        name = str(rng.choice(list(arrays)))
        own = np.array(arrays[name])
        wild = rng.choice([0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 0.5, np.nan, np.inf])
        place = int(rng.integers(own.size))
        with np.errstate(invalid="ignore"):
            own.reshape(-1)[place] = (
                np.array(wild).astype(np.int64) % 256 if own.dtype == np.uint8 else wild.astype(own.dtype)
            )
        try:
            circuit, _ = model_of_content(resealed(head, {**arrays, name: own}), "model.xspn")
        except FormatError:
            continue
        assert to_json(model_of_content(to_json(circuit).encode(), "again")[0]) == to_json(circuit)


def altered(path, **changes):
    """Return the file with other arrays or another head, and a digest as one who means harm would write it."""
    head, arrays = unpacked_file(np.frombuffer(binary(CIRCUIT, path), np.uint8), "", FORMAT, SCHEMA)
    new = {name: value for name, value in changes.items() if name not in head}
    head |= {name: value for name, value in changes.items() if name in head}
    return resealed(head, {**arrays, **new})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"child": np.zeros(17, np.int32)}, "not decomposable|not smooth|part of nothing"),
        ({"child": np.full(17, 10**6, np.int32)}, "expected earlier nodes"),
        ({"child": np.full(17, -1, np.int32)}, "expected earlier nodes"),
        ({"child": np.zeros((9, 2), np.int32)}, "expected whole numbers"),
        ({"child": np.zeros(18)}, "expected whole numbers"),
        ({"arity": np.full(5, 2**62)}, "not as many|for each sum"),
        ({"kind": np.zeros(0, np.int64)}, "no nodes"),
        ({"kind": np.full(17, 200, np.uint8)}, "unknown family"),
        ({"weight": np.array([0.5, 0.6, 0.5, 0.5])}, "expected a sum of 1, found 1.1"),
        ({"weight": np.array([-0.5, 1.5, 0.5, 0.5])}, "at least 0"),
        ({"weight": np.array([np.nan, 1.0, 0.5, 0.5])}, "at least 0"),
        ({"families": ["nonsense"]}, "unknown"),
        ({"families": 5}, "not form a circuit"),
        ({"domains": [None] * 10**3}, "domains do not fit"),
        ({"domains": [{"cardinality": 2}] * 11}, "domains do not fit"),
        ({"dtypes": ["evil"] * 11}, "'evil' is not a type of a column"),
        ({"names": ["a"] * 11}, "occurs twice"),
        ({"labels": [["x"]] * 11}, "labels"),
        ({"notes": []}, "not an object"),
        ({"format": "xspn-program"}, "expected a file of format"),
        ({"schema": 9}, "written in schema 9"),
    ],
)
def test_altered_content(changes, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        model_of_content(altered(tmp_path, **changes), "model.xspn")


def test_variables_lie_within_the_columns(tmp_path):
    head, arrays = unpacked_file(np.frombuffer(binary(CIRCUIT, tmp_path), np.uint8), "", FORMAT, SCHEMA)
    place = head["families"].index("bernoulli")
    for variable in (11, -1, 2**31 - 1):
        changed = {f"{place}.variable": np.full(2, variable, np.int32)}
        with pytest.raises(FormatError, match="not below 11, the number of columns"):
            model_of_content(resealed(head, {**arrays, **changed}), "model.xspn")


def test_arrays_of_other_types_are_not_written():
    with pytest.raises(TypeError, match="not stored"):
        packed_file({}, {"evil": np.array([{}], dtype=object)})


# -- modes, links, crashes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.json", "model.xspn"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_saving_again_keeps_the_mode(name, mode, tmp_path):
    path = tmp_path / name
    save(CIRCUIT, path)
    path.chmod(mode)
    save(CIRCUIT, path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_new_files_have_the_mode_of_the_umask_which_nobody_changes(tmp_path, monkeypatch):
    """The umask belongs to the whole process: setting it, even for a moment, is another thread's surprise."""
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
        save(CIRCUIT, tmp_path / "model.json")
        assert stat.S_IMODE((tmp_path / "model.json").stat().st_mode) == 0o640
    finally:
        monkeypatch.undo()
        os.umask(before)


def test_links_stay_links(tmp_path):
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "model.json", tmp_path / "link.json"
    save(Circuit(Bernoulli(0, p=0.25)), target)
    target.chmod(0o600)
    link.symlink_to(target)
    save(CIRCUIT, link)
    assert link.is_symlink()
    assert to_json(load(target)) == to_json(CIRCUIT)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "store") == ["model.json"]


def test_readers_never_see_half_a_model(tmp_path):
    path = tmp_path / "model.xspn"
    circuits = [Circuit(Product([Bernoulli(v, p=p) for v in range(50)])) for p in (0.25, 0.75)]
    save(circuits[0], path)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            for circuit in circuits:
                save(circuit, path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = {float(load(path).root.children[7].p) for _ in range(100)}
    finally:
        stop.set()
        writer.join()
    assert found <= {0.25, 0.75}
    assert os.listdir(tmp_path) == ["model.xspn"]


def test_densities_beyond_the_largest_number_are_no_fault():
    """Whether leaves are asked together or one by one."""
    circuit = Circuit(Sum([0.5, 0.5], [Gaussian(0, mean=m, std=1e-150) for m in (0.0, 1e150)]))
    assert circuit.log_likelihood([[1e9]])[0] == circuit.root.children[0].log_prob(np.array([[1e9]]))[0] == -np.inf


# -- large models ------------------------------------------------------------------------------------------------------


def ensemble(n_members, n_variables=40):
    rng = np.random.default_rng(0)
    members = []
    for _ in range(n_members):
        groups = []
        for start in range(0, n_variables, 10):
            parts = [
                Product(
                    [Bernoulli(v, p=float(p)) for v, p in zip(range(start, start + 10), rng.random(10), strict=True)]
                )
                for _ in range(2)
            ]
            groups.append(Sum([0.25, 0.75], parts))
        members.append(Product(groups))
    return Circuit(Sum(np.full(n_members, 1 / n_members), members))


def test_no_node_is_checked_by_itself_in_a_binary_file(tmp_path, monkeypatch):
    """Loading must not call a constructor for each node: that takes a minute for a million of them."""
    circuit = ensemble(20)
    binary(circuit, tmp_path)
    for cls in (Sum, Product, Bernoulli):
        monkeypatch.setattr(cls, "__init__", lambda *_: pytest.fail("a constructor was called"))
    assert len(load(tmp_path / "model.xspn").graph) == len(circuit.graph)


def test_a_mixture_is_known_not_to_be_selective_after_two_children(monkeypatch):
    """The proof used to ask every leaf of the circuit for its support: minutes for a million of them."""
    circuit = Circuit(
        Sum(np.full(500, 1 / 500), [Product([Bernoulli(v, p=0.5) for v in range(20)]) for _ in range(500)])
    )
    asked = []
    supports = Bernoulli.supports
    monkeypatch.setattr(Bernoulli, "supports", lambda leaf: asked.append(leaf) or supports(leaf))
    assert "children 0 and 1" in circuit.why_not_selective()
    assert len(asked) <= 40


def test_what_the_evidence_does_not_touch_is_kept_as_it_is():
    circuit = ensemble(3)
    row = np.full(40, np.nan)
    row[35] = 1
    conditioned = circuit.condition(row)
    kept = {id(node) for node in circuit.graph.nodes} & {id(node) for node in conditioned.graph.nodes}
    assert len(kept) >= 3 * 3 * (1 + 2 + 20)  # three of the four groups of each member
    whole = circuit.sample(50, random_state=0)
    whole[:, 35] = 1
    expected = circuit.conditional_log_likelihood(whole, given={35: 1})
    np.testing.assert_allclose(conditioned.log_likelihood(np.where(np.isnan(row), whole, np.nan)), expected, atol=1e-10)


def test_commands_take_either_form(tmp_path, capsys):
    table = tmp_path / "answers.csv"
    table.write_text("a,b,c\n" + "1,1,0\n0,0,1\n1,0,1\n" * 20, encoding="utf-8")
    shown = []
    for name in ("model.json", "model.xspn"):
        assert command_line(["fit", str(table), "-o", str(tmp_path / name)]) == 0
        capsys.readouterr()
        assert command_line(["show", str(tmp_path / name)]) == 0
        assert command_line(["show", str(tmp_path / name), "--why", "0"]) == 0
        assert command_line(["query", str(tmp_path / name), "--given", "a=1", "--ask", "b"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert (tmp_path / "model.xspn").read_bytes().startswith(MAGIC)


@pytest.mark.parametrize(("start", "size"), [(b"", 1 << 30), (b"{", 1 << 40), (MAGIC, 1 << 40)])
def test_files_of_any_size_are_refused_at_once(start, size, tmp_path):
    path = tmp_path / "model.xspn"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)  # takes no room on the disk
    with pytest.raises(FormatError, match="bytes or more, of which at most"):
        load(path)


def test_pipes_are_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = binary(CIRCUIT, tmp_path)
    writer = threading.Thread(target=path.write_bytes, args=[content])
    writer.start()
    assert to_json(load(path)) == to_json(CIRCUIT)
    writer.join()

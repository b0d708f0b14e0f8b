"""A compiled circuit in a file answers as the circuit does, mapped into memory, in any process, and never wrongly."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from support.cases import any_case
from support.mutations import mutated, resealed
from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum, save
from xspn.core.errors import FormatError
from xspn.engine.program import SumStep
from xspn.io import open_program, save_program
from xspn.io.container import mapped, unpacked_file
from xspn.io.programs import FORMAT, SCHEMA


@pytest.mark.parametrize("seed", range(20))
def test_an_opened_program_answers_as_the_circuit_does(seed, tmp_path):
    circuit, possible, rows, _ = any_case(seed)
    save_program(circuit, tmp_path / "program")
    opened, fast = open_program(tmp_path / "program"), circuit.to()
    np.testing.assert_array_equal(opened.log_likelihood(rows), fast.log_likelihood(rows))
    np.testing.assert_array_equal(opened.marginals(possible), fast.marginals(possible))
    np.testing.assert_array_equal(opened.sample(20, random_state=0), fast.sample(20, random_state=0))
    found, expected = opened.mpe(possible), fast.mpe(possible)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.exact == expected.exact
    reference = open_program(tmp_path / "program", "numpy")
    np.testing.assert_allclose(reference.log_likelihood(rows), fast.log_likelihood(rows), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_questions_are_answered_to_the_last_bit(seed, tmp_path):
    """Logarithms of weights used to be taken once more from the weights: last digits of some answers differed."""
    rng = np.random.default_rng(seed)
    parts = [Product([Bernoulli(v, p=p) for v, p in enumerate(rng.random(4))]) for _ in range(2)]
    light = 0.458382436831294  # the logarithm of its logarithm's exponential is another number
    circuit = Circuit(Sum([light, 1 - light], parts))
    save_program(circuit, tmp_path / "program")
    opened, fast = open_program(tmp_path / "program", "numba", threads=1), circuit.to("numba", threads=1)
    for target, given in (("X0=1", None), ("X1=1", "X0=1"), ("count(X0, X1, X2) >= 2", "X3=0")):
        found, expected = opened.probability(target, given=given), fast.probability(target, given=given)
        assert (found.probability, found.prior) == (expected.probability, expected.prior)
    (own,), (other,) = ([step for step in c.backend.program.steps if isinstance(step, SumStep)] for c in (opened, fast))
    np.testing.assert_array_equal(own.log_weights, other.log_weights)


def test_arrays_are_mapped_and_cannot_be_changed(tmp_path):
    circuit, _, _, _ = any_case(4)
    save_program(circuit, tmp_path / "program")
    tape = open_program(tmp_path / "program").backend.tape
    assert isinstance(tape.layout.op, np.memmap)
    for part in (tape.layout, tape.numbers):
        assert not any(value.flags.writeable for value in vars(part).values() if isinstance(value, np.ndarray))


def test_names_and_labels_travel(tmp_path):
    circuit = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
    save_program(circuit, tmp_path / "program")
    assert np.exp(open_program(tmp_path / "program").log_likelihood([["wet"]]))[0] == pytest.approx(0.4)


def test_programs_can_be_pickled(tmp_path):
    circuit, _, rows, _ = any_case(6)
    save_program(circuit, tmp_path / "program")
    expected = circuit.to().log_likelihood(rows)
    for backend in (circuit.to().backend, circuit.to("numpy").backend, open_program(tmp_path / "program").backend):
        copy = pickle.loads(pickle.dumps(backend))
        np.testing.assert_allclose(copy.log_likelihood(rows), expected, atol=1e-10)


def test_another_process_opens_it(tmp_path):
    path = tmp_path / "program"
    save_program(Circuit(Bernoulli(0, p=0.25)), path)
    program = f"from xspn.io import open_program; print(open_program({str(path)!r}).log_likelihood([[1]])[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(np.log(0.25))


def test_real_variables_are_answered_by_every_back_end(tmp_path):
    save_program(Circuit(Gaussian(0, mean=0.0, std=1.0)), tmp_path / "program")
    for backend in ("numpy", "numba", "torch"):
        opened = open_program(tmp_path / "program", backend)
        assert opened.log_likelihood([[0.0]])[0] == pytest.approx(-0.5 * np.log(2 * np.pi))


# -- replaced while in use ---------------------------------------------------------------------------------------------


def test_readers_keep_the_program_that_they_opened(tmp_path):
    """Programs used to be overwritten in place: a reader got wrong answers, then a bus error."""
    path = tmp_path / "program"
    first, second = (Circuit(Product([Bernoulli(v, p=p) for v in range(400)])) for p in (0.25, 0.75))
    rows = np.ones((3, 400))
    save_program(first, path)
    opened, reference = open_program(path), open_program(path, "numpy")
    save_program(second, path)
    np.testing.assert_allclose(opened.log_likelihood(rows), 400 * np.log(0.25))
    np.testing.assert_allclose(reference.log_likelihood(rows), 400 * np.log(0.25))
    np.testing.assert_allclose(open_program(path).log_likelihood(rows), 400 * np.log(0.75))
    path.unlink()
    np.testing.assert_allclose(opened.marginals()[0, :, 1], 0.25)


def test_an_interrupted_save_leaves_the_old_program(tmp_path, monkeypatch):
    path = tmp_path / "program"
    save_program(Circuit(Bernoulli(0, p=0.25)), path)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        save_program(Circuit(Bernoulli(0, p=0.75)), path)
    assert [file.name for file in tmp_path.iterdir()] == ["program"]
    assert np.exp(open_program(path).log_likelihood([[1]]))[0] == pytest.approx(0.25)


# -- damaged and altered -----------------------------------------------------------------------------------------------

MIXTURE = Sum(
    [0.25, 0.75],
    [
        Product(
            [
                Exchangeable.from_class_probabilities([0, 1, 2], [0.2, 0.5, 0.2, 0.1]),
                ChowLiu([3, 4, 5], [-1, 0, 0], [[0.5, 0.5], [0.1, 0.8], [q, 0.3]]),
                Sum([0.5, 0.5], [Categorical(6, [0.25, 0.25, 0.5]), Categorical(6, [q, 0.5, 0.5 - q])]),
                Bernoulli(7, p=q),
                Bernoulli(8, p=0.5),
            ]
        )
        for q in (0.125, 0.375)
    ],
)
CIRCUIT = Circuit(MIXTURE, names=list("abcdefghi"))
ROWS = CIRCUIT.sample(20, random_state=0)
ROWS[::3, ::2] = np.nan


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "model.program"
    save_program(CIRCUIT, path)
    return path


def arrays_of(path):
    return unpacked_file(mapped(path), str(path), FORMAT, SCHEMA)


@pytest.mark.parametrize("fault", ["nothing", "empty", "folder", "json", "model", "schema", "version"])
def test_files_that_are_no_programs_are_refused(fault, tmp_path, program):
    path = tmp_path / "program"
    if fault == "nothing":
        with pytest.raises(FileNotFoundError):
            open_program(path)
        return
    if fault == "folder":
        path.mkdir()
    elif fault == "model":
        path = tmp_path / "model.xspn"
        save(CIRCUIT, path)
    else:
        head, arrays = arrays_of(program)
        other = resealed({**head, "schema": 9}, arrays)
        contents = {"empty": b"", "json": b"{}", "schema": other, "version": other[:8] + b"\x09" + other[9:]}
        path.write_bytes(contents[fault])
    message = {"folder": "single files now", "model": "expected a file of format", "schema": "schema 9", "version": "9"}
    with pytest.raises(FormatError, match=message.get(fault, "not a binary file")):
        open_program(path)


@pytest.mark.parametrize("part", range(6))
def test_damage_is_noticed(part, tmp_path, program):
    """600 files with lost, added, changed and swapped bytes: every one is refused."""
    content = program.read_bytes()
    path = tmp_path / "program"
    for seed in range(100 * part, 100 * part + 100):
        path.write_bytes(mutated(content, np.random.default_rng(seed)))
        with pytest.raises(FormatError, match="program"):
            open_program(path)


def altered(name, change):
    """Return the content of the program with one array changed, and a digest as one who means harm would write it."""

    def apply(path):
        head, arrays = arrays_of(path)
        own = np.array(arrays[name])
        found = change(own)
        return resealed(head, {**arrays, name: own if found is None else found})

    return apply


def put(value, place=0):
    def change(array):
        array.reshape(-1)[place] = value

    return change


INDICES = [
    *("slot", "begin", "end", "leaf", "register", "argument", "weight_source", "steps", "bernoulli_variable"),
    *("bernoulli_leaf", "count_variable", "count_size", "tree_variable", "tree_parent", "tree_source"),
]
NUMBERS = ["weight", "log_weight", "bernoulli_p", "tree_p", "count_log_w"]


@pytest.mark.parametrize("value", [-(2**62), -2, 10**6, 2**62])
@pytest.mark.parametrize("name", INDICES)
def test_an_index_out_of_range_is_refused(name, value, tmp_path, program):
    for place in (0, -1):
        (tmp_path / "program").write_bytes(altered(name, put(value, place))(program))
        with pytest.raises(FormatError, match="does not form a program"):
            open_program(tmp_path / "program")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("op", put(6)),
        ("op", lambda array: array[::-1]),
        ("slot", put(1, 0)),
        ("argument", lambda array: np.zeros_like(array)),
        ("register", lambda array: np.zeros_like(array)),
        ("register", lambda array: array[:-1]),
        ("fresh", lambda array: ~array),
        ("tree_has_children", lambda array: ~array),
        ("tree_parent", put(1, 1)),
        ("count_size", lambda array: np.flip(array) + 1),
        ("steps", lambda array: array[:-1]),
        ("steps", lambda array: array[::-1]),
        ("family", lambda array: array + 1),
        *[(name, put(value)) for name in NUMBERS for value in (np.nan, np.inf, 0.7, 1.5)],
        *[(name, lambda array: array[:-1]) for name in INDICES + NUMBERS],
        *[(name, lambda array: array.astype(np.int32)) for name in INDICES],
        *[(name, lambda array: array.astype(np.int64)) for name in NUMBERS],
    ],
)
def test_altered_arrays_are_refused(name, change, tmp_path, program):
    (tmp_path / "program").write_bytes(altered(name, change)(program))
    with pytest.raises(FormatError, match="does not form a program"):
        open_program(tmp_path / "program")


@pytest.mark.parametrize(
    "entry",
    [
        ["op", "|O", [1]],
        ["op", "<M8[s]", [1]],
        ["op", "<f8", [2**60]],
        ["op", "<f8", [2**31, 2**31]],
        ["op", "<f8", [-1]],
        ["op", "<f8", [10**39]],
        ["op", "<f8", [0, 10**30]],
        ["op", "<f8", []],
        ["op", "<f8", [1.0]],
        ["op", "<f8", None],
        [None, "<f8", [1]],
        ["op"],
        "op",
    ],
)
def test_arrays_that_cannot_be_are_refused(entry, program, tmp_path):
    """Objects, shapes beyond the file, sizes beyond all memory."""
    head, arrays = arrays_of(program)
    content = resealed(head, arrays, listed=lambda listed: [entry, *listed[1:]])
    (tmp_path / "program").write_bytes(content)
    with pytest.raises(FormatError, match="array"):
        open_program(tmp_path / "program")


@pytest.mark.parametrize(
    "change",
    [
        {"names": 5},
        {"names": ["a"] * 9},
        {"domains": None},
        {"domains": [{"cardinality": 2}] * 9},
        {"domains": [{"cardinality": 2}] * 10},
        {"labels": [[1]] * 9},
        {"dtypes": ["evil"] * 9},
        {"selective": "yes"},
        {"families": ["nonsense"]},
        {"families": None},
        {"families": []},
        {"families": [["categorical"]]},
    ],
)
def test_altered_heads_are_refused(change, tmp_path, program):
    head, arrays = arrays_of(program)
    (tmp_path / "program").write_bytes(resealed({**head, **change}, arrays))
    with pytest.raises(FormatError, match="does not form a program"):
        open_program(tmp_path / "program")


@pytest.mark.parametrize("part", range(3))
def test_any_array_altered_at_random_is_refused_or_harmless(part, tmp_path, program):
    """Under a good digest: what opens can be asked anything, and answers with probabilities."""
    path = tmp_path / "program"
    head, arrays = arrays_of(program)
    for seed in range(100 * part, 100 * part + 100):
        rng = np.random.default_rng(seed)
        name = str(rng.choice(list(arrays)))
        own = np.array(arrays[name])
        if not own.size:
            continue
        place = int(rng.integers(own.size))
        wild = rng.choice([0, 1, -1, 2, 255, 2**31 - 1, -(2**31)])
        own.reshape(-1)[place] = wild % 256 if own.dtype == np.uint8 else wild
        path.write_bytes(resealed(head, {**arrays, name: own}))
        try:
            opened = open_program(path)
        except FormatError:
            continue
        assert (opened.log_likelihood(ROWS) <= 1e-6).all(), (seed, name)
        assert np.isfinite(opened.marginals()[0, 0, :2]).all()


def test_a_head_of_another_kind(tmp_path, program):
    head, arrays = arrays_of(program)
    deep = json.loads("[" * 500 + "]" * 500)
    for wrong in ({**head, "format": ["x"]}, {**head, "schema": True}, {**head, "notes": deep}):
        (tmp_path / "program").write_bytes(resealed(wrong, arrays))
        with pytest.raises(FormatError):
            open_program(tmp_path / "program")

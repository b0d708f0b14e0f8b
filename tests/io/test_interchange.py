"""Files of other programs: written and read again they mean the same; what is malformed is refused with its line."""

import re
import tracemalloc
from itertools import product

import numpy as np
import pytest

from fuzz.building import AnyBuilder
from support.enumeration import assignments, partial_rows
from support.mutations import mutated
from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum, load, save
from xspn.cli.main import main as command_line
from xspn.core.errors import FormatError
from xspn.io.files import model_of_content
from xspn.statistics import Blocks, Total, ValueCounts

ENDINGS = (".jpc", ".spn", ".psdd")


def written(circuit, ending, folder):
    path = folder / f"model{ending}"
    save(circuit, path)
    return path.read_text(encoding="utf-8")


def rows_of(circuit):
    """Every partial row, with nothing in columns that the circuit does not have."""
    sizes = [0 if domain is None else domain.cardinality for domain in circuit.schema.domains]
    return partial_rows(sizes)


def check_same(found, circuit):
    rows = rows_of(circuit)
    expected = circuit.log_likelihood(rows)
    np.testing.assert_allclose(found.log_likelihood(rows[:, : found.n_variables]), expected, rtol=1e-9, atol=1e-9)


# -- and back ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".jpc", ".spn"])
@pytest.mark.parametrize("seed", range(30))
def test_random_circuits_come_back(seed, ending, tmp_path):
    rng = np.random.default_rng(seed)
    sizes = {column: int(rng.integers(2, 4)) for column in range(1, int(rng.integers(2, 6)))}
    circuit = Circuit(AnyBuilder(rng, sizes).node(list(sizes), 3), n_variables=7)
    written(circuit, ending, tmp_path)
    check_same(load(tmp_path / f"model{ending}"), circuit)


def tree(rng, variables):
    parents = [-1, *(int(rng.integers(0, i)) for i in range(1, len(variables)))]
    p = rng.random((len(variables), 2))
    p[0, 1] = p[0, 0]
    return ChowLiu(variables, parents, p)


def cut_on(variable, *below):
    """A sum whose children differ in the value of one variable."""
    children = [Product([Bernoulli(variable, p=float(value)), below[value % len(below)]]) for value in (0, 1)]
    return Sum([0.4, 0.6], children)


def deterministic_circuits():
    rng = np.random.default_rng(0)
    count = Exchangeable.from_class_probabilities([4, 5, 6], [0.1, 0.2, 0.3, 0.4])
    blocks = Blocks([[0, 2], [1, 3]])
    groups = Exchangeable.from_class_probabilities(range(4), rng.dirichlet(np.ones(9)), blocks)
    cut = Sum([0.2, 0.8], [Product([Bernoulli(0, p=p), tree(rng, [1, 2]), Bernoulli(3, p=0.3)]) for p in (0.0, 1.0)])
    return {
        "bit": Circuit(Bernoulli(0, p=0.3)),
        "sure": Circuit(Bernoulli(2, p=1.0)),
        "nearly sure": Circuit(Categorical(0, [1e-30, 1.0])),
        "product": Circuit(Product([Bernoulli(v, p=0.1 + v / 10) for v in (3, 1, 5)])),
        "tree": Circuit(tree(rng, [2, 0, 1, 4])),
        "count": Circuit(count),
        "groups": Circuit(groups),
        "all": Circuit(Product([cut, count])),
        "one variable": Circuit(Sum([0.3, 0.7], [Bernoulli(0, p=0.2), Bernoulli(0, p=0.9)])),
        "nested": Circuit(cut_on(0, cut_on(1, Bernoulli(2, p=0.3), Bernoulli(2, p=0.8)))),
    }


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", list(deterministic_circuits()))
def test_deterministic_circuits_come_back_in_every_format(name, ending, tmp_path):
    circuit = deterministic_circuits()[name]
    written(circuit, ending, tmp_path)
    check_same(load(tmp_path / f"model{ending}"), circuit)
    save(load(tmp_path / f"model{ending}"), tmp_path / "again.psdd")
    check_same(load(tmp_path / "again.psdd"), circuit)


def test_leaves_over_categories_come_back(tmp_path):
    rng = np.random.default_rng(1)
    counts = Exchangeable.from_class_probabilities(range(3), rng.dirichlet(np.ones(10)), ValueCounts(3))
    total = Exchangeable.from_class_probabilities([3, 4], rng.dirichlet(np.ones(7)), Total(4))
    circuit = Circuit(Product([counts, total, Categorical(5, [0.5, 0.0, 0.5])]))
    for ending in (".jpc", ".spn"):
        written(circuit, ending, tmp_path)
        found = load(tmp_path / f"model{ending}")
        rows = circuit.sample(100, random_state=0)
        rows[rng.random(rows.shape) < 0.3] = np.nan
        np.testing.assert_allclose(found.log_likelihood(rows), circuit.log_likelihood(rows), atol=1e-9)
        assert found.schema.domains == circuit.schema.domains


def test_probabilities_near_0_and_1_keep_their_digits(tmp_path):
    circuit = Circuit(Product([Categorical(0, [1e-30, 1.0]), Categorical(1, [1.0, 1e-300]), Bernoulli(2, p=1e-9)]))
    for ending in ENDINGS:
        written(circuit, ending, tmp_path)
        check_same(load(tmp_path / f"model{ending}"), circuit)


def test_files_are_known_by_their_content(tmp_path):
    circuit = Circuit(Bernoulli(0, p=0.25))
    for ending in ENDINGS:
        content = written(circuit, ending, tmp_path).encode()
        check_same(model_of_content(content, "standard input")[0], circuit)


def test_commands_take_them(tmp_path, capsys):
    table = tmp_path / "answers.csv"
    table.write_text("a,b,c\n" + "1,1,0\n0,0,1\n1,0,1\n" * 20, encoding="utf-8")
    assert command_line(["fit", str(table), "-o", str(tmp_path / "model.json")]) == 0
    assert command_line(["convert", str(tmp_path / "model.json"), "-o", str(tmp_path / "model.jpc")]) == 0
    assert command_line(["query", str(tmp_path / "model.jpc"), "--given", "X0=1", "--ask", "X1"]) == 0
    assert command_line(["sample", str(tmp_path / "model.jpc"), "-n", "3"]) == 0
    capsys.readouterr()
    (tmp_path / "model.jpc").write_text("jpc 1\nL 0 0 x\n", encoding="utf-8")
    assert command_line(["show", str(tmp_path / "model.jpc")]) == 2
    assert "line 2: expected a literal, found 'x'" in capsys.readouterr().err


# -- what other programs write -----------------------------------------------------------------------------------------

JUICE = """c this file was saved by ProbabilisticCircuits.jl
c ids of jpc nodes start at 0
jpc 7
L 0 0 1
L 1 0 -1
L 2 0 2
L 3 0 -2
S 4 0 2 0 -0.35667494393873245 1 -1.2039728043259361
S 5 0 2 2 -1.6094379 3 -0.22314355
P 6 0 2 4 5
"""

PSDD = """c a comment
psdd 6
L 0 0 1
L 1 0 -1
T 2 2 2 -1.6094379124341003
T 3 2 2 -0.2231435513142097 -1.6094379124341003
T 4 2 2 -0.6931471805599453
D 5 1 2 0 2 -0.916290731874155 1 4 -0.5108256237659907
"""


def test_a_file_of_juice():
    circuit = model_of_content(JUICE.encode(), "juice.jpc")[0]
    assert len(circuit.graph) == 3  # two bits, and their product
    np.testing.assert_allclose(
        np.exp(circuit.log_likelihood([[1, 1], [0, 0], [np.nan, 1]])), [0.14, 0.24, 0.2], atol=1e-7
    )


def test_a_psdd_with_one_or_two_numbers_for_a_bit():
    circuit = model_of_content(PSDD.encode(), "x.psdd")[0]
    np.testing.assert_allclose(np.exp(circuit.log_likelihood([[1, 1], [0, 1]])), [0.4 * 0.2, 0.3])
    both = model_of_content(PSDD.replace("D 5 1 2 0 2", "D 5 1 2 0 3").encode(), "x.psdd")[0]
    np.testing.assert_allclose(both.log_likelihood([[1, 1], [0, 1]]), circuit.log_likelihood([[1, 1], [0, 1]]))


def test_single_precision_is_normalized_and_more_is_refused():
    close = JUICE.replace("-0.22314355", "-0.223140")
    assert abs(model_of_content(close.encode(), "x")[0].log_likelihood([[np.nan, np.nan]])[0]) < 1e-12
    with pytest.raises(FormatError, match=r"line 9: expected probabilities that sum to 1, found 0\.9"):
        model_of_content(JUICE.replace("-0.22314355", "-0.3").encode(), "x")


class RandomPsdd:
    """A set of rows, compiled by the definition of sentential decisions, with random parameters."""

    def __init__(self, rng, n):
        self.rng, self.lines, self.probability = rng, [], {}
        self.vtree_lines, self.vtrees = [], []
        variables = rng.permutation(n).tolist()
        self.root = self.vtree(variables)
        rows = [row for row in product((0, 1), repeat=n) if rng.random() < 0.6] or [(0,) * n]
        order = self.vtrees[self.root][0]
        _, self.law = self.node(self.root, frozenset(tuple(row[v] for v in order) for row in rows))

    def vtree(self, variables):
        """Add a vtree of these variables; return its id."""
        if len(variables) == 1:
            self.vtree_lines.append(f"L {len(self.vtrees)} {variables[0] + 1}")
            self.vtrees.append((variables, None, None))
        else:
            cut = int(self.rng.integers(1, len(variables)))
            left, right = self.vtree(variables[:cut]), self.vtree(variables[cut:])
            self.vtree_lines.append(f"I {len(self.vtrees)} {left} {right}")
            self.vtrees.append((variables, left, right))
        return len(self.vtrees) - 1

    def node(self, vtree, rows):
        """Add a node whose support is the rows; return its id and the probability of each row."""
        variables, left, right = self.vtrees[vtree]
        if left is None:
            p = self.rng.random() if len(rows) == 2 else float((1,) in rows)
            name = f"L {{}} {vtree} {(variables[0] + 1) * (1 if p else -1)}"
            line = name if len(rows) == 1 else f"T {{}} {vtree} {variables[0] + 1} {float(np.log(p))!r}"
            return self.add(line), {(1,): p, (0,): 1 - p}
        cut = len(self.vtrees[left][0])
        after = {}
        for row in rows:
            after.setdefault(row[:cut], set()).add(row[cut:])
        primes = {}
        for own, subs in after.items():
            primes.setdefault(frozenset(subs), set()).add(own)
        weights = self.rng.dirichlet(np.ones(len(primes)))
        words, law = [], {}
        for weight, (subs, own) in zip(weights, primes.items(), strict=True):
            (prime, first), (sub, second) = self.node(left, frozenset(own)), self.node(right, subs)
            words.append(f"{prime} {sub} {float(np.log(weight))!r}")
            law |= {a + b: weight * first[a] * second[b] for a in own for b in subs}
        return self.add(f"D {{}} {vtree} {len(words)} {' '.join(words)}"), law

    def add(self, line):
        self.lines.append(line.format(len(self.lines)))
        return len(self.lines) - 1

    def files(self, folder):
        (folder / "m.psdd").write_text("\n".join([f"psdd {len(self.lines)}", *self.lines]), encoding="utf-8")
        head = f"vtree {len(self.vtree_lines)}"
        (folder / "m.vtree").write_text("\n".join([head, *self.vtree_lines]), encoding="utf-8")
        return folder / "m.psdd"


@pytest.mark.parametrize("seed", range(25))
def test_random_psdds(seed, tmp_path):
    made = RandomPsdd(np.random.default_rng(seed), 2 + seed % 5)
    circuit = load(made.files(tmp_path))
    rows = assignments([2] * (2 + seed % 5))
    order = made.vtrees[made.root][0]
    expected = [made.law.get(tuple(int(row[v]) for v in order), 0.0) for row in rows]
    np.testing.assert_allclose(np.exp(circuit.log_likelihood(rows)), expected, atol=1e-12)
    for ending in ENDINGS:
        save(circuit, tmp_path / f"again{ending}")
        check_same(load(tmp_path / f"again{ending}"), circuit)


def test_the_vtree_beside_a_psdd_is_respected(tmp_path):
    circuit = deterministic_circuits()["all"]
    save(circuit, tmp_path / "model.psdd")
    vtree = (tmp_path / "model.vtree").read_text(encoding="utf-8")
    assert "vtree 13\n" in vtree
    (tmp_path / "model.vtree").write_text(vtree.replace("L 0 1\n", "L 0 9\n"), encoding="utf-8")
    with pytest.raises(FormatError, match=r"model\.psdd: line \d+: variable 1 is not that of its vtree node"):
        load(tmp_path / "model.psdd")
    lines = vtree.splitlines()
    inner = next(k for k, line in enumerate(lines) if line.startswith("I "))
    words = lines[inner].split()
    lines[inner] = " ".join([*words[:2], words[3], words[2]])
    (tmp_path / "model.vtree").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(FormatError, match=r"model\.psdd: line \d+: node \d+ is not on its side"):
        load(tmp_path / "model.psdd")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vtree 2\nL 0 1\nL 1 2\n", "expected one tree"),
        ("vtree 3\nL 0 1\nL 1 1\nI 2 0 1\n", "line 4: both children have the variable 1"),
        ("vtree 3\nL 0 1\nL 1 2\nI 2 0 0\n", "line 4: node 0 is not described"),
        ("vtree 2\nL 0 1\nL 0 2\n", "line 3: node 0 is there twice"),
        ("vtree 1\nL 0 10000000\n", "line 2: expected a variable from 1 to"),
        ("vtree 5\nL 0 1\n", "line 1 says 5 nodes, found 1"),
        ("vtree 1\nX 0 1\n", "line 2: expected L or I"),
        ("", "not a vtree file"),
    ],
)
def test_bad_vtrees(text, message, tmp_path):
    (tmp_path / "model.psdd").write_text(PSDD, encoding="utf-8")
    (tmp_path / "model.vtree").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=rf"model\.vtree: {message}"):
        load(tmp_path / "model.psdd")


# -- refused -----------------------------------------------------------------------------------------------------------


def mixture():
    return Circuit(Sum([0.5, 0.5], [Product([Bernoulli(0, p=p), Bernoulli(1, p=p)]) for p in (0.2, 0.9)]))


def crossing():
    """Two ways to split three bits: no vtree has both."""
    one, other = (cut_on(v, Bernoulli(2, p=0.3), Bernoulli(2, p=0.8)) for v in (1, 3))
    return Circuit(cut_on(0, Product([one, Bernoulli(3, p=0.5)]), Product([other, Bernoulli(1, p=0.5)])))


@pytest.mark.parametrize(
    ("circuit", "ending", "message"),
    [
        (mixture(), ".psdd", r"psdd: node 6 is not deterministic: .* elements 0 and 1; .* \.jpc"),
        (crossing(), ".psdd", r"psdd: the circuit is not structured: the scopes of nodes \d+ and \d+ overlap"),
        (Circuit(Categorical(0, [0.2, 0.3, 0.5])), ".psdd", "psdd: variable 0 has 3 values; the format has bits"),
        (Circuit(Gaussian(0, mean=0, std=1), names=["age"]), ".jpc", "jpc: node 0 is a Gaussian leaf .* 'age'"),
        (Circuit(Product([Bernoulli(0, p=0.5), Gaussian(1, mean=0, std=1)])), ".spn", "spn: node 1 is a Gaussian"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(circuit, ending, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        save(circuit, tmp_path / f"model{ending}")
    assert list(tmp_path.iterdir()) == []


BAD = {
    "jpc": ("jpc 1\n", [
        ("L 0 0\n", "line 2: expected L id vtree literal, found 3 words"),
        ("L 0 0 0\n", "line 2: expected a literal such as 3 or -3, found 0"),
        ("L 0 0 99999999999\n", "line 2: expected a literal from"),
        ("L 0 0 9999999\n", "line 2: variable 9999998 in a file of 1 variables"),
        ("L 0 0 ١\n", "line 2: expected a literal, found"),
        ("L -1 0 1\n", "line 2: expected the id of a node from 0"),
        ("Q 0 0 1\n", "line 2: expected a node, L, I, C, P or S, found 'Q'"),
        ("I 0 0 1 9999999\n", "variable 0 takes 10000000 values, of which 1 occur"),
        ("C 0 0 1 -0.5\n", "line 2: expected the log-probabilities of at least 2"),
        ("C 0 0 1 0.7 -0.7\n", "line 2: expected a log-probability of at most 0"),
        ("C 0 0 1 nan -0.7\n", "line 2: expected a log-probability, found 'nan'"),
        ("C 0 0 1 1_0 -0.7\n", "line 2: expected a log-probability, found '1_0'"),
        ("C 0 0 1 -inf -inf\n", "line 2: expected probabilities that sum to 1, found 0"),
        ("S 0 0 1 3 0\n", "line 2: node 3 is not described on an earlier line"),
        ("S 0 0 0\n", "line 2: expected a number of children from 1"),
        ("P 0 0 2 0 0\n", "line 2: node 0 is not described"),
        ("L 0 0 1\nP 1 0 2 0 0\n", "says 1 nodes, found 2"),
        ("", "says 1 nodes, found 0"),
    ]),
    "jpc2": ("jpc 2\nL 0 0 1\n", [
        ("P 1 0 2 0 0\n", "line 3: Product is not decomposable"),
        ("L 0 0 2\n", "line 3: node 0 is there twice"),
    ]),
    "jpc3": ("jpc 3\nL 0 0 1\nL 1 0 2\n", [
        ("S 2 0 2 0 -0.6931471805599453 1 -0.6931471805599453\n", "line 4: Sum is not smooth"),
        ("C 2 0 3 -0.7 -0.7 -9\n", "line 4: expected probabilities that sum to 1"),
    ]),
    "jpc4": ("jpc 2\nC 0 0 1 -0.6931471805599453 -0.6931471805599453\n", [
        ("C 1 0 1 0 -inf -inf\n", "line 3: variable 0 has 3 values here"),
        ("I 1 0 1 2\n", "variable 0 has the value 2, and a table of 2 values"),
    ]),
    "spn": ("", [
        ("(2 2)\n", "no line 'EOF'"),
        ("(2 2)\nEOF\n", "there are no nodes"),
        ("(2 1)\nv 0 1\nEOF\n", "line 1: expected a number of values from 2"),
        ("(2 2\nv 0 1\nEOF\n", "not an spn file"),
        ("(2 2)\nv 2 1\nEOF\n", "line 2: expected a variable from 0 to 1, found 2"),
        ("(2 2)\nv 0 2\nEOF\n", "line 2: expected a value from 0 to 1"),
        ("(2 2)\nv 0 1\n* 1\nEOF\n", "line 3: expected an earlier node from 0 to 0, found 1"),
        ("(2 2)\nv 0 1\n+ 0\nEOF\n", "line 3: expected at least one child"),
        ("(2 2)\nv 0 1\n+ 0 0 0\nEOF\n", "line 3: expected a log-probability, found the end of the line"),
        ("(2 2)\nv 0 1\n*\nEOF\n", "line 3: expected at least one child"),
        ("(2 2)\nv 0 1\nEOF\nv 0 1\n", "line 4: expected nothing after EOF"),
        ("(2 2)\nn 0 1\nEOF\n", r"line 2: expected v, \*, \+ or EOF, found 'n'"),
        ("(20000000)\nv 0 1\nEOF\n", "variable 0 takes 20000000 values"),
    ]),
    "psdd": ("psdd 1\n", [
        ("T 0 0 1\n", "line 2: expected T id vtree variable log-probability"),
        ("T 0 0 1 0.5\n", "line 2: expected a log-probability of at most 0"),
        ("F 0 0\n", "line 2: expected a node, L, T or D, found 'F'"),
        ("D 0 0 1 1 1 0\n", "line 2: node 1 is not described"),
        ("D 0 0 2 1 1 0\n", "line 2: expected D id vtree 2"),
        ("L 0\n", "line 2: expected the id of a vtree node, found the end of the line"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message", "name"), [
    (head + text, message, re.sub(r"\d", "", kind)) for kind, (head, cases) in BAD.items() for text, message in cases
])  # fmt: skip
def test_malformed_files_are_refused_with_their_line(text, message, name):
    with pytest.raises(FormatError, match=rf"^bad\.{name}: .*{message}"):
        model_of_content(text.encode(), f"bad.{name}")


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty_and_foreign_files(ending):
    for content in (b"", b"\n\n", b"c only a comment\n", b"\xff\xfe", b"nonsense"):
        with pytest.raises(FormatError, match=f"^bad{re.escape(ending)}: "):
            model_of_content(content, f"bad{ending}")


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_refused_or_circuits(ending, tmp_path):
    content = written(deterministic_circuits()["all"], ending, tmp_path).encode()
    for seed in range(200):
        try:
            circuit, _ = model_of_content(mutated(content, np.random.default_rng(seed)), f"model{ending}")
        except FormatError:
            continue
        assert abs(circuit.log_likelihood(np.full((1, circuit.n_variables), np.nan))[0]) < 1e-9


def test_deep_circuits_need_no_depth(tmp_path):
    n = 3000
    node = Bernoulli(n, p=0.5)
    for v in reversed(range(n)):
        node = Product([Bernoulli(v, p=0.25), node])
    circuit = Circuit(node)
    for ending in (".jpc", ".spn"):
        written(circuit, ending, tmp_path)
        assert load(tmp_path / f"model{ending}").n_variables == n + 1


def test_small_files_take_little_memory():
    lines = "".join(f"I {k} 0 1 {k}\n" for k in range(9000))
    content = f"jpc 9001\n{lines}P 9000 0 1 0\n".encode()
    tracemalloc.start()
    model_of_content(content, "x.jpc")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6

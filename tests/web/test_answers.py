"""What the page computes is what Python computes: all leaf families, any evidence, impossible evidence too."""

import importlib
import re

import numpy as np
import pytest

from support.circuits import any_rows, random_circuit, random_rows
from xspn import Bernoulli, Categorical, Circuit, Product, Sum
from xspn.inference.composition import Composition
from xspn.leaves import (
    Atom,
    BetaBinomial,
    ChowLiu,
    Exchangeable,
    ExchangeableGaussian,
    Gaussian,
    MultivariateGaussian,
    Transformed,
)
from xspn.leaves.base import leaves as families
from xspn.leaves.base import register
from xspn.leaves.scales import Scale
from xspn.statistics import Blocks, Total, ValueCounts
from xspn.web.page import inlined

CASES = 18


@pytest.fixture(scope="module", autouse=True)
def families_of_others():
    """Two families without a form of their own, registered for these tests alone."""
    toys = importlib.import_module("support.toys.leaves")
    for family in (toys.Decay, toys.Parity):
        if family.family not in families:
            register(family)
    yield
    for family in (toys.Decay, toys.Parity):
        families._items.pop(family.family)


TOLERANCE = 1e-9


def exchangeable(rng, variables, statistic):
    size = statistic.size(len(variables))
    return Exchangeable.from_class_probabilities(variables, rng.dirichlet(np.ones(size)), statistic)


def two_contexts(make, seed=0):
    rng = np.random.default_rng(seed)
    return Circuit(Sum([0.3, 0.7], [make(rng), make(rng)]))


def real_leaves(rng):
    root = rng.normal(size=(3, 4))
    together = MultivariateGaussian([0, 1, 2], rng.normal(size=3), root @ root.T + 0.1 * np.eye(3))
    alike = ExchangeableGaussian([3, 4, 5, 6], rng.normal(), 1.3, rng.uniform(-0.2, 0.8))
    return Product([together, alike, Gaussian(7, rng.normal(), 0.7), Bernoulli(8, p=rng.random())])


SCALES = [
    Scale("plain", step=1.0, least=0.0),
    Scale("log", low=-0.5, unit=2.0, step=0.25),
    Scale("log", low=1.0, unit=-2.0),
    Scale("soft", low=0.5, unit=0.3),
    Scale("soft", low=3.0, unit=-2.0, most=2.5),
    Scale("logit", low=-2.0, unit=5.0),
    Scale("asinh", low=0.2, unit=2.0, step=0.1),
]


def scaled_leaves(rng):
    """One column on each scale, and a bit that depends on them."""
    normals = [Gaussian(v, rng.normal(), 0.3 + 0.7 * rng.random()) for v in range(len(SCALES))]
    own = [Transformed(normal, [scale]) for normal, scale in zip(normals, SCALES, strict=True)]
    return Product([*own, Bernoulli(len(SCALES), p=rng.random())])


def scaled_together(rng):
    """Dependent columns on several scales, and interchangeable ones on one."""
    root = rng.normal(size=(5, 6))
    covariance = 0.2 * (root @ root.T) + 0.2 * np.eye(5)
    several = MultivariateGaussian(range(5), rng.normal(size=5), covariance)
    alike = ExchangeableGaussian([5, 6, 7], rng.normal(), 0.8, rng.uniform(-0.2, 0.8))
    scales = [Scale("log", low=-0.5, unit=2.0), *SCALES[2:6]]
    return Product([Transformed(several, scales), Transformed(alike, [Scale("log", unit=3.0, step=0.5)] * 3)])


def often_zero(rng):
    """Columns that are zero in some rows: on one or both sides of others, and beside two dependent ones."""
    root = rng.normal(size=(2, 3))
    pair = Transformed(MultivariateGaussian([1, 2], rng.normal(size=2), root @ root.T + 0.1 * np.eye(2)), SCALES[1:3])
    zeros = Product([Atom(1, 0.0, 0.25), Transformed(Gaussian(2, 0.1, 0.5), SCALES[2:3])])
    amount = Sum([0.6, 0.4], [Atom(0, 0.0, 0.1), Transformed(Gaussian(0, rng.normal(), 0.8), [Scale("log")])])
    around = Sum([0.2, 0.3, 0.5], [Atom(3, 0.0, 1e-3), Atom(3, 2.0, 1e-3), Gaussian(3, rng.normal(), 2.0)])
    return Product([amount, Sum([0.3, 0.7], [zeros, pair]), around])


def counted_bits(rng):
    bits = BetaBinomial(range(6), rng.random(), rng.random())
    return Product([bits, exchangeable(rng, range(6, 12), Blocks([[0, 2, 4], [1, 3, 5]]))])


def tree(rng):
    """A forest of two trees in which each child depends on its parent."""
    parents = [-1, 0, 0, 1, 1, -1, 5]
    p = rng.random((7, 2))
    p[[0, 5], 1] = p[[0, 5], 0]
    return ChowLiu(range(7), parents, p)


def rare_ones(rng):
    """Bits of which the probability of most rows is far below the smallest number."""
    bits = [Bernoulli(v, p=1e-30 * rng.random()) for v in range(30)]
    return Product([*bits, BetaBinomial(range(30, 40), 1e-12 * rng.random(), 0.0)])


MODELS = {
    "bits": lambda: random_circuit(np.random.default_rng(1), [2] * 9, 4, 1, 2),
    "bits, deeper": lambda: random_circuit(np.random.default_rng(2), [2] * 10, 6, 0, 3),
    "categories": lambda: random_circuit(np.random.default_rng(3), [3, 4, 2, 3, 2, 4], 4, 2, 2),
    "mixed": lambda: random_circuit(np.random.default_rng(4), [2, 2, 3, 2, 4, 2, 2], 5, 0, 2),
    "shared parts": lambda: random_circuit(np.random.default_rng(5), [2, 3] * 3, 6, 1, 4),
    "reals": lambda: two_contexts(real_leaves),
    "scales": lambda: two_contexts(scaled_leaves),
    "dependent scales": lambda: two_contexts(scaled_together),
    "often zero": lambda: two_contexts(often_zero),
    "counts": lambda: two_contexts(counted_bits),
    "value counts": lambda: two_contexts(lambda rng: exchangeable(rng, range(5), ValueCounts(3))),
    "totals": lambda: two_contexts(lambda rng: exchangeable(rng, range(5), Total(4))),
    "trees": lambda: two_contexts(tree),
    "leaves of others": lambda: two_contexts(
        lambda rng: Product(
            [families["parity"]([0, 1, 2, 3], rng.random()), families["decay"](4, rng.random() + 0.2, 4)]
        )
    ),
    "underflow": lambda: two_contexts(rare_ones),
}


def evidence_rows(circuit):
    """Rows with random cells missing, half of them of any probability, zero included; real ones are drawn."""
    rng = np.random.default_rng(11)
    if not all(domain is None or domain.cardinality for domain in circuit.domains):
        rows = circuit.sample(CASES, random_state=3)
    elif circuit.n_variables < 20:
        return np.concatenate([random_rows(rng, circuit, CASES // 2), any_rows(rng, circuit, CASES // 2)])
    else:
        rows = rng.integers(0, 2, (CASES, circuit.n_variables)).astype(float)
    rows[rng.random(rows.shape) < rng.choice([0.05, 0.5, 0.9, 1.0], size=(CASES, 1))] = np.nan
    if any(isinstance(leaf, Transformed) for leaf in circuit.graph.leaves):
        far = [v for v in circuit.scope if not circuit.domains[v].cardinality and rng.random() < 0.3]
        rows[0, far] = -7.0  # out of the range of most scales
        rows[1, 0] = -0.5  # the end of one
    return rows


def pairs(row, circuit):
    return [[int(v), float(row[v])] for v in circuit.scope if not np.isnan(row[v])]


def test_the_models_have_every_kind_of_leaf_that_the_page_knows():
    kinds = {leaf.web_form().kind for make in MODELS.values() for leaf in make().graph.leaves}
    assert kinds == {"table", *re.findall(r'case "(\w+)":', inlined("engine/worker.js"))}


@pytest.mark.parametrize("name", MODELS)
def test_all_that_the_page_says_is_what_python_says(name, open_page, tmp_path):
    circuit = MODELS[name]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    bits = [v for v in circuit.scope if circuit.domains[v].cardinality == 2][:6]
    rows = evidence_rows(circuit)
    known = [pairs(row, circuit) for row in rows]
    answers = shown.ask_all([("infer", facts, [len(circuit.graph) - 1]) for facts in known])
    completed = shown.ask_all([("complete", facts) for facts in known])
    counted = shown.ask_all([("counts", facts, [bits]) for facts in known]) if bits else known
    for row, facts, found, best, counts in zip(rows, known, answers, completed, counted, strict=True):
        expected = float(circuit.log_likelihood(row[None])[0])
        assert found["log"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
        check_facts(found, facts, row, circuit)
        if np.isneginf(expected):
            assert found["p"] is None
            assert best is None
            continue
        check_beliefs(found, row, circuit)
        assert found["reach"] == [pytest.approx(1.0)]
        if bits:
            expected_counts = circuit.count_distribution(bits, given=dict(facts))
            np.testing.assert_allclose(counts[0], expected_counts, atol=TOLERANCE)
        of_best = float(circuit.log_likelihood(np.array([best["row"]]))[0])
        assert best["log"] == pytest.approx(of_best, rel=TOLERANCE, abs=TOLERANCE)
        assert best["log"] == pytest.approx(float(circuit.mpe(row[None]).log_prob[0]), rel=TOLERANCE, abs=TOLERANCE)


def check_beliefs(found, row, circuit):
    table = circuit.marginals(row[None])[0]
    discrete = [v for v in circuit.scope if circuit.domains[v].cardinality]
    expected = np.concatenate([table[v, : circuit.domains[v].cardinality] for v in discrete] or [[]])
    np.testing.assert_allclose(found["p"], expected, atol=TOLERANCE, rtol=0)
    means = circuit.means(row[None])[0]
    open_ones = [v for v in circuit.scope if not circuit.domains[v].cardinality and np.isnan(row[v])]
    assert [curve["column"] for curve in found["curves"]] == open_ones
    for curve in found["curves"]:
        assert curve["mean"] == pytest.approx(means[curve["column"]], rel=TOLERANCE, abs=TOLERANCE)
        low, median, high = (curve[key] for key in ("low", "median", "high"))
        assert low <= median <= high if curve["points"] else low < median < high
    if open_ones:
        rest = circuit.condition(row).moments() if not np.isnan(row).all() else circuit.moments()
        deviations = np.sqrt(rest.variance)
        for curve in found["curves"]:
            assert curve["std"] == pytest.approx(deviations[curve["column"]], rel=1e-8)


def check_facts(found, facts, row, circuit):
    """What the facts without each of them are worth: P(the others)."""
    some = facts[:6]
    for fact, (variable, _) in zip(found["facts"], some, strict=False):
        others = row.copy()
        others[variable] = np.nan
        expected = float(circuit.log_likelihood(others[None])[0])
        assert fact["log"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
        if circuit.domains[variable].cardinality and np.isfinite(expected):
            assert fact["p"] == pytest.approx(np.exp(found["log"] - expected), abs=TOLERANCE)


def test_samples_are_as_likely_as_they_should_be(open_page, tmp_path):
    circuit = MODELS["mixed"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    row = random_rows(np.random.default_rng(0), circuit, 1)[0]
    row[list(circuit.scope)[2:]] = np.nan
    rows = np.array(shown.ask("sample", pairs(row, circuit), 4000, 5))
    table = circuit.marginals(row[None])[0]
    for v in circuit.scope:
        for value in range(circuit.domains[v].cardinality):
            p = table[v, value]
            assert abs((rows[:, v] == value).mean() - p) <= 5 * np.sqrt(p * (1 - p) / 4000) + 1e-12


def test_real_samples_have_the_right_moments(open_page, tmp_path):
    circuit = MODELS["reals"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    facts = {0: 0.5, 3: 1.0}
    rows = np.array(shown.ask("sample", [[v, x] for v, x in facts.items()], 4000, 5))
    expected = circuit.condition(facts).moments()
    for v in (1, 2, 4, 5, 7):
        assert abs(rows[:, v].mean() - expected.mean[v]) <= 5 * np.sqrt(expected.variance[v] / 4000)
    rest = [1, 2, 4, 5, 6, 7]
    np.testing.assert_allclose(np.corrcoef(rows[:, rest].T), expected.correlation[np.ix_(rest, rest)], atol=0.08)


@pytest.mark.parametrize("name", ["scales", "dependent scales", "often zero"])
def test_quantiles_and_samples_are_those_of_python(name, open_page, tmp_path):
    """Of 20 000 rows that Python draws, 5, 50 and 95 of 100 lie below; the page's have the same steps and tails."""
    circuit = MODELS[name]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    drawn = circuit.sample(20_000, random_state=1)
    reals = [v for v in circuit.scope if not circuit.domains[v].cardinality]
    leaves = [leaf for leaf in circuit.graph.leaves if isinstance(leaf, Transformed)]
    steps = {v: scale.step for leaf in leaves for v, scale in zip(leaf.variables, leaf.scales, strict=True)}
    own = np.array(shown.ask("sample", [], 4000, 7))
    for v, curve in zip(reals, shown.ask("infer", [], [])["curves"], strict=True):
        slack = steps.get(v, 0.0)
        for key, fraction in (("low", 0.05), ("median", 0.5), ("high", 0.95)):
            assert (drawn[:, v] <= curve[key] + slack).mean() >= fraction - 0.012
            assert (drawn[:, v] < curve[key] - slack).mean() <= fraction + 0.012
        for value in (drawn[:, v].min(), *drawn[:4, v]):
            (fact,) = shown.ask("infer", [[v, value]], [])["facts"]
            tails = (drawn[:, v] <= value).mean(), (drawn[:, v] >= value).mean()
            assert fact["p"] == pytest.approx(min(1.0, 2 * min(tails)), abs=0.03)
        for fraction in (0.1, 0.3, 0.5, 0.7, 0.9):
            cut = np.quantile(drawn[:, v], fraction)
            for compare in (np.less, np.less_equal):
                assert compare(own[:, v], cut + 1e-9).mean() == pytest.approx(
                    compare(drawn[:, v], cut + 1e-9).mean(), abs=0.045
                )
        if slack:
            on_steps = [(rows[:, v] == (rows[:, v] / slack).round() * slack).mean() for rows in (own, drawn)]
            assert on_steps[0] == pytest.approx(on_steps[1], abs=0.02)
            assert on_steps[0] > 0.5


def test_a_value_with_a_probability_is_told_apart(open_page, tmp_path):
    amount = Transformed(Gaussian(0, 0.5, 0.4), [Scale("log")])
    circuit = Circuit(Sum([0.6, 0.4], [Atom(0, 0.0, 0.1), amount]), names=["amount"])
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    (curve,) = shown.ask("infer", [], [])["curves"]
    assert curve["points"] == [[0, pytest.approx(0.6)]]
    assert [curve["low"], curve["median"]] == [0, 0]
    assert curve["high"] == pytest.approx(np.exp(0.5 + 0.4 * 1.1503493803760079), rel=1e-7)  # 0.35 of 0.4 lie below
    low, high = shown.page.evaluate("explorer.state.spans.get(0)")
    assert low == 0
    area = np.sum(curve["density"]) * (high - low) / (len(curve["density"]) - 1)
    assert area == pytest.approx(0.4, abs=0.005)
    assert shown.row("amount").locator("rect.point").count() == 1
    assert "60 %" in shown.row("amount").inner_text()


def test_what_would_tell_most_is_the_mutual_information(open_page, tmp_path):
    circuit = MODELS["categories"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    oracle = circuit.oracle
    scope = list(circuit.scope)
    target = scope[0]
    told = shown.ask("tell", [], target)
    for v in scope[1:]:
        sizes = [circuit.domains[u].cardinality for u in (target, v)]
        joint = np.zeros(sizes)
        np.add.at(joint, tuple(oracle.assignments[:, [target, v]].astype(int).T), oracle.probabilities)
        outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        seen = joint > 0
        assert told["gain"][v] == pytest.approx((joint[seen] * np.log2(joint[seen] / outer[seen])).sum(), abs=1e-9)


@pytest.mark.parametrize("name", ["bits, deeper", "categories", "reals", "dependent scales", "often zero", "trees"])
def test_what_marks_a_context_is_what_python_says(name, open_page, tmp_path):
    circuit = MODELS[name]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    found = Composition(circuit.graph)
    for _, context in found.contexts(circuit.root):
        nodes = [circuit.graph.id_of(own) for own in (context, circuit.root)]
        marks = shown.ask("marks", *nodes)
        expected = found.marks(context, circuit.root)[:8]
        assert [tuple(own[:2]) for own in marks] == [(mark.variable, mark.value) for mark in expected]
        for own, mark in zip(marks, expected, strict=True):
            assert own[2:] == pytest.approx([mark.here, mark.overall, mark.information], rel=1e-7, abs=TOLERANCE)


def told_of_a_pair(circuit, t, x, facts):
    """I(t; x | facts) in bits, of two columns of any kind, by sums over values and over fine grids of numbers."""
    rest = circuit.condition(facts) if facts else circuit
    scales = {v: s for leaf in circuit.graph.leaves if isinstance(leaf, Transformed)
              for v, s in zip(leaf.variables, leaf.scales, strict=True)}  # fmt: skip
    sides = []
    for v in (t, x):
        if circuit.domains[v].cardinality:
            sides.append((np.arange(circuit.domains[v].cardinality), 1.0))
        else:
            scale, y = scales.get(v, Scale()), np.linspace(-11.0, 11.0, 221)
            grid = scale.inverse(y)
            sides.append((grid, np.exp(-scale.log_derivative(grid)) * (y[1] - y[0])))
    (ts, dt), (xs, dx) = sides
    row = np.full((len(ts), len(xs), circuit.n_variables), np.nan)
    row[..., t], row[..., x] = ts[:, None], xs
    joint = np.exp(rest.log_likelihood(row.reshape(-1, circuit.n_variables))).reshape(len(ts), len(xs))
    joint *= np.reshape(dt, (-1, 1)) * dx
    assert joint.sum() == pytest.approx(1, abs=1e-6)
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / outer[seen])).sum())


def two_peaks(rng):
    """Numbers with several peaks, which depend on each other and on a category and a bit."""
    root = rng.normal(size=(2, 3))
    pair = MultivariateGaussian([0, 1], rng.normal(size=2), 0.3 * (root @ root.T) + 0.1 * np.eye(2))
    number = Sum([0.5, 0.5], [Gaussian(2, rng.normal(), 0.2), Gaussian(2, 4 + rng.normal(), 0.7)])
    return Product([pair, number, Bernoulli(3, p=rng.random()), Categorical(4, rng.dirichlet(np.ones(3)))])


def heavy(rng):
    """Numbers on curved scales."""
    root = rng.normal(size=(2, 3))
    normal = MultivariateGaussian([0, 1], rng.normal(size=2), 0.3 * (root @ root.T) + 0.1 * np.eye(2))
    pair = Transformed(normal, [Scale("asinh", low=0.2, unit=2.0), Scale("logit", low=-2.0, unit=5.0)])
    return Product([pair, Gaussian(2, rng.normal(), 0.7), Bernoulli(3, p=rng.random())])


@pytest.mark.parametrize("make", [two_peaks, heavy])
@pytest.mark.parametrize("facts", [{}, {2: 0.4}, {3: 1}])
def test_what_tells_most_of_numbers_is_the_mutual_information(make, facts, open_page, tmp_path):
    circuit = two_contexts(make, seed=4)
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    unknown = [v for v in circuit.scope if v not in facts]
    for target in unknown:
        told = shown.ask("tell", [list(fact) for fact in facts.items()], target)
        assert (told["entropy"] is None) == (circuit.domains[target].cardinality is None)
        for v in unknown:
            if v != target:
                expected = told_of_a_pair(circuit, target, v, facts)
                assert told["gain"][v] == pytest.approx(expected, abs=5e-4)
                assert abs(told["gain"][v] - expected) <= told["error"][v] + 1e-5
        assert all(told["gain"][v] == 0 for v in (target, *facts))


def test_a_number_that_is_often_zero_tells_by_being_zero(open_page, tmp_path):
    def context(p, chance):
        spent = Sum([p, 1 - p], [Atom(0, 0.0, 0.01), Transformed(Gaussian(0, 1.0, 0.5), [Scale("log")])])
        return Product([spent, Bernoulli(1, p=chance)])

    circuit = Circuit(Sum([0.5, 0.5], [context(0.9, 0.95), context(0.2, 0.1)]))
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    joint = np.array([[0.5 * (0.9 * 0.05 + 0.2 * 0.9), 0.5 * (0.9 * 0.95 + 0.2 * 0.1)],
                      [0.5 * (0.1 * 0.05 + 0.8 * 0.9), 0.5 * (0.1 * 0.95 + 0.8 * 0.1)]])  # fmt: skip
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    expected = (joint * np.log2(joint / outer)).sum()
    assert shown.ask("tell", [], 0)["gain"][1] == pytest.approx(expected, abs=1e-6)
    assert shown.ask("tell", [], 1)["gain"][0] == pytest.approx(expected, abs=1e-6)


def test_a_later_question_of_what_tells_most_ends_the_one_before(open_page, tmp_path):
    circuit = two_contexts(two_peaks)
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    answers = shown.ask_all([("tell", [], 0), ("infer", [], []), ("tell", [], 1)])
    assert answers[0] is None or answers[0]["gain"][1] > 0  # it may have been done already
    assert answers[2]["gain"][0] > 0


def test_why_is_what_the_target_would_be_without_each_fact(open_page, tmp_path):
    circuit = MODELS["bits"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    row = circuit.sample(1, random_state=0)[0]
    target, *known = list(circuit.scope)[:4]
    why = shown.ask("why", [[v, row[v]] for v in known], target)
    for v, found in zip(known, why["without"], strict=True):
        others = {u: row[u] for u in known if u != v}
        np.testing.assert_allclose(found["then"], circuit.marginals(others)[0, target, :2], atol=TOLERANCE)

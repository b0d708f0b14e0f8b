"""Completed rows: all back ends walk alike, draws belong to their rows, and frequencies are exact."""

import numpy as np
import pytest

from support.cases import any_case
from support.chi_square import assert_frequencies_fit
from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import EvidenceError, ParameterError
from xspn.core.random import NodeRandom, RowRandom, row_keys
from xspn.leaves import Atom, MultivariateGaussian, Transformed
from xspn.leaves.scales import Scale
from xspn.statistics import ValueCounts

NAN = np.nan
FAST = ["numba", "torch"]


def partly_known(rng, rows):
    return np.where(rng.random(rows.shape) < 0.5, NAN, rows)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("seed", range(120))
def test_rows_are_completed_as_the_numpy_passes_do(seed, backend):
    circuit, possible, _, _ = any_case(seed)
    numpy, fast = circuit.to("numpy"), circuit.to(backend, threads=1)
    possible[:2] = NAN  # of which nothing is known
    np.testing.assert_array_equal(fast.sample(30, random_state=seed), numpy.sample(30, random_state=seed))
    for n in (None, 3):
        drawn, expected = (own.sample(n, given=possible, random_state=seed) for own in (fast, numpy))
        np.testing.assert_array_equal(drawn, expected)
    best, expected = fast.mpe(possible), numpy.mpe(possible)
    assert "fallback" not in vars(fast.backend)
    np.testing.assert_array_equal(best.values, expected.values)
    np.testing.assert_allclose(best.log_prob, numpy.log_likelihood(best.values), rtol=0, atol=1e-10)
    scope = list(circuit.scope)
    assert ((best.values == possible) | np.isnan(possible))[:, scope].all()
    assert not np.isnan(best.values[:, scope]).any()
    assert best.exact == expected.exact
    if best.exact:
        np.testing.assert_allclose(best.log_prob, expected.log_prob, rtol=0, atol=1e-10)


def ensemble(rng, shared=False):
    """Three members over ten variables of all kinds; they may have a leaf in common."""
    common = Bernoulli(5, p=0.3)

    def context():
        return Product(
            [
                Exchangeable.from_class_probabilities([0, 1, 2], rng.dirichlet(np.ones(4))),
                ChowLiu([4, 3], [1, -1], [[rng.random(), rng.random()], [0.4, 0.4]]),
                Sum([0.5, 0.5], [common if shared else Bernoulli(5, p=rng.random()), Bernoulli(5, p=rng.random())]),
                Categorical(6, rng.dirichlet(np.ones(3))),
                Sum([0.3, 0.7], [Gaussian(7, mean=rng.normal(), std=0.5), Atom(7, value=rng.normal(), width=1e-3)]),
                MultivariateGaussian([8, 9], rng.normal(size=2), np.eye(2) + 0.3),
                Transformed(Gaussian(10, mean=0.2, std=0.3), [Scale("log")]),
            ]
        )

    return Circuit(Sum([0.2, 0.3, 0.5], [Sum([0.5, 0.5], [context(), context()]) for _ in range(3)]), n_variables=12)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("shared", [False, True])
def test_ensembles_of_all_families(shared, backend, monkeypatch):
    monkeypatch.setattr("xspn.engine.tape.MOST_TWICE", 1.0)
    rng = np.random.default_rng(0)
    circuit = ensemble(rng, shared)
    numpy, fast = circuit.to("numpy"), circuit.to(backend, threads=1)
    if backend == "numba":
        assert len(fast.backend._walks._run.tape.layout.segments) == 3
    rows = numpy.sample(500, random_state=1)
    np.testing.assert_array_equal(fast.sample(500, random_state=1), rows)
    known = partly_known(rng, rows)
    np.testing.assert_allclose(
        fast.sample(given=known, random_state=2), numpy.sample(given=known, random_state=2), rtol=1e-12
    )
    np.testing.assert_allclose(fast.marginals(known), numpy.marginals(known), rtol=0, atol=1e-10)
    best, expected = fast.mpe(known), numpy.mpe(known)
    np.testing.assert_allclose(best.values, expected.values, rtol=1e-12)
    np.testing.assert_allclose(best.log_prob, expected.log_prob, rtol=1e-12)


def test_completions_do_not_depend_on_threads_or_chunks(monkeypatch):
    monkeypatch.setattr("xspn.engine.tape_runner.WORTH_A_THREAD", 0)
    rng = np.random.default_rng(3)
    circuit = ensemble(rng)
    known = partly_known(rng, circuit.sample(700, random_state=0))
    one = circuit.to("numba", threads=1)
    drawn, best, free = one.sample(given=known, random_state=1), one.mpe(known), one.sample(700, random_state=1)
    monkeypatch.setattr("xspn.engine.tape_walks.LEAST_STEP", 64)
    monkeypatch.setattr("xspn.engine.tape_walks.LARGEST_STEP", 64)
    for threads in (1, 2, 3):
        other = circuit.to("numba", threads=threads)
        np.testing.assert_array_equal(other.sample(given=known, random_state=1), drawn)
        np.testing.assert_array_equal(other.mpe(known).values, best.values)
        np.testing.assert_array_equal(other.sample(700, random_state=1), free)


def test_completions_do_not_depend_on_blocks_of_tensors(monkeypatch):
    rng = np.random.default_rng(3)
    circuit = ensemble(rng)
    known = partly_known(rng, circuit.sample(700, random_state=0))
    known[:300] = NAN
    tensors = circuit.to("torch")
    drawn, best, free = (
        tensors.sample(2, given=known, random_state=1),
        tensors.mpe(known),
        tensors.sample(700, random_state=1),
    )
    monkeypatch.setitem(pytest.importorskip("xspn.engine.torch_backend").CELLS, "cpu", 1)  # 64 rows at a time
    np.testing.assert_array_equal(tensors.sample(2, given=known, random_state=1), drawn)
    np.testing.assert_array_equal(tensors.mpe(known).values, best.values)
    np.testing.assert_array_equal(tensors.sample(700, random_state=1), free)


@pytest.mark.parametrize("seed", range(25))
def test_frequencies_of_kernels_fit_the_enumeration(seed):
    circuit, possible, _, _ = any_case(2 * seed)
    numba, oracle = circuit.to("numba", threads=1), circuit.oracle
    place = {tuple(row): i for i, row in enumerate(np.nan_to_num(oracle.assignments, nan=-1.0))}
    for known, chances in (
        (None, oracle.probabilities),
        (possible[:1], oracle.probabilities * oracle.agrees(possible[0])),
    ):
        drawn = numba.sample(3000, given=known, random_state=seed)
        drawn[:, circuit.program.absent] = oracle.assignments[0, circuit.program.absent]
        counts = np.zeros(len(place))
        for row in np.nan_to_num(drawn, nan=-1.0):
            counts[place[tuple(row)]] += 1
        assert_frequencies_fit(counts, chances / chances.sum())


@pytest.mark.parametrize("backend", ["numpy", *FAST])
@pytest.mark.parametrize("n", [40, 600])  # the larger one is drawn through the contract
def test_ones_of_large_leaves_are_anywhere(backend, n):
    chances = np.zeros(n + 1)
    chances[[0, n // 3, n - 2]] = [0.2, 0.5, 0.3]
    circuit = Circuit(Exchangeable.from_class_probabilities(range(n), chances)).to(backend)
    drawn = circuit.sample(4000, random_state=0)
    totals = drawn.sum(axis=1).astype(int)
    assert_frequencies_fit(np.bincount(totals, minlength=n + 1), chances)
    expected = chances @ np.arange(n + 1) / n
    assert abs(drawn.mean(axis=0) - expected).max() < 5 * np.sqrt(expected * (1 - expected) / 4000)
    third = drawn[totals == n // 3]
    together = (third[:, ::2] * third[:, 1::2]).mean()  # of a pair of variables: without replacement
    exact = (n // 3) * (n // 3 - 1) / (n * (n - 1))
    assert abs(together - exact) < 0.01
    known = np.full((1, n), NAN)
    known[0, :5] = 1
    given = circuit.sample(200, given=known, random_state=1)
    assert set(given.sum(axis=1).astype(int)) <= {n // 3, n - 2}
    assert circuit.mpe(known).values.sum() in (n // 3, n - 2)


@pytest.mark.parametrize("backend", FAST)
def test_leaves_of_large_tables_complete_rows_by_themselves(backend, monkeypatch):
    rng = np.random.default_rng(0)
    parts = [Exchangeable.from_class_probabilities(range(6), rng.dirichlet(np.ones(7))) for _ in range(2)]
    circuit = Circuit(Sum([0.4, 0.6], parts))
    numpy, known = circuit.to("numpy"), partly_known(rng, circuit.sample(50, random_state=0))
    drawn, best = numpy.sample(given=known, random_state=1), numpy.mpe(known)
    monkeypatch.setattr("xspn.leaves.count_block.LARGE", 1)
    fast = circuit.to(backend, threads=1)
    np.testing.assert_array_equal(fast.sample(given=known, random_state=1), drawn)
    np.testing.assert_array_equal(fast.mpe(known).values, best.values)


@pytest.mark.parametrize("backend", FAST)
def test_rows_beyond_the_range_of_floating_point_numbers(backend):
    n = 1500
    parts = [Product([Bernoulli(i, p=p) for i in range(n)]) for p in (0.1, 0.45)]
    circuit = Circuit(Sum([0.5, 0.5], parts))
    known = np.full((3, n), NAN)
    known[0, :900] = np.arange(900) % 2  # of probability below 1e-270
    known[1, :] = np.arange(n) % 3 == 0
    numpy, fast = circuit.to("numpy"), circuit.to(backend, threads=1)
    np.testing.assert_array_equal(
        fast.sample(2, given=known, random_state=0), numpy.sample(2, given=known, random_state=0)
    )
    np.testing.assert_array_equal(fast.mpe(known).values, numpy.mpe(known).values)
    np.testing.assert_allclose(fast.mpe(known).log_prob, numpy.mpe(known).log_prob, rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", *FAST])
def test_of_equal_children_and_values_the_first_are_taken(backend):
    leaves = [
        Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.5)]),
        Exchangeable.from_class_probabilities([2, 3, 4], [0.0, 0.5, 0.5, 0.0]),
        ChowLiu([6, 5], [1, -1], [[0.5, 0.5], [0.5, 0.5]]),
    ]
    second = [Sum([0.5, 0.5], [Bernoulli(7, p=p), Bernoulli(7, p=1 - p)]) for p in (0.25, 0.75)]
    circuit = Circuit(Sum([0.5, 0.5], [Product([*leaves, own]) for own in second])).to(backend)
    np.testing.assert_array_equal(circuit.mpe(np.full((2, 8), NAN)).values, [[0, 0, 1, 0, 0, 0, 0, 0]] * 2)


@pytest.mark.parametrize("backend", ["numpy", "numba", "torch"])
def test_impossible_evidence_is_refused_by_its_row(backend):
    circuit = Circuit(Product([Bernoulli(0, p=1.0), Bernoulli(1, p=0.5)])).to(backend)
    rows = [[1, NAN], [NAN, NAN], [0, NAN]]
    for ask in (circuit.mpe, lambda rows: circuit.sample(given=rows, random_state=0)):
        with pytest.raises(EvidenceError, match="row 2 has probability zero"):
            ask(rows)


IMPOSSIBLE_ZEROS = [
    ChowLiu([0, 1], [-1, 0], [[1.0, 1.0], [0.5, 0.5]]),
    Exchangeable.from_class_probabilities([0, 1], [0.0, 0.0, 1.0]),
    Exchangeable.from_class_probabilities([0, 1], [1.0, 0.0, 0.0], ValueCounts(2)),
    Product([Categorical(0, [0.0, 0.5, 0.5]), Bernoulli(1, p=0.5)]),
]


@pytest.mark.parametrize("backend", ["numpy", *FAST])
@pytest.mark.parametrize("leaf", IMPOSSIBLE_ZEROS)
def test_rows_that_a_leaf_excludes_are_refused(leaf, backend):
    circuit = Circuit(Product([leaf, Bernoulli(2, p=0.5)])).to(backend)
    for ask in (circuit.mpe, lambda rows: circuit.sample(given=rows, random_state=0)):
        with pytest.raises(EvidenceError, match="row 1 has probability zero"):
            ask([[1, NAN, NAN], [0, NAN, NAN]])


@pytest.mark.parametrize("backend", FAST)
def test_rows_that_underflow_do_not_come_to_leaves_that_exclude_them(backend):
    chances = [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]
    leaves = [Exchangeable.from_class_probabilities([0, 1], own, ValueCounts(2)) for own in chances]
    known = np.ones((1, 500))
    known[0, :2] = [0, NAN]  # which the second leaf excludes
    circuit = Circuit(
        Sum([0.5, 0.5], [Product([own, *(Bernoulli(i, p=0.1) for i in range(2, 500))]) for own in leaves])
    )
    drawn, expected = (circuit.to(name).sample(20, given=known, random_state=0) for name in (backend, "numpy"))
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("backend", FAST)
def test_the_rows_to_be_completed_are_checked(backend):
    circuit = Circuit(Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.5)])).to(backend, threads=1)
    for ask in (circuit.mpe, lambda rows: circuit.sample(given=rows, random_state=0)):
        with pytest.raises(ValueError, match="found 2"):
            ask([[0, NAN], [2, NAN]])
    assert circuit.mpe(np.empty((0, 2))).values.shape == (0, 2)
    assert circuit.sample(0, random_state=0).shape == (0, 2)


def test_a_generator_goes_on():
    circuit, rng = Circuit(Bernoulli(0, p=0.5)), np.random.default_rng(0)
    assert (circuit.sample(50, random_state=rng) != circuit.sample(50, random_state=rng)).any()


def test_random_numbers_belong_to_rows_and_nodes():
    keys = row_keys(np.random.default_rng(0), 4000)
    u = RowRandom(keys).at(3).random((4000, 4))
    np.testing.assert_array_equal(RowRandom(keys[7:9]).beyond(1).at(2).random((2, 4)), u[7:9])
    one_by_one = RowRandom(keys).at(3)
    np.testing.assert_array_equal(np.column_stack([one_by_one.random(4000) for _ in range(4)]), u)
    assert_frequencies_fit(np.bincount((u.ravel() * 20).astype(int), minlength=20), np.full(20, 0.05))
    neighbors = [u[:, 1], RowRandom(keys).at(4).random(4000), np.roll(u[:, 0], 1)]
    for other in neighbors:
        pairs = (u[:, 0] * 6).astype(int) * 6 + (other * 6).astype(int)
        assert_frequencies_fit(np.bincount(pairs, minlength=36), np.full(36, 1 / 36))
    normal = NodeRandom(keys).normal(2.0, 3.0)
    assert abs(normal.mean() - 2) < 0.2
    assert abs(normal.std() - 3) < 0.2
    assert_frequencies_fit(np.bincount(NodeRandom(keys).integers(2, 7) - 2, minlength=5), np.full(5, 0.2))
    with pytest.raises(ParameterError, match="4000 rows"):
        NodeRandom(keys).random(3)


def test_tensors_have_the_same_random_numbers():
    torch, walks = pytest.importorskip("torch"), pytest.importorskip("xspn.engine.torch_walks")
    keys = row_keys(np.random.default_rng(0), 500)
    slots = np.arange(500) * 40_000_000_000  # far beyond what a circuit has: numbers wrap around
    own = walks.Walkers(torch.empty(0), None, torch.empty(0), walks.row_keys_on(torch.device("cpu"), keys))
    at = torch.as_tensor(slots), torch.arange(500)
    expected = RowRandom(keys).at(slots, np.arange(500)).random((500, 3))
    for place in range(3):
        np.testing.assert_array_equal(own.uniform(*at, place).numpy(), expected[:, place])
        np.testing.assert_array_equal(own.uniform(*at, torch.full((500,), place)).numpy(), expected[:, place])


@pytest.mark.parametrize("backend", FAST)
def test_single_precision_completes_in_double(backend):
    circuit, possible, _, _ = any_case(4)
    single, double = (circuit.to(backend, dtype=dtype).backend for dtype in ("float32", "float64"))
    keys = row_keys(np.random.default_rng(0), len(possible)).reshape(-1, 1)
    np.testing.assert_array_equal(
        single.random_completions(possible, keys)[0], double.random_completions(possible, keys)[0]
    )
    np.testing.assert_array_equal(single.best_completions(possible)[0], double.best_completions(possible)[0])

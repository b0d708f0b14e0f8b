"""Bad input: a named error that says what and where; never a wrong number, never a foreign exception."""

import numpy as np
import pandas as pd
import pytest

from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum, XSPNError
from xspn.core import errors
from xspn.core.errors import (
    DataError,
    DataTypeError,
    EvidenceError,
    ParameterError,
    QueryError,
    RegistryError,
    StructureError,
)
from xspn.data.domain import Domain
from xspn.graph import Scope
from xspn.leaves import leaf_from_params
from xspn.statistics import Blocks, Total, ValueCounts, statistic_from_params

NAN = np.nan


@pytest.fixture
def circuit():
    """ann and bob are exchangeable bits, colour has three values, height is real."""
    parts = [
        Product([Exchangeable.from_class_probabilities([0, 1], counts), Categorical(2, colours), Gaussian(3, mean, 1)])
        for counts, colours, mean in (([0.2, 0.5, 0.3], [0.5, 0.5, 0], 0), ([0.5, 0.5, 0], [0.1, 0.9, 0], 2))
    ]
    return Circuit(Sum([0.5, 0.5], parts), names=["ann", "bob", "colour", "height"])


@pytest.fixture
def bits():
    return Circuit(Product([Bernoulli(0, p=0.3), Bernoulli(1, p=1.0)]))


QUERIES = {
    "log_likelihood": lambda c, X: c.log_likelihood(X),
    "marginals": lambda c, X: c.marginals(X),
    "mpe": lambda c, X: c.mpe(X),
    "exact mpe": lambda c, X: c.mpe(X, exact=True),
    "sample": lambda c, X: c.sample(given=X, random_state=0),
    "conditional, X": lambda c, X: c.conditional_log_likelihood(X, {}),
    "conditional, given": lambda c, X: c.conditional_log_likelihood(np.full((3, c.n_variables), NAN), X),
}


@pytest.fixture(params=list(QUERIES))
def ask(request):
    return QUERIES[request.param]


# -- tables ------------------------------------------------------------------------------------------------------------

GOOD = [1, 0, 1, 0.5]


def table_with(row, column, value):
    table = [list(GOOD) for _ in range(3)]
    table[row][column] = value
    return table


@pytest.mark.parametrize("value", ["one", "1", b"1", 1j, object(), [1], pd.Timestamp("2020-01-01"), {}])
def test_something_else_than_a_number(ask, circuit, value):
    with pytest.raises((DataTypeError, DataError)) as error:
        ask(circuit, table_with(2, 1, value))
    assert isinstance(error.value, XSPNError)
    complex_or_nested = isinstance(value, complex | list)
    assert complex_or_nested or "row 2, column 1 ('bob')" in str(error.value)


def test_text_says_what_and_where(circuit):
    with pytest.raises(DataTypeError, match=r"X: expected numbers, found 'yes' at row 1, column 0 \('ann'\)"):
        circuit.log_likelihood([[1, 0, 0, 0.0], ["yes", 0, 0, 0.0]])
    with pytest.raises(DataTypeError, match=r"found 'red' at row 0, column 2 \('colour'\)"):
        circuit.log_likelihood(pd.DataFrame({"ann": [1], "bob": [0], "colour": ["red"], "height": [0.1]}))
    with pytest.raises(DataTypeError, match="evidence for 'ann': expected numbers, found 'yes'"):
        circuit.marginals({"ann": "yes"})


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (0, 2, "one of 0, 1"),
        (1, -1, "one of 0, 1"),
        (0, 0.5, "one of 0, 1"),
        (2, 3, "one of 0, 1, 2"),
        (2, np.inf, "one of 0, 1, 2"),
        (0, -np.inf, "one of 0, 1"),
        (3, np.inf, "a finite number"),
        (3, -np.inf, "a finite number"),
        (0, 1e300, "one of 0, 1"),
        (0, 2**70, "one of 0, 1"),
    ],
)
def test_values_outside_the_domain(ask, circuit, column, value, expected):
    name = circuit.names[column]
    with pytest.raises(
        DataError, match=rf"expected {expected} or NaN, found .* at row 2, column {column} \('{name}'\)"
    ):
        ask(circuit, np.array(table_with(2, column, value), dtype=float))


def test_the_row_is_counted_over_all_blocks(bits):
    X = np.zeros((50_000, 2))
    X[:, 1] = 1
    X[43_210, 0] = 7
    with pytest.raises(DataError, match="found 7 at row 43210, column 0"):
        bits.log_likelihood(X)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint64, np.float32])
def test_values_outside_the_domain_in_any_dtype(bits, dtype):
    with pytest.raises(DataError, match="found 3 at row 1, column 0"):
        bits.log_likelihood(np.array([[0, 1], [3, 1]], dtype=dtype))


def test_a_clashing_value_is_checked_too(circuit):
    """X contradicts what is given: −inf if the value exists, an error if it does not."""
    assert circuit.conditional_log_likelihood([[0, NAN, NAN, NAN]], {"ann": 1}).tolist() == [-np.inf]
    with pytest.raises(DataError, match=r"X: .*found 7 at row 0, column 0 \('ann'\)"):
        circuit.conditional_log_likelihood([[7, NAN, NAN, NAN]], {"ann": 1})


def test_numbers_beyond_the_floats(bits):
    with pytest.raises(DataError, match="row 0, column 0"):
        bits.log_likelihood([[10**400, 1]])


@pytest.mark.parametrize("columns", [0, 1, 3, 5, 40])
def test_wrong_number_of_columns(ask, circuit, columns):
    with pytest.raises(DataError, match=f"expected 4 columns, found {columns}"):
        ask(circuit, np.zeros((2, columns)))


@pytest.mark.parametrize("shape", [(), (2, 2, 4)])
def test_wrong_number_of_dimensions(ask, circuit, shape):
    with pytest.raises(DataError, match=f"2-D table.*found {len(shape)}-D"):
        ask(circuit, np.zeros(shape))


@pytest.mark.parametrize("what", ["log_likelihood", "conditional, X"])
def test_a_table_of_one_dimension(what, circuit):
    with pytest.raises(DataError, match=r"2-D table.*found 1-D"):
        QUERIES[what](circuit, np.zeros(4))


def test_evidence_may_be_one_row(circuit):
    row = [1, NAN, 1, NAN]
    for evidence in (row, tuple(row), np.array(row), pd.Series(row, index=circuit.names)):
        np.testing.assert_array_equal(circuit.marginals(evidence), circuit.marginals([row]))
        np.testing.assert_array_equal(circuit.mpe(evidence).values, circuit.mpe([row]).values)
        np.testing.assert_array_equal(
            circuit.sample(3, given=evidence, random_state=0), circuit.sample(3, given=[row], random_state=0)
        )
    with pytest.raises(DataError, match="expected 4 columns, found 3"):
        circuit.marginals([1, 0, 1])


def test_one_row_says_what_to_do(circuit):
    with pytest.raises(DataError, match=r"X\.reshape\(1, -1\)"):
        circuit.log_likelihood([1, 0, 1, 0.5])
    with pytest.raises(DataError, match="found 1-D"):
        circuit.log_likelihood(pd.Series([1, 0, 1, 0.5]))


@pytest.mark.parametrize("thing", ["text", b"text", 5, {"ann"}, object(), circuit])
def test_something_else_than_a_table(ask, circuit, thing):
    with pytest.raises((DataError, DataTypeError)):
        ask(circuit, thing)


def test_none_and_mappings_are_no_tables(circuit):
    for thing in (None, {"ann": 1}):
        with pytest.raises((DataError, DataTypeError), match="X"):
            circuit.log_likelihood(thing)


@pytest.mark.parametrize(
    "ragged",
    [
        [[1, 0, 1, 0.5], [1, 0, 1]],
        [[1, 0, 1, 0.5], []],
        [(1, 0, 1, 0.5), (1, 0, 1, 0.5), (1,)],
        [np.zeros(4), np.zeros(3)],
        [[1, 0, 1, 0.5], None],
        [[1, 0, 1, [0.5]], [1, 0, 1, 0.5]],
        [np.zeros((4, 2)), np.zeros((4, 3))],
    ],
)
def test_ragged_rows(ask, circuit, ragged):
    with pytest.raises((DataError, DataTypeError)):
        ask(circuit, ragged)


def test_ragged_rows_say_where(circuit):
    with pytest.raises(DataError, match=r"X: row 2 has 3 values, row 0 has 4"):
        circuit.log_likelihood([[1, 0, 1, 0.5], [1, 0, 1, 0.5], [1, 0, 1]])


def test_complex_numbers(ask, circuit):
    with pytest.raises(DataTypeError, match="complex"):
        ask(circuit, np.zeros((2, 4), dtype=complex))


# -- missing values ----------------------------------------------------------------------------------------------------


def test_every_kind_of_missing_value_is_the_same(circuit):
    expected = circuit.log_likelihood(np.array([[1, NAN, 2, NAN], [NAN, 0, 1, 0.5]]))
    tables = [
        [[1, None, 2, None], [None, 0, 1, 0.5]],
        [[1, pd.NA, 2, NAN], [pd.NA, 0, 1, 0.5]],
        np.array([[1, None, 2, pd.NA], [NAN, 0, 1, 0.5]], dtype=object),
        np.ma.masked_array([[1, 1, 2, 9.0], [0, 0, 1, 0.5]], mask=[[0, 1, 0, 1], [1, 0, 0, 0]]),
        frame := pd.DataFrame([[1, None, 2, None], [None, 0, 1, 0.5]], columns=circuit.names, dtype=float),
        frame.astype({"ann": "Int64", "bob": "boolean", "colour": "Int8", "height": "Float64"}),
        frame.astype(object),
    ]
    for X in tables:
        np.testing.assert_allclose(circuit.log_likelihood(X), expected, rtol=1e-15)


def test_masked_integers(bits):
    X = np.ma.masked_array([[1, 0]], mask=[[False, True]])
    assert bits.log_likelihood(X)[0] == pytest.approx(np.log(0.3))


def test_booleans_are_bits(bits):
    assert np.exp(bits.log_likelihood(np.array([[True, True], [False, True]]))).tolist() == pytest.approx([0.3, 0.7])
    assert np.exp(bits.log_likelihood([[True, None]])).tolist() == pytest.approx([0.3])
    frame = pd.DataFrame({"a": [True], "b": [1]})
    assert np.exp(bits.log_likelihood(frame)).tolist() == pytest.approx([0.3])


# -- names -------------------------------------------------------------------------------------------------------------


def frame(circuit, columns):
    return pd.DataFrame([[1, 0, 1, 0.5]] * 2, columns=columns)


ONE_ROW = [lambda c, X: c.condition(X), lambda c, X: c.count_distribution([0], X)]


@pytest.mark.parametrize("query", [*QUERIES.values(), *ONE_ROW])
def test_columns_of_a_frame(query, circuit):
    for columns, message in [
        (["bob", "ann", "colour", "height"], r"another order \(column 0 is 'bob', expected 'ann'\)"),
        (["ann", "bob", "color", "height"], r"missing \['colour'\], unknown \['color'\]"),
        (["ann", "bob", "ann", "height"], r"missing \['colour'\]"),
    ]:
        with pytest.raises(DataError, match=message):
            query(circuit, frame(circuit, columns).iloc[:1])


def test_a_frame_with_a_column_twice(ask, circuit):
    twice = pd.DataFrame([[1, 0, 1, 0.5, 1]], columns=["ann", "bob", "colour", "height", "ann"])
    with pytest.raises(DataError, match=r"'ann' occurs twice|5"):
        ask(circuit, twice)


def test_a_frame_in_the_right_order(circuit):
    right = frame(circuit, circuit.names)
    np.testing.assert_array_equal(circuit.log_likelihood(right), circuit.log_likelihood(right.to_numpy()))


def test_a_row_of_a_frame_goes_by_name(circuit):
    row = pd.Series({"height": 0.5, "ann": 1, "bob": NAN, "colour": NAN})
    expected = circuit.condition({"ann": 1, "height": 0.5}).marginals()
    np.testing.assert_array_equal(circuit.condition(row).marginals(), expected)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("collour", r"unknown variable 'collour'.*did you mean 'colour'\?"),
        ("zzz", "unknown variable 'zzz': no such name"),
        (4, "variable 4: expected an index from 0 to 3"),
        (-1, "variable -1: expected an index from 0 to 3"),
        (1.0, "expected a column index or a name, found 1.0"),
        (True, "expected a column index or a name, found True"),
        (None, "expected a column index or a name, found None"),
    ],
)
def test_unknown_variables(circuit, variable, message):
    for ask in (
        lambda: circuit.marginals({variable: 1}),
        lambda: circuit.condition({variable: 1}),
        lambda: circuit.sample(1, given={variable: 1}),
        lambda: circuit.mpe({variable: 1}),
        lambda: circuit.marginalize([variable]),
        lambda: circuit.count_distribution([variable]),
    ):
        with pytest.raises(DataError, match=message):
            ask()


def test_names_that_the_circuit_does_not_have(bits):
    with pytest.raises(DataError, match="unknown variable 'ann': the circuit has no variable names"):
        bits.marginals({"ann": 1})


def test_one_variable_given_twice(circuit):
    with pytest.raises(DataError, match="variable 'ann' is given twice"):
        circuit.marginals({"ann": 1, 0: 0})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a", "c"], "the name 'a' occurs twice"),
        (["a", "b"], "variable 3 does not fit into 2 columns"),
    ],
)
def test_bad_names(circuit, names, message):
    with pytest.raises(StructureError, match=message):
        Circuit(circuit.root, names=names)


def test_names_and_number_of_variables_must_agree(circuit):
    with pytest.raises(StructureError, match="6 columns need as many names, found 5"):
        Circuit(circuit.root, names="abcde", n_variables=6)


@pytest.mark.parametrize("n_variables", ["a", 4.5, True, -1, 2])
def test_bad_number_of_variables(circuit, n_variables):
    with pytest.raises(StructureError, match="circuit"):
        Circuit(circuit.root, n_variables=n_variables)


# -- evidence ----------------------------------------------------------------------------------------------------------


def test_evidence_of_probability_zero(circuit, bits):
    impossible = [[NAN, NAN], [0, 0], [1, 0], [1, 1]]
    message = r"the evidence in row 1 \(and 1 more rows\) has probability zero"
    for ask in (bits.marginals, bits.mpe, lambda X: bits.sample(given=X), lambda X: bits.mpe(X, exact=True)):
        with pytest.raises(EvidenceError, match=message):
            ask(impossible)
    with pytest.raises(EvidenceError, match=message):
        bits.conditional_log_likelihood(np.ones((4, 2)), given=impossible)
    for ask in (bits.condition, lambda e: bits.count_distribution([0], e), lambda e: bits.count_distribution([1], e)):
        with pytest.raises(EvidenceError, match="probability zero"):
            ask({1: 0})
    with pytest.raises(EvidenceError, match="probability zero"):
        circuit.condition({"colour": 2})
    assert bits.log_likelihood(impossible)[1] == -np.inf


def test_evidence_that_leaves_nothing(bits):
    with pytest.raises(QueryError, match="fixes every variable"):
        bits.condition([1, 1])


@pytest.mark.parametrize("evidence", [[[1, 1], [1, 1]], [[[1, 1]]], 5, "ab", [[1, 2], [3]], None, [1, 1, 1], [[1]]])
def test_evidence_that_is_not_one_row(bits, evidence):
    with pytest.raises((DataError, DataTypeError)):
        bits.condition(evidence)


def test_evidence_outside_the_domain(circuit):
    for ask in (circuit.condition, circuit.marginals, lambda e: circuit.count_distribution(["bob"], e)):
        with pytest.raises(DataError, match=r"expected one of 0, 1, 2 for variable 'colour', found 3"):
            ask({"colour": 3})
        with pytest.raises(DataError, match=r"a finite number for variable 'height', found inf"):
            ask({"height": np.inf})


def test_evidence_outside_the_scope(circuit):
    small = circuit.marginalize(["ann", "bob"])
    for ask in (small.condition, small.marginals, small.mpe, lambda e: small.sample(given=e)):
        with pytest.raises(DataError, match="variable 'colour' is not in the circuit's scope"):
            ask({"colour": 1})


def test_questions_about_variables_outside_the_scope(circuit):
    small = circuit.marginalize(["ann"])
    with pytest.raises(QueryError, match="'bob' is not in the circuit's scope"):
        small.count_distribution(["ann", "bob"])
    with pytest.raises(QueryError, match="none of the variables to keep"):
        small.marginalize(["bob"])
    with pytest.raises(QueryError, match="none of the variables to keep"):
        small.marginalize([])


def test_evidence_is_not_changed(circuit):
    small = circuit.marginalize(["ann", "bob"])
    row = np.array([1.0, NAN, 1.0, 0.5])
    small.condition(row)
    small.count_distribution(["bob"], given=row)
    np.testing.assert_array_equal(row, [1.0, NAN, 1.0, 0.5])


def test_number_of_rows_given(bits):
    with pytest.raises(DataError, match="given: expected 1 row or 3, one for each row of X, found 2"):
        bits.conditional_log_likelihood(np.ones((3, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("variables", [[], [0, 0], ["ann", 0]])
def test_counting_needs_each_variable_once(circuit, variables):
    with pytest.raises(QueryError, match="each of them once"):
        circuit.count_distribution(variables)


@pytest.mark.parametrize("given", [None, {"colour": 1}, {"colour": 0}])
def test_only_ones_of_bits_can_be_counted(circuit, given):
    with pytest.raises(QueryError, match="'colour' is not binary"):
        circuit.count_distribution(["ann", "colour"], given=given)
    with pytest.raises(QueryError, match="'height' is not binary"):
        circuit.count_distribution(["height"], given=given)


# -- no rows -----------------------------------------------------------------------------------------------------------


def test_no_rows_give_no_answers(circuit):
    for none in (np.empty((0, 4)), pd.DataFrame(columns=circuit.names, dtype=float), np.empty((0, 4), dtype=object)):
        assert circuit.log_likelihood(none).shape == (0,)
        assert circuit.conditional_log_likelihood(none, none).shape == (0,)
        assert circuit.conditional_log_likelihood(none, {"ann": 1}).shape == (0,)
        assert circuit.marginals(none).shape == (0, 4, 3)
        assert circuit.sample(given=none).shape == (0, 4)
        for exact in (False, True):
            found = circuit.mpe(none, exact=exact)
            assert (found.values.shape, found.log_prob.shape) == ((0, 4), (0,))
    assert circuit.sample(0).shape == (0, 4)


@pytest.mark.parametrize("n", [-1, 2.0, "3", True])
def test_number_of_samples(bits, n):
    with pytest.raises(ParameterError, match="sample: expected a number of rows"):
        bits.sample(n)


@pytest.mark.parametrize("seed", ["abc", -1, 1.5, [[1.5]], object()])
def test_random_state(bits, seed):
    with pytest.raises(ParameterError, match="random_state"):
        bits.sample(1, random_state=seed)


# -- structure ---------------------------------------------------------------------------------------------------------


def test_scopes():
    a, b, ab = Bernoulli(0, p=0.5), Bernoulli(1, p=0.5), Exchangeable.uniform([0, 1])
    with pytest.raises(StructureError, match=r"not smooth: child 1 lacks \{0\} and adds \{1\} compared with child 0"):
        Sum([0.5, 0.5], [a, b])
    with pytest.raises(StructureError, match=r"not smooth: child 1 adds \{1\}"):
        Sum([0.5, 0.5], [a, ab])
    with pytest.raises(
        StructureError, match=r"not decomposable: child 2 shares variables \{0, 1\} with an earlier child"
    ):
        Product([a, b, ab])
    with pytest.raises(StructureError, match="child 1 shares variables"):
        Product([a, a])


@pytest.mark.parametrize(
    "build",
    [
        lambda: Sum([], []),
        lambda: Product([]),
        lambda: Exchangeable([], [0.0]),
        lambda: ChowLiu([], [], []),
        lambda: Bernoulli([], p=0.5),
        lambda: Categorical((), [1.0]),
        lambda: Gaussian([], 0, 1),
    ],
)
def test_empty_scopes(build):
    with pytest.raises(XSPNError, match=r"at least one|non-empty"):
        build()


@pytest.mark.parametrize("child", [None, 0.5, "leaf", Bernoulli])
def test_children_that_are_no_nodes(child):
    with pytest.raises(StructureError, match=r"expected nodes as children, found \w+ at position 1"):
        Product([Bernoulli(0, p=0.5), child])
    with pytest.raises(StructureError, match="expected a node as root"):
        Circuit(child)


@pytest.mark.parametrize("variable", [-1, 0.5, "0", None, True, np.nan])
def test_variables_that_are_no_indices(variable):
    for build in (
        lambda: Bernoulli(variable, p=0.5),
        lambda: Categorical(variable, [1.0]),
        lambda: Gaussian(variable, 0, 1),
        lambda: Exchangeable([variable, 3], np.log([0.25] * 3)),
        lambda: ChowLiu([variable, 3], [-1, 0], [[0.5, 0.5]] * 2),
    ):
        with pytest.raises(StructureError, match="scope"):
            build()


def test_variables_twice_in_a_leaf():
    with pytest.raises(StructureError, match="variable 3 occurs twice"):
        Exchangeable([3, 3], np.log([0.25] * 3))


def test_more_than_one_variable_in_a_univariate_leaf():
    with pytest.raises(StructureError, match="Bernoulli: expected one variable, found 2"):
        Bernoulli([0, 1], p=0.5)


def test_clashing_domains():
    root = Sum([0.5, 0.5], [Bernoulli(0, p=0.5), Categorical(0, [0.2, 0.3, 0.5])])
    with pytest.raises(StructureError, match="variable 0: one leaf takes one of 0, 1, another one of 0, 1, 2"):
        Circuit(root)
    with pytest.raises(StructureError, match="variable 0: one leaf takes a finite number"):
        Circuit(Sum([0.5, 0.5], [Gaussian(0, 0, 1), Bernoulli(0, p=0.5)]))


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], "expected a sum of 1, found 1.1; divide by the sum"),
        ([0.5, 0.4], "expected a sum of 1, found 0.9"),
        ([0.5, NAN], "found nan at position 1"),
        ([1.5, -0.5], "found 1.5 at position 0"),
        ([0.5, np.inf], "found inf at position 1"),
        (["a", "b"], "expected numbers"),
        ([0.5, 0.5j], "expected numbers"),
        (np.array([0.5, 0.5j]), "expected numbers"),
        (None, "expected"),
        (0.5, "expected a non-empty list"),
        ([[0.5, 0.5]], r"found shape \(1, 2\)"),
        ([[0.5], 0.5], "expected numbers"),
        ([], "non-empty"),
    ],
)
def test_weights(weights, message):
    children = [Bernoulli(0, p=0.5), Bernoulli(0, p=0.1)]
    with pytest.raises(ParameterError, match=f"Sum weights: .*{message}"):
        Sum(weights, children)
    with pytest.raises(ParameterError, match=f"Categorical probabilities: .*{message}"):
        Categorical(0, weights)


def test_number_of_weights():
    with pytest.raises(StructureError, match="3 weights for 2 children"):
        Sum([0.2, 0.3, 0.5], [Bernoulli(0, p=0.5), Bernoulli(0, p=0.1)])


@pytest.mark.parametrize("p", [-0.1, 1.1, NAN, np.inf, "0.5", None, True, 0.5j, np.complex128(0.5), [0.5]])
def test_probability_of_a_bernoulli(p):
    with pytest.raises(ParameterError, match="Bernoulli: expected a probability p from 0 to 1"):
        Bernoulli(0, p=p)


@pytest.mark.parametrize("bad", [NAN, np.inf, -np.inf, "1", None, 1j, [1.0]])
def test_gaussian(bad):
    with pytest.raises(ParameterError, match="Gaussian: expected a finite mean"):
        Gaussian(0, mean=bad, std=1)
    with pytest.raises(ParameterError, match="Gaussian: expected a standard deviation above 0"):
        Gaussian(0, mean=0, std=bad)


@pytest.mark.parametrize("std", [0, -1])
def test_deviation(std):
    with pytest.raises(ParameterError, match="above 0"):
        Gaussian(0, mean=0, std=std)


@pytest.mark.parametrize(
    ("log_weights", "message"),
    [
        (np.log([0.2, 0.25, 0.4]), "must sum to 1, found 1.1"),
        (np.log([0.2, 0.25]), r"need 3 log-weights, found shape \(2,\)"),
        ([0.2, 0.25, 0.3], "log-weights of at most 0, found 0.2 for t = 0"),
        ([-1, NAN, -1], "found nan for t = 1"),
        ([-np.inf] * 3, "must sum to 1, found 0"),
        ([-0.0, -0.0, -0.0], "must sum to 1, found 4"),
        (["a", "b", "c"], "expected numbers"),
        ([-1, -1j, -1], "expected numbers"),
        ([[-1], [-1, -2], -1], "expected numbers"),
        (None, "expected|need"),
    ],
)
def test_weights_of_an_exchangeable_leaf(log_weights, message):
    with pytest.raises(ParameterError, match=f"Exchangeable.*({message})"):
        Exchangeable([0, 1], log_weights)


def test_weights_that_overflow():
    with pytest.raises(ParameterError, match="must sum to 1, found inf"):
        Exchangeable(range(2000), np.zeros(2001))


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        ([0.2, 0.5, 0.4], "sum of 1, found 1.1"),
        ([0.2, 0.8], "expected 3 class probabilities"),
        ([-0.2, 0.8, 0.4], "found -0.2 at position 0"),
        ([0.2, NAN, 0.4], "found nan at position 1"),
        (["a", "b", "c"], "expected numbers"),
    ],
)
def test_class_probabilities(chances, message):
    with pytest.raises(ParameterError, match=f"Exchangeable.*({message})"):
        Exchangeable.from_class_probabilities([0, 1], chances)


@pytest.mark.parametrize("statistic", ["count", 5, int])
def test_a_statistic_that_is_none(statistic):
    with pytest.raises(ParameterError, match="expected a statistic"):
        Exchangeable([0, 1], np.log([0.25] * 3), statistic)


@pytest.mark.parametrize(
    ("parents", "p", "message"),
    [
        ([-1], [[0.5, 0.5]] * 2, "expected 2 parents"),
        ([-1, 2], [[0.5, 0.5]] * 2, "each a position or −1"),
        ([1, 0], [[0.5, 0.5]] * 2, "form a cycle"),
        ([-1, 1], [[0.5, 0.5]] * 2, "form a cycle"),
        (["a", 0], [[0.5, 0.5]] * 2, "parents"),
        (None, [[0.5, 0.5]] * 2, "parents"),
        ([-1, 0.5], [[0.5, 0.5]] * 2, "parents"),
        ([-1, 0], [[0.5, 0.5]], r"shape \(2, 2\)"),
        ([-1, 0], [[0.5, 0.5], [0.5, 1.5]], "found 1.5 at position 1, 1"),
        ([-1, 0], [[0.5, 0.5], [0.5, NAN]], "found nan at position 1, 1"),
        ([-1, 0], [[0.5, 0.4], [0.5, 0.5]], "root 0 has no parent, but two probabilities"),
        ([-1, 0], [["a", "b"], [0.5, 0.5]], "expected numbers"),
        ([-1, 0], [[0.5, 0.5], [0.5]], "expected numbers"),
    ],
)
def test_chow_liu(parents, p, message):
    with pytest.raises(ParameterError, match=f"ChowLiu: .*{message}"):
        ChowLiu([0, 1], parents, p)


@pytest.mark.parametrize("cardinality", [1, 0, -2, 2.0, "2", None, True])
def test_cardinalities(cardinality):
    for build in (Total, ValueCounts):
        with pytest.raises(ParameterError, match="cardinality: expected an integer of at least 2"):
            build(cardinality)
    if cardinality not in (1, None):
        with pytest.raises(ParameterError, match="domain"):
            Domain(cardinality)


@pytest.mark.parametrize(
    ("parts", "statistics", "message"),
    [
        ([[0, 1], [1, 2]], None, "partition"),
        ([[0], [2]], None, "partition"),
        ([[0], []], None, "partition"),
        ([[0], [0.5]], None, "partition"),
        ([["a"], [0]], None, "partition"),
        (5, None, "partition"),
        ([[0], [1]], [Total(3)], "2 parts need as many statistics, not 1"),
        ([[0], [1]], [Total(3), Total(2)], r"differ in cardinality: \[2, 3\]"),
        ([[0], [1]], ["count", "count"], "expected a statistic"),
    ],
)
def test_blocks(parts, statistics, message):
    with pytest.raises(ParameterError, match=f"(?i)blocks.*{message}"):
        Blocks(parts, statistics)


def test_blocks_of_another_number_of_variables():
    with pytest.raises(ParameterError, match="the parts cover 3 variables, but there are 2"):
        Exchangeable.uniform([0, 1], Blocks([[0], [1, 2]]))


def test_unknown_names_of_families_and_statistics():
    with pytest.raises(RegistryError, match="unknown leaf family 'bernouli'; did you mean 'bernoulli'"):
        leaf_from_params("bernouli", (0,), {"p": 0.5})
    with pytest.raises(RegistryError, match="unknown statistic 'cout'; did you mean 'count'"):
        statistic_from_params({"name": "cout"})
    for bad in ({}, [], None, {"name": "total", "size": 3}, {"name": "blocks"}):
        with pytest.raises(ParameterError, match="statistic"):
            statistic_from_params(bad)


def test_scope_refuses_nonsense():
    for bad in ([-1], [1.5], ["a"], [True], [0, 0]):
        with pytest.raises(StructureError, match="scope"):
            Scope.of(bad)


def test_every_error_is_of_the_tree_and_of_the_expected_built_in_kind():
    own = [value for value in vars(errors).values() if getattr(value, "__module__", "") == errors.__name__]
    for error in own:
        if isinstance(error, type) and error is not XSPNError and not issubclass(error, Warning):
            assert issubclass(error, XSPNError)
            assert issubclass(error, ValueError | TypeError | OSError | ImportError | MemoryError)


def test_half_a_surrogate_pair_is_no_text():
    leaf = Bernoulli(0, p=0.5)
    with pytest.raises(StructureError, match="surrogate"):
        Circuit(leaf, names=["\ud800"])
    with pytest.raises(ParameterError, match="surrogate"):
        Circuit(leaf, labels={0: ["a", "\udfff"]})

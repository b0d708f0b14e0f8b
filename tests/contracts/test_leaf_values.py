"""Every registered leaf as a value: parameters, files, pickles, immutability. Real leaves are enrolled as well."""

import copy
import json
import pickle

import numpy as np
import pytest

from xspn import Circuit
from xspn.io import from_json, to_json
from xspn.leaves import leaf_from_params, leaves

EXAMPLES = [(family, seed) for family in leaves for seed in range(12)]


@pytest.fixture(params=EXAMPLES, ids=lambda key: f"{key[0]}-{key[1]}")
def leaf(request):
    family, seed = request.param
    return leaves[family].example(np.random.default_rng(seed))


def some_rows(leaf):
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=20) if d.cardinality is None else rng.integers(d.cardinality, size=20) for d in leaf.domains
    ]
    rows = np.column_stack(columns).astype(float)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    return rows


def same(leaf, other):
    assert type(other) is type(leaf)
    assert other.variables == leaf.variables
    assert other.domains == leaf.domains
    assert other.fingerprint() == leaf.fingerprint()
    np.testing.assert_array_equal(other.log_prob(some_rows(leaf)), leaf.log_prob(some_rows(leaf)))


def test_parameters_come_back_bit_for_bit(leaf):
    params = json.loads(json.dumps(leaf.to_params()))
    assert params == leaf.to_params()
    same(leaf, leaf_from_params(leaf.family, leaf.variables, params))


def test_files_come_back_bit_for_bit(leaf):
    same(leaf, from_json(to_json(Circuit(leaf))).root)


def test_pickles_come_back_bit_for_bit(leaf):
    same(leaf, pickle.loads(pickle.dumps(leaf)))


def test_fingerprints_tell_leaves_apart(leaf):
    others = [leaves[leaf.family].example(np.random.default_rng(seed)) for seed in range(100, 110)]
    for other in [*others, leaf_from_params(leaf.family, tuple(v + 1 for v in leaf.variables), leaf.to_params())]:
        alike = other.variables == leaf.variables and other.to_params() == leaf.to_params()
        assert (other.fingerprint() == leaf.fingerprint()) == alike
    assert isinstance(hash(leaf.fingerprint()), int)


def test_a_leaf_cannot_be_changed(leaf):
    for name in ("scope", "_variables", "anything"):
        with pytest.raises(AttributeError, match=f"immutable.*{name}"):
            setattr(leaf, name, None)
    with pytest.raises(AttributeError, match="immutable"):
        del leaf._variables
    with pytest.raises(AttributeError, match="immutable"):
        leaf.children = ()


def test_a_leafs_arrays_cannot_be_written_to(leaf):
    slots = {name for cls in type(leaf).__mro__ for name in getattr(cls, "__slots__", ())}
    for name in slots:
        value = getattr(leaf, name)
        assert not isinstance(value, list | dict | set), f"{name} could be changed in place"
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, f"{name} could be changed in place"


def test_copies_are_the_leaf_itself(leaf):
    assert copy.deepcopy(leaf) is leaf


def test_questions_leave_their_input_alone(leaf):
    rows = some_rows(leaf)
    rows = rows[~np.isneginf(leaf.log_prob(rows))]
    before = rows.copy()
    rows.flags.writeable = False
    leaf.log_prob(rows), leaf.mode(rows), leaf.sample(rows, np.random.default_rng(0))
    leaf.statistics(rows, np.ones(len(rows)))
    np.testing.assert_array_equal(rows, before)


def test_an_example_starts_where_it_is_told_to(leaf):
    moved = type(leaf).example(np.random.default_rng(1), first_variable=7)
    assert moved.variables == tuple(range(7, 7 + len(moved.variables)))
    assert list(moved.scope) == list(moved.variables)
    assert len(moved.domains) == len(moved.variables)


def test_small_facts(leaf):
    assert leaf.children == ()
    assert isinstance(leaf.n_parameters, int)
    assert leaf.n_parameters >= 0
    assert leaves[leaf.family] is type(leaf)
    assert type(leaf).__name__ in repr(leaf)
    assert len(repr(leaf)) < 200


@pytest.mark.parametrize("family", list(leaves))
def test_leaves_without_variables_are_refused(family):
    example = leaves[family].example(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"empty scope|expected one variable"):
        leaf_from_params(family, (), example.to_params())


def built_or_refused(family, variables, params):
    try:
        return leaves[family].from_params(variables, params)
    except ValueError as error:
        return error


@pytest.mark.parametrize("family", list(leaves))
def test_no_variable_is_silently_ignored(family):
    """More variables than the parameters are for are refused; parameters that fit any number are for all of them."""
    example = leaves[family].example(np.random.default_rng(0))
    more = (*example.variables, 97, 98)
    found = built_or_refused(family, more, example.to_params())
    if isinstance(found, ValueError):
        assert type(example).__name__ in str(found)
    else:
        assert found.variables == more
        assert len(found.moments()[0]) == len(more)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", list(leaves))
def test_statistics_can_be_restated(family, seed):
    """What one leaf has counted of whole rows, another of the same structure can take over."""
    rng = np.random.default_rng(seed)
    old = leaves[family].example(rng)
    x = old.sample(np.full((30, len(old.variables)), np.nan), rng)
    weights = rng.random(30)
    new = old.from_statistics(old.statistics(x[:15], weights[:15]), smoothing=0.5)
    restated = new.restate(old.statistics(x, weights), old)
    np.testing.assert_allclose(restated, new.statistics(x, weights), rtol=1e-9, atol=1e-9)

"""Models of SPFlow and deeprob-kit: as the packages themselves see them, where they are installed, and as stand-ins.

The stand-ins are objects with the classes' names and attributes, so that what is read of them is tested everywhere.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from support.enumeration import partial_rows
from xspn.core.errors import FormatError
from xspn.io import from_deeprob, from_spflow

HOLES = partial_rows([2, 2, 2, 2])


def made(kind, **attributes):
    """An object of a class with a name of its own."""
    own = type(kind, (), {})()
    for name, value in attributes.items():
        setattr(own, name, value)
    return own


def leaf(kind, scope, **attributes):
    return made(kind, scope=[scope] if isinstance(scope, int) else scope, children=[], **attributes)


def product_of(*children):
    return made("Product", scope=[v for child in children for v in child.scope], children=list(children))


def sum_of(weights, *children):
    return made("Sum", scope=children[0].scope, children=list(children), weights=np.array(weights, np.float32))


# -- deeprob-kit -------------------------------------------------------------------------------------------------------


def test_nodes_of_deeprob():
    tree = leaf(
        "BinaryCLT", [2, 3], root=0, tree=np.array([-1, 0]),
        params=np.log(np.array([[[0.4, 0.6], [0.4, 0.6]], [[0.9, 0.1], [0.3, 0.7]]], np.float32)),
    )  # fmt: skip
    shared = leaf("Categorical", 1, categories=np.array([0, 2]), probabilities=np.array([0.25, 0.75], np.float32))
    parts = [product_of(leaf("Bernoulli", 0, p=p), shared, tree) for p in (0.1, 0.9)]
    circuit = from_deeprob(sum_of([0.3, 0.7], *parts))
    assert len(circuit.graph) == 7  # the shared leaf and the tree are one node each
    rows = [[1, 2, 1, 1], [0, 0, 0, np.nan], [np.nan, 1, np.nan, np.nan]]
    expected = [(0.3 * 0.1 + 0.7 * 0.9) * 0.75 * 0.6 * 0.7, (0.3 * 0.9 + 0.7 * 0.1) * 0.25 * 0.4, 0.0]
    np.testing.assert_allclose(np.exp(circuit.log_likelihood(rows)), expected, rtol=1e-6)


def test_real_leaves_of_deeprob():
    circuit = from_deeprob(product_of(leaf("Gaussian", 0, mean=1.0, stddev=2.0), leaf("Bernoulli", 1, p=0.25)))
    assert circuit.log_likelihood([[1.0, 1]])[0] == pytest.approx(np.log(0.25 / np.sqrt(8 * np.pi)))


def test_what_deeprob_has_alone_is_refused_by_name():
    uniform = leaf("Uniform", 0, start=0.0, width=1.0, id=3)
    with pytest.raises(FormatError, match=r"deeprob-kit: Uniform 3 over \[0\] has no counterpart; .* BinaryCLT"):
        from_deeprob(product_of(uniform, leaf("Bernoulli", 1, p=0.5)))
    with pytest.raises(FormatError, match=r"Categorical over .* has the value -1"):
        from_deeprob(leaf("Categorical", 0, categories=np.array([-1, 1]), probabilities=np.array([0.5, 0.5])))
    with pytest.raises(FormatError, match=r"Sum over .* is unusable .* sum to 1"):
        from_deeprob(sum_of([0.3, 0.8], leaf("Bernoulli", 0, p=0.5), leaf("Bernoulli", 0, p=0.5)))
    with pytest.raises(FormatError, match="NoneType has no counterpart"):
        from_deeprob(None)


def test_circles_are_refused_and_depth_is_not():
    loop = product_of(leaf("Bernoulli", 0, p=0.5), leaf("Bernoulli", 1, p=0.5))
    loop.children[0] = loop
    with pytest.raises(FormatError, match="below one of its own children"):
        from_deeprob(loop)
    node = leaf("Bernoulli", 0, p=0.5)
    for v in range(1, 3000):
        node = made("Product", scope=[v], children=[leaf("Bernoulli", v, p=0.5), node])
    assert from_deeprob(node).n_variables == 3000


def test_learned_models_of_deeprob():
    pytest.importorskip("deeprob", reason="deeprob-kit is not installed")
    from deeprob.spn.algorithms.inference import log_likelihood
    from deeprob.spn.learning.wrappers import learn_estimator
    from deeprob.spn.structure.leaf import Bernoulli, Categorical, Gaussian

    rng = np.random.default_rng(0)
    bits = (rng.random((600, 4)) < rng.random((600, 1))).astype(np.float32)
    mixed = np.column_stack([rng.normal(size=600), rng.integers(0, 3, 600), rng.integers(0, 2, 600)])
    mixed[:, 0] += mixed[:, 1]
    for rows, kinds, domains, options in [
        (bits, [Bernoulli] * 4, [[0, 1]] * 4, {}),
        (bits, [Bernoulli] * 4, [[0, 1]] * 4, {"learn_leaf": "binary-clt", "min_rows_slice": 100}),
        (mixed, [Gaussian, Categorical, Bernoulli], [(-9, 9), [0, 1, 2], [0, 1]], {}),
    ]:
        model = learn_estimator(rows, kinds, domains, verbose=False, random_state=0, **options)
        asked = np.array(rows[:80], dtype=float)
        asked[rng.random(asked.shape) < 0.2] = np.nan
        theirs = log_likelihood(model, asked).ravel()  # in single precision
        np.testing.assert_allclose(from_deeprob(model).log_likelihood(asked), theirs, atol=1e-5)


# -- SPFlow ------------------------------------------------------------------------------------------------------------


def test_nodes_of_spflow_0():
    parts = [
        product_of(leaf("Categorical", 0, p=p), leaf("Gaussian", 1, mean=m, stdev=2.0), leaf("Bernoulli", 2, p=0.5))
        for p, m in (([0.2, 0.3, 0.5], 1.0), ([0.6, 0.1, 0.3], -1.0))
    ]
    circuit = from_spflow(sum_of([0.25, 0.75], *parts))
    found = np.exp(circuit.log_likelihood([[0, np.nan, 1], [2, np.nan, np.nan]]))
    np.testing.assert_allclose(found, [(0.25 * 0.2 + 0.75 * 0.6) / 2, 0.25 * 0.5 + 0.75 * 0.3])


def module(kind, features, channels, repetitions=1, **attributes):
    shape = SimpleNamespace(features=features, channels=channels, repetitions=repetitions)
    return made(kind, out_shape=shape, **attributes)


def bits(p):
    """Bernoulli leaves over as many variables as there are rows."""
    p = np.asarray(p, dtype=float)
    scope = SimpleNamespace(query=tuple(range(len(p))), evidence=())
    return module("Bernoulli", *p.shape, probs=p[:, :, None], scope=scope)


def test_modules_of_spflow():
    below = bits([[0.1, 0.9], [0.2, 0.6]])
    mixture = module(
        "Sum", 1, 1, inputs=module("Product", 1, 2, inputs=below), weights=np.reshape([0.3, 0.7], (1, 2, 1, 1))
    )
    circuit = from_spflow(mixture)
    np.testing.assert_allclose(np.exp(circuit.log_likelihood([[1, 1], [1, np.nan]])), [0.3 * 0.02 + 0.7 * 0.54, 0.66])
    outer = module("OuterProduct", 1, 4, inputs=[module("SplitConsecutive", 2, 2, inputs=below, num_splits=2, dim=1)])
    mixture = module("Sum", 1, 1, inputs=outer, weights=np.reshape([0.1, 0.2, 0.3, 0.4], (1, 4, 1, 1)))
    pairs = [0.1 * 0.2, 0.1 * 0.6, 0.9 * 0.2, 0.9 * 0.6]
    assert np.exp(from_spflow(mixture).log_likelihood([[1, 1]])[0]) == pytest.approx(
        np.dot(pairs, [0.1, 0.2, 0.3, 0.4])
    )


def test_what_spflow_has_alone_is_refused_by_name():
    with pytest.raises(FormatError, match=r"SPFlow: Poisson of 2 × 1 × 1 nodes has no counterpart; .* OuterProduct"):
        from_spflow(module("Product", 1, 1, inputs=module("Poisson", 2, 1)))
    with pytest.raises(FormatError, match="expected one node at the root, found Product of 1 × 2 × 1"):
        from_spflow(module("Product", 1, 2, inputs=bits([[0.1, 0.9], [0.2, 0.6]])))
    conditional = bits([[0.1]])
    conditional.parameter_fn = print
    with pytest.raises(FormatError, match=r"Bernoulli .* is unusable .*depend on other variables"):
        from_spflow(conditional)


def spflow_models():
    """Models of each kind of module, in double precision, over four bits."""
    import torch
    from spflow.modules.leaves import Bernoulli, Categorical, CLTree
    from spflow.modules.products import ElementwiseProduct, OuterProduct, Product
    from spflow.modules.sums import ElementwiseSum, Sum
    from spflow.zoo.rat.rat_spn import RatSPN

    def leaves(scope=(0, 1, 2, 3), channels=3):
        return Bernoulli(scope=list(scope), out_channels=channels)

    tree = CLTree(scope=[0, 1, 2, 3], K=2, out_channels=2)
    tree.maximum_likelihood_estimation(torch.randint(0, 2, (100, 4)).double())
    yield Sum(Product(leaves()))
    yield Sum([Product(leaves()), Product(leaves(channels=2))])
    yield Sum(Product(ElementwiseProduct([leaves((0, 1)), Categorical(scope=[2, 3], out_channels=3, K=2)])))
    yield Sum(OuterProduct(Sum(OuterProduct(leaves(channels=2), num_splits=2), out_channels=2), num_splits=2))
    yield Sum(Product(ElementwiseSum([leaves(), leaves()], out_channels=2)))
    yield Sum(Product(tree))
    yield RatSPN(
        leaf_modules=[Bernoulli(scope=[0, 1, 2, 3], out_channels=2, num_repetitions=2)],
        n_root_nodes=2, n_region_nodes=2, num_repetitions=2, depth=2, outer_product=True,
    )  # fmt: skip


def test_models_of_spflow():
    pytest.importorskip("spflow", reason="SPFlow is not installed")
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        torch.manual_seed(0)
        for model in spflow_models():
            theirs = model.log_likelihood(torch.tensor(HOLES)).detach().numpy().ravel()
            np.testing.assert_allclose(from_spflow(model).log_likelihood(HOLES), theirs, atol=1e-9)
    finally:
        torch.set_default_dtype(before)

"""The distributions that the synthetic data sets are samples of, as circuits."""

from collections.abc import Callable

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import ParameterError
from xspn.core.logspace import log_binomials, logsumexp_quiet
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.exchangeable import Exchangeable

Constraint = Callable[[AnyArray], AnyArray]


def uniform_given_count(n: int, accept: Constraint) -> Circuit:
    """Return the uniform distribution over the rows of n zeros and ones whose number of ones is accepted.

    This is one exchangeable leaf: a row is drawn by drawing its number of ones k with probability C(n, k) over the
    number of accepted rows, then placing them; nothing is ever rejected.

    Args:
        n: The number of variables.
        accept: From an array of counts to an array of yes or no.

    Examples:
        >>> even = uniform_given_count(4, lambda k: k % 2 == 0)
        >>> even.count_distribution(range(4)).round(6).tolist()
        [0.125, 0.0, 0.75, 0.0, 0.125]
    """
    accepted = np.asarray(accept(np.arange(n + 1)), dtype=bool)
    if not accepted.any():
        raise ParameterError(f"uniform_given_count: expected a constraint that some count from 0 to {n} meets")
    log_total = float(logsumexp_quiet(log_binomials(n)[accepted]))
    names = [f"X{i}" for i in range(n)]
    return Circuit(Exchangeable(range(n), np.where(accepted, -log_total, -np.inf)), names)


def conference(people: int = 10) -> Circuit:
    """Return the model that the published conference file is a sample of.

    With k of n people attending, log P is a constant plus

    - 1 for each person for whom "hot topic ⇒ attends" holds: k if the topic is hot, n otherwise;
    - 0.2 for each unordered pair that *agrees* (both attend or both stay away): k(k−1)/2 + (n−k)(n−k−1)/2;
    - 1 for each person for whom "attends ⇒ overflow" holds: n if there is an overflow, n − k otherwise;
    - −1 if there is an overflow.

    The paper prints three formulas: 1 HotTopic(c) ⇒ Attends(p,c); 0.2 Attends(px) ∧ Attends(py); 1 Attends(p,c) ⇒
    Overflow(c). The file differs from them twice: its pairs agree rather than both attend, and overflow has a weight of
    its own, −1. As printed, the formulas do not fit the file; this model does, to three digits.

    The columns are those of the file: who attends, hot topic, overflow. Each of the four contexts of the last two has
    one exchangeable leaf over the people.

    Examples:
        >>> c = conference()
        >>> c.names[-3:]
        ('attends_9', 'hot_topic', 'overflow')
        >>> c.marginals().round(3)[0, -2:, 1].tolist()  # P(hot topic), P(overflow)
        [0.079, 0.784]
    """
    if people < 2:
        raise ParameterError(f"conference: expected at least 2 people, found {people}")
    parts: list[Node] = []
    log_masses = []
    for hot in (0, 1):
        for overflow in (0, 1):
            scores = _conference_scores(people, hot, overflow)
            log_mass = float(logsumexp_quiet(scores + log_binomials(people)))
            log_masses.append(log_mass)
            attendance = Exchangeable(range(people), scores - log_mass)
            parts.append(Product([attendance, Bernoulli(people, p=hot), Bernoulli(people + 1, p=overflow)]))
    weights = np.exp(np.array(log_masses) - logsumexp_quiet(np.array(log_masses)))
    names = [*(f"attends_{i}" for i in range(people)), "hot_topic", "overflow"]
    return Circuit(Sum(weights / weights.sum(), parts), names)


def _conference_scores(n: int, hot: int, overflow: int) -> FloatArray:
    """Return the sum of the weights of the formulas that hold, for each number of attending people."""
    k = np.arange(n + 1, dtype=np.float64)
    agreeing = k * (k - 1) / 2 + (n - k) * (n - k - 1) / 2
    return (k if hot else n) + 0.2 * agreeing + (n if overflow else n - k) - overflow


def mevm(
    n_components: int,
    n_factors: int,
    factor_size: int,
    rng: np.random.Generator,
    shared_factors: bool = True,
) -> Circuit:
    """Return a random mixture of exchangeable variable models: a sum of products of exchangeable leaves.

    The component weights are uniform; each leaf's distribution of counts is drawn uniformly from all distributions.

    Args:
        n_components: The number of mixture components.
        n_factors: The number of exchangeable factors of each component.
        factor_size: The number of variables of each factor.
        rng: Where the parameters are drawn from.
        shared_factors: Whether the factors hold the same, consecutive variables in every component, as in the
            published files; otherwise each component assigns the variables at random, as the paper's text has it.

    Examples:
        >>> c = mevm(1, 4, 5, np.random.default_rng(0))
        >>> c.n_variables, c.summary().parameters
        (20, 20)
    """
    for value, what in ((n_components, "n_components"), (n_factors, "n_factors"), (factor_size, "factor_size")):
        if value < 1:
            raise ParameterError(f"mevm: expected {what} of at least 1, found {value}")
    n = n_factors * factor_size
    components: list[Node] = []
    for _ in range(n_components):
        order = np.arange(n) if shared_factors else rng.permutation(n)
        factors = order.reshape(n_factors, factor_size).tolist()
        leaves = [
            Exchangeable.from_class_probabilities(factor, rng.dirichlet(np.ones(factor_size + 1))) for factor in factors
        ]
        components.append(Product(leaves))
    root = components[0] if n_components == 1 else Sum(np.full(n_components, 1 / n_components), components)
    return Circuit(root, [f"X{i}" for i in range(n)])

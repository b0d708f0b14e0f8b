"""`make` and `truth`: the paper's synthetic data sets, drawn anew from their models, and these models as circuits."""

from collections.abc import Callable
from functools import partial

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import ParameterError, RegistryError
from xspn.core.logspace import log_binomials, logsumexp_quiet
from xspn.core.random import RandomState, generator
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.exchangeable import Exchangeable
from xspn.paper.datasets.catalog import info, names
from xspn.paper.datasets.dataset import BinaryTable, Dataset, default_names

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
    return Circuit(Exchangeable(range(n), np.where(accepted, -log_total, -np.inf)), default_names(n))


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
    return Circuit(root, default_names(n))


# What the number of ones of a row must meet. For parity the paper prints "x mod 2 = 0": the number of ones is meant.
CONSTRAINTS: dict[str, Constraint] = {
    "threshold": lambda k: k < 45,
    "exact": lambda k: k % 5 == 0,
    "parity": lambda k: k % 2 == 0,
    "counting": lambda k: k % 5 == 3,
}
N_CONSTRAINED = 100

_FIXED: dict[str, Callable[[], Circuit]] = {
    **{name: partial(uniform_given_count, N_CONSTRAINED, accept) for name, accept in CONSTRAINTS.items()},
    "conference": conference,
}
_RANDOM: dict[str, Callable[[np.random.Generator], Circuit]] = {
    "MEVM-s": lambda rng: mevm(1, 4, 5, rng),
    "MEVM-l": lambda rng: mevm(10, 10, 15, rng),
}


def known_truth(name: str) -> Circuit | None:
    """Return the circuit that the *published* file of this name is a sample of, or None where it is not known."""
    return _FIXED[name]() if name in _FIXED else None


def truth(name: str, random_state: RandomState = 0) -> Circuit:
    """Return the circuit that `make(name, random_state=random_state)` draws from.

    For threshold, exact, parity, counting and conference there is one circuit, and the published files are samples of
    it. For the MEVM data sets the parameters are drawn from the seed; the authors' own are not known.

    Examples:
        >>> truth("conference").summary().leaves
        {'Exchangeable': 4, 'Bernoulli': 8}
    """
    return _truth(_synthetic_name(name), generator(random_state).spawn(2)[0])


def _truth(name: str, rng: np.random.Generator) -> Circuit:
    return _FIXED[name]() if name in _FIXED else _RANDOM[name](rng)


def _synthetic_name(name: str) -> str:
    entry = info(name)
    if entry.group != "synthetic":
        raise RegistryError(
            f"{entry.name!r} is not a synthetic data set: its true distribution is not known. Load it with "
            f"datasets.load; synthetic data sets are {', '.join(names('synthetic'))}"
        )
    return entry.name


def make(
    name: str,
    n_train: int | None = None,
    n_valid: int | None = None,
    n_test: int | None = None,
    random_state: RandomState = 0,
) -> Dataset:
    """Return a fresh sample of a synthetic data set, with the true circuit as `truth`.

    The mean of `truth.log_likelihood(test)` is the limit that no learnt model can pass, but by chance.

    Args:
        name: threshold, exact, parity, counting, MEVM-s, MEVM-l or conference.
        n_train: The number of training rows; the paper's by default.
        n_valid: The number of validation rows; the paper's by default.
        n_test: The number of test rows; the paper's by default.
        random_state: The seed. Each split has a random stream of its own: asking for more training rows does not change
            the test rows.

    Examples:
        >>> d = make("parity", n_train=100, n_valid=10, n_test=10, random_state=7)
        >>> d
        Dataset('parity', 100 variables, 100 + 10 + 10 rows)
        >>> set(d.train.sum(axis=1) % 2) == {0}
        True
    """
    own_name = _synthetic_name(name)
    entry = info(own_name)
    sizes = [
        _size(given, default, what)
        for given, default, what in zip(
            (n_train, n_valid, n_test), entry.n_rows, ("n_train", "n_valid", "n_test"), strict=True
        )
    ]
    model_rng, data_rng = generator(random_state).spawn(2)
    circuit = _truth(own_name, model_rng)
    train, valid, test = (_draw(circuit, size, rng) for size, rng in zip(sizes, data_rng.spawn(3), strict=True))
    seed = f", random_state={random_state}" if isinstance(random_state, int) else ""
    return Dataset(own_name, train, valid, test, circuit.names or (), f"datasets.make({own_name!r}{seed})", circuit)


def _size(given: int | None, default: int, what: str) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ParameterError(f"{what}: expected a number of rows of at least 0, found {given!r}")
    return int(given)


def _draw(circuit: Circuit, size: int, rng: np.random.Generator) -> BinaryTable:
    return circuit.sample(size, random_state=rng).astype(np.uint8)

"""Random circuits with contexts and exchangeable blocks: truths that a learner should find again from their samples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import whole_number
from xspn.core.errors import ParameterError, RegistryError
from xspn.core.random import RandomState, generator
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.exchangeable import Exchangeable
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.paper.datasets.dataset import default_names
from xspn.statistics import ValueCounts

Partition = list[IntArray]
SMALLEST_BLOCK = 3
FEWEST_VARIABLES = 12  # enough for two contexts, each with a block beside another factor
CHAIN, SINGLES = 1 / 3, 1 / 8  # of the variables, in the family "chain"


def planted(
    family: str, n_variables: int = 24, n_contexts: int | None = None, random_state: RandomState = 0
) -> Circuit:
    """Return a random circuit of a family, over `n_variables` variables in random order.

    The families: "blocks", one product of exchangeable blocks; "contexts", a mixture of two to four such products, each
    with a partition of its own; "laws", three contexts with one partition and different distributions of the counts;
    "nested", two contexts, in each of which one factor has two contexts of its own; "chain", blocks with two contexts
    beside a Chow-Liu chain and single variables; "observed", a variable that decides which of two contexts a row
    belongs to; "mixed", two contexts with blocks of answers on a scale of three and blocks of real numbers.

    The counts of a block follow a spiky distribution (Dirichlet(0.3)), a beta-binomial one, are always the same few
    ("exactly one"), or have two peaks.

    Args:
        family: One of `FAMILIES`.
        n_variables: The number of variables, at least 12.
        n_contexts: The number of contexts, for "contexts"; two to four by chance.
        random_state: The seed.

    Examples:
        >>> planted("blocks", random_state=1).summary().parameters
        24
        >>> planted("observed", n_variables=12).n_variables
        12
    """
    if family not in FAMILIES:
        raise RegistryError(f"planted: expected one of {', '.join(FAMILIES)}, found {family!r}")
    whole_number("n_variables", n_variables, FEWEST_VARIABLES)
    if n_contexts is not None:
        whole_number("n_contexts", n_contexts, 1)
    rng = generator(random_state)
    columns = rng.permutation(n_variables)
    if family == "contexts":
        root = _contexts(columns, rng, n_contexts or int(rng.integers(2, 5)))
    elif n_contexts is not None:
        raise ParameterError(f"planted: {family!r} has its own number of contexts, found n_contexts={n_contexts!r}")
    else:
        root = FAMILIES[family](columns, rng)
    return Circuit(root, default_names(n_variables))


def partition_of(columns: IntArray, rng: np.random.Generator, fewest: int = 2) -> Partition:
    """Return a random partition into two to four blocks of at least three variables; fewer where columns are few."""
    most = len(columns) // SMALLEST_BLOCK
    n_blocks = min(int(rng.integers(fewest, 5)), max(most, 1))
    free = len(columns) - SMALLEST_BLOCK * n_blocks
    sizes = SMALLEST_BLOCK + rng.multinomial(free, np.full(n_blocks, 1 / n_blocks))
    order = rng.permutation(columns)
    return [np.sort(block) for block in np.split(order, np.cumsum(sizes)[:-1])]


def random_law(n: int, rng: np.random.Generator) -> FloatArray:
    """Return P(count = t) for t = 0..n, of one of four shapes."""
    shape = rng.choice(["spiky", "beta-binomial", "few", "two peaks"], p=[0.4, 0.3, 0.15, 0.15])
    if shape == "spiky":
        return np.asarray(rng.dirichlet(np.full(n + 1, 0.3)))
    if shape == "beta-binomial":
        return BetaBinomial(range(n), rng.uniform(0.15, 0.85), rng.uniform(0.1, 1.0)).class_probabilities
    if shape == "few":
        law = np.full(n + 1, 0.02 / n)
        law[1] = 1 - law.sum() + law[1]
        return law
    low, high = (BetaBinomial(range(n), p, 0.02).class_probabilities for p in (0.12, 0.85))
    weight = rng.uniform(0.3, 0.7)
    return weight * low + (1 - weight) * high


def _block(columns: IntArray, rng: np.random.Generator) -> Node:
    if len(columns) == 1:
        return Bernoulli(int(columns[0]), p=rng.uniform(0.1, 0.9))
    return Exchangeable.from_class_probabilities(np.sort(columns).tolist(), random_law(len(columns), rng))


def _product(blocks: Partition, rng: np.random.Generator) -> Node:
    factors = [_block(block, rng) for block in blocks]
    return factors[0] if len(factors) == 1 else Product(factors)


def _weights(k: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray((1 + rng.dirichlet(np.full(k, 3.0)) * k) / (2 * k))


def _mixture(children: list[Node], rng: np.random.Generator) -> Node:
    return Sum(_weights(len(children), rng), children)


def _contexts(columns: IntArray, rng: np.random.Generator, k: int) -> Node:
    return _mixture([_product(partition_of(columns, rng), rng) for _ in range(k)], rng)


def _laws(columns: IntArray, rng: np.random.Generator) -> Node:
    partition = partition_of(columns, rng)
    return _mixture([_product(partition, rng) for _ in range(3)], rng)


def _nested(columns: IntArray, rng: np.random.Generator) -> Node:
    def context() -> Node:
        order = rng.permutation(columns)
        inner, outer = order[: len(order) // 2], order[len(order) // 2 :]
        return Product([_contexts(inner, rng, 2), *(_block(block, rng) for block in partition_of(outer, rng))])

    return _mixture([context(), context()], rng)


def _chain(columns: IntArray, rng: np.random.Generator) -> Node:
    n = len(columns)
    in_chain, alone, rest = np.split(columns, [round(n * CHAIN), round(n * (CHAIN + SINGLES))])
    p = rng.uniform(0.1, 0.4, size=len(in_chain))
    links = np.column_stack([p, p + rng.uniform(0.35, 0.55, size=len(in_chain))])
    links[0] = links[0].mean()
    tree = ChowLiu(in_chain.tolist(), list(range(-1, len(in_chain) - 1)), links)
    singles = [Bernoulli(int(v), p=rng.uniform(0.1, 0.9)) for v in alone]
    return Product([tree, *singles, _contexts(rest, rng, 2)])


def _observed(columns: IntArray, rng: np.random.Generator) -> Node:
    decides, rest = int(columns[0]), columns[1:]
    p = rng.uniform(0.35, 0.65)
    branches: list[Node] = []
    for value in (0, 1):
        blocks = [_block(block, rng) for block in partition_of(rest, rng)]
        branches.append(Product([Bernoulli(decides, p=float(value)), *blocks]))
    return Sum([1 - p, p], branches)


def _mixed(columns: IntArray, rng: np.random.Generator) -> Node:
    """Half of the columns are answers on a scale of three, half are real numbers, in all contexts."""
    answers, reals = columns[: len(columns) // 2], columns[len(columns) // 2 :]

    def context() -> Node:
        factors: list[Node] = []
        for block in partition_of(answers, rng):
            statistic = ValueCounts(3)
            frequencies = rng.dirichlet(np.full(3, 1.5), size=2)
            sizes = np.exp(statistic.log_class_size(len(block)))
            classes = statistic.values(len(block))
            law = sum(sizes * np.prod(p**classes, axis=1) for p in frequencies) / 2
            factors.append(Exchangeable.from_class_probabilities(block.tolist(), law / law.sum(), statistic))
        for block in partition_of(reals, rng):
            mean, std, correlation = rng.normal(0, 2), rng.uniform(0.5, 2), rng.uniform(0.2, 0.8)
            factors.append(ExchangeableGaussian(block.tolist(), mean, std, correlation))
        return Product(factors)

    return _mixture([context(), context()], rng)


FAMILIES: dict[str, Callable[[IntArray, np.random.Generator], Node]] = {
    "blocks": lambda columns, rng: _product(partition_of(columns, rng), rng),
    "contexts": lambda columns, rng: _contexts(columns, rng, 3),
    "laws": _laws,
    "nested": _nested,
    "chain": _chain,
    "observed": _observed,
    "mixed": _mixed,
}


# -- a parliament ------------------------------------------------------------------------------------------------------

PARTIES = {"Red": 120, "Blue": 90, "Green": 60, "Gold": 35, "Grey": 20}
DISCIPLINE = (0.85, 0.99)
COALITIONS = ((1, 1, 0, 0, 0), (1, 0, 1, 0, 0), (0, 1, 1, 1, 0), (1, 1, 1, 1, 1), (0, 0, 1, 0, 1))
ISSUES = (0.35, 0.2, 0.2, 0.15, 0.1)  # how often each coalition votes together


@dataclass(frozen=True, eq=False)
class Parliament:
    """Votes, and what is true of them.

    Attributes:
        votes: 1 is yes, 0 no, NaN an absence: (votes, members).
        names: The members, by their party and a number.
        voting_with: The party whose line each member follows.
        defectors: The members who follow the line of another party than their own.
    """

    votes: FloatArray
    names: tuple[str, ...]
    voting_with: tuple[str, ...]
    defectors: tuple[str, ...]


def parliament(
    n_votes: int = 400,
    parties: Mapping[str, int] = MappingProxyType(PARTIES),
    n_defectors: int = 10,
    absences: float = 0.3,
    random_state: RandomState = 0,
) -> Parliament:
    """Return the votes of a parliament of five parties, whose coalitions change with the issue.

    Each party has a discipline of its own, from 85 to 99 %; some members follow another party's line.

    Args:
        n_votes: The number of votes.
        parties: The five parties and their members.
        n_defectors: How many members follow the line of another party.
        absences: The fraction of cells that is missing.
        random_state: The seed.

    Examples:
        >>> found = parliament(n_votes=50)
        >>> found.votes.shape, len(found.defectors)
        ((50, 325), 10)
    """
    if len(parties) != len(COALITIONS[0]):
        raise ParameterError(f"parliament: expected {len(COALITIONS[0])} parties, found {len(parties)}")
    rng = generator(random_state)
    sizes = list(parties.values())
    party = np.repeat(np.arange(len(sizes)), sizes)
    names = tuple(f"{name}_{i}" for name, size in parties.items() for i in range(size))
    follows = party.copy()
    defectors = rng.choice(len(party), n_defectors, replace=False)
    follows[defectors] = (party[defectors] + rng.integers(1, len(sizes), n_defectors)) % len(sizes)
    lines = np.array(COALITIONS)[rng.choice(len(COALITIONS), n_votes, p=ISSUES)]
    lines = np.where(rng.random((n_votes, 1)) < 0.5, lines, 1 - lines)[:, follows]
    loyal = rng.random(lines.shape) < rng.uniform(*DISCIPLINE, len(sizes))[follows]
    votes = np.where(loyal, lines, 1 - lines).astype(np.float64)
    votes[rng.random(votes.shape) < absences] = np.nan
    of_parties = list(parties)
    return Parliament(
        votes, names, tuple(of_parties[k] for k in follows), tuple(names[k] for k in np.sort(defectors).tolist())
    )

"""Why each node is what it is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xspn.core.errors import default_name
from xspn.learning.clustering.base import Condition
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.policy import Operation

# What the parts of the global test compare: in all columns, and in those that deviate most.
PARTS_IN_WORDS = {
    "Q": ("means", "mean"),
    "B": ("item–rest associations", "item–rest association"),
    "S": ("pairs", "association"),
    "A": ("order within pairs", "order"),
}


@dataclass(frozen=True)
class Branch:
    """Where a decision hangs below an earlier one.

    Attributes:
        parent: The index of the decision above.
        is_cluster: Whether that one was a sum: then this is one of its clusters.
        variable: The variable that tells the clusters apart; None for a mixture.
        place: Which child this is.
        of: How many children there are.
        condition: What holds of the variable here.
    """

    parent: int
    is_cluster: bool
    variable: int | None
    place: int
    of: int
    condition: Condition | None = None


@dataclass(frozen=True)
class TraceEntry:
    """One decision of the learner.

    Attributes:
        node: The id of the circuit's node that came of it (`circuit.graph.nodes[node]`).
        operation: What was done.
        detail: Which leaf or which split, in a word.
        rows: The weight of the rows that it was done on.
        variables: The variables.
        depth: How far below the root.
        test: The exchangeability test, if there was one.
        seconds: How long it took.
        branch: Where it hangs; None for the first decision.
    """

    node: int
    operation: Operation
    detail: str
    rows: float
    variables: tuple[int, ...]
    depth: int
    test: TestResult | None
    seconds: float
    branch: Branch | None

    def __str__(self) -> str:
        text = f"node {self.node}: {self.rows:g} rows × {len(self.variables)} variables: {self.operation.value}"
        if self.detail:
            text += f" ({self.detail})"
        if self.test is not None:
            text += f"; {describe_test(self.test, lambda position: default_name(self.variables[position]))}"
        return text


def describe_test(test: TestResult, name: Callable[[int], str] = default_name) -> str:
    """Say in a phrase what a test found; `name` tells what the column at a position is called."""
    what = decided_by(test, name)
    found = f"{test.statistic:.4g} on {test.dof:g} degrees of freedom, p = {test.p_value:.3g}"
    return f"{test.method} test: {'' if what is None else f'{what}, '}{found}"


def decided_by(test: TestResult, name: Callable[[int], str]) -> str | None:
    """Say what speaks most against exchangeability; None for tests of one part, and where nothing could be tested."""
    decided = test.parts.get("decided_by")
    if decided is None:
        return None
    part = str(decided).removeprefix("max_")
    of_all, of_one = PARTS_IN_WORDS[part]
    if part == decided:
        return of_all
    return f"{of_one} of {' and '.join(name(i) for i in test.parts[f'member_{part}'])}"


@dataclass(frozen=True)
class Trace:
    """All decisions, in the order in which they were made."""

    entries: tuple[TraceEntry, ...]

    def __iter__(self) -> Iterator[TraceEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def why(self, node: int) -> Sequence[TraceEntry]:
        """Return the decisions that led to a node of the circuit."""
        return [entry for entry in self.entries if entry.node == node]

    def context(self, entry: TraceEntry) -> list[Branch]:
        """Return the clusters that a decision was made in, outermost first."""
        clusters = []
        branch = entry.branch
        while branch is not None:
            if branch.is_cluster:
                clusters.append(branch)
            branch = self.entries[branch.parent].branch
        return clusters[::-1]

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))

"""The tree as far as it has grown: what became of the places above, and which places are open."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from xspn.distributed.subtrees import Place
from xspn.distributed.survey import Step
from xspn.learning.actions import shares_of
from xspn.learning.assembly import Record

ROOT = -1  # the key of the first place; places have keys below 0, records are counted from 0


@dataclass(eq=False)
class Tree:
    """Records and open places.

    Attributes:
        records: What became of places; children are numbers of records, or keys of places that are still open.
        parents: The record above each record; None for the root.
        in_shares: The sums whose rows may belong to both clusters in part.
        open: The places where something is still to be learned.
        keys: How many keys of places were given out.
    """

    records: list[Record] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    in_shares: set[int] = field(default_factory=set)
    open: dict[int, Place] = field(default_factory=dict)
    keys: int = 0

    @classmethod
    def of(cls, root: Place) -> "Tree":
        """Return a tree of which nothing is known."""
        return cls(open={ROOT: root}, keys=1)

    @property
    def root(self) -> int:
        """The number of the root: a record, or the first place."""
        return 0 if self.records else ROOT

    def settle(self, key: int, record: Record, below: Sequence[Place], in_shares: bool) -> None:
        """Take in what became of a place, and the places below it."""
        number = self._number(key)
        if in_shares:
            self.in_shares.add(number)
        children = []
        for branch, place in enumerate(below):
            self.keys += 1
            children.append(-self.keys)
            self.open[-self.keys] = replace(place, parent=number, branch=branch)
        self.records.append(replace(record, children=children))

    def attach(self, key: int, records: Sequence[Record]) -> None:
        """Take in a place that was learned as a whole, with all that is below it."""
        first = self._number(key)
        for place, record in enumerate(records):
            self.records.append(replace(record, children=[first + child for child in record.children]))
            if place:
                self.parents.append(None)  # of no use: nothing below is open

    def _number(self, key: int) -> int:
        """Return the number of the record that a place becomes, and tell it to the record above."""
        place, number = self.open.pop(key), len(self.records)
        self.parents.append(place.parent)
        if place.parent is not None:
            self.records[place.parent].children[place.branch] = number
        return number

    def steps_to(self, keys: Collection[int]) -> tuple[Step, ...]:
        """Return the way of the rows from the root to some open places."""
        needed: set[int] = set()
        for key in keys:
            node = self.open[key].parent
            while node is not None and node not in needed:
                needed.add(node)
                node = self.parents[node]
        wanted = needed | set(keys)
        steps = []
        for node in sorted(needed):
            record = self.records[node]
            targets = tuple(child if child in wanted else None for child in record.children)
            steps.append(Step(node, targets, record.task.variables, record.rule, node in self.in_shares))
        return tuple(steps)

    def finished(self, smoothing: float) -> list[Record]:
        """Return all records, generation by generation, the weights of sums from the rows that their children have.

        While a sum is made only a sample tells how large its clusters are; when its children are made all rows do.
        """
        order: list[int] = []
        waiting = deque([0])
        while waiting:
            number = waiting.popleft()
            order.append(number)
            waiting.extend(self.records[number].children)
        place = {number: k for k, number in enumerate(order)}
        found = []
        for number in order:
            record = self.records[number]
            weights = record.weights
            if weights is not None:
                totals = [self.records[child].total for child in record.children]
                weights = shares_of(totals, smoothing if record.has_indicators else 0.0)
            found.append(replace(record, weights=weights, children=[place[child] for child in record.children]))
        return found

"""EM's expectations for several HCLTs at once, on a device of torch.

The trees have the same blocks and the same number of latent states, but their own edges and parameters. All nodes of
one depth, of all trees, are one batch of matrix products; levels follow each other up and down. Nodes are numbered by
depth, so that a level is a slice of every tensor, and nothing is copied on the way to a product.

The products of many messages are sums of logarithms here, where `messages.py` rescales after each factor. Both keep the
same terms, and sums over nodes are taken in a fixed order: a device gives the same numbers every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import AnyArray, IntArray
from xspn.learning.hclt.messages import LEAST, LEAST_FLOW, TINY, HCLTTables
from xspn.learning.hclt.tree import BlockTree, CountedRows


class DeviceRows:
    """Rows on a device, with one more of weight 0, which fills batches up.

    Attributes:
        n_rows: The number of rows, without that one.
        weights: The weight of each row: (rows + 1,).
        which: Which pair of each block each row has: (rows + 1, blocks).
        chances: P(pair | t ones), zero beyond a block's own pairs and counts: (blocks, pairs, counts).
        tells: 1 for pairs of which something was seen: (blocks, pairs).
        log_arrangements: As in `CountedRows`: (rows + 1,).
    """

    def __init__(self, data: CountedRows, device: torch.device) -> None:
        n_pairs, n_counts = (max(table.shape[axis] for table in data.chances) for axis in (0, 1))
        chances = np.zeros((len(data.chances), n_pairs, n_counts), dtype=np.float32)
        tells = np.zeros((len(data.chances), n_pairs), dtype=np.float32)
        for b, (table, pairs) in enumerate(zip(data.chances, data.keys, strict=True)):
            chances[b, : len(table), : table.shape[1]] = table
            tells[b, : len(pairs)] = pairs[:, 0] > 0
        self.n_rows = len(data.weights)
        self.weights = torch.as_tensor(np.append(data.weights, 0.0), dtype=torch.float32, device=device)
        self.which = torch.as_tensor(np.pad(data.which, ((0, 1), (0, 0))), dtype=torch.int64, device=device)
        self.chances, self.tells = torch.as_tensor(chances, device=device), torch.as_tensor(tells, device=device)
        self.log_arrangements = torch.as_tensor(np.append(data.log_arrangements, 0.0), device=device)


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth: a slice of all nodes.

    Attributes:
        nodes: Where they are.
        parents: The node above each.
        by_parent: The same nodes in the order of their parents, counted from the first of this level.
        runs: Of nodes that follow each other and have the same number of children: the first and the last + 1, counted
            from the first of this level, the first child in that order of the level below, and how many each has.
    """

    nodes: slice
    parents: Tensor
    by_parent: Tensor
    runs: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, eq=False)
class ForestTables:
    """The parameters of all trees: (trees, states), (nodes, states, states) and (nodes, states, counts)."""

    initial: Tensor
    transitions: Tensor
    emissions: Tensor

    def clone(self) -> "ForestTables":
        """Return a copy."""
        return ForestTables(self.initial.clone(), self.transitions.clone(), self.emissions.clone())


@dataclass(frozen=True, eq=False)
class _Upward:
    """What is known from below, as in `messages.py`: (nodes, rows, states); pairs of rows: (nodes, rows)."""

    inside: Tensor
    to_parent: Tensor
    pairs: Tensor
    of_pairs: Tensor
    log_likelihoods: Tensor


class Forest:
    """Trees over the same blocks.

    Args:
        trees: The trees.
        sizes: The number of variables of each block.
        device: Where everything is computed.
    """

    def __init__(self, trees: Sequence[BlockTree], sizes: Sequence[int], device: torch.device) -> None:
        self.n_trees, self.n_blocks, self.device = len(trees), len(sizes), device
        self.sizes = tuple(sizes)
        order, depths, parents, n_children = _by_depth(trees)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        above = np.where(parents[order] < 0, 0, place[parents[order]])
        self.levels = self._levels(depths[order], above, n_children[order])
        self.node_of = self._indices(place).view(self.n_trees, self.n_blocks)  # of each block of each tree
        self._unordered = self._indices(order)
        self.tree_of_node = self._indices(order // self.n_blocks)
        self.block_of_node = self._indices(order % self.n_blocks)

    def _indices(self, array: AnyArray) -> Tensor:
        return torch.as_tensor(array, dtype=torch.int64, device=self.device)

    def _levels(self, depths: IntArray, above: IntArray, n_children: IntArray) -> list[_Level]:
        found = []
        bounds = np.searchsorted(depths, np.arange(int(depths.max()) + 2))
        for start, stop in pairwise(bounds.tolist()):
            own = n_children[start:stop]
            changes = [0, *(np.flatnonzero(np.diff(own)) + 1).tolist(), len(own)]
            first_child = np.concatenate([[0], np.cumsum(own)])
            runs = tuple(
                (first, last, int(first_child[first]), int(own[first]))
                for first, last in pairwise(changes)
                if own[first] > 0
            )
            parents = above[start:stop]
            by_parent = self._indices(np.argsort(parents, kind="stable"))
            found.append(_Level(slice(start, stop), self._indices(parents), by_parent, runs))
        return found

    # -- parameters to and from the device ----------------------------------------------------------------------------

    def tables_of(self, tables: Sequence[HCLTTables]) -> ForestTables:
        """Return the parameters of all trees on the device."""
        k, n_counts = len(tables[0].initial), max(self.sizes) + 1
        emissions = np.zeros((self.n_trees, self.n_blocks, k, n_counts), dtype=np.float32)
        for t, own in enumerate(tables):
            for b, table in enumerate(own.emissions):
                emissions[t, b, :, : table.shape[1]] = table
        transitions = np.stack([own.transitions for own in tables]).reshape(-1, k, k)
        return ForestTables(
            torch.as_tensor(np.stack([own.initial for own in tables]), dtype=torch.float32, device=self.device),
            torch.as_tensor(transitions, device=self.device)[self._unordered].contiguous(),
            torch.as_tensor(emissions.reshape(-1, k, n_counts), device=self.device)[self._unordered].contiguous(),
        )

    def tables_to_host(self, tables: ForestTables, tree: int) -> HCLTTables:
        """Return the parameters of one tree."""
        nodes = self.node_of[tree]
        emissions = tables.emissions[nodes].double().cpu().numpy()
        return HCLTTables(
            tables.initial[tree].double().cpu().numpy(),
            tables.transitions[nodes].cpu().numpy(),
            tuple(np.ascontiguousarray(own[:, : n + 1]) for own, n in zip(emissions, self.sizes, strict=True)),
        )

    # -- passes -------------------------------------------------------------------------------------------------------

    def log_likelihoods(self, tables: ForestTables, rows: DeviceRows, batch: Tensor) -> Tensor:
        """Return the log-probability of the rows of a batch by each tree: (trees, rows) → (trees, rows)."""
        return self._upward(tables, rows, batch).log_likelihoods

    def expected(self, tables: ForestTables, rows: DeviceRows, batch: Tensor) -> tuple[ForestTables, Tensor]:
        """Return how often each event is expected to have happened in the rows of a batch, and their log-probabilities.

        Args:
            tables: The parameters.
            rows: The rows.
            batch: Which of the rows each tree looks at: (trees, rows).
        """
        up = self._upward(tables, rows, batch)
        flow, reaching = up.to_parent, torch.zeros_like(up.to_parent)  # a message is not needed once it was divided by
        root = up.inside[: self.n_trees] * tables.initial[:, None, :]
        root *= (rows.weights[batch] / root.sum(dim=2))[:, :, None]
        flow[: self.n_trees] = root.clamp_(min=float(LEAST_FLOW))
        for level in self.levels[1:]:
            own, into = flow[level.nodes], reaching[level.nodes]
            torch.index_select(flow, 0, level.parents, out=into)
            into.div_(own)
            torch.bmm(into, tables.transitions[level.nodes], out=own)
            own.mul_(up.inside[level.nodes]).clamp_(min=float(LEAST_FLOW))
        transitions = torch.bmm(reaching.transpose(1, 2), up.inside).mul_(tables.transitions)
        return ForestTables(flow[: self.n_trees].sum(dim=1), transitions, self._counts(tables, rows, up, flow)), (
            up.log_likelihoods
        )

    def _counts(self, tables: ForestTables, rows: DeviceRows, up: _Upward, flow: Tensor) -> Tensor:
        """Return how often each block is expected to have had t ones in each state; unseen blocks tell nothing."""
        n_pairs = rows.chances.shape[1]
        indicator = up.pairs[:, None, :] == torch.arange(n_pairs, device=self.device)[:, None]
        of_pairs = torch.bmm(indicator.to(flow.dtype), flow)
        of_pairs.mul_(rows.tells[self.block_of_node][:, :, None]).div_(up.of_pairs)
        return torch.bmm(of_pairs.transpose(1, 2), rows.chances[self.block_of_node]).mul_(tables.emissions)

    def _upward(self, tables: ForestTables, rows: DeviceRows, batch: Tensor) -> _Upward:
        n = batch.shape[1]
        n_nodes, k, _ = tables.transitions.shape
        pairs = rows.which[batch].transpose(1, 2).reshape(n_nodes, n)[self._unordered]
        of_pairs = torch.bmm(rows.chances[self.block_of_node], tables.emissions.transpose(1, 2)).clamp_(min=float(TINY))
        n_pairs = of_pairs.shape[1]
        first_pair = n_pairs * torch.arange(n_nodes, device=self.device)[:, None]
        inside = of_pairs.log().view(-1, k)[(first_pair + pairs).view(-1)].view(n_nodes, n, k)
        to_parent, tops = torch.empty_like(inside), torch.empty((n_nodes, n, 1), device=self.device)
        below: _Level | None = None
        for level in reversed(self.levels):
            own, top = inside[level.nodes], tops[level.nodes]
            if below is not None:
                told = to_parent[below.nodes][below.by_parent].log_()
                for first, last, child, number in level.runs:
                    part = told[child : child + (last - first) * number]
                    own[first:last] += part if number == 1 else part.view(last - first, number, n, k).sum(dim=1)
            torch.amax(own, dim=2, keepdim=True, out=top)
            own.sub_(top).exp_().clamp_(min=float(LEAST))
            if level is not self.levels[0]:
                message = to_parent[level.nodes]
                torch.bmm(own, tables.transitions[level.nodes].transpose(1, 2), out=message)
                message.clamp_(min=float(TINY))
            below = level
        scales = tops[:, :, 0][self.node_of].sum(dim=1, dtype=torch.float64)
        root = (inside[: self.n_trees] * tables.initial[:, None, :]).sum(dim=2)
        logs = scales + root.log().double() - rows.log_arrangements[batch]
        return _Upward(inside, to_parent, pairs, of_pairs, logs)


def _by_depth(trees: Sequence[BlockTree]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return all nodes by depth, and of each node its depth, its parent and how many children it has.

    Node b of tree t has the number t · blocks + b. Roots stay in the order of their trees; in deeper levels nodes of
    equally many children are side by side, so that their children's messages are multiplied together.
    """
    n = len(trees[0].order)
    depths, parents = np.zeros(n * len(trees), dtype=np.int64), np.full(n * len(trees), -1, dtype=np.int64)
    n_children = np.zeros(n * len(trees), dtype=np.int64)
    for t, tree in enumerate(trees):
        for b in tree.order:
            n_children[t * n + b] = len(tree.children[b])
            if b != tree.root:
                parents[t * n + b] = t * n + tree.parents[b]
                depths[t * n + b] = depths[t * n + tree.parents[b]] + 1
    by_children = np.where(depths > 0, n_children, 0)
    return np.lexsort((by_children, depths)), depths, parents, n_children

"""Products of exchangeable blocks over columns of any types, fitted to weighted rows: what contexts are made of."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.learning.blocks.table_laws import (
    MEAN_ROWS,
    VARIANCE_ROWS,
    Classes,
    RowMoments,
    classes_of,
    evidence_of_classes,
    evidence_of_normal_block,
    evidence_of_normals,
    has_one_value,
    log_probabilities,
    scatter_of,
    symmetric_sums,
)
from xspn.learning.blocks.table_partition import Block, best_partition, log_prior
from xspn.learning.clustering.variable import FEWEST_REPEATED, REPEATED_FRACTION
from xspn.learning.leaf_learners.exchangeable import CLASSES_PER_ROW, MOST_CLASSES
from xspn.learning.likeness import ENOUGH_ROWS
from xspn.learning.table_summary import TableSummary
from xspn.leaves.gaussian import LOG_2PI

MOST_CUTS = 4  # on discrete values, that are weighed by evidence
NO_ATOMS = 1e-2  # rows with an atom, below which a column counts as one without
IMPOSSIBLE = -700.0  # nats: what a jointly normal column with an atom is worth


@dataclass(frozen=True, eq=False)
class Structure:
    """Which columns belong together.

    Attributes:
        blocks: The exchangeable blocks; single columns are blocks of their own.
        joint: Whether the real columns that stand alone have one normal distribution with any covariances.
    """

    blocks: tuple[Block, ...]
    joint: bool = False


@dataclass(frozen=True, eq=False)
class BlockProduct:
    """A product of blocks, fitted to weighted rows.

    Attributes:
        structure: Which columns belong together.
        laws: The law of each block of discrete columns (see `laws`).
        tables: The log-probability of one assignment of each class of each such block.
        normal: The distribution of the real columns.
        evidence: The log-evidence, that of the partition included.
        total: The weight of the rows.
    """

    structure: Structure
    laws: dict[Block, int]
    tables: dict[Block, FloatArray]
    normal: "NormalProduct"
    evidence: float
    total: float

    @property
    def blocks(self) -> list[IntArray]:
        """The columns of each block."""
        return [np.array(block) for block in self.structure.blocks]


@dataclass(frozen=True, eq=False)
class NormalProduct:
    """Exchangeable blocks of real columns and columns on their own, beside columns that are jointly normal.

    Attributes:
        shift: What is added to each column to center it on the mean of its block.
        precision: 1 / a of each column: the variance of contrasts, or of a single column; 0 where jointly normal.
        members: 1 for the columns of each block of several: (reals, blocks).
        along: (1 / b − 1 / a) / m of each such block: what the mean of a row adds.
        log_scale: The logarithm of the density at the mean.
        joint: The columns that are jointly normal.
        whitening: What makes them uncorrelated, of variance 1.
        of_atoms: What a row gains by each atom that it has, against a number in the middle of the column.
    """

    shift: FloatArray
    precision: FloatArray
    members: FloatArray
    along: FloatArray
    log_scale: float
    joint: IntArray
    whitening: FloatArray
    of_atoms: FloatArray

    def log_density(self, values: FloatArray, atoms: FloatArray) -> FloatArray:
        """Return the log-density of each row of centered values, of which some are atoms: (rows, atoms)."""
        away = values + self.shift
        found = np.full(len(values), self.log_scale)
        if self.precision.any():
            found -= 0.5 * (away**2 @ self.precision)
        if self.members.shape[1]:
            found -= 0.5 * ((away @ self.members) ** 2 @ self.along)
        if len(self.joint):
            white = (away if len(self.joint) == len(self.shift) else away[:, self.joint]) @ self.whitening
            found -= 0.5 * np.einsum("ij,ij->i", white, white)
        return found + atoms @ self.of_atoms if len(self.of_atoms) else found


class ProductRows:
    """Weighted rows to which products of blocks are fitted.

    Args:
        summary: The rows; no cell may be missing.
        above: The rows that these are some of, and which ones.
    """

    def __init__(self, summary: TableSummary, above: "tuple[ProductRows, AnyArray] | None" = None) -> None:
        self.summary, self._above = summary, above
        self.weights, self.total, self.n = summary.weights, summary.total, summary.n
        self._classes: dict[Block, Classes] = {}
        if above is None:
            values = summary.cells[:, summary.real]
            self.atoms, owner = _atoms_of(summary)
            is_atom = np.asarray(self.atoms @ np.eye(len(summary.real))[owner] > 0)
            spread_out = np.maximum(self.weights @ ~is_atom, 1e-300)
            self.centers = self.weights @ np.where(is_atom, 0.0, values) / spread_out
            self.values = np.where(is_atom, 0.0, values - self.centers)
            self._codes = np.ascontiguousarray(summary.cells[:, summary.discrete].T.astype(np.int32))
        else:
            self.centers = above[0].centers
            self.values, self.atoms = above[0].values[above[1]], above[0].atoms[above[1]]
            self._codes = np.ascontiguousarray(above[0]._codes[:, above[1]])
        self._place = {int(column): place for place, column in enumerate(summary.discrete)}
        self._place |= {int(column): place for place, column in enumerate(summary.real)}

    def some(self, rows: AnyArray, weights: FloatArray) -> "ProductRows":
        """Return some of the rows, by index, with weights of their own."""
        return ProductRows(TableSummary(self.summary.cells[rows], weights, self.summary.columns), (self, rows))

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        """The variance of each real column in the whole table, and that of its rounding."""
        columns = [self.summary.columns[int(i)] for i in self.summary.real]
        return np.array([c.spread for c in columns]) ** 2, np.array([c.floor for c in columns]) ** 2

    def moments(self, weights: FloatArray) -> RowMoments:
        """Return the sums of the real columns under given weights."""
        weighted = self.values * weights[:, None]
        counts, widths = weights @ self.atoms, [np.array([w for _, w in atoms]) for atoms in self._atoms_of_columns]
        atoms = tuple(np.split(counts, np.cumsum([len(own) for own in widths])[:-1])) if len(widths) else ()
        sums = weighted.sum(axis=0), weighted.T @ self.values
        return RowMoments(float(weights.sum()), *sums, self.centers, *self._scales, atoms, tuple(widths))

    @property
    def _atoms_of_columns(self) -> list[tuple[tuple[float, float], ...]]:
        return [self.summary.columns[int(i)].atoms for i in self.summary.real]

    def classes(self, block: Block, keep: bool = True) -> Classes:
        """Return the value counts of the rows over discrete columns.

        Kept ones are numbered alike in all rows that these are some of, so that a product that is fitted to some of
        them can be asked about all.
        """
        if block in self._classes:
            return self._classes[block]
        if self._above is not None and keep:
            found = self._above[0].classes(block).of_rows(self._above[1])
        else:
            domain = self.summary.columns[block[0]].domain
            codes = self._codes[[self._place[column] for column in block]]
            most = min(MOST_CLASSES, CLASSES_PER_ROW * self.total)
            found = classes_of(codes, domain.cardinality or 0, domain.ordered, most)
        if keep:
            self._classes[block] = found
        return found

    @cached_property
    def _repeated(self) -> list[tuple[int, float]]:
        """The numbers that many rows share, each with its (real) column: no density explains them."""
        if self._above is not None:
            return self._above[0]._repeated
        least = max(REPEATED_FRACTION * self.total, FEWEST_REPEATED)
        found = []
        for column, values in enumerate(self.values.T):
            numbers, which = np.unique(values, return_inverse=True)
            often = np.bincount(which.reshape(-1), weights=self.weights) >= least
            found += [(column, float(value)) for value in numbers[often]] if len(numbers) > 1 else []
        return found

    def cuts(self, features: FloatArray) -> list[BoolArray]:
        """Return the rows with one value of a column, for values that may tell of the others.

        Numbers that many rows share, and of discrete values those that are most correlated with the features of all
        columns.
        """
        cuts = [self.values[:, column] == value for column, value in self._repeated]
        named = [of == v for of in self._of_each_value() for v in range(int(of.max(initial=0)) + 1)]
        if named:
            marks = np.array(named, dtype=np.float64)
            marks -= (marks @ self.weights / self.total)[:, None]
            scale = np.maximum(marks**2 @ self.weights, 1e-300)
            told = ((marks * self.weights) @ features) ** 2 / scale[:, None]
            best = np.argsort(-told.sum(axis=1).round(9), kind="stable")[:MOST_CUTS]
            cuts += [named[int(i)] for i in best]
        return [inside for inside in cuts if 1.0 <= self.weights @ inside <= self.total - 1.0]

    def _of_each_value(self) -> list[IntArray]:
        """Return the numbered value of each row, for each discrete column."""
        return [self.classes((int(column),)).of for column in self.summary.discrete]

    def _places_of_atoms(self, block: Block) -> list[int]:
        """Return which of all atoms are those of a block of real columns."""
        ends = np.cumsum([0, *(len(own) for own in self._atoms_of_columns)])
        return [p for i in self._members(block).tolist() for p in range(int(ends[i]), int(ends[i + 1]))]

    def is_real(self, block: Block) -> bool:
        """Whether a block is one of real columns."""
        return self.summary.columns[block[0]].is_real

    def _members(self, block: Block) -> IntArray:
        return np.array([self._place[column] for column in block], dtype=np.int64)

    def best_structure(self) -> Structure:
        """Return the blocks of best evidence for the rows under their own weights."""
        sums = self.moments(self.weights)

        def evidence(block: Block) -> float:
            if self.is_real(block):
                return evidence_of_normal_block(self._members(block), sums)
            return evidence_of_classes(self.classes(block, keep=len(block) == 1), self.weights)[0]

        # Rows that are few cannot tell columns apart; then only those that are alike in the whole table share a block.
        few = self.total < ENOUGH_ROWS
        kinds = [
            (column.domain, column.scale, column.group if few else 0, place if column.atoms else -1)
            for place, column in enumerate(self.summary.columns)
        ]
        number = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
        blocks = tuple(best_partition(np.array([number[kind] for kind in kinds]), evidence))
        structures = [Structure(blocks), Structure(blocks, joint=True)]
        structures.append(Structure(tuple(b for block in blocks for b in self._apart(block)), joint=True))
        return max(structures, key=lambda structure: self._evidence_of(structure, sums))

    def _apart(self, block: Block) -> list[Block]:
        return [(column,) for column in block] if self.is_real(block) else [block]

    def _joint(self, structure: Structure, sums: RowMoments) -> IntArray:
        """Return the real columns that are jointly normal: those that stand alone, are spread out and have no atoms."""
        if not structure.joint:
            return np.zeros(0, dtype=np.int64)
        alone = [block[0] for block in structure.blocks if len(block) == 1 and self.is_real(block)]
        places = self._members(tuple(alone)).tolist()
        found = sorted(p for p in places if sums.of_atoms(p) < NO_ATOMS and not has_one_value(p, sums))
        return np.array(found if len(found) > 1 else [], dtype=np.int64)

    def _evidence_of(self, structure: Structure, sums: RowMoments) -> float:
        """Return the evidence of the real columns and of the partition."""
        joint = self._joint(structure, sums)
        found = evidence_of_normals(joint, sums) if len(joint) else 0.0
        for block in structure.blocks:
            if self.is_real(block) and self._place[block[0]] not in joint:
                found += evidence_of_normal_block(self._members(block), sums)
        return found + log_prior([len(block) for block in structure.blocks])

    def evidence(self, structure: Structure, weights: FloatArray) -> float:
        """Return the log-evidence of given blocks for the rows under given weights."""
        of_values = [
            evidence_of_classes(self.classes(block), weights)[0]
            for block in structure.blocks
            if not self.is_real(block)
        ]
        return self._evidence_of(structure, self.moments(weights)) + sum(of_values)

    def fitted(self, structure: Structure, weights: FloatArray) -> BlockProduct:
        """Fit the laws of given blocks to the rows under given weights."""
        sums = self.moments(weights)
        total, laws, tables = self._evidence_of(structure, sums), {}, {}
        for block in structure.blocks:
            if not self.is_real(block):
                classes = self.classes(block)
                evidence, laws[block] = evidence_of_classes(classes, weights)
                tables[block] = log_probabilities(classes, weights, laws[block])
                total += evidence
        return BlockProduct(structure, laws, tables, self._normal(structure, sums), total, sums.total)

    def _normal(self, structure: Structure, sums: RowMoments) -> NormalProduct:
        reals, joint = len(self.centers), self._joint(structure, sums)
        shift, precision, members, along = np.zeros(reals), np.zeros(reals), [], []
        log_scale = -0.5 * reals * LOG_2PI
        for block in structure.blocks:
            if not self.is_real(block) or self._place[block[0]] in joint:
                continue
            own, m = self._members(block), len(block)
            of_mean, squares, contrasts, variance = symmetric_sums(own, sums.spread_out(int(own[0])), *sums[1:6])
            if m == 1 and has_one_value(int(own[0]), sums):
                variance = float(sums.floors[own[0]])
            total = sums.spread_out(int(own[0]))
            about = max(squares - of_mean**2 / (total + MEAN_ROWS), 0.0)
            b = (about + VARIANCE_ROWS * variance) / (total + VARIANCE_ROWS)
            a = b if m == 1 else (contrasts + VARIANCE_ROWS * variance) / (total * (m - 1) + VARIANCE_ROWS)
            middle = self.centers[own].mean()
            shift[own] = self.centers[own] - middle - of_mean / (total + MEAN_ROWS) / np.sqrt(m)
            precision[own] = 1 / a
            log_scale -= 0.5 * ((m - 1) * np.log(a) + np.log(b))
            if m > 1:
                members.append(np.isin(np.arange(reals), own).astype(np.float64))
                along.append((1 / b - 1 / a) / m)
        whitening = np.zeros((0, 0))
        if len(joint):
            shift[joint] = -sums.first[joint] / (sums.total + MEAN_ROWS)
            scatter = scatter_of(joint, sums) + np.diag(VARIANCE_ROWS * sums.variances[joint])
            factor = np.linalg.cholesky(scatter / (sums.total + VARIANCE_ROWS))
            log_scale -= float(np.log(np.diag(factor)).sum())
            whitening = solve_triangular(factor, np.eye(len(joint)), lower=True).T
        of_blocks: Any = np.array(members).reshape(len(members), reals).T
        of_atoms = []
        for place in np.flatnonzero([len(own) for own in sums.atoms]).tolist():
            counts, widths = sums.atoms[place], sums.widths[place]
            if place in joint:
                of_atoms.append(np.full(len(counts), IMPOSSIBLE))
                continue
            log_p = np.log(np.append(counts, sums.spread_out(place)) + 0.5) - np.log(
                sums.total + 0.5 * len(counts) + 0.5
            )
            middle = 0.5 * (np.log(precision[place]) - LOG_2PI - precision[place] * shift[place] ** 2)
            log_scale += log_p[-1]
            of_atoms.append(log_p[:-1] - log_p[-1] - np.log(widths) - middle)
        gains = np.concatenate([np.zeros(0), *of_atoms])
        return NormalProduct(shift, precision, of_blocks, np.array(along), log_scale, joint, whitening, gains)

    def log_prob(self, product: BlockProduct) -> FloatArray:
        """Return the log-density of each row."""
        reals = len(self.centers)
        found = product.normal.log_density(self.values, self.atoms) if reals else np.zeros(len(self.weights))
        for block, table in product.tables.items():
            found += table[self.classes(block).of]
        return found

    def features(self, structure: Structure) -> FloatArray:
        """Return the mean of each block of reals and the value counts of each discrete one, standardized."""
        found = []
        for block in structure.blocks:
            if self.is_real(block):
                found.append(self.values[:, self._members(block)].sum(axis=1, keepdims=True))
                found += [self.atoms[:, [place]] for place in self._places_of_atoms(block)]
            else:
                classes = self.classes(block)
                found.append(classes.counts[:, 1:][classes.of])
        features = np.concatenate(found, axis=1)
        features -= self.weights @ features / self.total
        spread = np.sqrt(self.weights @ features**2 / self.total)
        return np.asarray(features / np.where(spread > 0, spread, 1.0))


def _atoms_of(summary: TableSummary) -> tuple[FloatArray, IntArray]:
    """Mark the atoms that rows have, those of all real columns one after the other, and return whose they are."""
    pairs = [(k, value) for k, i in enumerate(summary.real.tolist()) for value, _ in summary.columns[i].atoms]
    marks = [summary.cells[:, summary.real[k]] == value for k, value in pairs]
    owner = np.array([k for k, _ in pairs], dtype=np.int64)
    return np.array(marks, dtype=np.float64).reshape(len(pairs), len(summary.cells)).T, owner

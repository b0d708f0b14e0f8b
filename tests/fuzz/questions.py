"""Questions about random circuits: intervals, sets and counts, with evidence of all kinds, against what they mean."""

import numpy as np

from fuzz.building import random_rows
from xspn.core.errors import EvidenceError, QueryError

MOST_INTERVALS = 3  # of one leaf, that are integrated over
RELATIONS = {"<": (-1, 0), "<=": (-1, 1), ">": (1, 0), ">=": (1, 1)}


def check_questions(rng, circuit, meaning, rows):
    """Ask how probable an event is, without evidence, given a row, and given another event."""
    ends = random_rows(rng, circuit, meaning, 12)[:, meaning.real]  # numbers that are drawn are where answers change
    ends = dict(zip(meaning.real, ends.T, strict=True))
    for _ in range(3):
        event, evidence = Asked(rng, circuit, meaning, ends), Asked(rng, circuit, meaning, ends)
        row = rows[int(rng.integers(len(rows)))].copy()
        nothing = np.full_like(row, np.nan)
        check(circuit, meaning, event, None, nothing, None)
        check(circuit, meaning, event, None, row, row)
        check(circuit, meaning, event, evidence, nothing, evidence.text)


def check(circuit, meaning, event, evidence, row, given):
    """Compare one probability; evidence that is impossible must be refused."""
    both = event if evidence is None else event.and_(evidence)
    known = meaning.event_log(row, *((evidence.intervals, evidence.allowed) if evidence else ({}, event.everything)))
    joint = meaning.event_log(row, both.intervals, both.allowed)
    if known is None or joint is None:
        return
    inside = all(np.isnan(row[v]) or low <= row[v] <= high for v, (low, high) in both.intervals.items())
    if np.isneginf(known) or (known < -600 and evidence is not None):
        try:
            circuit.probability(event.text, given=given)
        except (EvidenceError, QueryError):  # the second where it would need intervals of too many variables
            return
        assert not np.isneginf(known), f"probability: {event.text} given {given}, which is impossible, was answered"
        return
    expected = np.exp(joint - known) if inside else 0.0
    try:
        found = circuit.probability(event.text, given=given).probability
    except QueryError:
        assert len(event.intervals) > MOST_INTERVALS, f"{event.text!r} was refused"
        return
    size = max(1.0, abs(known)) if evidence is None else 1.0
    assert abs(found - expected) <= 1e-9 + 1e-7 * expected + 1e-13 * size, (
        f"probability of {event.text!r} given {given!r}: found {found!r}, expected {expected!r}"
    )


class Asked:
    """A conjunction of comparisons, as text and as what it means."""

    def __init__(self, rng, circuit, meaning, ends):
        self.rng, self.names, self.meaning = (
            rng,
            circuit.names or [f"X{i}" for i in range(circuit.n_variables)],
            meaning,
        )
        self.everything = np.ones(len(meaning.all_assignments), dtype=bool)
        self.allowed, self.intervals, self.parts = self.everything.copy(), {}, []
        asked = [*(v for v in meaning.scope if rng.random() < 0.4)] or meaning.scope[:1]
        for v in asked:
            if v in meaning.real:
                self.ask_interval(v, ends[v][~np.isnan(ends[v])])
            else:
                self.ask_value(v)
        binary = [v for v in meaning.discrete if meaning.sizes[v] == 2]
        if binary and rng.random() < 0.5:
            self.ask_count([v for v in binary if rng.random() < 0.7] or binary)
        self.text = " & ".join(self.parts)

    def and_(self, other):
        """The event that both come true."""
        both = object.__new__(Asked)
        both.text, both.everything = self.text, self.everything
        both.allowed, both.intervals = self.allowed & other.allowed, dict(self.intervals)
        for v, (low, high) in other.intervals.items():
            mine = both.intervals.get(v, (-np.inf, np.inf))
            both.intervals[v] = (max(low, mine[0]), min(high, mine[1]))
        return both

    def ask_interval(self, v, ends):
        low, high = np.sort(self.rng.choice(ends if len(ends) else self.rng.normal(size=2), size=2))
        if self.rng.random() < 0.5 or low == high:
            sign = str(self.rng.choice(list(RELATIONS)))
            side, closed = RELATIONS[sign]
            end = low if closed else np.nextafter(low, side * np.inf)
            self.intervals[v] = (end, np.inf) if side > 0 else (-np.inf, end)
            self.parts.append(f"{self.names[v]} {sign} {float(low)!r}")
        else:
            self.intervals[v] = (low, high)
            self.parts.append(f"{self.names[v]} in {float(low)!r}..{float(high)!r}")

    def ask_value(self, v):
        k = int(self.rng.integers(self.meaning.sizes[v]))
        same = self.meaning.all_assignments[:, v] == k
        equal = self.rng.random() < 0.6
        self.allowed &= same if equal else ~same
        self.parts.append(f"{self.names[v]}{'=' if equal else '!='}{k}")

    def ask_count(self, variables):
        ones = (self.meaning.all_assignments[:, variables] == 1).sum(axis=1)
        least = int(self.rng.integers(len(variables) + 1))
        self.allowed &= ones >= least
        self.parts.append(f"count({', '.join(self.names[v] for v in variables)}) >= {least}")

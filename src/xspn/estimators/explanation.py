"""A circuit in words, on a page: its contexts, their blocks with their laws, and the variables that stand alone."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from types import MappingProxyType

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import counted, printable
from xspn.core.names import counted_names, listed
from xspn.data.attributes import common_attributes
from xspn.data.schema import Schema
from xspn.graph.nodes import Node, Sum
from xspn.inference.composition import Composition, Mark, Parts
from xspn.inference.naming import UNMARKED, context_name
from xspn.inference.segments import rows_in_words
from xspn.inference.strength import ABSOLUTE, strength_of
from xspn.learning.policy import AGAINST, Operation
from xspn.learning.trace import Trace, TraceEntry, describe_test
from xspn.leaves.base import Leaf
from xspn.leaves.laws import bars, percent

PAGE = 40  # lines
WIDTH = 120  # letters
LEAST_NAMES = 44  # letters that names of a block get at least
ROOM = 24  # letters beside a law: for indent and short names
MARKED_NAMES = 24  # letters for names of one block that mark a context
MOST_MARKS = 6  # groups of variables that mark a context, on a page
MOST_WEIGHTS = 3  # of contexts inside a context, on a page
MOST_SECTIONS = 12  # contexts, and what holds in all rows, on a page
MOST_COMPARED = 16  # contexts in which variables that decide between them are looked for
DEEPEST = 12  # contexts inside contexts, in full
KEPT = "\xa0"  # a space at which no line ends
HARDLY, NEARLY = 0.005, 0.995  # a bit that is one less often, or more often, is said to be so in a word


@dataclass(frozen=True)
class Reason:
    """Why a node was made: how many rows spoke, a test in words with its p-value, and what else is known."""

    rows: float
    test: str = ""
    p_value: float | None = None
    detail: str = ""


def reasons_of(trace: Trace, schema: Schema) -> dict[int, Reason]:
    """Return why the nodes of a circuit were made; of several decisions about a node the one with a test counts."""
    reasons: dict[int, Reason] = {}
    for entry in trace:
        if entry.node in reasons and entry.test is None:
            continue
        own = [schema.shown_name(v) for v in entry.variables]
        words = "" if entry.test is None else describe_test(entry.test, own.__getitem__)
        p_value = None if entry.test is None else float(entry.test.p_value)
        reasons[entry.node] = Reason(float(entry.rows), words, p_value, entry.detail)
    return reasons


def context_in_words(trace: Trace, entry: TraceEntry, circuit: Circuit, composition: Composition) -> str:
    """Say in which contexts a decision was made, by what marks them; nothing for one about all rows.

    Args:
        trace: All decisions.
        entry: The decision.
        circuit: What came of them.
        composition: The circuit's contexts, which it finds as they are asked for.
    """
    found: list[str] = []
    while entry.branch is not None:
        above = trace.entries[entry.branch.parent]
        if entry.branch.is_cluster:
            found.append(_branch(entry, above, circuit, composition))
        entry = above
    return " and ".join(found[::-1])


def _branch(entry: TraceEntry, above: TraceEntry, circuit: Circuit, composition: Composition) -> str:
    """Name the cluster that a decision was made in, among those of the decision above."""
    branch, schema, nodes = entry.branch, circuit.schema, circuit.graph.nodes
    assert branch is not None, "the first decision is in no cluster"
    if branch.variable is not None and branch.condition is not None:
        relation, value = branch.condition.relation, branch.condition.value
        text = str(schema.label(branch.variable, value)) if relation in ("=", "≠") else f"{value:g}"
        return f"{schema.shown_name(branch.variable)} {relation} {text}"
    place = f"context {branch.place + 1} of {branch.of}"
    if not 0 <= entry.node < len(nodes) or not 0 <= above.node < len(nodes):
        return place
    own, mixture = nodes[entry.node], nodes[above.node]
    if own is mixture or own.scope != mixture.scope:
        return place
    name = context_name(composition, own, mixture, schema)
    return place if name == UNMARKED else name


def decisions_in_words(trace: Trace) -> str:
    """Return how often the learner decided what."""
    counts = Counter(entry.operation for entry in trace)
    made = [f"{counts[operation]} × {operation.value}" for operation in Operation if counts[operation]]
    return f"Decisions: {'; '.join(made)}."


@dataclass
class _Section:
    """A context, or what holds in all rows: a heading, lines that may be left out from the end, and a last line."""

    heading: list[str]
    lines: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)  # how many variables each line is about
    last: str = ""
    shown: int = 0

    @property
    def height(self) -> int:
        cut = self.shown < len(self.lines)
        return len(self.heading) + self.shown + cut + bool(self.last)

    def text(self, indent: str) -> Iterator[str]:
        yield from self.heading
        yield from (f"{indent}{line}" for line in self.lines[: self.shown])
        left = len(self.lines) - self.shown
        if left:
            yield f"{indent}… {left} more, over {counted(sum(self.sizes[self.shown :]), 'variable')}"
        if self.last:
            yield f"{indent}{self.last}"


def explain(circuit: Circuit, reasons: Mapping[int, Reason], most: int, full: bool = False) -> list[str]:
    """Return the lines of a page about a circuit; in full, of as many as it takes.

    Args:
        circuit: The circuit.
        reasons: What is known of why nodes were made.
        most: How many contexts of a sum to describe on a page.
        full: Whether to describe everything.
    """
    writer = _Writer(circuit, reasons, most, full)
    lines = writer.everything() if full else writer.page()
    return [printable(line) for line in lines]


class _Writer:
    def __init__(self, circuit: Circuit, reasons: Mapping[int, Reason], most: int, full: bool) -> None:
        self.circuit, self.reasons, self.most, self.full = circuit, reasons, most, full
        self.graph, self.schema = circuit.graph, circuit.schema
        self.names = [printable(name) for name in circuit.schema.shown_names]
        self.composition = Composition(circuit.graph)
        self.rows = max((reason.rows for reason in reasons.values()), default=0.0)

    # -- a page ------------------------------------------------------------------------------------------------------

    def page(self) -> list[str]:
        """Return a page: everything if it fits; otherwise contexts get lines in turn until it is full."""
        parts = sum(1 for node in self.graph.nodes if isinstance(node, Sum | Leaf) and len(node.scope) > 1)
        if parts < PAGE and not self._too_many(self.circuit.root):
            whole = self.everything()
            if len(whole) <= PAGE:
                return whole
        mixtures, sections = self._sections(self.circuit.root)
        foot = self._foot()
        room = PAGE - len(foot) - sum(map(len, mixtures.values())) - sum(section.height for section in sections)
        waiting = [section for section in sections if section.shown < len(section.lines)]
        while room > 0 and waiting:
            for section in waiting:
                before = section.height
                section.shown += 1
                room -= section.height - before
                if room <= 0:
                    break
            waiting = [section for section in waiting if section.shown < len(section.lines)]
        lines: list[str] = []
        for place, section in enumerate(sections):
            lines += mixtures.get(place, [])
            lines += section.text("   ")
        return [*lines, *mixtures.get(len(sections), []), *foot]

    def _too_many(self, root: Node) -> bool:
        mixtures = [root] if isinstance(root, Sum) else self.composition.parts(root).mixtures
        return any(len(self.composition.contexts(mixture)) > self.most for mixture in mixtures)

    def _sections(self, root: Node) -> tuple[dict[int, list[str]], list[_Section]]:
        """Return the sections of a page, and what is written before some of them."""
        sections: list[_Section] = []
        before: dict[int, list[str]] = {}
        mixtures: Sequence[Sum]
        if isinstance(root, Sum) and len(root.scope) > 1:
            mixtures = [root]
        else:
            parts = self.composition.parts(root)
            mixtures = parts.mixtures
            if parts.blocks or parts.alone:
                always = f"In all rows, whatever the others are ({counted(len(root.scope), 'variable')} in all):"
                first = [always if mixtures else "In all rows:"]
                sections.append(self._section(first, Parts(parts.blocks, parts.alone)))
        for position, mixture in enumerate(mixtures):
            if len(sections) >= MOST_SECTIONS:
                left = mixtures[position:]
                width = sum(len(own.scope) for own in left)
                before[len(sections)] = [f"… and contexts for {counted(width, 'more variable')}"]
                break
            contexts = self.composition.contexts(mixture)
            shown = contexts[: max(0, min(self.most, MOST_SECTIONS - len(sections)))]
            before.setdefault(len(sections), []).append(self._introduction(mixture, contexts, len(shown)))
            decided = self._deciding([context for _, context in contexts])
            for place, (weight, context) in enumerate(shown):
                heading = self._heading(place, weight, context, mixture, decided, is_top=True)
                sections.append(self._section(heading, self.composition.parts(context), decided))
        return before, sections

    def _section(
        self, heading: list[str], parts: Parts, decided: Mapping[int, object] = MappingProxyType({})
    ) -> _Section:
        lines = [self._nested(part) if isinstance(part, Sum) else self._block(part) for part in parts.dependent]
        sizes = [len(part.scope) for part in parts.dependent]
        return _Section(
            heading, lines, sizes, self._alone([node for node in parts.alone if not decided.keys() & set(node.scope)])
        )

    # -- everything --------------------------------------------------------------------------------------------------

    def everything(self) -> list[str]:
        """Return all contexts, blocks and variables; what several contexts share is told once."""
        told: set[int] = set()
        root = self.circuit.root
        if isinstance(root, Sum) and len(root.scope) > 1:
            lines = self._whole_mixture(root, "", told, 0)
        else:
            lines = ["In all rows:", *self._whole_context(root, "   ", told, 0)]
        return [*lines, *self._foot()]

    def _whole_mixture(self, mixture: Sum, indent: str, told: set[int], depth: int) -> list[str]:
        contexts = self.composition.contexts(mixture)
        lines = self._lines(self._introduction(mixture, contexts, len(contexts)), indent)
        if self.graph.id_of(mixture) in told or depth >= DEEPEST:
            return [*lines[:-1], f"{lines[-1]} {'too deep to tell' if depth >= DEEPEST else 'as told before'}"]
        told.add(self.graph.id_of(mixture))
        decided = self._deciding([context for _, context in contexts])
        for place, (weight, context) in enumerate(contexts):
            for line in self._heading(place, weight, context, mixture, decided, depth == 0):
                lines += self._lines(line.strip(), indent if line[0] != " " else f"{indent}   ")
            lines += self._whole_context(context, f"{indent}   ", told, depth + 1, () if self.full else decided)
        return lines

    def _whole_context(
        self, context: Node, indent: str, told: set[int], depth: int, decided: Collection[int] = ()
    ) -> list[str]:
        parts = self.composition.parts(context)
        own = [self._block(block) for block in parts.blocks]
        own.append(self._alone([node for node in parts.alone if not set(node.scope) & set(decided)]))
        lines = [line for text in own if text for line in self._lines(text, indent)]
        for mixture in parts.mixtures:
            lines += self._whole_mixture(mixture, indent, told, depth)
        return lines

    def _lines(self, text: str, indent: str) -> list[str]:
        return _wrapped(text, indent) if self.full else [f"{indent}{text}"]

    # -- what is said of each part -------------------------------------------------------------------------------------

    def _introduction(self, mixture: Sum, contexts: Sequence[tuple[float, Node]], shown: int) -> str:
        which = "" if mixture is self.circuit.root else f" for {self._named(mixture)} [{self.graph.id_of(mixture)}]"
        heaviest = "" if shown == len(contexts) else f"; the {shown} with the most rows:" if shown > 1 else ""
        ending = ":" if shown == len(contexts) else ""
        return f"{counted(len(contexts), 'context')}{which}{heaviest}{ending}"

    def _heading(
        self, place: int, weight: float, context: Node, mixture: Sum, decided: Mapping[int, list[int]], is_top: bool
    ) -> list[str]:
        """Return a context's weight and what marks it, in one line or two."""
        about = f" (about {self.rows * weight:,.0f})" if is_top and self.rows else ""
        sure = [f"{self.names[v]} = {self._text(v, values[place])}" for v, values in decided.items()]
        where = f", where {self._room(sure, 60)}" if sure else ""
        rows = f"{percent(weight)} of {'rows' if is_top else 'these rows'}{about}"
        start = f"{place + 1}. {rows}{where} [{self.graph.id_of(context)}]"
        marks = [mark for mark in self.composition.marks(context, mixture) if mark.variable not in decided]
        if not marks:
            return [start if sure else f"{start}: no variable by itself tells it from the others"]
        text = self._marks(marks, self.composition.parts(context))
        return [f"{start}: {text}"] if len(start) + len(text) + 2 <= WIDTH else [start, f"   {text}"]

    def _deciding(self, contexts: list[Node]) -> dict[int, list[int]]:
        if not 1 < len(contexts) <= MOST_COMPARED:
            return {}
        return self.composition.deciding(contexts)

    def _marks(self, marks: Sequence[Mark], parts: Parts) -> str:
        """Name what marks a context, variables of one block or alike together, as many as there is room for."""
        block_of = {v: place for place, block in enumerate(parts.blocks) for v in block.variables}
        groups: dict[tuple[object, ...], list[Mark]] = {}
        for mark in marks:
            # Numbers are not drawn together: a mean of several columns' means is none of theirs.
            alike = (percent(mark.here), percent(mark.overall)) if mark.value is not None else ("real", mark.variable)
            key = (alike if mark.value is None else block_of.get(mark.variable, alike), mark.is_high, mark.value)
            groups.setdefault(key, []).append(mark)
        ordered = sorted(groups.values(), key=lambda own: -sum(mark.information for mark in own))
        first = [next((own for own in ordered if own[0].is_high == is_high), None) for is_high in (True, False)]
        best = [own for own in ordered if any(own is one for one in first)]  # one of each direction, if there are
        ordered = [*best, *(own for own in ordered if not any(own is one for one in best))]
        shown = len(ordered) if self.full else min(len(ordered), MOST_MARKS)
        while (
            (text := self._high_and_low(ordered, shown))
            and not self.full
            and shown > len(best)
            and len(text) > WIDTH - 3
        ):
            shown -= 1
        return text

    def _high_and_low(self, groups: list[list[Mark]], shown: int) -> str:
        texts = []
        for direction, is_high in (("high", True), ("low", False)):
            named = [self._marked(own) for own in groups[:shown] if own[0].is_high == is_high]
            left = sum(len(own) for own in groups[shown:] if own[0].is_high == is_high)
            if named:
                texts.append(f"{direction}: {', '.join(named)}{f' and {left} more' if left else ''}")
            elif left:
                texts.append(f"{direction}: {counted(left, 'variable')}")
        return "; ".join(texts)

    def _marked(self, marks: list[Mark]) -> str:
        first = marks[0]
        names = self._room_for_names([self.names[mark.variable] for mark in sorted(marks, key=lambda m: m.variable)])
        here, overall = (float(np.mean([getattr(mark, own) for mark in marks])) for own in ("here", "overall"))
        if first.value is None:
            return f"{names} {_number(here)} ({_number(overall)})"
        is_plain = first.value == 1 and self.schema.meanings[first.variable] is None
        what = names if is_plain else f"{names} = {self._text(first.variable, first.value)}"
        return f"{what} {percent(here)} ({percent(overall)})"

    def _room_for_names(self, names: Sequence[str], letters: int = MARKED_NAMES) -> str:
        return listed(names, None if self.full else letters)

    def _label(self, variable: int) -> "partial[str]":
        return partial(self._text, variable)

    def _text(self, variable: int, code: int) -> str:
        return printable(str(self.schema.label(variable, code)))

    def _named(self, node: Node, letters: int = 2 * LEAST_NAMES) -> str:
        names = [self.names[v] for v in node.scope]
        common = common_attributes(self.schema, [*node.scope])
        about = "".join(f"; {printable(name)} {printable(value)} {percent(part)}" for name, value, part in common)
        room = None if self.full else max(letters - len(about), MARKED_NAMES)
        return counted_names(names, room, about) if len(names) > 2 else listed(names, room)

    def _block(self, block: Leaf) -> str:
        names = [self.names[v] for v in block.variables]
        law = block.law(names, self._label(block.variables[0]))
        node = self.graph.id_of(block)
        strength = self._strength(block)
        end = f"{self._picture(block)} [{node}]{self._reason(node)}"
        tail = f"{law}{self._mean(block, law)}{strength}{end}"
        if strength and len(tail) > WIDTH - ROOM:  # the correlation is what tells more
            tail = f"{law}{self._mean(block, law)}; {strength.removeprefix('; ').rpartition(', ')[2]}{end}"
        return f"{self._named(block, max(LEAST_NAMES, WIDTH - len(tail) - 10))}: {tail}"

    def _mean(self, block: Leaf, law: str) -> str:
        """Return the mean of bits; laws of other values tell it."""
        if any(domain.cardinality != 2 for domain in block.domains) or law.endswith("each on its own"):
            return ""
        own = self.composition.marginals(block)
        mean = float(np.mean([own[v].mean for v in block.variables]))
        labels = {self._text(v, 1) for v in block.variables if self.schema.meanings[v] is not None}
        return f"; mean {percent(mean)}{f' {labels.pop()}' if len(labels) == 1 else ''}"

    def _strength(self, block: Leaf) -> str:
        """Return how much two variables of a block go together, beyond being alike."""
        strength = strength_of(block, self.schema.domains)
        return "" if strength is None or strength.measure == ABSOLUTE else f"; {strength}"  # laws tell correlations

    def _picture(self, block: Leaf) -> str:
        shape, numbers = block.picture()
        return f" {bars(numbers[0])}" if shape == "bars" and len(numbers[0]) > 3 else ""

    def _reason(self, node: int) -> str:
        reason = self.reasons.get(node)
        if reason is None:
            return ""
        if self.full:
            known = "; ".join(text for text in (reason.test, reason.detail) if text)
            return f" in {rows_in_words(reason.rows)}{f'; {known}' if known else ''}"
        if reason.p_value is None:
            return f" {reason.detail.removesuffix(AGAINST)}" if reason.detail.endswith(AGAINST) else ""
        return f" test: p = {reason.p_value:.2g}"

    def _nested(self, mixture: Sum) -> str:
        contexts = self.composition.contexts(mixture)
        weights = ", ".join(percent(weight) for weight, _ in contexts[:MOST_WEIGHTS])
        more = ", …" if len(contexts) > MOST_WEIGHTS else ""
        own = f"{len(contexts)} contexts of their own ({weights}{more}) [{self.graph.id_of(mixture)}]"
        return f"{self._named(mixture, WIDTH - len(own) - 12)}: {own}"

    def _alone(self, alone: Sequence[Node]) -> str:
        """Return the variables that stand alone: bits with their chances, others in their own words."""
        if not alone:
            return ""
        bits: list[tuple[float, int]] = []
        others: list[str] = []
        for node in alone:
            (variable,) = node.scope
            own = self.composition.marginals(node)[variable]
            if own.probabilities is not None and len(own.probabilities) == 2 and self.schema.meanings[variable] is None:
                bits.append((own.mean, variable))
            elif isinstance(node, Leaf) and (details := node.details(self._label(variable))) is not None:
                others.append(f"{self.names[variable]}: {printable(details)}")
            elif own.probabilities is not None:
                value = int(np.argmax(own.probabilities))
                others.append(
                    f"{self.names[variable]}: {self._text(variable, value)} {percent(own.probabilities[value])}"
                )
            else:
                others.append(f"{self.names[variable]}: {_number(own.mean)} ± {_number(own.variance**0.5)}")
        bits.sort(key=lambda pair: (-pair[0], pair[1]))
        open_ones = [f"{self.names[v]} {percent(p)}" for p, v in bits if HARDLY <= p <= NEARLY]
        sure = {"nearly always": [v for p, v in bits if p > NEARLY], "hardly ever": [v for p, v in bits if p < HARDLY]}
        texts = [f"{word} {self._room([self.names[v] for v in own], 40)}" for word, own in sure.items() if own]
        room = max(40, WIDTH - 15 - len("; ".join(texts)) - (30 if others and open_ones else 0))
        if others:
            texts.insert(0, self._room(others, room // 2 if open_ones else room, "; "))
        if open_ones:
            texts.insert(0, self._room(open_ones, room // 2 if others else room))
        return f"alone: {'; '.join(texts)}"

    def _room(self, texts: list[str], letters: int, separator: str = ", ") -> str:
        """Join texts, as many as there is room for."""
        shown = len(texts)
        while not self.full and shown > 1 and len(separator.join(texts[:shown])) > letters - 12:
            shown -= 1
        left = len(texts) - shown
        return f"{separator.join(texts[:shown])}{f' and {left} more' if left else ''}"

    def _foot(self) -> list[str]:
        weighed = any(reason.detail.endswith(AGAINST) for reason in self.reasons.values())
        said = [f"Evidence of blocks is{AGAINST}."] if weighed and not self.full else []
        return [*said, *_wrapped(f"Circuit: {self.circuit.summary()}.", "")]


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _wrapped(text: str, indent: str) -> list[str]:
    """Return a text in lines; what does not fit in one goes on further in. Names are never cut."""
    lines = wrap(
        text.replace(" %", f"{KEPT}%"), max(WIDTH, len(indent) + 40), initial_indent=indent,
        subsequent_indent=f"{indent}     ", break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(KEPT, " ") for line in lines]

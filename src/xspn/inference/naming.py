"""Names of contexts, made of what marks them: "class=barolo, high proline", "hot_topic=yes, few attends_*".

A name is a reading of the circuit alone, so the same model has the same names, whoever asks. Every phrase is true of
the context as the model has it: what is said without "more" or "less" holds in most rows of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from xspn.core.errors import printable
from xspn.core.names import listed, shortened
from xspn.data.schema import Schema
from xspn.graph.nodes import Node
from xspn.inference.composition import Composition, Mark
from xspn.inference.strength import strength_of

SURE, MOSTLY = 0.9, 0.5  # a value without further words, and with "mostly"
ROUNDING = 1e-9
FAR = 0.5  # deviations: a mean that is further away is high or low, others are higher or lower
FEWEST = 3  # bits of one direction that are counted in one phrase
FEW = 0.25  # of such bits, that are one: few
MOST_PHRASES = 2  # of a name
WORTH, LEAST = 0.15, 0.1  # of the first phrase's information, and in nats: what a second one must tell
SAID_FIRST = 0.3  # of the most telling phrase's information: what there is more of is said before what there is less of
NAMES, LONGEST = 22, 60  # letters for variables in a phrase, and for a name
DIRECTIONS = ("lower", "low", "higher", "high")
UNMARKED = "no marks"
MOST_COMPARED = 16  # contexts among which variables that decide between them are looked for


@dataclass(frozen=True)
class Phrase:
    """What can be said of a context: a text, the marks that it stands for, and how much these tell, in nats."""

    text: str
    marks: tuple[Mark, ...] = ()

    @property
    def information(self) -> float:
        """How much the marks tell, together."""
        return sum(mark.information for mark in self.marks)

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables that it is about."""
        return tuple(sorted(mark.variable for mark in self.marks))


def context_names(composition: Composition, mixture: Node, schema: Schema) -> list[str]:
    """Return the names of what a sum chooses from, the heaviest first; no two are the same.

    Examples:
        >>> from xspn import Bernoulli, Circuit, Product, Sum
        >>> wet = Product([Bernoulli(0, p=0.995), Bernoulli(1, p=0.7)])
        >>> dry = Product([Bernoulli(0, p=0.001), Bernoulli(1, p=0.05)])
        >>> c = Circuit(Sum([0.3, 0.7], [wet, dry]), names=["rain", "umbrella"])
        >>> context_names(Composition(c.graph), c.root, c.schema)
        ['no rain, no umbrella', 'rain, umbrella']
    """
    contexts = composition.contexts(mixture)
    nodes = [context for _, context in contexts]
    decided = deciding(composition, nodes)
    found = [phrases_of(composition, node, mixture, schema, decided) for node in nodes]
    chosen = [_chosen(own) for own in found]
    places: dict[tuple[str, ...], list[int]] = {}
    for place, texts in enumerate(chosen):
        places.setdefault(tuple(sorted(texts)), []).append(place)
    for alike in places.values():
        if 1 < len(alike) <= MOST_COMPARED:
            among = [contexts[place] for place in alike]
            for place in alike:  # what tells it from those that would have the same name
                own, first = phrases_of(composition, nodes[place], among, schema, {}), found[place][0]
                chosen[place] = _chosen([first, *(one for one in own if one.text != first.text)])
    return _numbered([shortened(", ".join(texts), LONGEST) for texts in chosen])


def deciding(composition: Composition, contexts: list[Node]) -> Mapping[int, object]:
    """Return the variables that are all but sure in each context, and not the same in all; of many contexts none."""
    return composition.deciding(contexts) if 1 < len(contexts) <= MOST_COMPARED else {}


def context_name(composition: Composition, context: Node, mixture: Node, schema: Schema) -> str:
    """Return the name of one context among others, which need not be unique."""
    return shortened(", ".join(_chosen(phrases_of(composition, context, mixture, schema, {}))), LONGEST)


def mark_in_words(mark: Mark, schema: Schema) -> str:
    """Say in a phrase what marks a context: a value, or that a number is high or low.

    Examples:
        >>> from xspn import Bernoulli, Circuit
        >>> schema = Circuit(Bernoulli(0, p=0.5), names=["rain"], labels={"rain": ["dry", "wet"]}).schema
        >>> mark_in_words(Mark(0, 1, 0.2, 0.5, 0.19, shift=-0.6), schema)
        'mostly rain=dry'
    """
    name, domain = printable(schema.shown_name(mark.variable)), schema.domains[mark.variable]
    size = 0 if domain is None else domain.cardinality or 0
    is_scale = domain is not None and domain.ordered and size > 2
    if mark.value is None or (is_scale and mark.here < MOSTLY):
        return f"{DIRECTIONS[2 * (mark.shift > 0) + (abs(mark.shift) >= FAR)]} {name}"
    chance, value = mark.here, mark.value
    if size == 2 and schema.labels[mark.variable] is None:
        if mark.is_high:
            return name if chance >= MOSTLY else f"more {name}"
        return f"no {name}" if 1 - chance >= SURE - ROUNDING else f"less {name}"
    if size == 2 and not mark.is_high:
        chance, value = 1 - chance, 1 - value
    label = printable(str(schema.label(mark.variable, value)))
    if mark.is_high or size == 2:
        return f"{'' if chance >= SURE - ROUNDING else 'mostly ' if chance >= MOSTLY else 'more '}{name}={label}"
    return f"{name}≠{label}" if 1 - chance >= SURE - ROUNDING else f"less {name}={label}"


def _numbered(names: list[str]) -> list[str]:
    """Return the names with a number behind those that come again."""
    taken: set[str] = set()
    out: list[str] = []
    for name in names:
        number, own = 1, name
        while own in taken:
            number += 1
            own = f"{name} ({number})"
        taken.add(own)
        out.append(own)
    return out


def _chosen(phrases: Sequence[Phrase]) -> list[str]:
    """Return the phrases that make a name: the first, and one more if it tells much and there is room."""
    chosen = [phrases[0].text]
    for phrase in phrases[1:]:
        if len(chosen) == MOST_PHRASES or len(", ".join([*chosen, phrase.text])) > LONGEST:
            break
        if phrase.information >= max(LEAST, WORTH * phrases[0].information):
            chosen.append(phrase.text)
    return chosen


def phrases_of(
    composition: Composition,
    context: Node,
    among: Node | Sequence[tuple[float, Node]],
    schema: Schema,
    decided: Mapping[int, object],
) -> list[Phrase]:
    """Return what can be said of a context, the most telling first; what decides between contexts before all."""
    marks = composition.marks(context, among)
    families = _families(marks, schema)
    groups: dict[object, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(_group_of(mark, composition, context, schema, decided, families), []).append(mark)
    found: list[Phrase] = []
    for own in groups.values():
        if len(own) >= FEWEST:
            found.append(_counted(own, schema, families))
        else:
            found += [Phrase(mark_in_words(mark, schema), (mark,)) for mark in own]
    if not found:
        return [Phrase(_by_blocks(composition, context, schema))]
    enough = SAID_FIRST * max(one.information for one in found)

    def rank(one: Phrase) -> tuple[bool, bool, float, tuple[int, ...]]:
        """What decides comes first, then what there is more of, if it tells enough."""
        lower = not one.marks[0].is_high or one.information < enough
        return not decided.keys() & set(one.variables), lower, -round(one.information, 6), one.variables

    return sorted(found, key=rank)


def _group_of(
    mark: Mark,
    composition: Composition,
    context: Node,
    schema: Schema,
    decided: Mapping[int, object],
    families: Set[str],
) -> object:
    """Return what bits must share to be one phrase: direction, labels, and their names' stem, a block or chances."""
    domain, labels = schema.domains[mark.variable], schema.labels[mark.variable]
    if mark.variable in decided or domain is None or domain.cardinality != 2:
        return mark.variable
    stem = _stem(schema.shown_name(mark.variable))
    if stem in families:
        return ("stem", stem, mark.is_high, labels)
    for place, block in enumerate(composition.parts(context).blocks):
        if mark.variable in block.variables:
            return ("block", place, mark.is_high, labels)
    return ("alike", round(mark.here, 1), round(mark.overall, 1), mark.is_high, labels)


def _families(marks: Sequence[Mark], schema: Schema) -> set[str]:
    """Return the stems of numbered names that "stem*" can stand for: most of these are marks, of one direction.

    Where some bills are passed and others are not, "many bill_*" would be as false as "few bill_*".
    """
    sizes = Counter(_stem(name) for name in schema.shown_names if _stem(name) != name)
    marked: dict[str, list[bool]] = {}
    for mark in marks:
        marked.setdefault(_stem(schema.shown_name(mark.variable)), []).append(mark.is_high)
    return {
        stem
        for stem, size in sizes.items()
        if size >= FEWEST and 2 * len(marked.get(stem, ())) >= size and len(set(marked[stem])) == 1
    }


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _counted(marks: list[Mark], schema: Schema, families: Set[str]) -> Phrase:
    """Return a phrase about how many of several bits are one."""
    variables = tuple(sorted(mark.variable for mark in marks))
    names = [printable(schema.shown_name(v)) for v in variables]
    stems = {_stem(name) for name in names}
    shown = f"{stems.pop()}*" if len(stems) == 1 and stems <= families else _first_names(names)
    here = sum(mark.here for mark in marks) / len(marks)
    words = ("many" if here >= MOSTLY else "more", "few" if here <= FEW else "fewer")
    word = words[0 if marks[0].is_high else 1]
    labels = schema.meanings[variables[0]]
    value = "" if labels is None else f"={printable(str(labels[1]))}"
    return Phrase(f"{word} {shown}{value}", tuple(marks))


def _first_names(names: list[str]) -> str:
    """Return as many names as there is room for, in a form that is one word of a name."""
    shown = names[:1]
    for name in names[1:]:
        if len("/".join([*shown, name])) > NAMES:
            return f"{'/'.join(shown)}/…"
        shown.append(name)
    return "/".join(shown)


def _by_blocks(composition: Composition, context: Node, schema: Schema) -> str:
    """Name a context that no variable by itself tells from the others by what its variables do together."""
    parts = composition.parts(context)
    for part in parts.dependent:
        strength = strength_of(part, schema.domains)
        if strength is not None and not strength.are_apart:
            names = listed([printable(schema.shown_name(v)) for v in part.scope], NAMES)
            return f"{names} {strength.words}"
    return UNMARKED

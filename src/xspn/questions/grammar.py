"""The grammar of questions: from text to a tree of comparisons, with the place of every word.

    event      = term { ("|" | "or") term }
    term       = factor { ("&" | "and") factor }
    factor     = ("not" | "!") factor | "(" event ")" | comparison
    comparison = (name | count) relation
    relation   = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | ["not"] "in" set
    set        = value ".." value | "{" value { "," value } "}" | value
    count      = "count(" item { "," item } ")"
    item       = name [relation]

Names and values are words, several of them with spaces between, or quoted text. Words end where a sign of the grammar
begins; and, or, not, in are words of the grammar.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xspn.core.errors import QuestionError

SIGNS = re.compile(r"\.\.|&&?|\|\|?|!=|<>|≠|<=|≤|>=|≥|==?|<|>|!|[(){},]")
QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
WORD_END = re.compile(r"\s|\.\.|!=|[&|=<>≠≤≥(){},]")
RELATIONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "≠": "!=", "<": "<", "<=": "<=", "≤": "<="}
RELATIONS |= {">": ">", ">=": ">=", "≥": ">="}
AND, OR, NOT = ("&", "&&", "and", "AND"), ("|", "||", "or", "OR"), ("!", "not", "NOT")
IN = ("in", "IN")
KEYWORDS = (*AND, *OR, *NOT, *IN)
DEEPEST = 50  # nested parentheses and negations


@dataclass(frozen=True)
class Word:
    """A name or a value: its text, where it stands, and whether it was quoted."""

    text: str
    start: int
    end: int
    quoted: bool = False


@dataclass(frozen=True)
class Relation:
    """What is said of a name or a count.

    Attributes:
        sign: "=", "!=", "<", "<=", ">", ">=", "in" or "not in".
        values: The value; the members of a set; or the two ends of a range, None where it is open.
        is_range: Whether the values are the ends of a range.
        start: Where it begins.
    """

    sign: str
    values: tuple[Word | None, ...]
    is_range: bool
    start: int


@dataclass(frozen=True)
class Item:
    """One name in a count, and what is said of it; None for "is 1", or for what is said of a later one."""

    name: Word
    relation: Relation | None


@dataclass(frozen=True)
class Counted:
    """count(…): the names, and where it stands."""

    items: tuple[Item, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Comparison:
    """Something that is said of a name or a count; without a relation it asks for the distribution."""

    subject: Word | Counted
    relation: Relation | None


@dataclass(frozen=True)
class Negation:
    """An expression that does not come true."""

    part: "Expression"


@dataclass(frozen=True)
class Junction:
    """Expressions that all come true ("&"), or at least one of them ("|")."""

    sign: str  # "&" or "|"
    parts: "tuple[Expression, ...]"


Expression = Comparison | Negation | Junction


@dataclass(frozen=True)
class _Token:
    kind: str  # "sign", "word", "quoted" or "end"
    text: str
    start: int
    end: int


def _tokens(text: str, what: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        if found := SIGNS.match(text, place):
            yield _Token("sign", found.group(), place, found.end())
            place = found.end()
        elif found := QUOTED.match(text, place):
            inside = found.group(1) if found.group(1) is not None else found.group(2)
            yield _Token("quoted", re.sub(r"\\(.)", r"\1", inside), place, found.end())
            place = found.end()
        elif text[place] in "\"'":
            raise QuestionError("expected a closing quotation mark", what, text, place)
        else:
            end = WORD_END.search(text, place + 1)
            stop = end.start() if end else len(text)
            yield _Token("word", text[place:stop], place, stop)
            place = stop
    yield _Token("end", "", len(text), len(text))


def parse_question(text: str, what: str = "question") -> Expression:
    """Return the tree of a text; a fault is told with its place.

    Args:
        text: The text.
        what: What the text is, for messages.

    Examples:
        >>> tree = parse_question("sugar=1 & not (count(drinks_*) in 2..3)")
        >>> type(tree).__name__, [type(part).__name__ for part in tree.parts]
        ('Junction', ['Comparison', 'Negation'])
    """
    if not text.strip():
        raise QuestionError("expected a name, NAME=VALUE or count(NAME, …), found nothing", what, text, 0)
    return _Parser(text, what).whole()


def conjunction(texts: Sequence[str]) -> str:
    """Return one text that says that all of several come true.

    Examples:
        >>> conjunction(["a=1", "b=1 or c=1"])
        'a=1 & (b=1 or c=1)'
    """

    def part(text: str) -> str:
        try:
            tree = parse_question(text)
        except QuestionError:  # exactly NAME=VALUE, with signs of the grammar in them
            return text.strip()
        return f"({text.strip()})" if isinstance(tree, Junction) and tree.sign == "|" else text.strip()

    return texts[0].strip() if len(texts) == 1 else " & ".join(map(part, texts))


class _Parser:
    """Recursive descent, one method for each rule."""

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what = text, what
        self.tokens = list(_tokens(text, what))
        self.place = 0
        self.depth = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.place]

    def fault(self, expected: str, token: _Token | None = None) -> QuestionError:
        own = token or self.next
        found = "the end" if own.kind == "end" else repr(own.text)
        return QuestionError(f"expected {expected}, found {found}", self.what, self.text, own.start)

    def is_sign(self, *signs: str) -> bool:
        own = self.next
        return own.kind != "quoted" and own.text in signs and own.kind != "end"

    def take(self) -> _Token:
        self.place += 1
        return self.tokens[self.place - 1]

    def whole(self) -> Expression:
        found = self.event()
        if self.next.kind != "end":
            raise self.fault("& or | or the end")
        return found

    def event(self) -> Expression:
        return self._junction(OR, "|", self.term)

    def term(self) -> Expression:
        return self._junction(AND, "&", self.factor)

    def _junction(self, signs: tuple[str, ...], sign: str, part: "object") -> Expression:
        parts = [part()]  # type: ignore[operator]
        while self.is_sign(*signs):
            self.take()
            parts.append(part())  # type: ignore[operator]
        return parts[0] if len(parts) == 1 else Junction(sign, tuple(parts))

    def factor(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise QuestionError(f"expected at most {DEEPEST} nested parts", self.what, self.text, self.next.start)
        if self.is_sign(*NOT):
            self.take()
            found: Expression = Negation(self.factor())
        elif self.is_sign("("):
            opened = self.take()
            found = self.event()
            if not self.is_sign(")"):
                raise self.fault(f") for the ( at character {opened.start + 1}")
            self.take()
        else:
            found = self.comparison()
        self.depth -= 1
        return found

    def comparison(self) -> Expression:
        is_count = self.next.kind == "word" and self.next.text.lower() == "count"
        if is_count and self.tokens[self.place + 1].text == "(":
            subject: Word | Counted = self.count()
        else:
            subject = self.word("a name or count(NAME, …)")
        return Comparison(subject, self.relation())

    def count(self) -> Counted:
        start = self.take().start
        self.take()
        items = []
        while True:
            name = self.word("count(NAME, …)")
            items.append(Item(name, self.relation()))
            if self.is_sign(")"):
                return Counted(tuple(items), start, self.take().end)
            if not self.is_sign(","):
                raise self.fault("a comma or )")
            self.take()

    def relation(self) -> Relation | None:
        token = self.next
        if token.kind == "sign" and token.text in RELATIONS:
            self.take()
            return Relation(RELATIONS[token.text], (self.word("a value"),), False, token.start)
        negated = self.is_sign("not", "NOT") and self.tokens[self.place + 1].text in IN
        if negated:
            self.take()
        if not self.is_sign(*IN):
            return None
        self.take()
        values, is_range = self.set()
        return Relation("not in" if negated else "in", values, is_range, token.start)

    def set(self) -> tuple[tuple[Word | None, ...], bool]:
        if self.is_sign("{"):
            self.take()
            values: list[Word | None] = [self.word("a value")]
            while self.is_sign(","):
                self.take()
                values.append(self.word("a value"))
            if not self.is_sign("}"):
                raise self.fault("a comma or }")
            self.take()
            return tuple(values), False
        low = None if self.is_sign("..") else self.word("a range such as 3..5, or {a, b}")
        if not self.is_sign(".."):
            return (low,), False
        self.take()
        is_open = self.next.kind == "end" or (self.next.kind != "quoted" and self.next.text in (*KEYWORDS, ")", ","))
        high = None if is_open and low is not None else self.word("the end of the range")
        return (low, high), True

    def word(self, expected: str) -> Word:
        """Return one quoted text, or all words up to a sign or a word of the grammar."""
        first = self.next
        if first.kind == "quoted":
            self.take()
            return Word(first.text, first.start, first.end, quoted=True)
        if first.kind != "word" or first.text in KEYWORDS:
            raise self.fault(expected)
        last = self.take()
        while self.next.kind == "word" and self.next.text not in KEYWORDS:
            last = self.take()
        return Word(self.text[first.start : last.end], first.start, last.end)

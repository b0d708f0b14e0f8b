"""One tree of errors, each also the built-in error that a caller would expect; and words that messages share."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any, Self
from unicodedata import category

HARMLESS_JOINERS = "\u200c\u200d"  # which some scripts and emoji need


class XSPNError(Exception):
    """Anything that xspn refuses to do. The message says what was expected, what was found, and what to do.

    Attributes:
        remedy: What kind of thing would help, by a short name: the command line has options of its own for some.
    """

    remedy: str | None = None

    def with_remedy(self, remedy: str) -> Self:
        """Return the error after it was told what would help."""
        self.remedy = remedy
        return self


class DataError(XSPNError, ValueError):
    """A table or a row of evidence that cannot be used: wrong shape, wrong value, wrong column."""


class DataTypeError(XSPNError, TypeError):
    """A table that holds something other than numbers."""


class ParameterError(XSPNError, ValueError):
    """A number or an option outside what it may be: a weight, a probability, a smoothing mass."""


class StructureError(XSPNError, ValueError):
    """Nodes that do not form a valid circuit: empty, overlapping or differing scopes, clashing domains."""


class QueryError(XSPNError, ValueError):
    """A question that this circuit cannot answer, with the reason."""


class EvidenceError(QueryError):
    """Evidence of probability zero: nothing can be conditioned on it."""


class QuestionError(QueryError):
    """A question that cannot be understood: its message shows the text and points at the character.

    Attributes:
        fault: What was expected and found, in a line.
        pointer: The text, and below it a caret at the character.

    Examples:
        >>> print(QuestionError("expected a value, found the end", "question", "sugar=", 6))
        question: expected a value, found the end
          sugar=
                ^
    """

    def __init__(self, fault: str, what: str, text: str, start: int) -> None:
        self.fault = f"{what}: {fault}"
        before = printable(text[:start])
        self.pointer = (f"  {printable(text)}", f"  {' ' * len(before)}^")
        self._made_of = (fault, what, text, start)
        super().__init__("\n".join([self.fault, *self.pointer]))

    def __reduce__(self) -> tuple[Any, ...]:
        return QuestionError, self._made_of


class FormatError(XSPNError, ValueError):
    """A model file that is truncated, altered or of an unknown schema; a circuit that a format has no form for."""


class MemoryLimitError(XSPNError, MemoryError):
    """Work that would take more memory than there is; the message says how much, and what would fit."""


class RegistryError(XSPNError, ValueError):
    """A name that nothing is registered under, or that is taken already."""


class DatasetError(XSPNError, OSError):
    """A data set that cannot be had: its files are nowhere to be found, out of reach, or damaged."""


class DatasetMissingError(DatasetError, FileNotFoundError):
    """A file that is neither beside the project nor in the cache, and that could not be downloaded."""


class ChecksumError(DatasetError):
    """A file whose content is not what it should be: it is never used."""


class MissingExtraError(XSPNError, ImportError):
    """An optional package that is not installed; the message says which extra brings it."""


class ClusterError(XSPNError, OSError):
    """A cluster that failed: a partition that cannot be read, workers that die, a scheduler that is gone."""


class AgreementWarning(UserWarning):
    """A fitted model that disagrees with its table about a column's mean, deviation, quantiles or frequencies."""


class TableWarning(UserWarning):
    """What was recognized in a table: a layout that was made wide, decimal commas, a column that was left out."""


def counted(number: int, noun: str) -> str:
    """Return how many there are of something.

    Examples:
        >>> counted(1, "node"), counted(2000, "node")
        ('1 node', '2,000 nodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def default_name(column: int) -> str:
    """Return the name of a column that has none.

    Examples:
        >>> default_name(0)
        'X0'
    """
    return f"X{column}"


def with_known_names(name: Any, known: Collection[str]) -> str:
    """Return an unknown name with the nearest known one, and all of them.

    Examples:
        >>> print(with_known_names("read", ["red", "blue"]))
        'read'; did you mean 'red'? Known: blue, red
    """
    near = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"{name!r}{hint} Known: {', '.join(sorted(known)) or 'none'}"


def printable(text: str) -> str:
    r"""Return a text in one line that is safe to show: what would move the cursor, color or turn text is escaped.

    Names come from files of others. Control characters (with line breaks), marks of direction and lone surrogates are
    written as Python writes them.

    Examples:
        >>> printable("plain, Größe, 日本 🙂"), printable("a\x1b[31m\nb\u202e")
        ('plain, Größe, 日本 🙂', 'a\\x1b[31m\\nb\\u202e')
    """
    if text.isprintable():
        return text
    return "".join(
        repr(character)[1:-1]
        if category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in HARMLESS_JOINERS
        else character
        for character in text
    )

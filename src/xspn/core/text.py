"""Words for people."""

from unicodedata import category

HARMLESS_JOINERS = "\u200c\u200d"  # which some scripts and emoji need


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

"""Words for people."""


def counted(number: int, noun: str) -> str:
    """Return how many there are of something.

    Examples:
        >>> counted(1, "node"), counted(2000, "node")
        ('1 node', '2,000 nodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

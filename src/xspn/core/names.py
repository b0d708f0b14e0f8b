"""Many names of variables in little room."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

LARGE_FAMILY = 8  # numbered names of one stem that are drawn together where there is no room for all


def matching(pattern: str, names: Sequence[str]) -> list[int]:
    """Return the places of the names that a name, or a pattern with * and ?, stands for.

    Examples:
        >>> matching("g*", ["ann", "guest_1", "guest_2"]), matching("a*", ["ab", "a*"])
        ([1, 2], [1])
    """
    if pattern in names:
        return [names.index(pattern)]
    return [place for place, name in enumerate(names) if fnmatchcase(name, pattern)]


def names_within(names: Sequence[str], letters: int) -> str:
    """Name as many variables as there is room for; runs of numbered ones are drawn together.

    Examples:
        >>> names_within(["X1", "X2", "X3", "X7", "rain"], 40)
        'X1…3, X7, rain'
        >>> names_within(["ann", "bob", "cem", "dana", "eve"], 16)
        'ann, bob, … eve'
        >>> names_within([f"attends_{i}" for i in range(10)], 30)
        'attends_0…9'
    """
    parts = [text for text, _ in _runs(names)]
    if len(", ".join(parts)) <= letters or len(parts) == 1:
        return shortened(", ".join(parts), letters)
    last = f"… {parts[-1]}"
    shown: list[str] = []
    for name in parts[:-1]:
        if len(", ".join([*shown, name, last])) > letters:
            break
        shown.append(name)
    return ", ".join([*shown, last]) if shown else shortened(f"{parts[0]}, …", letters)


def listed(names: Sequence[str], letters: int | None = None) -> str:
    """Name variables, as many as there is room for, and say how many more there are; all of them without a limit.

    Examples:
        >>> listed(["ann", "bob", "cem", "dana", "eve"], 20)
        'ann, bob and 3 more'
        >>> listed([f"attends_{i}" for i in range(10)], 30), listed(["ann", "bob"])
        ('attends_0…9', 'ann, bob')
        >>> listed(["red_7", *(f"blue_{i}" for i in range(1, 40, 2))], 40)
        'blue_1…39 (20), red_7'
        >>> listed([f"bill_{i}" for i in (*range(1, 40, 2), 0)], 20)  # in whatever order
        'bill_0…39 (21)'
    """
    if letters is None:
        return ", ".join(names)
    parts = _runs(names)
    whole = ", ".join(text for text, _ in parts)
    if len(whole) <= letters:
        return whole
    parts = _families(names)
    shown, left = "", len(names)
    for text, count in parts:
        longer = f"{shown}, {text}" if shown else shortened(text, letters)
        if shown and len(longer) + len(f" and {left - count} more") > letters:
            break
        shown, left = longer, left - count
    return f"{shown} and {left} more" if left else shown


def counted_names(names: Sequence[str], letters: int | None = None, about: str = "") -> str:
    """Name variables as `listed` does, and how many they are, unless that is said already.

    Examples:
        >>> counted_names(["ann", "bob", "cem"], 20), counted_names([f"blue_{i}" for i in range(1, 40, 2)], 20)
        ('ann, bob, cem (3)', 'blue_1…39 (20)')
        >>> counted_names([f"blue_{i}" for i in range(1, 40, 2)], 20, about=", 90 % left")
        'blue_1…39 (20, 90 % left)'
    """
    return f"{listed(names, letters).removesuffix(f' ({len(names)})')} ({len(names)}{about})"


def _families(names: Sequence[str]) -> list[tuple[str, int]]:
    """Write numbered names of one stem as x1…9 (5), the most numerous ones first, then all others as runs."""
    families: dict[str, list[str]] = {}
    for name in names:
        stem, number = _split(name)
        families.setdefault(stem if number else name, []).append(name)
    large = sorted((own for own in families.values() if len(own) >= LARGE_FAMILY), key=len, reverse=True)
    parts = []
    for own in large:
        own.sort(key=lambda name: int(_split(name)[1]))
        runs = _runs(own)
        text = f"{own[0]}…{_split(own[-1])[1]} ({len(own)})"
        parts += [(text, len(own))] if len(runs) > 1 else runs
    grouped = {name for own in large for name in own}
    return [*parts, *_runs([name for name in names if name not in grouped])]


def _runs(names: Sequence[str]) -> list[tuple[str, int]]:
    """Write x1, x2, x3 as x1…3, where at least three follow each other; with how many variables each text names."""
    parts: list[tuple[str, int]] = []
    start = 0
    while start < len(names):
        end = start
        while end + 1 < len(names) and _follows(names[end], names[end + 1]):
            end += 1
        if end - start >= 2:
            parts.append((f"{names[start]}…{_split(names[end])[1]}", end - start + 1))
        else:
            parts.extend((name, 1) for name in names[start : end + 1])
        start = end + 1
    return parts


def _follows(first: str, second: str) -> bool:
    (stem, number), (other, following) = _split(first), _split(second)
    return bool(number) and bool(following) and stem == other and int(following) == int(number) + 1


def _split(name: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL)
    return (found.group(1), found.group(2)) if found else (name, "")


def shortened(text: str, letters: int) -> str:
    """Return as much of a text as there is room for."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"

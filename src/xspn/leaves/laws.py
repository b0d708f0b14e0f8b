"""Laws in words: how often a number of variables is one, or how alike variables of several values are.

A phrase is chosen from the distribution itself and holds for the fraction of rows that stands behind it. What sounds
like a rule ("exactly one") must hold in at least nine rows of ten, a range in eight of ten.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import log_binomials, safe_log

RULE = 0.9  # the fraction of rows in which a rule holds
RANGE = 0.8  # the same of a range of counts
EACH = 0.05  # each of the cases that a rule names is as frequent as that
INDEPENDENT = 0.02  # nats a row: it takes 50 rows to see by odds of e to 1 that variables depend on each other
SPREAD = (
    1.25  # a variance of counts so many times that of independent variables, or so many times smaller, is worth words
)
CORRELATED = 0.05  # and so large must the intraclass correlation be: of many variables, a little adds up
WIDE = 0.75  # of all counts: a range that is wider says nothing
MOST_RUNS = 3  # of counts, in a phrase
LARGEST_STEP = 12  # of rules such as "a multiple of 5"
ROUNDING = 1e-12  # of sums of probabilities
MOST_VALUES = 3  # named of a variable with many
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 17


def percent(p: float) -> str:
    """Write a probability for people: digits where they tell something, never 0 or 100 for what is possible.

    Examples:
        >>> [percent(p) for p in (0, 0.0001, 0.004, 0.256, 0.996, 0.99999, 1)]
        ['0 %', '<0.1 %', '0.4 %', '26 %', '99.6 %', '>99.9 %', '100 %']
    """
    if min(p, 1 - p) < ROUNDING or 0.01 <= p <= 0.99:
        return f"{100 * p:.0f} %"
    if min(p, 1 - p) < 0.0005:
        return "<0.1 %" if p < 0.5 else ">99.9 %"
    return f"{100 * p:.1f} %"


def bars(chances: Sequence[float] | FloatArray) -> str:
    """Draw a distribution in a few letters; neighbors of long ones share a letter.

    Examples:
        >>> bars([0.1, 0.4, 0.5, 0.0])
        '▂▇█▁'
    """
    own = np.asarray(chances, dtype=np.float64)
    if len(own) > MOST_BARS:
        edges = np.linspace(0, len(own), MOST_BARS + 1).astype(np.int64)[:-1]
        own = np.add.reduceat(own, edges) / np.diff([*edges, len(own)])
    heights = np.round((len(BARS) - 1) * own / max(float(own.max()), 1e-300)).astype(np.int64)
    return "".join(BARS[height] for height in heights)


def total_correlation(log_weights: FloatArray, chances: FloatArray, marginals: FloatArray) -> float:
    """Return Σ H(X_i) − H(X) in nats, for classes of equally likely assignments.

    Args:
        log_weights: The log-probability of each assignment of a class.
        chances: The probability of each class.
        marginals: P(X_i = v): (n, values).
    """
    joint = -float(chances @ np.where(chances > 0, log_weights, 0.0))
    return max(0.0, -float((marginals * np.where(marginals > 0, safe_log(marginals), 0.0)).sum()) - joint)


def law_of_counts(chances: FloatArray) -> str:
    """Say how many of n variables are one, for P(count = t), t = 0..n, where any of them may be.

    Examples:
        >>> law_of_counts(np.array([0.6, 0, 0, 0.4]))
        'all or none (40 % all)'
        >>> law_of_counts(np.array([0.01, 0.98, 0.01, 0, 0, 0]))
        'exactly one (98 %)'
        >>> law_of_counts(np.array([0.16, 0.48, 0.36]))
        'about 60 %, each on its own'
    """
    own = np.asarray(chances, dtype=np.float64)
    n = len(own) - 1
    mean = float(own @ np.arange(n + 1)) / n
    if n == 1 or _divergence_from_binomial(own, mean) < INDEPENDENT:
        share = percent(mean)
        return f"{share if share[0] in '<>' else f'about {share}'}, each on its own"
    return _rule(own) or _few_or_many(own) or _ranges(own, mean)


def _divergence_from_binomial(own: FloatArray, mean: float) -> float:
    """Return the total correlation of the variables: a class holds the same assignments, equally likely, under both."""
    n = len(own) - 1
    counts = np.arange(n + 1)
    with np.errstate(invalid="ignore"):
        ones, zeros = (
            np.where(k > 0, k * safe_log(np.array(p)), 0.0) for k, p in ((counts, mean), (n - counts, 1 - mean))
        )
    seen = own > 0
    return float(own[seen] @ (np.log(own[seen]) - (log_binomials(n) + ones + zeros)[seen]))


def _rule(own: FloatArray) -> str | None:
    """Return a rule that nearly all rows keep, if there is one."""
    n = len(own) - 1
    if own[0] + own[n] >= RULE and min(own[0], own[n]) >= EACH:
        both = "both or neither" if n == 2 else "all or none"
        sure = _if_not_sure(own[0] + own[n])
        return f"{both}{sure} ({percent(own[n])} {'both' if n == 2 else 'all'})".replace(") (", ", ")
    first = int(np.argmax(own))
    if own[first] >= RULE:
        return f"{_exactly(first, n)}{_if_not_sure(own[first])}"
    step = _step(own)
    if step is not None:
        return step
    one, other = sorted(np.argsort(-own, kind="stable")[:2].tolist())
    held = own[one] + own[other]
    if held < RULE or min(own[one], own[other]) < EACH:
        return None
    if other == 1:
        words = "at most one"
    elif one == n - 1:
        words = "at least one" if n == 2 else "all or all but one"
    elif other == one + 1:
        words = f"{one} or {other} of {n}"
    else:
        words = f"either {_exactly(one, n)} or {_exactly(other, n)}"
    return f"{words}{_if_not_sure(held)}"


def _step(own: FloatArray) -> str | None:
    """Return whether the count is even, odd or a multiple of some number, and goes over several of these."""
    n = len(own) - 1
    steps = range(min(LARGEST_STEP, n // 2), 1, -1) if n >= 4 else range(2, min(n, 3))
    for step in steps:
        for start in (0, 1) if step == 2 else (0,):
            held = own[start::step]
            used = np.flatnonzero(held >= EACH)
            if held.sum() < RULE or len(used) < 2 or len(used) <= used[-1] - used[0]:
                continue
            # Two counts are a rule of their own, unless nearly all other rows keep to the step as well.
            others, kept = 1 - held[used].sum(), held.sum() - held[used].sum()
            if len(used) >= 3 or (step == 2 and (len(used) == len(held) or kept > max(EACH / 2, 0.75 * others))):
                kind = {(2, 0): "an even number", (2, 1): "an odd number"}.get((step, start), f"a multiple of {step}")
                return f"{kind}{_if_not_sure(float(held.sum()))}"
    return None


def _few_or_many(own: FloatArray) -> str | None:
    """Return that the count is far from the middle, on either side, if it is seldom there."""
    n = len(own) - 1
    third = n // 3
    if n < 4:
        return None
    few, many, middle = own[: third + 1], own[n - third :], own[third + 1 : n - third]
    if min(few.sum(), many.sum()) < 4 * EACH or middle.mean() > min(few.mean(), many.mean()) / 2:
        return None
    start = n - third
    runs = [_shortest(side, RANGE * float(side.sum())) for side in (few, many)]
    runs[1] = (runs[1][0] + start, runs[1][1] + start)
    if runs == [(0, 0), (n, n)]:  # none or all: a range of its own
        return None
    sides = [f"{_between(low, high, n)} ({percent(float(own[low : high + 1].sum()))})" for low, high in runs]
    return f"either few or many: {sides[0]} or {sides[1]} of {n}"


def _shortest(own: FloatArray, mass: float) -> tuple[int, int]:
    """Return the shortest run of counts with so much mass, and of these the likeliest."""
    ends = np.concatenate([[0.0], np.cumsum(own)])
    for length in range(1, len(own) + 1):
        sums = ends[length:] - ends[:-length]
        best = int(np.argmax(sums))
        if sums[best] >= mass * (1 - 1e-12):
            return best, best + length - 1
    return 0, len(own) - 1


def _between(low: int, high: int, n: int) -> str:
    if low == high:
        return "none" if low == 0 else "all" if low == n else str(low)
    return f"at most {high}" if low == 0 else f"at least {low}" if high == n else f"{low}–{high}"


def _ranges(own: FloatArray, mean: float) -> str:
    """Return the fewest counts that most rows have, and whether variables go together."""
    n = len(own) - 1
    if n == 2:  # of two variables three counts tell no more than whether they agree
        alike = float(own[0] + own[2])
        words = f"alike ({percent(alike)})" if alike >= 0.5 else f"different ({percent(1 - alike)})"
        return f"mostly {words}{_together(own, mean)}"
    runs = _runs(own)
    if sum(high - low + 1 for low, high in runs) >= WIDE * (n + 1):
        return f"anything from none to all{_together(own, mean)}"
    held = float(sum(own[low : high + 1].sum() for low, high in runs))
    texts = [_between(low, high, n) for low, high in runs]
    words = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
    return f"mostly {words} of {n} ({percent(held)}){_together(own, mean)}"


def _runs(own: FloatArray) -> list[tuple[int, int]]:
    """Return runs of counts that together hold most rows: the likeliest ones, and what lies between near ones."""
    order = np.argsort(-own, kind="stable")
    enough = int(np.searchsorted(np.cumsum(own[order]), RANGE)) + 1
    chosen = np.sort(order[:enough])
    ends = np.flatnonzero(np.diff(chosen) > 1)
    runs = [(int(part[0]), int(part[-1])) for part in np.split(chosen, ends + 1)]
    while len(runs) > MOST_RUNS:
        gaps = [after[0] - before[1] for before, after in pairwise(runs)]
        at = int(np.argmin(gaps))
        runs[at : at + 2] = [(runs[at][0], runs[at + 1][1])]
    return runs


def _together(own: FloatArray, mean: float) -> str:
    """Return whether counts vary more, or less, than those of independent variables: that is the sign of pairs."""
    n = len(own) - 1
    variance = float(own @ (np.arange(n + 1) - n * mean) ** 2)
    ratio = variance / (n * mean * (1 - mean))
    if ratio > SPREAD and ratio - 1 >= CORRELATED * (n - 1):
        return "; they go together"
    return "; they exclude each other" if ratio < 1 / SPREAD else ""


def _exactly(count: int, n: int) -> str:
    if count in (0, n):
        names = ("neither", "both") if n == 2 else ("none", "all")
        return names[int(count == n)]
    return "exactly one" if count == 1 else f"exactly {count} of {n}"


def _if_not_sure(held: float) -> str:
    return "" if held >= 0.995 else f" ({percent(held)})"


def law_of_values(
    log_prob: Callable[[FloatArray], FloatArray],
    marginal: FloatArray,
    n: int,
    dependence: float,
    label: Callable[[int], str],
) -> str:
    """Say how variables of several values behave, any of which may be interchanged.

    Args:
        log_prob: The log-probability of rows (rows, n), NaN for what is missing.
        marginal: P(X = v) of each of them.
        n: How many there are.
        dependence: Their total correlation.
        label: What each value is called.
    """
    values = np.arange(len(marginal), dtype=np.float64)
    likeliest = np.argsort(-marginal, kind="stable")
    named = [f"{label(int(v))} {percent(float(marginal[v]))}" for v in likeliest[:MOST_VALUES] if marginal[v] > 0]
    more = ", …" if int((marginal > 0).sum()) > MOST_VALUES else ""
    each = f"{', '.join(named)}{more}"
    if dependence < INDEPENDENT:
        return f"{each}, each on its own"
    same = float(np.exp(log_prob(np.repeat(values[:, None], n, axis=1))).sum())
    if same >= RULE:
        return f"all the same{_if_not_sure(same)}: {each}"
    pairs = np.full((len(marginal), n), np.nan)
    pairs[:, :2] = values[:, None]
    alike, by_chance = float(np.exp(log_prob(pairs)).sum()), float(marginal @ marginal)
    if abs(alike - by_chance) < EACH * (1 - by_chance):
        return f"{each}; they depend on each other, but not pair by pair"
    return f"{each}; they {'go together' if alike > by_chance else 'differ from each other'}"


def law_of_numbers(mean: float, std: float, correlation: float, dependence: float) -> str:
    """Say what numbers of one distribution are like, and whether they go together."""
    each = f"{mean:.4g} ± {std:.3g}".replace("-", "−")
    if dependence < INDEPENDENT:
        return f"{each}, each on its own"
    shown = f"{correlation:.2f}".replace("-", "−")
    return f"{each}; they {'go together' if correlation > 0 else 'even each other out'} (correlation {shown})"


def law_of_groups(groups: Sequence[IntArray]) -> str:
    """Say that there are several groups of interchangeable variables."""
    sizes = [str(len(group)) for group in groups]
    return f"groups of {', '.join(sizes[:-1])} and {sizes[-1]}, alike within, that depend on each other"

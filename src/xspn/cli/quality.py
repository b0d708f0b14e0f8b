"""How good predictions of one column are: accuracy, log-loss, calibration; for `classify` and `fit --target`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.cli.output import number
from xspn.core.logspace import logsumexp_quiet
from xspn.engine import refuse_impossible

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.core.arrays import AnyArray, FloatArray

BINS = 10  # of the probability of what is predicted
UNSEEN = -1  # the code of a class that no training row has


def posterior(circuit: "Circuit", codes: "AnyArray", target: int, size: int) -> "FloatArray":
    """Return P(target | the other columns): (rows, values)."""
    joint = np.empty((len(codes), size))
    for code in range(size):
        rows = np.array(codes, dtype=np.float64)
        rows[:, target] = code
        joint[:, code] = circuit.log_likelihood(rows)
    total = logsumexp_quiet(joint, axis=1)
    refuse_impossible(total)
    return np.asarray(np.exp(joint - total[:, None]))


def quality_of(chances: "FloatArray", answers: "AnyArray") -> dict[str, Any]:
    """Compare predictions with the rows whose answer is known, as plain values.

    Args:
        chances: P(value | row): (rows, values).
        answers: The codes of the answers, NaN where unknown, `UNSEEN` for a class that the model does not know.

    Returns:
        `known` (rows), `accuracy`, `log_loss`, `calibration_error` (how far the probability of what is predicted is
        from how often it is right, on average) and `calibration`, the same by steps of that probability.

    Examples:
        >>> found = quality_of(np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]), np.array([0.0, 1.0, 1.0]))
        >>> round(found["accuracy"], 3), round(found["log_loss"], 3), round(found["calibration_error"], 3)
        (0.667, 0.511, 0.333)
        >>> found["calibration"][0]
        {'from': 0.7, 'to': 0.8, 'rows': 1, 'expected': 0.7, 'right': 0.0}
    """
    known = ~np.isnan(answers)
    if not known.any():
        return {"known": 0, "accuracy": None, "log_loss": None, "calibration_error": None, "calibration": []}
    own, right = chances[known], answers[known].astype(np.int64)
    of_answer = np.where(right == UNSEEN, 0.0, own[np.arange(len(own)), np.maximum(right, 0)])
    with np.errstate(divide="ignore"):
        loss = -np.log(of_answer).mean()
    expected, hit = own.max(axis=1), own.argmax(axis=1) == right
    bins = np.minimum((expected * BINS + 1e-9).astype(np.int64), BINS - 1)
    table = [
        {
            "from": k / BINS,
            "to": (k + 1) / BINS,
            "rows": int((bins == k).sum()),
            "expected": float(expected[bins == k].mean()),
            "right": float(hit[bins == k].mean()),
        }
        for k in np.unique(bins).tolist()
    ]
    error = sum(row["rows"] * abs(row["expected"] - row["right"]) for row in table) / len(own)
    return {
        "known": int(known.sum()),
        "accuracy": float(hit.mean()),
        "log_loss": float(loss),
        "calibration_error": float(error),
        "calibration": table,
    }


def quality_facts(quality: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what people are told of the quality, in pairs of a name and a text."""
    if not quality["known"]:
        return []
    return [
        ("known answers", f"{quality['known']:,}"),
        ("accuracy", number(quality["accuracy"])),
        ("log-loss", number(quality["log_loss"])),
        ("calibration", f"{number(quality['calibration_error'])} from what is right, on average"),
    ]


def calibration_rows(quality: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the lines of a table of calibration."""
    return [
        (f"{row['from']:.1f}–{row['to']:.1f}", f"{row['rows']:,}", number(row["expected"], 3), number(row["right"], 3))
        for row in quality["calibration"]
    ]

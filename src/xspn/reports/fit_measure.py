"""How well a model predicts rows that it has not seen, beside simple models that have seen the same rows."""

from dataclasses import dataclass, replace

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import XSPNError
from xspn.data.provenance import held_out_rows
from xspn.data.table import Table
from xspn.estimators import XSPN
from xspn.estimators.agreement import reference_model

FRACTION = 0.25  # of the rows that are scored where nobody says which
SEED = 0
MOST_CELLS = 50_000  # of a table that is learned from again unasked


@dataclass(frozen=True)
class ScoredRows:
    """Which rows are scored, and by what.

    Attributes:
        train: The rows that the simple models are learned from.
        test: The rows that are scored.
        scored_by: The circuit that scores them.
        how: What these rows are, in a sentence.
        are_new: Whether the circuit is known not to have seen them.
    """

    train: FloatArray
    test: FloatArray
    scored_by: Circuit
    how: str
    are_new: bool


@dataclass(frozen=True)
class ModelScore:
    """The mean log-likelihood of the scored rows under one model, in nats a row.

    Attributes:
        name: What it is.
        mean: The mean over all rows; −inf where one is impossible.
        gain: The mean gain over independent columns, with its standard error; of the rows that both find possible.
        error: That standard error.
        impossible: How many rows have probability zero.
    """

    name: str
    mean: float
    gain: float
    error: float
    impossible: int


def rows_to_score(
    circuit: Circuit, codes: FloatArray, test: FloatArray | None = None, refit: bool | None = None
) -> ScoredRows:
    """Decide which rows are held out, by what the model tells of the rows that it was learned from.

    Args:
        circuit: The model.
        codes: The table.
        test: Rows of their own to score.
        refit: Whether to learn again from part of the rows where the model has seen all of them; by default if the
            table is small.
    """
    known, n = circuit.provenance, len(codes)
    if test is not None:
        return ScoredRows(codes, test, circuit, "Scored are the test rows, a table of their own.", True)
    if known is not None and known.held_out is not None:
        mask = held_out_rows(n, known.held_out.fraction, known.held_out.seed)
        if known.knows(codes[~mask], circuit.schema):
            how = f"Scored are the {mask.sum():,} rows that were held out when the model was learned."
            return ScoredRows(codes[~mask], codes[mask], circuit, how, True)
    mask = held_out_rows(n, FRACTION, SEED)
    if not 0 < mask.sum() < n:
        return ScoredRows(codes, codes, circuit, "There are too few rows to hold some out: all are scored.", False)
    train, scored = codes[~mask], codes[mask]
    if known is None or known.digest is None:
        how = (
            f"The model does not say which rows it was learned from. Scored are {mask.sum():,} of these rows; if it "
            "has seen them, its figure flatters it. The simple models are learned from the other rows."
        )
        return ScoredRows(train, scored, circuit, how, False)
    if not known.knows(codes, circuit.schema):
        how = (
            "These are not the rows that the model was learned from, as their digest tells: they are others, or some "
            f"of them are. Scored are {mask.sum():,} of them; the simple models are learned from the rest."
        )
        return ScoredRows(train, scored, circuit, how, False)
    again = _learned_again(circuit, train, refit)
    if again is None:
        how = (
            f"The model was learned from all of these rows, so that its figure on the {mask.sum():,} that are scored "
            "flatters it; the simple models are learned from the others. Hold rows out for a fair comparison."
        )
        return ScoredRows(train, scored, circuit, how, False)
    how = (
        f"The model was learned from all of these rows. So the same settings and seed were learned again from "
        f"{len(train):,} of them, and what came of it is scored on the other {mask.sum():,}."
    )
    return ScoredRows(train, scored, again, how, True)


def _learned_again(circuit: Circuit, train: FloatArray, refit: bool | None) -> Circuit | None:
    """Return what the settings of a model make of part of its rows; None if that is not asked for, or not known."""
    known = circuit.provenance
    if refit is False or known is None or known.learner != XSPN.__name__ or known.weighted:
        return None
    fast = known.settings.get("quality", "fast") == "fast"
    if refit is None and (train.size > MOST_CELLS or not fast):
        return None
    settings = {name: value for name, value in known.settings.items() if name != "binarize"}
    try:
        model = XSPN(**settings, random_state=known.seed).fit(Table(train, circuit.schema))
    except (XSPNError, TypeError):  # settings that this version does not have, or rows that it refuses
        return None
    return model.circuit_


def compared(rows: ScoredRows) -> list[ModelScore]:
    """Return how the scored rows fare under the model, independent columns, and one more simple model."""
    schema = rows.scored_by.schema
    train = Table(rows.train, schema)
    more = ("a Chow-Liu tree", "chow_liu") if schema.are_binary else ("one leaf, without contexts", "auto")
    alone = reference_model(train, "factorized")(rows.test)
    scores = {
        "this model": rows.scored_by.log_likelihood(rows.test),
        more[0]: reference_model(train, more[1])(rows.test),
        "independent columns": alone,
    }
    return [_score(name, own, alone) for name, own in scores.items()]


def _score(name: str, own: AnyArray, alone: AnyArray) -> ModelScore:
    both = np.isfinite(own) & np.isfinite(alone)
    gain = (own - alone)[both]
    mean, error = (float(gain.mean()), 0.0) if len(gain) else (float("nan"), float("nan"))
    if len(gain) > 1:
        error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    return ModelScore(name, float(own.mean()), mean, error, int(np.isneginf(own).sum()))


def with_names(circuit: Circuit) -> Circuit:
    """Return the circuit whose columns have names: X0, X1, … where there were none."""
    if circuit.names is not None:
        return circuit
    schema = replace(circuit.schema, names=circuit.schema.shown_names)
    return Circuit.of_schema(circuit.graph, schema, circuit.provenance, circuit.counts)

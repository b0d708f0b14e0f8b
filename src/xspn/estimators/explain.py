"""What a learned circuit found, in words."""

from collections.abc import Sequence
from dataclasses import replace

from xspn.circuit import Circuit
from xspn.data.schema import Schema
from xspn.learning.policy import Operation
from xspn.learning.trace import Branch, Trace, TraceEntry, describe_test

LONGEST_LIST = 4


def explain(circuit: Circuit, trace: Trace, most: int, names: Sequence[str] | None = None) -> str:
    """Return a few lines: the size, the decisions, and the exchangeable groups with their evidence."""
    schema = circuit.schema if names is None else replace(circuit.schema, names=tuple(names))
    lines = [str(circuit.summary())]
    if not trace.entries:
        lines.append("No decisions to report: all components of the mixture were fitted by EM.")
        return "\n".join(lines)
    found = [entry for entry in trace if entry.operation is Operation.EXCHANGEABLE]
    found.sort(key=lambda entry: (-entry.rows * len(entry.variables), entry.node))
    lines.append(_decisions(trace))
    if not found:
        lines.append("No group of variables was found to be exchangeable.")
        return "\n".join(lines)
    groups = "one group" if len(found) == 1 else f"{len(found)} groups"
    lines.append(f"{groups} of exchangeable variables:".capitalize())
    lines += [_group(trace, entry, schema) for entry in found[:most]]
    if len(found) > most:
        lines.append(f"  … and {len(found) - most} smaller ones")
    return "\n".join(lines)


def _decisions(trace: Trace) -> str:
    counts = dict.fromkeys(Operation, 0)
    for entry in trace:
        counts[entry.operation] += 1
    made = [f"{count} × {operation.value}" for operation, count in counts.items() if count]
    return "Decisions: " + "; ".join(made) + "."


def _group(trace: Trace, entry: TraceEntry, schema: Schema) -> str:
    own = [_name(v, schema) for v in entry.variables]
    shown = ", ".join(own[:LONGEST_LIST]) + (f", … {own[-1]}" if len(own) > LONGEST_LIST else "")
    where = context_in_words(trace, entry, schema)
    evidence = describe_test(entry.test, own.__getitem__) if entry.test is not None else "by construction"
    return (
        f"  node {entry.node}: {shown} ({len(own)} variables)\n"
        f"    in {entry.rows:,g} rows{f' where {where}' if where else ''}\n"
        f"    {evidence}{f'; {entry.detail}' if entry.detail else ''}"
    )


def context_in_words(trace: Trace, entry: TraceEntry, schema: Schema) -> str:
    """Say in which clusters a decision was made, values by their labels; nothing for one about all rows."""
    return " and ".join(_branch(branch, schema) for branch in trace.context(entry))


def _branch(branch: Branch, schema: Schema) -> str:
    if branch.variable is None or branch.condition is None:
        return f"cluster {branch.place + 1} of {branch.of}"
    relation, value = branch.condition.relation, branch.condition.value
    text = str(schema.label(branch.variable, value)) if relation in ("=", "≠") else f"{value:g}"
    return f"{_name(branch.variable, schema)} {relation} {text}"


def _name(variable: int, schema: Schema) -> str:
    return schema.shown_name(variable)

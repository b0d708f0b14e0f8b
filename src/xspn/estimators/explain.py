"""What a learned circuit found, in words."""

from xspn.learning.policy import Operation
from xspn.learning.trace import Branch, Trace, TraceEntry, describe_test
from xspn.model import Circuit

LONGEST_LIST = 6


def explain(circuit: Circuit, trace: Trace, most: int) -> str:
    """Return a few lines: the size, the decisions, and the exchangeable groups with their evidence."""
    lines = [str(circuit.summary())]
    found = [entry for entry in trace if entry.operation is Operation.EXCHANGEABLE]
    found.sort(key=lambda entry: (-entry.rows * len(entry.variables), entry.node))
    lines.append(_decisions(trace))
    if not found:
        lines.append("No group of variables was found to be exchangeable.")
        return "\n".join(lines)
    groups = "one group" if len(found) == 1 else f"{len(found)} groups"
    lines.append(f"{groups} of exchangeable variables:".capitalize())
    lines += [_group(circuit, trace, entry) for entry in found[:most]]
    if len(found) > most:
        lines.append(f"  … and {len(found) - most} smaller ones")
    return "\n".join(lines)


def _decisions(trace: Trace) -> str:
    counts = dict.fromkeys(Operation, 0)
    for entry in trace:
        counts[entry.operation] += 1
    said = [f"{count} × {operation.value}" for operation, count in counts.items() if count]
    return "Decisions: " + "; ".join(said) + "."


def _group(circuit: Circuit, trace: Trace, entry: TraceEntry) -> str:
    names = [_name(circuit, v) for v in entry.variables]
    shown = ", ".join(names[:LONGEST_LIST]) + (f", … {names[-1]}" if len(names) > LONGEST_LIST else "")
    where = ", ".join(_branch(circuit, branch) for branch in trace.context(entry))
    evidence = describe_test(entry.test) if entry.test is not None else "by construction"
    return (
        f"  node {entry.node}: {len(names)} variables ({shown}) in {entry.rows:g} rows"
        f"{f' where {where}' if where else ''}; {evidence}"
    )


def _branch(circuit: Circuit, branch: Branch) -> str:
    if branch.variable is None:
        return f"cluster {branch.place + 1} of {branch.of}"
    return f"{_name(circuit, branch.variable)} = {branch.place}"


def _name(circuit: Circuit, variable: int) -> str:
    return f"X{variable}" if circuit.names is None else circuit.names[variable]

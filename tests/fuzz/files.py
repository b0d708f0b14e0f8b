"""Damaged files of every kind: models, those of other programs, programs, checkpoints, results of `reproduce`.

A file whose damage its digest must show is refused, or it answers as before. One that is damaged under a digest of its
own is refused, or it is a good file that says something else. Nothing else may happen: no foreign error, no crash, no
memory without bounds, nothing written outside its folder.
"""

import io
import json
import tempfile
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from unittest import mock

import dask
import numpy as np

from fuzz import circuits
from fuzz.commands import FAULT, USAGE, typed
from fuzz.mutations import (
    MAGIC,
    damaged_array,
    damaged_bytes,
    damaged_container,
    damaged_value,
    signed_checkpoint,
    signed_model,
    text_of,
)
from support.distributed import grown, in_blocks
from support.learning import two_clusters
from xspn import XSPN, Bernoulli, Circuit, XSPNError, load, save
from xspn.distributed.gathering import GatherLimits
from xspn.io import open_program, save_program, to_json
from xspn.paper.experiments import report
from xspn.paper.experiments.plan import plan
from xspn.paper.experiments.results import Unit, UnitResult
from xspn.paper.experiments.store import Store

N_MODELS = 16
MOST_COLUMNS = 1000  # of a circuit that is asked questions


# -- models ------------------------------------------------------------------------------------------------------------


@cache
def models():
    """Circuits of all kinds, with names, labels and notes here and there, and a learned one."""
    rng = np.random.default_rng(0)
    found = [(circuits.random_circuit(rng), None) for _ in range(N_MODELS)]
    labelled = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
    table = rng.integers(0, 3, size=(60, 4)).astype(float)
    learned = XSPN(random_state=0).fit(table).circuit_
    return [*found, (labelled, None), (learned, {"learned": {"rows": 60}, "trace": []})]


@cache
def model_files():
    """The same as JSON and in whatever form the ending .xspn stands for."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for circuit, notes in models():
            for ending in (".json", ".xspn"):
                path = Path(folder) / f"model{ending}"
                save(circuit, path, notes=notes)
                found.append((circuit, ending, path.read_bytes()))
    for circuit, _, before in found:
        if not before.startswith(MAGIC):
            same = json.loads(signed_model(json.loads(before))) == json.loads(before)
            assert same, f"the digest of {circuit!r} is not what it was: what stands behind it is not reached"
    return found


def damaged_model(rng, content):
    """The content of a model file with damage, and whether its digest shows it."""
    if rng.random() < 0.3:
        return damaged_bytes(rng, content), True
    if content.startswith(MAGIC):
        return damaged_container(rng, content), False
    data = damaged_value(rng, json.loads(content))
    if not isinstance(data, dict) or rng.random() < 0.1:
        return text_of(data).encode("utf-8", "surrogatepass"), True
    return signed_model(data).encode("utf-8", "surrogatepass"), False


def model_case(rng, folder):
    """Load a damaged model."""
    circuit, ending, before = model_files()[int(rng.integers(len(model_files())))]
    damaged, shown = damaged_model(rng, before)
    path = folder / f"model{ending}"
    path.write_bytes(damaged)
    try:
        found = load(path)
    except XSPNError:
        return "refused"
    if shown:
        rows = circuit.sample(5, random_state=0)
        np.testing.assert_array_equal(found.log_likelihood(rows), circuit.log_likelihood(rows))
        return "the same"
    ask_everything(found)
    return "another"


def ask_everything(circuit):
    """A circuit that came out of a damaged file is a good one, or says why not."""
    str(circuit.summary())
    if circuit.n_variables > MOST_COLUMNS:
        return
    nothing = np.full((1, circuit.n_variables), np.nan)
    total = circuit.log_likelihood(nothing)[0]
    assert abs(total) < 1e-6, f"everything has log-probability {total}"
    with suppress(XSPNError):
        drawn = circuit.sample(3, random_state=0)
        assert not np.isnan(circuit.log_likelihood(drawn)).any(), "a sample has no probability"
        circuit.decode(drawn)
        circuit.marginals(nothing)
        circuit.mpe(nothing)
        circuit.moments()


# -- files of other programs -------------------------------------------------------------------------------------------

WORDS = (
    "0 1 -1 2 3 7 -0.5 -0.6931471805599453 0.0 -inf 1e-9 -1e9 1e999 99999999 999999999999999999999 nan _ "
    "c L T D P S I C v * + ( )"
)


@cache
def foreign_files():
    """The discrete ones among the models, in each format that has a form for them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for circuit, _ in (*models(), *((circuits.random_circuit(np.random.default_rng(s)), None) for s in range(40))):
            for ending in (".jpc", ".spn", ".psdd"):
                path = Path(folder) / f"model{ending}"
                with suppress(XSPNError):
                    save(circuit, path)
                    second = path.with_suffix(".vtree")
                    found.append((ending, path.read_bytes(), second.read_bytes() if ending == ".psdd" else None))
    assert {ending for ending, *_ in found} == {".jpc", ".spn", ".psdd"}
    return found


def damaged_words(rng, content):
    """A text with some words or lines changed, lost, doubled or swapped."""
    lines = [line.split(b" ") for line in content.split(b"\n")]
    for _ in range(int(rng.integers(1, 4))):
        kind, at, other = rng.random(), int(rng.integers(len(lines))), int(rng.integers(len(lines)))
        if kind < 0.6:
            lines[at][int(rng.integers(len(lines[at])))] = str(rng.choice(WORDS.split())).encode()
        elif kind < 0.7:
            lines[at].append(str(rng.choice(WORDS.split())).encode())
        elif kind < 0.8:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = lines[other] if kind < 0.9 else []
            lines[at] = list(lines[at]) or [b""]
    return b"\n".join(b" ".join(line) for line in lines)


def foreign_case(rng, folder):
    """Load a damaged file of another program's format, or one whose second file is damaged."""
    ending, before, second = foreign_files()[int(rng.integers(len(foreign_files())))]
    damage = damaged_words if rng.random() < 0.8 else damaged_bytes
    if second is not None:
        (folder / "model.vtree").write_bytes(damage(rng, second) if rng.random() < 0.4 else second)
    path = folder / f"model{ending}"
    path.write_bytes(damage(rng, before))
    try:
        found = load(path)
    except XSPNError:
        return "refused"
    ask_everything(found)
    with suppress(XSPNError):
        save(found, folder / "again.jpc")
        nothing = np.full((1, found.n_variables), np.nan)
        assert abs(load(folder / "again.jpc").log_likelihood(nothing[:, : found.root.scope.width])[0]) < 1e-6
    return "another"


# -- programs ----------------------------------------------------------------------------------------------------------


@cache
def programs():
    """Saved programs: the files of each, by name (one without a name where it is a single file)."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (circuit, _) in enumerate(models()):
            path = Path(folder) / f"program{number}"
            save_program(circuit, path)
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
            parts = {own.name if path.is_dir() else "": own.read_bytes() for own in inside}
            found.append((circuit, parts))
    return found


def program_case(rng, folder):
    """Open a damaged program and ask it."""
    circuit, parts = programs()[int(rng.integers(len(programs())))]
    names = list(parts)
    name = names[int(rng.integers(len(names)))]
    damaged, shown = damaged_program(rng, name, parts[name])
    written = {**parts, name: damaged}
    path = folder / "program"
    if name:
        path.mkdir()
    for own, part in written.items():
        (path / own if own else path).write_bytes(part)
    rows = circuit.sample(6, random_state=0)
    rows[::2][rng.random(rows[::2].shape) < 0.5] = np.nan
    backend = [None, *circuits.NAMES][int(rng.integers(len(circuits.NAMES) + 1))]
    try:
        opened = open_program(path, backend)
        found = opened.log_likelihood(rows)
        opened.marginals(rows)
        completion = opened.mpe(rows)
        opened.sample(3, random_state=0)
    except XSPNError:
        return "refused"
    if not shown:
        return "another"
    assert np.allclose(found, circuit.log_likelihood(rows), atol=1e-9), f"{name or 'program'}: other likelihoods"
    assert completion.exact <= circuit.mpe(rows).exact, f"{name or 'program'}: claims to be exact"
    return "the same"


def damaged_program(rng, name, content):
    """The content of one file with damage, and whether it must show: it need not under a digest of its own."""
    if content.startswith(MAGIC):
        return (damaged_bytes(rng, content), True) if rng.random() < 0.3 else (damaged_container(rng, content), False)
    kind = rng.random()
    if name.endswith(".npy") and kind < 0.7:
        stream = io.BytesIO()
        np.save(stream, damaged_array(rng, np.load(io.BytesIO(content))))
        return stream.getvalue(), True
    if name.endswith(".json") and kind < 0.7:
        return text_of(damaged_value(rng, json.loads(content))).encode("utf-8", "surrogatepass"), True
    return damaged_bytes(rng, content), True


# -- checkpoints -------------------------------------------------------------------------------------------------------

LIMITS = GatherLimits(gather_cells=200, sample_rows=100)


class StoppedError(Exception):
    """The power goes out."""


@cache
def checkpoint():
    """A table, the circuit that it gives, and a checkpoint from the midst of learning."""
    rows, _ = two_clusters(np.random.default_rng(1), 300, 6)
    rows = rows.astype(float)
    from xspn.distributed import growth

    with tempfile.TemporaryDirectory() as folder:
        path, original, passes = Path(folder) / "fit.json", growth.run_pass, []

        def stop_at_the_third(*args):
            passes.append(args)
            if len(passes) == 3:
                raise StoppedError
            return original(*args)

        with dask.config.set(scheduler="synchronous"):
            whole, _ = grown(in_blocks(rows, 100), 2, LIMITS)
            growth.run_pass = stop_at_the_third
            with suppress(StoppedError):
                grown(in_blocks(rows, 100), 2, LIMITS, checkpoint=path)
            growth.run_pass = original
        head, _, rest = path.read_text(encoding="utf-8").partition("\n")
    content = json.loads(rest)
    assert signed_checkpoint(json.loads(head), content) == f"{head}\n{rest}", "checkpoints are not written as they were"
    return rows, to_json(whole), json.loads(head), content


def checkpoint_case(rng, folder):
    """Go on from a damaged checkpoint."""
    rows, whole, head, content = checkpoint()
    good = signed_checkpoint(head, content)
    path, shown = folder / "fit.json", True
    kind = rng.random()
    if kind < 0.3:
        path.write_bytes(damaged_bytes(rng, good.encode()))
    elif kind < 0.4:
        path.write_text(
            f"{text_of(damaged_value(rng, head))}\n{text_of(content)}\n", encoding="utf-8", errors="replace"
        )
    else:
        shown = False
        part = {**content, "tree": damaged_value(rng, content["tree"])} if kind < 0.9 else damaged_value(rng, content)
        path.write_text(signed_checkpoint(head, part), encoding="utf-8", errors="replace")
    try:
        with dask.config.set(scheduler="synchronous"):
            found, _ = grown(in_blocks(rows, 100), 2, LIMITS, checkpoint=path)
    except XSPNError:
        return "refused"
    if to_json(found) == whole:
        return "the same"
    assert not shown, "another circuit without a word"
    ask_everything(found)
    return "another"


# -- results -----------------------------------------------------------------------------------------------------------


@cache
def results():
    """Results of several models and experiments, as text, by the unit that they belong to."""
    rng, found = np.random.default_rng(2), {}
    units = {
        (unit.experiment, unit.model): unit
        for unit in plan(("table1", "table2"), ("exact", "parity"), quick=True).units
    }
    for unit in [*list(units.values())[:8], Unit("pairwise", "nltcs", "global", (("columns", 8),))]:
        rows = (rng.normal(size=20) - 6).astype(np.float32).astype(float)
        facts = {"majority": 0.6, "circuit": "abc"}
        made = UnitResult(unit, -6.0, float(rows.mean()), rows, 7, {"fit": 1.0, "test": 0.1}, {"xspn": "0"}, facts)
        found[unit] = made.to_json()
    return found


def result_case(rng, folder):
    """Merge and report on results of which one is damaged; nothing outside the folder may change."""
    units = list(results())
    unit = units[int(rng.integers(len(units)))]
    damaged, inside = damaged_result(rng, results()[unit], folder), folder / "1/2/3/4/5/6/7/8/in"
    theirs = Store(inside / "theirs" / "units")
    for own, text in results().items():
        path = theirs.path(own)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damaged if own == unit else text.encode())
    with suppress(XSPNError):
        theirs.read(unit)
    targets = [["table1"], ["table2"], ["pairwise"], ["ablation"]][int(rng.integers(4))]
    arguments = ["reproduce", *targets, "--report-only", "--quick", "--merge", "theirs", "--out", "out"]
    drawn = rng.random() < 0.1  # pictures take longer than all the rest
    with mock.patch.object(report, "content", report.content if drawn else partial(report.content, pictures=False)):
        status, _, err = typed(arguments, b"", inside)
    assert status in (0, 1, USAGE), f"status {status}"
    assert FAULT not in err, err.strip()[-300:]
    stray = [path for path in folder.rglob("*") if path.is_file() and not path.is_relative_to(inside)]
    assert not stray, f"something was written outside the folder of results: {stray[0].name}"
    assert {path.name for path in inside.iterdir()} <= {"theirs", "out"}, "something was written beside them"
    taken = len(list((inside / "out" / "units").rglob("*.json")))
    assert taken >= len(units) - 1 or status == USAGE, "a good result was lost"
    return "taken" if taken == len(units) else "passed over"


def damaged_result(rng, before, folder):
    """The content of a result file with damage; sometimes it says that it belongs elsewhere."""
    kind = rng.random()
    if kind < 0.2:
        return damaged_bytes(rng, before.encode())
    data = json.loads(before)
    if kind < 0.4:
        field = str(rng.choice(["experiment", "dataset", "model"]))
        data["unit"][field] = str(rng.choice(["..", "../..", "../../../../x", str(folder / "evil"), "a/b", "", "\0"]))
        return text_of(data).encode()
    return text_of(damaged_value(rng, data)).encode("utf-8", "surrogatepass")


def prepare():
    """Make the good files that are to be damaged."""
    model_files()
    foreign_files()
    with tempfile.TemporaryDirectory() as folder:  # kernels for arrays that cannot be written to are others
        for number, (circuit, _) in enumerate(models()):
            save_program(circuit, Path(folder) / str(number))
            for name in circuits.NAMES:
                with suppress(XSPNError):
                    circuits.ask_all(open_program(Path(folder) / str(number), name), circuit.sample(2, random_state=0))
    programs()
    checkpoint()
    results()


TARGETS = {
    "models": model_case,
    "foreign": foreign_case,
    "programs": program_case,
    "checkpoints": checkpoint_case,
    "results": result_case,
}

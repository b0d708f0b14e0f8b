"""How much memory there is, and refusals that say what would fit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xspn import XSPN, Bernoulli, Circuit, Product, exchangeable_groups, read_table
from xspn.core import memory
from xspn.core.errors import MemoryLimitError, XSPNError
from xspn.data.domain import Domain
from xspn.data.files import parse_csv
from xspn.learning import memory as learning_memory
from xspn.learning import summary as bits_module
from xspn.learning.memory import memory_of_learning


def test_there_is_some_memory():
    found = memory.available_memory()
    assert found is None or found > 1_000_000


@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container_counts(monkeypatch, tmp_path: Path, version: int):
    names = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")}
    limit, used, reclaimable = names.get(version, ("memory.max", "memory.current", "inactive_file"))
    inside = tmp_path / ("memory/pod" if version == 1 else "pod")
    (inside / "job").mkdir(parents=True)
    (inside / limit).write_text("5000000\n")
    (inside / used).write_text("3000000\n")
    (inside / "memory.stat").write_text(f"anon 7\n{reclaimable} 500000\n")
    (inside / "job" / limit).write_text("max\n" if version == 2 else f"{2**63 - 4096}\n")
    (inside / "job" / used).write_text("1\n")
    line = "4:cpu,memory:/pod/job" if version == 1 else "0::/pod/job"
    real = memory._lines
    fake = [line, "1:name=systemd:/"]
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_lines", lambda path: fake if path.name == "cgroup" else real(path))
    assert list(memory._of_containers()) == [2_500_000]
    assert memory.available_memory() == 2_500_000


def test_what_cannot_be_told_is_not_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.need_memory(1e18, "anything", lambda _: "nothing")


def table(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 5, size=(3000, 6), dtype=np.int8)


def test_a_table_that_does_not_fit_is_refused_before_learning_and_it_says_what_would_fit(rng, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    monkeypatch.setattr(learning_memory, "SMALL", 0)
    model = XSPN(random_state=0)
    with pytest.raises(MemoryLimitError, match=r"3,000 rows and 6 columns needs about 3 MB .* 1 MB are available") as e:
        model.fit(table(rng))
    assert "about 980 of the rows or 2 of the columns would fit" in str(e.value)
    assert isinstance(e.value, XSPNError)
    assert isinstance(e.value, MemoryError)
    assert not hasattr(model, "circuit_")
    monkeypatch.setattr(memory, "available_memory", lambda: 4_000_000)
    model.fit(table(rng))


def test_rows_that_do_not_fit_are_refused_before_they_are_drawn():
    circuit = Circuit(Product([Bernoulli(v, p=0.5) for v in range(4)]))
    for n in (10**15, 10**30):
        with pytest.raises(MemoryLimitError, match=r"sample: drawing 1,000.* rows of 4 columns needs .* would fit"):
            circuit.sample(n, random_state=0)
    assert circuit.sample(3, random_state=0).shape == (3, 4)


def test_memory_that_runs_out_is_an_error_of_ours(rng, monkeypatch):
    def none(*_: object) -> None:
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr("xspn.estimators.xspn.learn_ensemble", none)
    with pytest.raises(MemoryLimitError, match=r"Unable to allocate 9 GiB.*take a sample of the rows"):
        XSPN(random_state=0).fit(table(rng))


def test_groups_of_too_many_columns_are_refused(rng, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 8_000)
    monkeypatch.setattr(bits_module, "WIDEST_AT_ONCE", 16)
    with pytest.raises(MemoryLimitError, match=r"groups among 50 columns .* take at most 31 columns"):
        exchangeable_groups(rng.integers(0, 2, size=(30, 50)))


def test_a_text_that_does_not_fit_is_refused_before_it_is_cut_into_cells(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 9_000_000)
    with pytest.raises(MemoryLimitError, match=r"t.csv: reading 1,200,004 characters .* about 500,000 would fit"):
        parse_csv("a,b\n" + "0,1\n" * 300_000, "t.csv")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device that never ends")
def test_a_table_that_never_ends_is_refused_before_it_has_taken_all_memory(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 50_000_000)
    with pytest.raises(MemoryLimitError, match=r"/dev/zero: reading [\d,]+ bytes of text and what follows needs"):
        read_table("/dev/zero")


@pytest.mark.parametrize(
    ("rows", "domains", "megabytes"),  # as measured
    [
        (100_000, [Domain.binary()] * 50, 97),
        (5_000, [Domain.binary()] * 500, 30),
        (1_000, [Domain.binary()] * 1500, 235),
        (20, [Domain.binary()] * 20_000, 402),
        (1_000_000, [Domain.ordinal(5)] * 50, 926),
        (100_000, [Domain.ordinal(5)] * 10, 148),
        (30_000, [Domain.ordinal(5)] * 20, 91),
        (300, [Domain.ordinal(5)] * 400, 118),
        (20_000, [Domain.real()] * 10, 93),
        (50_000, [Domain.real()] * 20, 452),
        (30_000, [Domain.ordinal(7)] * 4 + [Domain.binary()] * 3 + [Domain.real()] * 3, 50),
    ],
)
def test_estimates_are_near_what_was_measured(rows, domains, megabytes):
    assert 1 / 1.5 < memory_of_learning(rows, domains) / (megabytes * 1_000_000) < 1.5


LIMITED = """
import resource
import numpy as np
from xspn import XSPN
table = np.zeros((1_000_000, 40), dtype=np.int8, order="F")
table[::2] = 4
with open("/proc/self/statm") as pages:
    limit = int(pages.read().split()[0]) * resource.getpagesize() + 600_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    XSPN(exchangeability="global").fit(table)  # by evidence a sample of so many rows would do
except MemoryError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")
def test_a_process_with_little_memory_refuses_at_once_and_is_not_killed():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("MemoryLimitError X: learning from 1,000,000 rows and 40 columns needs about 1.1 GB")

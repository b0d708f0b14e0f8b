"""The same table and seed give the same circuit whatever kernels of linear algebra a machine has."""

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

LEARN = """
from xspn import XSPN
from xspn.graph.nodes import Product, Sum
from xspn.paper.datasets.planted import parliament

def shape(node):
    if isinstance(node, Sum | Product):
        return [type(node).__name__, *map(shape, node.children)]
    return [type(node).__name__, *node.variables]

parties = {"Red": 30, "Blue": 20, "Green": 14, "Gold": 8, "Grey": 5}
for absences, seed in ((0.0, 0), (0.3, 0), (0.3, 1)):
    votes = parliament(120, parties, 4, absences, seed).votes
    model = XSPN(random_state=seed).fit(votes)
    print(shape(model.circuit_.root), round(model.score(votes), 6))
"""


def learned_with(core: str) -> str:
    environment = {**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", LEARN], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def kernels_can_be_chosen() -> bool:
    import numpy as np  # what it has loaded is what counts

    return bool(np.__version__) and any(
        one["internal_api"] == "openblas" and one.get("architecture") not in (None, "Prescott", "armv8")
        for one in threadpool_info()
    )


@pytest.mark.skipif(not kernels_can_be_chosen(), reason="numpy has no OpenBLAS whose kernels can be chosen")
def test_a_circuit_does_not_depend_on_the_kernels_of_linear_algebra() -> None:
    first, second = (learned_with(core) for core in ("Prescott", "Haswell"))
    assert first.count("\n") == 3
    assert first == second

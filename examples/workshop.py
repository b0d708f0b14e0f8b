"""Workshop attendance: learn from past workshops who comes when, and how full it will be.

python examples/workshop.py [FOLDER]    writes workshop.png
"""

import sys
from pathlib import Path

from xspn import XSPN, Circuit, datasets
from xspn.plotting import draw_circuit

PEOPLE = [f"attends_{i}" for i in range(10)]


def main(folder: Path) -> None:
    data = datasets.make("conference", n_train=20_000, n_valid=100, n_test=5_000)  # invented; its truth is known
    settings = {"independence_threshold": 15.0, "min_instances": 200, "random_state": 0}
    for name, exchangeability in (("SPN", None), ("XSPN", "global")):
        model = XSPN(exchangeability=exchangeability, **settings).fit(data.train)
        size = model.circuit_.summary()
        print(f"{name:>5}: {size.parameters:4} parameters, test log-likelihood {model.score(data.test):.3f}")
    print(f"truth:                  test log-likelihood {data.truth.log_likelihood(data.test).mean():.3f}\n")

    circuit = Circuit.of_graph(model.circuit_.graph, data.feature_names)
    early = dict.fromkeys(PEOPLE[:3], 1)
    for what, known in (("nothing", {}), ("that the first three come", early)):
        counts = circuit.count_distribution(PEOPLE, given=known)
        print(f"Knowing {what}: eight or more come with {counts[8:].sum():.0%}")

    figure = draw_circuit(circuit, "Who comes to the workshop? Learned from 20,000 of them")
    figure.savefig(folder / "workshop.png", dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

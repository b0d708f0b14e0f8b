"""A questionnaire with missing answers: learn from what was answered, and say what the rest would have been.

python examples/questionnaire.py [FOLDER]    writes questionnaire.png, and survey.csv: 600 of the rows, in words
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from xspn import XSPN, Circuit
from xspn.plotting import count_chart, posterior_bars

MOOD = [f"mood_{i}" for i in range(1, 9)]
SLEEP = [f"sleep_{i}" for i in range(1, 7)]
ITEMS = [*MOOD, *SLEEP, "works_nights"]


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Invent answers: people differ in mood and in sleep, and on one scale each item is as good as another."""
    nights = rng.random((n, 1)) < 0.3
    mood = rng.beta(1.5, 1.0, (n, 1))
    sleep = np.where(nights, rng.beta(1, 4, (n, 1)), rng.beta(4, 1, (n, 1)))
    return np.hstack([rng.random((n, 8)) < mood, rng.random((n, 6)) < sleep, nights]).astype(float)


def write_csv(path: Path, rows: np.ndarray) -> None:
    words = np.select([rows == 1, rows == 0], ["yes", "no"], "")
    path.write_text("\n".join([",".join(ITEMS), *(",".join(row) for row in words)]) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    rng = np.random.default_rng(1)
    whole = answers(3000, rng)
    partial = np.where(rng.random(whole.shape) < 0.1, np.nan, whole)  # one answer in ten is missing
    write_csv(folder / "survey.csv", partial[:600])
    model = XSPN(random_state=0).fit(partial)  # nothing is imputed, no row is dropped
    circuit = Circuit.of_graph(model.circuit_.graph, ITEMS)

    missing = np.isnan(partial)
    filled, majority = model.impute(partial), np.nanmean(partial, axis=0) > 0.5
    print(f"{missing.mean():.0%} of the answers are missing; filled in rightly:")
    print(f"  by the item's majority  {(majority[None, :] == whole)[missing].mean():.1%}")
    print(f"  by the circuit          {(filled == whole)[missing].mean():.1%}\n")

    person = {"mood_1": 0, "mood_4": 0, "sleep_2": 1}
    nights = circuit.marginals(person)[0, ITEMS.index("works_nights"), 1]
    print(f"Somebody answered {person}: P(works at night) = {nights:.2f}")
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    posterior_bars(circuit, person, title="Three answers, and what they say about the others", ax=left)
    count_chart(circuit, MOOD, given=person, title="How many of the eight mood items?", ax=right)
    figure.savefig(folder / "questionnaire.png", dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

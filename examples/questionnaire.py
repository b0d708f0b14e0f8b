"""A questionnaire with missing answers: learn from what was answered, and say what the rest would have been.

python examples/questionnaire.py [FOLDER]    writes questionnaire.png
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from xspn import XSPN, Circuit
from xspn.plotting import count_chart, posterior_bars

MOOD = [f"mood_{i}" for i in range(1, 9)]
SLEEP = [f"sleep_{i}" for i in range(1, 7)]
ITEMS = [*MOOD, *SLEEP, "exercise"]


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Invent answers: mood depends on the person and on exercise, sleep on mood."""
    exercise = rng.random((n, 1)) < 0.4
    mood = rng.random((n, 1)) < np.where(exercise, 0.8, 0.45)
    rested = rng.random((n, 1)) < np.where(mood, 0.7, 0.25)
    items = [rng.random((n, 8)) < np.where(mood, 0.85, 0.25), rng.random((n, 6)) < np.where(rested, 0.8, 0.3), exercise]
    return np.hstack(items).astype(float)


def main(folder: Path) -> None:
    rng = np.random.default_rng(1)
    whole = answers(3000, rng)
    holes = np.where(rng.random(whole.shape) < 0.3, np.nan, whole)  # three answers in ten are missing
    model = XSPN(random_state=0).fit(holes)  # nothing is imputed, no row is dropped
    circuit = Circuit.of_graph(model.circuit_.graph, ITEMS)

    missing = np.isnan(holes)
    filled, majority = model.impute(holes), np.nanmean(holes, axis=0) > 0.5
    print(f"{missing.mean():.0%} of the answers are missing; filled in rightly:")
    print(f"  by the item's majority  {(majority[None, :] == whole)[missing].mean():.1%}")
    print(f"  by the circuit          {(filled == whole)[missing].mean():.1%}\n")

    person = {"mood_1": 0, "mood_4": 0, "sleep_2": 1}
    print(f"Somebody answered {person}: P(exercise) = {circuit.marginals(person)[0, ITEMS.index('exercise')]:.2f}")
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    posterior_bars(circuit, person, title="Three answers, and what they say about the others", ax=left)
    count_chart(circuit, MOOD, given=person, title="How many of the eight mood items?", ax=right)
    figure.savefig(folder / "questionnaire.png", dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

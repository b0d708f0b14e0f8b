"""A circuit built by hand, the paper's Example 1: ten people are invited to a workshop, and three questions are asked.

python examples/by_hand.py [FOLDER]    writes by_hand.png
"""

import sys
from pathlib import Path

import numpy as np

from xspn import Bernoulli, Circuit, Exchangeable, Product, Sum
from xspn.plotting import count_chart

PEOPLE = ["ann", "bob", "cem", "dana", "eve", "finn", "gita", "hugo", "ines", "jan"]


def attendance(bonus: float) -> Exchangeable:
    """Attendance that depends on how many others come: pairs that agree, and a bonus for each who comes."""
    n = len(PEOPLE)
    k = np.arange(n + 1)
    agreeing = k * (k - 1) / 2 + (n - k) * (n - k - 1) / 2
    log_weights = bonus * k + 0.1 * agreeing
    sizes = Exchangeable.uniform(range(n)).statistic.log_class_size(n)
    return Exchangeable(range(1, n + 1), log_weights - np.logaddexp.reduce(log_weights + sizes))


def workshop() -> Circuit:
    hot = Product([Bernoulli(0, p=1), attendance(0.4)])
    cold = Product([Bernoulli(0, p=0), attendance(-0.2)])
    return Circuit(Sum([0.3, 0.7], [hot, cold]), names=["hot_topic", *PEOPLE])


def main(folder: Path) -> None:
    circuit = workshop()
    counts = circuit.count_distribution(PEOPLE)
    print("1. How many will come?")
    print(f"  {counts @ np.arange(11):.1f} on average; nobody with {counts[0]:.0%}, all ten with {counts[10]:.0%}")

    known = {"hot_topic": 1, "ann": 1, "bob": 1, "cem": 0}
    dana = 1 + PEOPLE.index("dana")
    print("\n2. The topic is hot, Ann and Bob will come, Cem will not. Will Dana?")
    print(f"  P(dana) = {circuit.marginals()[0, dana, 1]:.3f} before, {circuit.marginals(known)[0, dana, 1]:.3f} now")

    best = circuit.mpe({"ann": 1, "bob": 1})
    coming = [name for name, value in zip(PEOPLE, best.values[0][1:], strict=True) if value == 1]
    print("\n3. Ann and Bob will come. What is the single most probable assignment?")
    print(f"  hot topic: {'yes' if best.values[0][0] else 'no'}; coming: {', '.join(coming)}")
    print(f"  probability {np.exp(best.log_prob[0]):.4g}, {'exact' if best.exact else 'a guess'}")

    figure = count_chart(circuit, PEOPLE, given={"hot_topic": 1}, title="How many will come to the workshop?")
    figure.savefig(folder / "by_hand.png", dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

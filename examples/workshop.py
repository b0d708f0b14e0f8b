"""The paper's Example 1, built by hand: ten people are invited to a workshop, and three questions are asked."""

import numpy as np

from xspn import Bernoulli, Circuit, Exchangeable, Product, Sum
from xspn.io import to_equation

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


def main() -> None:
    circuit = workshop()
    print("Ten people are invited to a workshop. Each comes more gladly if the topic is")
    print("hot, and if others come. Nobody is independent of anybody, but only the number")
    print("of guests matters.\n")
    print(to_equation(circuit), "\n")

    print("1. How many will come?")
    for number, chance in enumerate(circuit.count_distribution(PEOPLE)):
        print(f"  {number:>3} {chance:6.1%} {'█' * round(100 * chance)}")

    known = {"hot_topic": 1, "ann": 1, "bob": 1, "cem": 0}
    dana = 1 + PEOPLE.index("dana")
    print("\n2. The topic is hot, Ann and Bob will come, Cem will not. Will Dana?")
    print(f"  P(dana) = {circuit.marginals()[0, dana]:.3f} before, {circuit.marginals(known)[0, dana]:.3f} now")

    best = circuit.mpe({"ann": 1, "bob": 1})
    coming = [name for name, value in zip(PEOPLE, best.values[0][1:], strict=True) if value == 1]
    print("\n3. Ann and Bob will come. What is the single likeliest world?")
    print(f"  hot topic: {'yes' if best.values[0][0] else 'no'}; coming: {', '.join(coming)}")
    print(f"  probability {np.exp(best.log_prob[0]):.4g}, {'exact' if best.exact else 'a guess'}")


if __name__ == "__main__":
    main()

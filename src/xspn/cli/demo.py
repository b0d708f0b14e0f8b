"""Build the paper's workshop example by hand and put three questions to it."""

import argparse

WORKSHOP = ["ann", "bob", "cem", "dana", "eve", "finn", "gita", "hugo", "ines", "jan"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the demo has no options."""


def run(args: argparse.Namespace) -> int:
    """Print the example, the questions and the answers."""
    import numpy as np
    from rich.console import Console

    from xspn import Bernoulli, Circuit, Exchangeable, Product, Sum
    from xspn.io import to_equation

    n = len(WORKSHOP)
    k = np.arange(n + 1)

    def attendance(bonus: float) -> Exchangeable:
        """Attendance that depends on how many others come: pairs that agree, and a bonus for each who comes."""
        pairs = k * (k - 1) / 2 + (n - k) * (n - k - 1) / 2
        log_weights = bonus * k + 0.1 * pairs
        leaf = Exchangeable.uniform(range(1, n + 1))
        sizes = leaf.statistic.log_class_size(n)
        return Exchangeable(range(1, n + 1), log_weights - np.logaddexp.reduce(log_weights + sizes))

    hot, cold = Product([Bernoulli(0, p=1), attendance(0.4)]), Product([Bernoulli(0, p=0), attendance(-0.2)])
    circuit = Circuit(Sum([0.3, 0.7], [hot, cold]), names=["hot_topic", *WORKSHOP])

    console = Console(highlight=False)
    console.print("[bold]A workshop[/]: ten people are invited. Each comes more gladly if the topic is hot, and if")
    console.print("others come. Nobody is independent of anybody, but only the [bold]number[/] of guests matters.\n")
    console.print(f"  {circuit.summary()}")
    console.print(f"  {to_equation(circuit)}\n")

    counts = circuit.count_distribution(WORKSHOP)
    console.print("[bold]1. How many will come?[/]")
    for number, chance in enumerate(counts):
        console.print(f"  {number:>3} {chance:6.1%} {'█' * round(100 * chance)}")

    known = {"hot_topic": 1, "ann": 1, "bob": 1, "cem": 0}
    chance = circuit.marginals(known)[0][circuit.names.index("dana")] if circuit.names else 0.0
    before = circuit.marginals()[0][4]
    console.print("\n[bold]2. The topic is hot, Ann and Bob will come, Cem will not. Will Dana?[/]")
    console.print(f"  P(dana) = {before:.3f} before, {chance:.3f} now")

    best = circuit.mpe({"ann": 1, "bob": 1})
    coming = [name for name, value in zip(WORKSHOP, best.values[0][1:], strict=True) if value == 1]
    console.print("\n[bold]3. Ann and Bob will come. What is the single likeliest world?[/]")
    console.print(f"  hot topic: {'yes' if best.values[0][0] else 'no'}; coming: {', '.join(coming)}")
    console.print(f"  probability {np.exp(best.log_prob[0]):.4g}, {'exact' if best.exact else 'a guess'}")
    return 0

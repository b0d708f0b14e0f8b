"""Learn SPNs and XSPNs on generated data, and compare them with the truth and with the paper."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from xspn import XSPN, Circuit
    from xspn.paper.datasets import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the seed."""
    parser.add_argument("--seed", type=int, default=0, help="the random seed of data and learning (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Generate, learn, compare, and ask."""
    from rich.console import Console

    from xspn import datasets

    console = Console(highlight=False)
    conference = datasets.make("conference", random_state=args.seed)
    tell(console, "[bold]conference[/]: ten people attend or not, depending on the topic and on each other;")
    tell(console, "with many guests there is an overflow. 50,000 rows × 12 variables.")
    xspn = compare(console, conference, args.seed)
    tell(console, "What the XSPN found, told nothing but the table:")
    for line in xspn.explain(names=conference.feature_names).splitlines():
        tell(console, line)
    ask(console, xspn.circuit_, conference)

    exact = datasets.make("exact", random_state=args.seed)
    tell(console, "\n[bold]exact[/]: 100 bits, uniform among the rows whose number of ones is a multiple of 5. Any")
    tell(console, "two bits are independent; only all of them together are not. 10,000 rows.")
    compare(console, exact, args.seed)
    tell(console, "The paper's numbers are for the authors' own samples of the same two models.")
    return 0


def tell(console: "Console", text: str) -> None:
    """Print a line, in full even where the terminal is narrow."""
    console.print(text, soft_wrap=True)


def compare(console: "Console", data: "Dataset", seed: int) -> "XSPN":
    """Learn both models, print a table, and return the XSPN."""
    from rich.table import Table

    from xspn import XSPN
    from xspn.paper.experiments.published import LIKELIHOODS, PARAMETERS

    published = {"SPN": LIKELIHOODS[data.name].spn, "XSPN": LIKELIHOODS[data.name].xspn}
    table = Table("", "test LL", "truth", "paper", "parameters", "paper's", box=None, pad_edge=True)
    limit = f"{data.truth.log_likelihood(data.test).mean():.3f}" if data.truth is not None else ""
    models: dict[str, XSPN] = {}
    for name, settings in (("SPN", {"exchangeability": None}), ("XSPN", {})):
        with console.status(f"learning the {name} …"):
            models[name] = best_model(data, random_state=seed, **settings)
        size = f"{models[name].circuit_.summary().parameters:,}"
        score = f"{models[name].score(data.test):.3f}"
        published_size = PARAMETERS.get(data.name, {}).get(name, "–")
        table.add_row(name, score, limit, f"{published[name]:.3f}", size, f"{published_size}")
    console.print(table)
    return models["XSPN"]


def best_model(data: "Dataset", **settings: Any) -> "XSPN":
    """Fit the paper's grid of structures and return the model that is best on the validation rows."""
    from xspn import XSPN
    from xspn.paper.experiments.models import STRUCTURE, grid

    def fitted() -> "Iterator[XSPN]":
        for own in grid(STRUCTURE, data.name):
            chosen: dict[str, Any] = dict(own)
            yield XSPN(**chosen, **settings).fit(data.train, X_valid=data.valid)

    return max(fitted(), key=lambda model: model.valid_score_)


def ask(console: "Console", circuit: "Circuit", data: "Dataset") -> None:
    """Put one conditional question to the learned circuit and to the truth."""
    import numpy as np

    overflow = data.feature_names.index("overflow")
    evidence = np.full((1, data.n_variables), np.nan)
    evidence[0, :6] = [1, 1, 1, 1, 0, 0]
    tell(console, "\n[bold]A question[/]: four of the first six people come, two do not. Will there be an overflow?")
    answers = [f"{circuit.marginals(evidence)[0, overflow, 1]:.3f} says the circuit"]
    if data.truth is not None:
        answers.append(f"{data.truth.marginals(evidence)[0, overflow, 1]:.3f} is true")
    tell(
        console,
        f"  P(overflow | attendance) = {', '.join(answers)}; "
        f"{circuit.marginals()[0, overflow, 1]:.3f} without the evidence",
    )

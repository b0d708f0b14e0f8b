"""Figures 1 and 2: what an SPN needs for exchangeable variables, and the XSPN of the conference data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from xspn.circuit import Circuit
from xspn.graph.nodes import Product
from xspn.leaves import Bernoulli, Exchangeable
from xspn.paper.experiments.data import availability, dataset
from xspn.paper.experiments.published import CONFERENCE_PARAMETERS
from xspn.paper.experiments.tables import number
from xspn.paper.presets import paper_model
from xspn.plotting import draw_circuit, draw_side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# P(number of ones) of figure 1's three exchangeable variables: odd numbers are likely, which no two of them tell.
FIGURE1_COUNTS = (0.1, 0.4, 0.1, 0.4)
FIGURE1_ROWS = 1000
FIGURE2_SETTINGS = {"independence_threshold": 15.0, "min_instances": 200}


@dataclass(frozen=True)
class Drawing:
    """A figure with what it says."""

    figure: "Figure"
    caption: str


def figure1(seed: int = 0) -> Drawing:
    """Learn an SPN and an XSPN from rows of p(X1, X2, X3) p(X4), the first factor exchangeable; draw both."""
    truth = Circuit(
        Product([Exchangeable.from_class_probabilities([0, 1, 2], FIGURE1_COUNTS), Bernoulli(3, p=0.3)]),
        names=["X1", "X2", "X3", "X4"],
    )
    rows = truth.sample(FIGURE1_ROWS, random_state=seed)
    spn, xspn = (_learned(name, rows, truth.names, seed, {}) for name in ("SPN", "XSPN-TF"))
    sizes = [circuit.summary() for circuit in (spn, xspn)]
    titles = [
        f"{name}: {size.nodes} nodes, {size.parameters} parameters"
        for name, size in zip(("SPN", "XSPN"), sizes, strict=True)
    ]
    caption = (
        f"Figure 1. SPN and XSPN learned from {FIGURE1_ROWS} rows of p(X1, X2, X3) · p(X4), where X1, X2, X3 are "
        "exchangeable but not independent in any context. The SPN can only enumerate what they may be; the XSPN holds "
        "the distribution of their number of ones in one leaf."
    )
    return Drawing(draw_side_by_side([(spn, titles[0], False), (xspn, titles[1], True)]), caption)


def figure2(seed: int = 0) -> Drawing:
    """Learn the conference data with the paper's settings, and draw the XSPN with names."""
    generated = not availability(("conference",)).files
    data = dataset("conference", generated)
    spn, xspn = (_learned(name, data.train, data.feature_names, seed, FIGURE2_SETTINGS) for name in ("SPN", "XSPN-TF"))
    own, other = xspn.summary().parameters, spn.summary().parameters
    score, limit = float(xspn.log_likelihood(data.test).mean()), None
    if data.truth is not None:
        limit = float(data.truth.log_likelihood(data.test).mean())
    caption = (
        f"Figure 2. The XSPN learned for the conference data{' (generated rows)' if generated else ''}, with the "
        f"paper's settings (ρ = 15, m = 200): {own} parameters, where the SPN with the same settings has {other} "
        f"(published: {CONFERENCE_PARAMETERS['XSPN']} and {CONFERENCE_PARAMETERS['SPN']}). hot_topic and overflow are "
        "the contexts; within each, who attends is exchangeable: only the number of people matters. Test "
        f"log-likelihood {number(score)}{'' if limit is None else f', truth {number(limit)}'}."
    )
    return Drawing(draw_circuit(xspn, f"XSPN of the conference data: {own} parameters"), caption)


def _learned(name: str, rows: object, names: tuple[str, ...] | None, seed: int, settings: dict[str, float]) -> Circuit:
    with threadpool_limits(1):  # many small problems: threads would wait for each other most of the time
        model = paper_model(name, random_state=seed, **settings).fit(rows)
    return Circuit.of_graph(model.circuit_.graph, names)

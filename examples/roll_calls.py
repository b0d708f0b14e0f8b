"""Roll calls: which senators can be interchanged, and how will a vote end if a few have voted?

python examples/roll_calls.py [FOLDER]    writes roll_calls.png

Needs the senate data: set XSPN_DATA, or run `xspn datasets fetch senate`. With names and parties instead of numbers:
`datasets.from_voteview(116, "senate")`, which downloads the public files of voteview.com.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from xspn import XSPN, Circuit, XSPNError, datasets
from xspn.plotting import count_chart, exchangeability_map


def main(folder: Path) -> None:
    try:
        data = datasets.load("senate")
    except XSPNError as error:
        print(f"skipped, the senate data is not here: {error}")
        return
    model = XSPN(random_state=0).fit(data.train)
    circuit = Circuit.of_graph(model.circuit_.graph, data.feature_names)
    print(f"{len(data.train)} roll calls, {data.n_variables} senators: {circuit.summary().parameters} parameters")
    print(f"mean log-likelihood of {len(data.test)} other roll calls: {model.score(data.test):.2f}\n")
    print(model.explain(most=3, names=data.feature_names))

    ayes = {data.feature_names[v]: 1 for v in (0, 1, 2)}
    noes = {data.feature_names[v]: 0 for v in (0, 1, 2)}
    for what, known in (("three yeas", ayes), ("three nays", noes)):
        passed = circuit.count_distribution(data.feature_names, given=known)[50:].sum()
        print(f"\nAfter {what}, at least 50 of {data.n_variables} say yea with {passed:.0%}")

    figure = Figure(figsize=(12, 5.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    exchangeability_map(circuit, title="Senators who vote as one", ax=left)
    count_chart(circuit, given=noes, title="Number of yeas, when three senators have said nay", ax=right)
    figure.savefig(folder / "roll_calls.png", dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

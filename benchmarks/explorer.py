"""How large the explorer's page of a model is, how soon it is ready, and how soon it answers a click.

python benchmarks/explorer.py MODEL [--edges 300000]

Needs the package playwright and a `chromium` on the PATH. With --edges the model is a mixture of as many copies of the
circuit as make so many edges: what a bagged ensemble asks of the page.
"""

import argparse
import pickle
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from xspn import Circuit, Sum, load

CLICKS = 30
ANSWERED = "() => !explorer.state.busy && explorer.state.now.facts === explorer.state.facts"
CLICK = """async (place) => {
    const row = document.querySelectorAll(".row")[place], button = row.querySelector(".value, .line");
    const start = performance.now();
    button.click();
    await explorer.state.running;
    await new Promise(requestAnimationFrame);
    return performance.now() - start;
}"""


def copies(circuit: Circuit, edges: int) -> Circuit:
    """Return a mixture of copies of a circuit that share no node, with at least so many edges."""
    count = -(-edges // circuit.graph.n_edges)
    roots = [pickle.loads(pickle.dumps(circuit)).root for _ in range(count)]
    return Circuit(Sum(np.full(count, 1 / count), roots), circuit.names, circuit.n_variables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--edges", type=int)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    circuit = load(args.model)
    circuit = copies(circuit, args.edges) if args.edges else circuit
    print(circuit.summary())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        start = time.process_time()
        path = circuit.explore(Path(folder) / "page.html")
        print(f"written in {time.process_time() - start:.1f} s of CPU time, {path.stat().st_size / 1e6:.2f} MB")
        flags = ["--no-sandbox", "--headless"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto("about:blank")
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=120_000)
        print(f"ready after {page.evaluate('explorer.ready'):.0f} ms")
        rows = page.locator(".row").count()
        times = []
        for place in range(CLICKS):
            times.append(page.evaluate(CLICK, (place * 7) % rows))
            page.wait_for_function(ANSWERED)
        print(f"a click is answered in {statistics.median(times):.0f} ms (median), {max(times):.0f} ms at most")
        browser.close()


if __name__ == "__main__":
    main()

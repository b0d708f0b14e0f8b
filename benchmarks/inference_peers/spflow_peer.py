"""SPFlow on a circuit of sums, products and Bernoulli leaves."""

import sys

import torch
from clock import answer, task
from spflow.modules.leaves import Bernoulli
from spflow.modules.products import Product
from spflow.modules.sums import Sum

sys.setrecursionlimit(100_000)
torch.set_num_threads(1)
nodes, rows, edges = task()
built = []
for node in nodes:
    below = [built[c] for c in node["children"]]
    if node["type"] == "sum":
        built.append(Sum(inputs=below, weights=torch.tensor(node["weights"]).reshape(1, -1, 1, 1)))
    elif node["type"] == "product":
        built.append(Product(inputs=below))
    else:
        built.append(Bernoulli(scope=node["variable"], probs=torch.tensor([[[node["p"]]]])))
root = built[-1]
X = torch.tensor(rows, dtype=torch.float32)


def evaluate():
    with torch.no_grad():
        return root.log_likelihood(X).numpy()


answer(evaluate, len(X), edges=edges)

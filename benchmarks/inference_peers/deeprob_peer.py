"""deeprob-kit on a circuit of sums, products and Bernoulli leaves."""

import numpy as np
from clock import answer, task
from deeprob.spn.algorithms.inference import log_likelihood
from deeprob.spn.structure.leaf import Bernoulli
from deeprob.spn.structure.node import Product, Sum, assign_ids

nodes, rows, edges = task()
built = []
for node in nodes:
    below = [built[c] for c in node["children"]]
    if node["type"] == "sum":
        built.append(Sum(children=below, weights=np.array(node["weights"], dtype=np.float32)))
    elif node["type"] == "product":
        built.append(Product(children=below))
    else:
        built.append(Bernoulli(node["variable"], p=node["p"]))
root = assign_ids(built[-1])
X = rows.astype(np.float32)
answer(lambda: log_likelihood(root, X), len(X), edges=edges)

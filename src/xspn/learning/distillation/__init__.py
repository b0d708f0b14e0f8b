"""A smaller circuit in place of a large one: merge leaves, prune edges by flow, refit by EM.

What can be taken out of a circuit has a price, in nats for each parameter that it frees: an edge of a sum the rows that
flow through it, two leaves that become one the entropy that they gain, an edge of a Chow-Liu tree its mutual
information. All that costs less than one limit goes, the one at which no more than the wanted number of parameters is
left. What is left is fitted by EM to the training rows and to rows drawn from the large circuit.
"""

from xspn.learning.distillation.distiller import check_budget, distill

__all__ = ["check_budget", "distill"]

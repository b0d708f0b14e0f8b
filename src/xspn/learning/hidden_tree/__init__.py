"""Trees of hidden states over blocks of exchangeable variables.

A mixture says: each row is of one kind, and given the kind its blocks are independent. Here each block has a kind of
its own, hidden too, and these kinds depend on each other along a tree: the latent tree that Chow and Liu's would become
if variables were seen through noise. With one block it is an exchangeable leaf, with kinds that never change along the
tree a mixture of exchangeable variable models, and with blocks of one variable a hidden Chow-Liu tree (Liu and Van den
Broeck, 2021). It is a circuit: a sum over the kinds of a block for each kind of its parent.
"""

from xspn.learning.hidden_tree.circuit import circuit_of
from xspn.learning.hidden_tree.counts import CountedRows, every_variable_alone
from xspn.learning.hidden_tree.fit import FittedTree, TreeOptions, fit_tree, row_scores
from xspn.learning.hidden_tree.tree import Tree, sampled_tree, tree_of

__all__ = [
    "CountedRows",
    "FittedTree",
    "Tree",
    "TreeOptions",
    "circuit_of",
    "every_variable_alone",
    "fit_tree",
    "row_scores",
    "sampled_tree",
    "tree_of",
]

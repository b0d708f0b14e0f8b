"""Hidden Chow-Liu trees (HCLTs) over blocks of exchangeable variables.

A mixture has one latent state for each row, and given the state the blocks are independent. An HCLT has a latent state
for each block, and the states depend on each other along a tree, by a transition matrix for each edge. With one block
it is an exchangeable leaf, with transition matrices that never change the state a mixture of exchangeable variable
models, and with blocks of one variable a hidden Chow-Liu tree (Liu and Van den Broeck, 2021). It is a circuit: a sum
over the latent states of a block for each latent state of its parent.
"""

from xspn.learning.hclt.fit import FittedHCLT, HCLTOptions, fit_hclt, hclt_circuit, row_scores
from xspn.learning.hclt.tree import BlockTree, CountedRows, chow_liu_tree, sampled_chow_liu_tree, singleton_blocks

__all__ = [
    "BlockTree",
    "CountedRows",
    "FittedHCLT",
    "HCLTOptions",
    "chow_liu_tree",
    "fit_hclt",
    "hclt_circuit",
    "row_scores",
    "sampled_chow_liu_tree",
    "singleton_blocks",
]

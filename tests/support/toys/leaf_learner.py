"""A toy leaf learner for bits: fair coins, whatever the rows are."""

import numpy as np

from xspn import Bernoulli, Product
from xspn.learning.leaf_learners.base import Candidate, leaf_learners


def fair_coins(data, variables, options):
    leaves = [Bernoulli(int(v), p=0.5) for v in variables]
    seen = (~np.isnan(data.own.rows()[0])).sum(axis=1)
    return Candidate("fair coins", leaves[0] if len(leaves) == 1 else Product(leaves), -seen * np.log(2))


leaf_learners.add("fair_coins", fair_coins)

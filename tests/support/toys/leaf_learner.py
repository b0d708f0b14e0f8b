"""A toy leaf learner for bits and for categories: every value is equally likely, whatever the rows are."""

import numpy as np

from xspn import Bernoulli, Categorical, Product
from xspn.learning.leaf_learners.base import Candidate, leaf_learners
from xspn.learning.methods import Can, Method


def fair_coins(data, variables, options):
    return _fair(data, [Bernoulli(int(v), p=0.5) for v in variables], np.full(len(variables), 2))


def fair_dice(data, variables, options):
    sizes = np.array([column.n_values for column in data.own.columns])
    leaves = [Categorical(int(v), np.full(size, 1 / size)) for v, size in zip(variables, sizes, strict=True)]
    return _fair(data, leaves, sizes)


def _fair(data, leaves, sizes):
    logs = -(~np.isnan(data.own.rows()[0]) * np.log(sizes)).sum(axis=1)
    return Candidate("fair coins", leaves[0] if len(leaves) == 1 else Product(leaves), logs)


leaf_learners.add("fair_coins", Method(bits=fair_coins, tables=fair_dice, can=Can.CATEGORIES | Can.ANY_ROWS))

"""Leaves: the tractable distributions at the bottom of a circuit. One file each, one contract for all."""

from xspn.leaves.atom import Atom
from xspn.leaves.base import Leaf, Smoothing, leaf_from_params, leaves
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.categorical import Categorical
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.count_block import CountBlock
from xspn.leaves.exchangeable import Exchangeable
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.leaves.gaussian import Gaussian
from xspn.leaves.multivariate_gaussian import MultivariateGaussian
from xspn.leaves.scales import Scale
from xspn.leaves.transformed import Transformed

__all__ = [
    "Atom",
    "Bernoulli",
    "BetaBinomial",
    "Categorical",
    "ChowLiu",
    "CountBlock",
    "Exchangeable",
    "ExchangeableGaussian",
    "Gaussian",
    "Leaf",
    "MultivariateGaussian",
    "Scale",
    "Smoothing",
    "Transformed",
    "leaf_from_params",
    "leaves",
]

"""Exchangeability-aware sum-product networks: exact probabilities for data with interchangeable parts."""

from xspn._core.errors import XSPNError
from xspn._version import __version__
from xspn.circuit import Product, Sum
from xspn.io import load, save
from xspn.leaves import Bernoulli, Categorical, ChowLiu, Exchangeable, Gaussian, Smoothing
from xspn.model import Circuit

__all__ = [
    "Bernoulli",
    "Categorical",
    "ChowLiu",
    "Circuit",
    "Exchangeable",
    "Gaussian",
    "Product",
    "Smoothing",
    "Sum",
    "XSPNError",
    "__version__",
    "load",
    "save",
]

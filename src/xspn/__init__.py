"""Exchangeability-aware sum-product networks: exact probabilities for data with interchangeable parts.

Names are imported when they are first used, so that `import xspn` and `xspn --help` cost next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xspn._version import __version__

if TYPE_CHECKING:
    from xspn.circuit import Circuit as Circuit
    from xspn.core.errors import XSPNError as XSPNError
    from xspn.data import read_table as read_table
    from xspn.estimators import MEVM as MEVM
    from xspn.estimators import XSPN as XSPN
    from xspn.estimators import NormalMixture as NormalMixture
    from xspn.estimators import XSPNClassifier as XSPNClassifier
    from xspn.estimators import XSPNImputer as XSPNImputer
    from xspn.estimators import XSPNOutlierDetector as XSPNOutlierDetector
    from xspn.estimators.persistence import load as load
    from xspn.estimators.persistence import save as save
    from xspn.graph import Product as Product
    from xspn.graph import Sum as Sum
    from xspn.learning.exchangeability.public import exchangeability_test as exchangeability_test
    from xspn.learning.exchangeability.public import exchangeable_groups as exchangeable_groups
    from xspn.leaves import Atom as Atom
    from xspn.leaves import Bernoulli as Bernoulli
    from xspn.leaves import BetaBinomial as BetaBinomial
    from xspn.leaves import Categorical as Categorical
    from xspn.leaves import ChowLiu as ChowLiu
    from xspn.leaves import Exchangeable as Exchangeable
    from xspn.leaves import ExchangeableGaussian as ExchangeableGaussian
    from xspn.leaves import Gaussian as Gaussian
    from xspn.leaves import MultivariateGaussian as MultivariateGaussian
    from xspn.leaves import Scale as Scale
    from xspn.leaves import Smoothing as Smoothing
    from xspn.leaves import Transformed as Transformed
    from xspn.paper import datasets as datasets
    from xspn.reports import check_table as check_table
    from xspn.reports import report as report

_HOMES = {
    "Atom": "xspn.leaves",
    "Bernoulli": "xspn.leaves",
    "BetaBinomial": "xspn.leaves",
    "Categorical": "xspn.leaves",
    "ChowLiu": "xspn.leaves",
    "Circuit": "xspn.circuit",
    "Exchangeable": "xspn.leaves",
    "ExchangeableGaussian": "xspn.leaves",
    "Gaussian": "xspn.leaves",
    "MEVM": "xspn.estimators",
    "MultivariateGaussian": "xspn.leaves",
    "NormalMixture": "xspn.estimators",
    "Product": "xspn.graph",
    "Scale": "xspn.leaves",
    "Smoothing": "xspn.leaves",
    "Sum": "xspn.graph",
    "Transformed": "xspn.leaves",
    "XSPN": "xspn.estimators",
    "XSPNClassifier": "xspn.estimators",
    "XSPNError": "xspn.core.errors",
    "XSPNImputer": "xspn.estimators",
    "XSPNOutlierDetector": "xspn.estimators",
    "check_table": "xspn.reports",
    "exchangeability_test": "xspn.learning.exchangeability.public",
    "exchangeable_groups": "xspn.learning.exchangeability.public",
    "load": "xspn.estimators.persistence",
    "read_table": "xspn.data",
    "report": "xspn.reports",
    "save": "xspn.estimators.persistence",
}

__all__ = ["__version__", "datasets", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("xspn.paper.datasets")
    if name not in _HOMES:
        raise AttributeError(f"module 'xspn' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

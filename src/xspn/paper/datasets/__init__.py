"""The paper's 31 data sets by name, fresh samples of the synthetic ones, planted truths, and data sets from roll calls.

Examples:
    >>> from xspn import datasets
    >>> datasets.names("synthetic")
    ('threshold', 'exact', 'parity', 'counting', 'MEVM-s', 'MEVM-l', 'conference')
    >>> d = datasets.make("parity", n_train=1000, n_valid=100, n_test=100)
    >>> d, round(float(d.truth.log_likelihood(d.test).mean()), 3)  # the limit
    (Dataset('parity', 100 variables, 1000 + 100 + 100 rows), -68.622)
"""

from xspn.paper.datasets.catalog import Entry, info, names
from xspn.paper.datasets.classification import LabeledDataset, classification, with_target
from xspn.paper.datasets.dataset import Dataset
from xspn.paper.datasets.download import DownloadLimits
from xspn.paper.datasets.loading import Fetched, fetch, load
from xspn.paper.datasets.planted import Parliament, parliament, planted
from xspn.paper.datasets.synthetic import make, truth
from xspn.paper.datasets.votes import from_votes
from xspn.paper.datasets.voteview import from_voteview

__all__ = [
    "Dataset",
    "DownloadLimits",
    "Entry",
    "Fetched",
    "LabeledDataset",
    "Parliament",
    "classification",
    "fetch",
    "from_votes",
    "from_voteview",
    "info",
    "load",
    "make",
    "names",
    "parliament",
    "planted",
    "truth",
    "with_target",
]

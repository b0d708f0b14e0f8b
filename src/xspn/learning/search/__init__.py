"""Model search: settings chosen on validation rows, bagged ensembles, and mixtures refined by EM."""

from xspn.learning.search.budget import BUDGETS, SearchBudget, ValidationRows
from xspn.learning.search.search import SearchReport, SearchResult, search

__all__ = ["BUDGETS", "SearchBudget", "SearchReport", "SearchResult", "ValidationRows", "search"]

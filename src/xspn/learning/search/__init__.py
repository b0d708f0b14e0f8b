"""Model search: settings chosen on validation rows, bagged ensembles, and mixtures refined by EM."""

from xspn.learning.search.budget import BUDGETS, SearchBudget
from xspn.learning.search.search import SearchReport, SearchResult, search
from xspn.learning.search.validation import ValidationRows

__all__ = ["BUDGETS", "SearchBudget", "SearchReport", "SearchResult", "ValidationRows", "search"]

"""Which variables depend on each other."""

from xspn.learning.independence.g_test import dependent_pairs, groups_exclude_each_other, independent_groups

__all__ = ["dependent_pairs", "groups_exclude_each_other", "independent_groups"]

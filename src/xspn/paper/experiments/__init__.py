"""The paper's tables and figures: settings, published numbers, a runner that can be interrupted, and a report."""

TARGETS = ("table1", "table2", "ablation", "pairwise", "figure1", "figure2")  # what can be reproduced

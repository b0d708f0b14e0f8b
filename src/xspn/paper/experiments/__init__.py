"""The paper's tables and figures: settings, published numbers, a runner that can be interrupted, and a report."""

"""The paper: its data sets, baselines and experiments, on top of the library."""

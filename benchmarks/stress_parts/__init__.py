"""The parts of `benchmarks/stress.py`: each module has a function `report` that prints its figures."""

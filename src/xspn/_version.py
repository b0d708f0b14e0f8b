"""The version of the package, in the one place that setup and code both read."""

__version__ = "0.1.0"

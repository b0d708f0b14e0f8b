"""One tree of errors; each is also the built-in error that a caller would expect."""

from typing import Self


class XSPNError(Exception):
    """Anything that xspn refuses to do. The message says what was expected, what was found, and what to do.

    Attributes:
        remedy: What kind of thing would help, by a short name: the command line has options of its own for some.
    """

    remedy: str | None = None

    def with_remedy(self, remedy: str) -> Self:
        """Return the error after it was told what would help."""
        self.remedy = remedy
        return self


class DataError(XSPNError, ValueError):
    """A table or a row of evidence that cannot be used: wrong shape, wrong value, wrong column."""


class DataTypeError(XSPNError, TypeError):
    """A table that holds something other than numbers."""


class ParameterError(XSPNError, ValueError):
    """A number or an option outside what it may be: a weight, a probability, a smoothing mass."""


class StructureError(XSPNError, ValueError):
    """Nodes that do not form a valid circuit: empty, overlapping or differing scopes, clashing domains."""


class QueryError(XSPNError, ValueError):
    """A question that this circuit cannot answer, with the reason."""


class EvidenceError(QueryError):
    """Evidence of probability zero: nothing can be conditioned on it."""


class FormatError(XSPNError, ValueError):
    """A model file that is truncated, altered, or of a schema that this version does not know."""


class MemoryLimitError(XSPNError, MemoryError):
    """Work that would take more memory than there is; the message says how much, and what would fit."""


class RegistryError(XSPNError, ValueError):
    """A name that nothing is registered under, or that is taken already."""


class DatasetError(XSPNError, OSError):
    """A data set that cannot be had: its files are nowhere to be found, out of reach, or damaged."""


class DatasetMissingError(DatasetError, FileNotFoundError):
    """A file that is neither beside the project nor in the cache, and that could not be downloaded."""


class ChecksumError(DatasetError):
    """A file whose content is not what it should be: it is never used."""


class MissingExtraError(XSPNError, ImportError):
    """An optional package that is not installed; the message says which extra brings it."""


class ClusterError(XSPNError, OSError):
    """A cluster that failed: a partition that cannot be read, workers that die, a scheduler that is gone."""


class AgreementWarning(UserWarning):
    """A fitted model that disagrees with its table about a column's mean, deviation, quantiles or frequencies."""

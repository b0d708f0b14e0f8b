"""Reports on one's own model: one file with data, fit, calibration, segments, oddities, limits and provenance."""

from xspn.reports.check import TableCheck, check_table
from xspn.reports.report import Findings, Report, report

__all__ = ["Findings", "Report", "TableCheck", "check_table", "report"]

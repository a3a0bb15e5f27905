"""A run as one HTML page that opens without a network."""

from marecg.report.writing import write_report

__all__ = ["write_report"]

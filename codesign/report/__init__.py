"""One self-contained HTML page, or one SVG picture, that shows what a solve found."""

from codesign.report.montage import montage_svg
from codesign.report.page import solution_montage, write_report

__all__ = ["montage_svg", "solution_montage", "write_report"]

"""One self-contained HTML page, or one SVG picture, that shows what a solve found."""

from codesign.report.montage import montage_svg
from codesign.report.page import write_report

__all__ = ["montage_svg", "write_report"]

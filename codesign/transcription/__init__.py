"""Direct transcription: from continuous motion to residuals between neighbouring knots."""

from codesign.transcription.interval import INTEGRATORS, interval_function, interval_rows
from codesign.transcription.layout import Layout
from codesign.transcription.rows import Rows
from codesign.transcription.terms import UserTerms, user_terms

__all__ = [
    "INTEGRATORS",
    "Layout",
    "Rows",
    "UserTerms",
    "interval_function",
    "interval_rows",
    "user_terms",
]

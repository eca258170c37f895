"""Errors of the optimisation side.

A mistake of the caller raises a `CodesignError` whose message is one line: what was given, where,
and what would work. A solve that does not converge is an answer, not an error: see `SolveStatus`.
"""

from __future__ import annotations


class CodesignError(ValueError):
    """Base of every error that a caller of codesign can correct."""


class ProblemError(CodesignError):
    """A problem is stated wrongly: an unknown name, a bad bound, a missing objective."""


class SolverError(CodesignError):
    """The solver cannot be run as asked, e.g. an unknown solver option."""


class SolutionError(CodesignError):
    """A solution cannot be read, written, or used as asked, e.g. `require_success()`."""

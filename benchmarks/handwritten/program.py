"""A nonlinear program as a person writes it in CasADi: symbols, expressions, bounds."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class HandwrittenProgram:
    """min f(x) s.t. lower ≤ g(x) ≤ upper, in scaled variables.

    Variables and rows stand in the order of the project's own program of the same problem, so that
    both can start from one point and be compared row by row.

    Attributes:
        x: scaled variables, shape (n, 1).
        f: objective.
        g: rows, shape (m, 1).
        lower: lower bounds of g, shape (m,).
        upper: upper bounds of g, shape (m,).
    """

    x: ca.SX
    f: ca.SX
    g: ca.SX
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class RowList:
    """Rows with their bounds, collected in order."""

    def __init__(self) -> None:
        self._rows: list[ca.SX] = []
        self._lower: list[float] = []
        self._upper: list[float] = []

    def add(self, value: ca.SX, lower: float = 0.0, upper: float = 0.0) -> None:
        """Add rows lower ≤ value ≤ upper; equal to zero if nothing else is said."""
        self._rows.append(value)
        self._lower += [lower] * value.numel()
        self._upper += [upper] * value.numel()

    def program(self, x: ca.SX, f: ca.SX) -> HandwrittenProgram:
        """Return the program that has these rows."""
        return HandwrittenProgram(
            x, f, ca.vertcat(*self._rows), np.array(self._lower), np.array(self._upper)
        )

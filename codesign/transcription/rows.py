"""Constraint rows with the names, units and scales that solver and reports share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """One named group of rows: lower ≤ value / scale − relaxation·ε ≤ upper.

    Attributes:
        name: what reports call the group.
        unit: physical unit of the value.
        labels: one name per row.
        lower: scaled lower bounds, shape (m,).
        upper: scaled upper bounds, shape (m,).
        scale: physical amount of one scaled unit, shape (m,).
        relaxation: multiple of the complementarity relaxation ε by which the upper bound widens.
        knot: knot of the rows; None for rows that span knots or that every interval has.
    """

    name: str
    unit: str
    labels: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    scale: NDArray[np.float64]
    relaxation: float = 0.0
    knot: int | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.labels)


def rows_of(
    name: str,
    unit: str,
    labels: Sequence[str],
    lower: float,
    upper: float,
    scale: float | NDArray[np.float64] = 1.0,
    *,
    relaxation: float = 0.0,
) -> Rows:
    """Return rows that share their bounds."""
    m = len(labels)

    def full(x: float | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(np.broadcast_to(np.asarray(x, dtype=float), (m,)))

    return Rows(name, unit, tuple(labels), full(lower), full(upper), full(scale), relaxation)

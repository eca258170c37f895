"""Contact modes of a point, held: open contacts carry no force, closed ones have no gap.

A contact is closed in an interval when its normal force, in units of the robot's weight, exceeds
its gap in metres; of a pair with a product below ε at least one side is below √ε.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from codesign.nlp import NonlinearProgram

Vector = NDArray[np.float64]
ModeBounds = Callable[[Vector, Vector], tuple[Vector, Vector]]


def mode_bounds(program: NonlinearProgram) -> ModeBounds:
    """Return how bounds narrow when contacts keep their modes.

    Args:
        program: of a robot with contacts or without.

    Returns:
        A function that takes (x, upper bounds of x) and returns upper bounds of x, in which the
        forces of open contacts are 0, and of g, in which the gaps of closed ones are.
    """
    fields = program.layout.fields
    groups = [
        placed
        for placed in program.rows
        if placed.rows.name == "gap" and placed.start < program.task.start
    ]
    starts = np.array([placed.start for placed in groups], dtype=np.int64)
    entries = starts[:, None] + np.arange(program.layout.nc)

    def narrowed(x: Vector, upper: Vector) -> tuple[Vector, Vector]:
        upper, rows = upper.copy(), program.upper
        if not len(entries):
            return upper, rows
        g = np.array(program.derivatives["jac_g"](x, [0.0, 1.0])[0]).ravel()
        is_open = x[fields["normal"]] <= g[entries]
        upper[fields["normal"][is_open]] = 0.0
        upper[fields["tangent"][is_open]] = 0.0
        rows[entries[~is_open]] = 0.0
        return upper, rows

    return narrowed

"""A motion on another mesh: knots are interpolated, what holds over intervals is matched.

Both go by fraction of the number of intervals, so that a mesh that splits every interval in n
keeps the motion, its pattern of time steps included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from codesign.errors import SolutionError

if TYPE_CHECKING:
    from codesign.plant import Plant
    from codesign.solution import Solution
    from codesign.transcription import Layout

Vector = NDArray[np.float64]


def resample(solution: Solution, layout: Layout, plant: Plant) -> Vector:
    """Return a decision vector that starts another solve from a solution, shape (n,).

    Raises:
        SolutionError: the solution belongs to a robot of another shape.
    """
    if solution.q.shape[1] != layout.nq or solution.u.shape[1] != layout.nu:
        raise SolutionError(
            f"cannot start from this solution: it has {solution.q.shape[1]} coordinates and "
            f"{solution.u.shape[1]} actuators, the problem {layout.nq} and {layout.nu}"
        )
    old = np.linspace(0, 1, len(solution.q))
    new = np.linspace(0, 1, layout.knots)
    middle, last = (new[:-1] + new[1:]) / 2 * len(solution.dt), len(solution.dt) - 1
    match = np.minimum(middle, last).astype(int)

    def knots(values: Vector) -> Vector:
        return np.stack([np.interp(new, old, column) for column in values.T], axis=1)

    design = plant.space.as_dict(plant.space.initial) | {
        name: value for name, value in solution.design.items() if name in plant.space.names
    }
    dt = solution.dt[match]
    return layout.join(
        {
            "q": knots(solution.q),
            "v": knots(solution.v),
            "u": solution.u[match],
            "normal": solution.normal[match],
            "tangent": solution.tangent[match],
            "slide": solution.slide[match],
            "dt": dt * (float(solution.t[-1]) / float(np.sum(dt))),
            "design": np.array([design[name] for name in plant.space.names]),
        }
    )

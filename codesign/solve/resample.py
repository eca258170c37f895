"""A motion on another mesh: knots are interpolated, what holds over intervals is matched.

Both go by fraction of the number of intervals, so that a mesh that splits every interval in n
keeps the motion, its pattern of time steps included. Where a step went by the mean of the two
velocities, the motion between its knots has the velocity between them, so that shorter steps of
that kind lead from knot to knot:

    v(s) = v + s (v⁺ − v),   q(s) = q ⊕ s h (v + s (v⁺ − v) / 2),   0 ≤ s ≤ 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.errors import SolutionError

if TYPE_CHECKING:
    from codesign.plant import Plant
    from codesign.solution import Solution
    from codesign.transcription import Layout

Vector = NDArray[np.float64]
_SAME = 1e-6  # two configurations that differ by less are the same; [m or rad]


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
            "q": _curved(solution, plant, new) if _is_mean(solution, plant) else knots(solution.q),
            "v": knots(solution.v),
            "u": solution.u[match],
            "normal": solution.normal[match],
            "tangent": solution.tangent[match],
            "slide": solution.slide[match],
            "dt": dt * (float(solution.t[-1]) / float(np.sum(dt))),
            "design": np.array([design[name] for name in plant.space.names]),
        }
    )


def _step(plant: Plant, q: Vector, v: Vector, dt: float) -> Vector:
    """Return q ⊕ dt·v."""
    moved = np.array(q, dtype=float)
    mujoco.mj_integratePos(plant.nominal, moved, np.asarray(v, dtype=float), dt)
    return moved


def _is_mean(solution: Solution, plant: Plant) -> bool:
    """Return whether every step went by the mean of the velocities at its ends."""
    mean = (solution.v[:-1] + solution.v[1:]) / 2
    moved = [_step(plant, *step) for step in zip(solution.q[:-1], mean, solution.dt, strict=True)]
    return bool(np.max(np.abs(np.stack(moved) - solution.q[1:])) < _SAME)


def _curved(solution: Solution, plant: Plant, places: Vector) -> Vector:
    """Return configurations at fractions of the number of intervals, between knots as above."""
    found = []
    for place in places * len(solution.dt):
        k = min(int(place), len(solution.dt) - 1)
        s, v = place - k, solution.v[k]
        mean = v + s * (solution.v[k + 1] - v) / 2
        found.append(_step(plant, solution.q[k], mean, s * solution.dt[k]))
    return np.stack(found)

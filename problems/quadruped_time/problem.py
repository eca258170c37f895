"""The quadruped of Spielberg et al. (2017), Sec. IV-C: least time."""

from __future__ import annotations

from typing import Any

from codesign import Trajectory
from codesign.objectives import duration
from problems.quadruped_torque.problem import QuadrupedTorque


class QuadrupedTime(QuadrupedTorque):
    """A quadruped grows and walks 0.25 m in the least time its motors allow."""

    step_range = (0.01, 1.0)
    integrator = "backward_euler"  # landings take a step, which the midpoint rule wants at rest

    def objective(self, traj: Trajectory) -> Any:
        return duration(traj)

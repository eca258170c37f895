"""The biped of Spielberg et al. (2017), Sec. IV-B, on level ground."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codesign import Problem, Trajectory
from codesign.constraints import Constraint, between, stand_to_stand
from codesign.motor_library import DYNAMIXEL, carries_motors
from codesign.objectives import peak_torque


class BipedFlat(Problem):
    """A biped on point feet walks 0.3 m with the least peak torque.

    Options:
        distance: how far the body moves forward; [m].
        final_height: lowest and highest place of the body's centre over the ground at the end; [m].
    """

    robot = "robot"
    design = {
        "lower_leg_length": (0.05, 0.40),
        "upper_leg_length": (0.05, 0.40),
        "body_x": (0.03, 0.20),
        "body_y": (0.03, 0.20),
        "body_z": (0.03, 0.20),
        "body_mass": (0.05, 1.0),
        "upper_leg_mass": (0.05, 1.0),
        "lower_leg_mass": (0.05, 1.0),
    }
    duration = 4.0
    knots = 16
    step_range = (0.5, 1.5)
    step_turn = 0.7
    motors = DYNAMIXEL
    distance = 0.3
    final_height = (0.25, 0.35)

    def ground_at_end(self) -> float:
        """Return the height of the ground on which the walk ends; [m]."""
        return 0.0

    def objective(self, traj: Trajectory) -> Any:
        return peak_torque(traj)

    def constraints(self, traj: Trajectory) -> Iterator[Constraint | Iterator[Constraint]]:
        yield stand_to_stand(traj, self.distance)
        low, high = (self.ground_at_end() + height for height in self.final_height)
        height = traj.knot(-1).base_position[2]
        yield between(height, low, high, name="final height", unit="m", knot=traj.knots - 1)
        for link in ("upper", "lower"):  # the hip's motor and the knee's
            yield carries_motors(traj, f"{link} leg", mass=traj.parameters[f"{link}_leg_mass"])

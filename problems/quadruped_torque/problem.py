"""The quadruped of Spielberg et al. (2017), Sec. IV-C: least torque in four seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codesign import Problem, Trajectory
from codesign.constraints import Constraint, between, stand_to_stand
from codesign.motor_library import DYNAMIXEL, carries_motors
from codesign.objectives import peak_torque


class QuadrupedTorque(Problem):
    """A quadruped grows and walks 0.25 m with the least peak torque.

    Options:
        distance: how far the body moves forward; [m].
        final_height: lowest and highest place of the body's centre at the end; [m].
    """

    robot = "robot"
    design = {
        "lower_leg_length": (0.10, 0.20),
        "upper_leg_length": (0.10, 0.20),
        "body_x": (0.20, 0.50),
        "body_y": (0.10, 0.30),
        "body_z": (0.03, 0.10),
        "body_mass": (0.20, 1.0),
        "upper_leg_mass": (0.05, 0.40),
        "lower_leg_mass": (0.05, 0.40),
    }
    duration = 4.0
    knots = 16
    step_range = (0.5, 1.5)
    step_turn = 0.7
    motors = DYNAMIXEL
    distance = 0.25
    final_height = (0.35, 0.40)

    def objective(self, traj: Trajectory) -> Any:
        return peak_torque(traj)

    def constraints(self, traj: Trajectory) -> Iterator[Constraint | Iterator[Constraint]]:
        yield stand_to_stand(traj, self.distance)
        height = traj.knot(-1).base_position[2]
        low, high = self.final_height
        yield between(height, low, high, name="final height", unit="m", knot=traj.knots - 1)
        for link in ("upper", "lower"):  # the hip's motor and the knee's
            yield carries_motors(traj, f"{link} leg", mass=traj.parameters[f"{link}_leg_mass"])

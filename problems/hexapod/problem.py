"""The hexapod of Spielberg et al. (2017), Sec. IV-A: longer legs or no button."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from codesign import Keyframe, Problem, Trajectory
from codesign.constraints import Constraint, site_position, stand_to_stand
from codesign.motor_library import DYNAMIXEL, carries_motors
from codesign.objectives import design_change, peak_torque

_TRIPODS = {
    "leg_fl": 0.0,
    "leg_mr": 0.0,
    "leg_rl": 0.0,
    "leg_fr": np.pi,
    "leg_ml": np.pi,
    "leg_rr": np.pi,
}


class Hexapod(Problem):
    """A hexapod walks 0.45 m and presses a button 0.15 m above the ground.

    Options:
        beta: weight of the distance from the designer's own dimensions and masses.
        distance: how far the body moves forward; [m].
        button_height: height of the button its nose must touch; [m].
        material: mass of the body beside its six motors, a light frame and electronics; [kg].
    """

    robot = "robot"
    design = {
        "body_x": (0.9, 1.2),
        "body_y": (0.05, 0.10),
        "body_z": (0.10, 0.15),
        "leg_length": (0.05, 0.20),
        "leg_mass": (0.08, 0.12),
        "body_mass": (0.3, 0.5),
    }
    duration = 4.0
    knots = 16
    step_range = (0.5, 1.5)  # longer steps let it balance on one foot through a whole step
    step_turn = 0.7
    beta = 0.0
    distance = 0.45
    button_height = 0.15
    material = 0.05
    motors = DYNAMIXEL

    def objective(self, traj: Trajectory) -> Any:
        return peak_torque(traj) + self.beta * design_change(traj)

    def constraints(self, traj: Trajectory) -> Iterator[Constraint | Iterator[Constraint]]:
        yield stand_to_stand(traj, self.distance)
        yield site_position(traj, "nose", knot=-1, z=self.button_height)
        yield self.motors_fit(traj)

    def motors_fit(self, traj: Trajectory) -> Iterator[Constraint]:
        """Return that the body holds six motors, three along each side."""
        body = traj.parameters
        return carries_motors(
            traj,
            "body",
            mass=body["body_mass"],
            motors=6,
            material=self.material,
            x=body["body_x"],
            y=body["body_y"],
            z=body["body_z"],
            along={"x": 3, "y": 2, "z": 1},
        )

    def markers(self, design: Mapping[str, float]) -> dict[str, list[float]]:
        """Return the button, where the nose ends."""
        ahead = design.get("body_x", 1.05) / 2
        return {"button": [self.distance + ahead, 0.0, self.button_height]}

    def keyframes(self) -> list[Keyframe]:
        """Return a rough tripod gait: two steps of each tripod while the body rises."""
        frames = []
        for at in np.linspace(0.0, 1.0, 17):
            swing = {leg: 0.3 * np.sin(4 * np.pi * at + phase) for leg, phase in _TRIPODS.items()}
            height = 0.10 + at * (self.button_height - 0.10)
            frames.append(Keyframe(float(at), {"x": at * self.distance, "z": height, **swing}))
        return frames

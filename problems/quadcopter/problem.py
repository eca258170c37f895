"""The quadcopter of Spielberg et al. (2017), Sec. IV-D: a design whose optimum is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from codesign import Keyframe, Problem, Trajectory
from codesign.constraints import Constraint, at_rest, equal
from codesign.objectives import peak_thrust


class Quadcopter(Problem):
    """A quadcopter flies a circle of 1 m through 16 waypoints in 6 s with the least peak thrust.

    Options:
        circle_radius: radius of the circle; [m].
        altitude: height of the circle; [m].
    """

    robot = "robot"
    design = {"radius": (0.1, 0.5), "mass": (0.3, 0.7)}
    duration = 6.0
    knots = 16
    circle_radius = 1.0
    altitude = 1.0

    def waypoints(self) -> np.ndarray:
        """Return the place of every knot: 16 waypoints once around the circle; [m]."""
        angle = np.linspace(0.0, 2 * np.pi, self.knots)
        circle = self.circle_radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.column_stack([circle, np.full(self.knots, self.altitude)])

    def objective(self, traj: Trajectory) -> Any:
        return peak_thrust(traj)

    def constraints(self, traj: Trajectory) -> Iterator[Constraint]:
        yield at_rest(traj, knot=0)
        for k, point in enumerate(self.waypoints()):
            place = traj.knot(k).base_position
            yield equal(place, point, name="waypoint", unit="m", labels=("x", "y", "z"), knot=k)

    def markers(self, design: Mapping[str, float]) -> dict[str, list[float]]:
        """Return the waypoints."""
        return {str(k): list(point) for k, point in enumerate(self.waypoints().tolist())}

    def keyframes(self) -> list[Keyframe]:
        """Return the circle itself, level."""
        fractions = np.linspace(0.0, 1.0, self.knots)
        return [
            Keyframe(float(at), {"x": p[0], "y": p[1], "z": p[2]})
            for at, p in zip(fractions, self.waypoints(), strict=True)
        ]

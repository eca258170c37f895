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
    integrator = "backward_euler"  # with every knot held, the midpoint rule lets speeds alternate
    circle_radius = 1.0
    altitude = 1.0

    def places(self) -> range:
        """Return the knots that are at waypoints.

        A mesh that splits the 15 intervals keeps the 16 waypoints; of any other, every knot is one.
        """
        last = self.knots - 1
        return range(0, self.knots, last // 15 if last % 15 == 0 else 1)

    def waypoints(self) -> np.ndarray:
        """Return the waypoints, once around the circle; [m]."""
        count = len(self.places())
        angle = np.linspace(0.0, 2 * np.pi, count)
        circle = self.circle_radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.column_stack([circle, np.full(count, self.altitude)])

    def objective(self, traj: Trajectory) -> Any:
        return peak_thrust(traj)

    def constraints(self, traj: Trajectory) -> Iterator[Constraint]:
        yield at_rest(traj, knot=0)
        for k, point in zip(self.places(), self.waypoints(), strict=True):
            place = traj.knot(k).base_position
            yield equal(place, point, name="waypoint", unit="m", labels=("x", "y", "z"), knot=k)

    def markers(self, design: Mapping[str, float]) -> dict[str, list[float]]:
        """Return the waypoints."""
        return {str(k): list(point) for k, point in enumerate(self.waypoints().tolist())}

    def keyframes(self) -> list[Keyframe]:
        """Return the circle itself, level."""
        points = self.waypoints()
        fractions = np.linspace(0.0, 1.0, len(points))
        return [
            Keyframe(float(at), {"x": p[0], "y": p[1], "z": p[2]})
            for at, p in zip(fractions, points, strict=True)
        ]

"""A one-legged hopper whose motor class is a design variable: how light may its motors be?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codesign import Keyframe, Problem, Trajectory
from codesign.constraints import (
    Constraint,
    at_least,
    at_rest,
    feasible,
    planted,
    within_torque_speed_line,
)
from draft_core.backend import jnp

_GRAVITY = 9.81  # [m/s²]


class Hopper(Problem):
    """A one-legged hopper jumps 0.3 m with the lightest motors that hardware trends allow.

    Options:
        jump: how far the hip rises above its height with the leg stretched; [m].
    """

    robot = "hopper"
    design = {
        "thigh": (0.12, 0.35),
        "shank": (0.12, 0.35),
        "motors.leg.peak_torque": (4.0, 80.0),
    }
    duration = 0.7
    knots = 61
    integrator = "backward_euler"
    step_range = (0.3, 1.2)
    jump = 0.3

    def objective(self, traj: Trajectory) -> Any:
        return traj.parameters["motors.leg.mass"]

    def constraints(self, traj: Trajectory) -> Iterator[Any]:
        yield at_rest(traj, knot=0)
        yield planted(traj, 0)
        yield self.apex(traj)
        yield within_torque_speed_line(traj)
        yield feasible(traj)
        yield self.pushed(traj)

    def apex(self, traj: Trajectory) -> list[Constraint]:
        """Return that the last knot is high enough and not on the way down."""
        end = traj.knot(-1)
        high = at_least(end.joint("rail"), self.jump, name="jump", unit="m", knot=traj.knots - 1)
        rising = at_least(end.v[0], 0.0, name="not falling", unit="m/s", knot=traj.knots - 1)
        return [high, rising]

    def pushed(self, traj: Trajectory) -> Constraint:
        """Return that the ground's push alone carries the robot there: ∫ (F / m − g) dt ≥ 0.

        That is the speed of its centre of mass at the last knot, by Newton. A coarse mesh makes
        momentum of whirling legs; of the ground's force it cannot.
        """
        mass = jnp.sum(traj.model.body_mass)
        gained = jnp.dot(traj.contact_force[:, 0, 2] / mass - _GRAVITY, traj.dt)
        return at_least(gained, 0.0, name="push of the ground", unit="m/s")

    def keyframes(self) -> list[Keyframe]:
        """Return a crouch and a flight."""
        crouch = {"rail": -0.12, "hip": -0.8, "knee": 1.6}
        return [Keyframe(0.0, crouch), Keyframe(1.0, {"rail": self.jump, "hip": 0.0, "knee": 0.0})]

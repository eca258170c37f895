"""Rigid-body dynamics on MuJoCo MJX, as pure JAX functions of (model, q, v, a)."""

from codesign.dynamics.integration import halfway, integrate_position
from codesign.dynamics.rigid_body import (
    MovingRobot,
    actuator_force,
    inverse_dynamics,
    kinematics,
    moving_robot,
    point_jacobian,
    site_force,
    site_velocity,
    template_data,
)

__all__ = [
    "MovingRobot",
    "actuator_force",
    "halfway",
    "integrate_position",
    "inverse_dynamics",
    "kinematics",
    "moving_robot",
    "point_jacobian",
    "site_force",
    "site_velocity",
    "template_data",
]

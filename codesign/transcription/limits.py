"""Limits that move with the design: a stronger motor class lifts the bound on its own effort.

Limits that do not depend on the design are bounds on variables and cost nothing. Those that do are
rows, upper(ρ) − x ≥ 0 and x − lower(ρ) ≥ 0: efforts, joint speeds and joint ranges.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codesign.plant import Plant
from codesign.tracing import to_casadi
from draft_core.backend import jax, jnp, mujoco


@dataclass(frozen=True)
class Limits:
    """Limits of a design, as plain arrays or traced ones.

    Attributes:
        effort: lower and upper effort of each actuator, shape (nu, 2); [N m] or [N].
        speed: top speed of each actuator's joint, shape (nu,); inf for none; [rad/s] or [m/s].
        range: lower and upper position of each joint, shape (njnt, 2); [rad] or [m].
    """

    effort: Any
    speed: Any
    range: Any


@dataclass(frozen=True)
class MovingLimits:
    """Which limits depend on the design: actuators by effort and by speed, joints by range."""

    effort: tuple[int, ...]
    speed: tuple[int, ...]
    range: tuple[int, ...]


def limits(plant: Plant, design: Mapping[str, Any]) -> Limits:
    """Return all limits at a design; unlimited ones are infinite.

    Motors that can be bought limit those of the robot further (`Plant.motors`): an effort is what
    the motor gives, and behind a gear it turns `gear` times as fast as its joint.
    """
    model, robot = plant.nominal, plant.robot
    effort = robot.effort_limits(design)
    speeds = [np.inf if s is None else s for s in robot.speed_limits(design)]
    if plant.motors is not None:
        largest = plant.motors.largest
        is_motor = np.array([actuator.kind == "motor" for actuator in robot.actuators])
        torque = np.where(is_motor, largest.torque, np.inf)[:, None]
        effort = jnp.clip(jnp.asarray(effort), -torque, torque)
        top = np.where(is_motor, largest.speed, np.inf)
        speeds = jnp.minimum(jnp.array(speeds), top / motor_turns(plant, design))
    is_limited = np.array(model.jnt_limited, dtype=bool)[:, None]
    free = np.array([-np.inf, np.inf])
    jnt_range = robot.realize(design).jnt_range if is_limited.any() else np.zeros((model.njnt, 2))
    ranges = jnp.where(is_limited, jnp.asarray(jnt_range), free)
    return Limits(effort, jnp.array(speeds, dtype=jnp.float64), ranges)


def motor_turns(plant: Plant, design: Mapping[str, Any]) -> Any:
    """Return turns of each actuator per turn of its joint, shape (nu,)."""
    motors = (link.motor for link in plant.robot.tree.links)
    if not any(motor is not None and motor.gear is not None for motor in motors):
        return np.ones(plant.nominal.nu)
    return plant.robot.realize(design).actuator_gear[:, 0]


def numeric_limits(plant: Plant, design: NDArray[np.float64]) -> Limits:
    """Return all limits at a numeric design vector as NumPy arrays."""
    with jax.ensure_compile_time_eval():  # it may be asked for while something is being traced
        found = limits(plant, plant.space.as_dict(design.tolist()))
    nu, njnt = plant.nominal.nu, plant.nominal.njnt
    return Limits(
        np.array(found.effort, dtype=float).reshape(nu, 2),
        np.array(found.speed, dtype=float).reshape(nu),
        np.array(found.range, dtype=float).reshape(njnt, 2),
    )


@functools.lru_cache(maxsize=16)
def moving_limits(plant: Plant) -> MovingLimits:
    """Return which limits depend on the design, found by tracing, and all ball ranges.

    A ball joint's range is no bound on one variable, so that it is a row whether it moves or not.
    """

    def all_limits(design: jax.Array) -> tuple[jax.Array, ...]:
        found = limits(plant, plant.space.as_dict(design))
        return jnp.ravel(found.effort), jnp.array(found.speed), jnp.ravel(found.range)

    traced = to_casadi(all_limits, np.asarray(plant.space.initial, dtype=float))

    def dependent(output: int, width: int) -> set[int]:
        return {row // width for row in traced.jac_sparsity(output, 0).row()}

    model = plant.nominal
    balls = {j for j in range(model.njnt) if _is_ball(model, j) and model.jnt_limited[j]}
    return MovingLimits(
        effort=tuple(sorted(dependent(0, 2))),
        speed=tuple(sorted(dependent(1, 1))),
        range=tuple(sorted(dependent(2, 2) | balls)),
    )


def _is_ball(model: mujoco.MjModel, joint: int) -> bool:
    return int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_BALL)


def effort_margin_labels(plant: Plant, moving: MovingLimits) -> list[str]:
    """Return a name for every margin of `effort_margins`, in its order."""
    names = plant.robot.actuator_names
    return [f"{names[i]} {side}" for i in moving.effort for side in ("lower", "upper")]


def effort_margins(plant: Plant, moving: MovingLimits, u: jax.Array, at: Limits) -> jax.Array:
    """Return distances of efforts from their moving limits, ≥ 0 inside; [N m] or [N]."""
    parts = [m for i in moving.effort for m in (u[i] - at.effort[i][0], at.effort[i][1] - u[i])]
    return jnp.array(parts, dtype=jnp.float64)


def state_margin_labels(plant: Plant, moving: MovingLimits) -> list[str]:
    """Return a name for every margin of `state_margins`, in its order."""
    actuators, joints = plant.robot.actuator_names, plant.robot.joint_names
    labels = [f"speed of {actuators[i]} {side}" for i in moving.speed for side in ("-", "+")]
    for joint in moving.range:
        sides = (" range",) if _is_ball(plant.nominal, joint) else (" lower", " upper")
        labels += [f"{joints[joint]}{side}" for side in sides]
    return labels


def state_margins(
    plant: Plant, moving: MovingLimits, q: jax.Array, v: jax.Array, at: Limits
) -> jax.Array:
    """Return distances of speeds and positions from their limits, ≥ 0 inside.

    A ball joint turned by φ from its reference has the quaternion's w = cos(φ/2): within its range
    while w² ≥ cos²(range / 2).
    """
    model = plant.nominal
    parts: list[Any] = []
    for i in moving.speed:
        speed = v[int(model.jnt_dofadr[plant.robot.actuators[i].joint_id])]
        parts += [at.speed[i] + speed, at.speed[i] - speed]
    for joint in moving.range:
        start = int(model.jnt_qposadr[joint])
        if _is_ball(model, joint):
            quaternion = q[start : start + 4]
            turned = quaternion[0] ** 2 / jnp.dot(quaternion, quaternion)
            parts.append(turned - jnp.cos(at.range[joint][1] / 2) ** 2)
        else:
            parts += [q[start] - at.range[joint][0], at.range[joint][1] - q[start]]
    return jnp.array(parts, dtype=jnp.float64)

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
from draft_core.backend import jax, jnp, mujoco

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


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
    """Return all limits at a design; unlimited ones are infinite."""
    model, robot = plant.nominal, plant.robot
    effort = robot.effort_limits(design)
    speeds = [np.inf if s is None else s for s in robot.speed_limits(design)]
    is_limited = np.array(model.jnt_limited, dtype=bool)[:, None]
    free = np.array([-np.inf, np.inf])
    jnt_range = robot.realize(design).jnt_range if is_limited.any() else np.zeros((model.njnt, 2))
    return Limits(effort, speeds, jnp.where(is_limited, jnp.asarray(jnt_range), free))


def numeric_limits(plant: Plant, design: NDArray[np.float64]) -> Limits:
    """Return all limits at a numeric design vector as NumPy arrays."""
    with jax.ensure_compile_time_eval():  # it may be asked for while something is being traced
        found = limits(plant, dict(zip(plant.space.names, design.tolist(), strict=True)))
    nu, njnt = plant.nominal.nu, plant.nominal.njnt
    return Limits(
        np.array(found.effort, dtype=float).reshape(nu, 2),
        np.array(found.speed, dtype=float).reshape(nu),
        np.array(found.range, dtype=float).reshape(njnt, 2),
    )


@functools.lru_cache(maxsize=16)
def moving_limits(plant: Plant) -> MovingLimits:
    """Return which limits change between designs; a limit must be stated to move."""
    space = plant.space
    low, high = np.asarray(space.lower), np.asarray(space.upper)
    designs = [low + (high - low) * share for share in (0.21, 0.83)]
    designs += [np.where(np.arange(len(low)) == i, high, low) for i in range(len(low))]
    first, *others = [numeric_limits(plant, design) for design in designs]

    def changed(name: str) -> tuple[int, ...]:
        start = getattr(first, name).reshape(len(getattr(first, name)), -1)
        moved = [getattr(o, name).reshape(start.shape) != start for o in others]
        return tuple(np.flatnonzero(np.any(moved, axis=(0, 2))).tolist()) if start.size else ()

    return MovingLimits(changed("effort"), changed("speed"), changed("range"))


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
    return labels + [f"{joints[j]} {side}" for j in moving.range for side in ("lower", "upper")]


def state_margins(
    plant: Plant, moving: MovingLimits, q: jax.Array, v: jax.Array, at: Limits
) -> jax.Array:
    """Return distances of speeds and positions from their moving limits, ≥ 0 inside."""
    parts: list[Any] = []
    for i in moving.speed:
        joint = plant.robot.actuators[i].joint_id
        speed = v[int(plant.nominal.jnt_dofadr[joint])]
        parts += [at.speed[i] + speed, at.speed[i] - speed]
    for joint in moving.range:
        if int(plant.nominal.jnt_type[joint]) in _SCALAR:
            position = q[int(plant.nominal.jnt_qposadr[joint])]
            parts += [position - at.range[joint][0], at.range[joint][1] - position]
    return jnp.array(parts, dtype=jnp.float64)

"""What motors ask of the bodies that carry them, as constraints of a trajectory.

Six motors of mass m(τ) in a body of mass M with m₀ of material: M − 6 m(τ) − m₀ ≥ 0, where τ is the
trajectory's peak torque. m is the conservative requirement of the problem's motor library, one row
for each of its smooth pieces; with a motor fixed, its own mass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from codesign.constraints import Constraint, at_least, at_most
from codesign.errors import ProblemError
from codesign.motor_library.library import FIELDS, AvailableMotors, Motor, MotorLibrary
from codesign.objectives import peak_torque
from codesign.trajectory import Trajectory
from draft_core.backend import jax, jnp


@dataclass(frozen=True)
class Need:
    """What one motor asks for at the torque that a trajectory needs.

    Each entry is an array whose largest element is the requirement: a constraint that holds for
    all of them holds for it.

    Attributes:
        mass: [kg].
        x: extent along x; [m].
        y: along y; [m].
        z: along z; [m].
        torque: peak torque of the trajectory, or that of the fixed motor; [N m].
        motor: the fixed motor, None while the library decides.
    """

    mass: jax.Array
    x: jax.Array
    y: jax.Array
    z: jax.Array
    torque: Any
    motor: Motor | None = None


def motor_need(traj: Trajectory) -> Need:
    """Return what the smallest motor that carries the trajectory asks for.

    Raises:
        ProblemError: the problem has no motor library, or the robot no motors.
    """
    available = _available(traj)
    if (motor := available.motor) is not None:
        own = [jnp.array([motor.need(field)]) for field in FIELDS]
        return Need(*own, torque=motor.torque, motor=motor)
    torque = peak_torque(traj)
    return Need(*(_values(available.library, f, torque) for f in FIELDS), torque=torque)


def _values(library: MotorLibrary, field: str, torque: jax.Array) -> jax.Array:
    return jnp.stack([jnp.asarray(row(torque)) for row in library.rows(field)])


def _available(traj: Trajectory) -> AvailableMotors:
    if traj.plant.motors is None:
        raise ProblemError(
            "the problem has no motor library; state one, such as motors = DYNAMIXEL "
            "(codesign.motor_library)"
        )
    return traj.plant.motors


def carries_motors(
    traj: Trajectory,
    body: str,
    *,
    mass: Any = None,
    motors: int = 1,
    material: float = 0.0,
    x: Any = None,
    y: Any = None,
    z: Any = None,
    along: Mapping[str, int] | None = None,
) -> Iterator[Constraint]:
    """Yield that motors fit into a body and that it is heavy enough to hold them.

    Args:
        traj: the trajectory.
        body: what reports call the body.
        mass: its mass, a design variable or any function of the design; None for no rule; [kg].
        motors: how many motors it carries.
        material: mass of all else in it; [kg].
        x: its extent along x; None for no rule; [m].
        y: along y; [m].
        z: along z; [m].
        along: how many motors stand side by side along x, y and z; 1 where it does not say.

    Raises:
        ProblemError: no motor library, or a count or mass that cannot be.
    """
    counts = {"x": 1, "y": 1, "z": 1} | dict(along or {})
    for axis, count in {"motors": motors, **counts}.items():
        if axis not in ("motors", "x", "y", "z") or not isinstance(count, int) or count < 1:
            raise ProblemError(
                f"motors of {body}: {axis} is {count!r}; give whole numbers for motors, x, y and z"
            )
    if not 0 <= material < np.inf:
        raise ProblemError(f"motors of {body}: material is {material!r}; it must be 0 kg or more")
    need = motor_need(traj)
    if need.motor is None:  # also keeps the peak from rising where nothing pushes it down
        most = _available(traj).largest.torque
        yield at_most(need.torque, most, name="largest motor's torque", unit="N m")
    for axis, extent in (("x", x), ("y", y), ("z", z)):
        if extent is not None:
            margin = extent - counts[axis] * getattr(need, axis)
            yield _row(margin, f"{body} holds its motors along {axis}", "m")
    if mass is not None:
        yield _row(mass - motors * need.mass - material, f"{body} carries its motors", "kg")


def _row(margin: jax.Array, name: str, unit: str) -> Constraint:
    labels = [""] if margin.size == 1 else [f"piece {i + 1}" for i in range(margin.size)]
    return at_least(margin, 0.0, name=name, unit=unit, labels=labels)

"""How hard a motion works its motors: torque, speed, power and efficiency over time.

A joint's torque-speed envelope is a DC motor's, cut at the declared limit:

    τ_available = max(0, min(τ_limit, τ_stall (1 − |q̇| / ω_NL)))

and the drivetrain's efficiency compares its mechanical power with its copper loss,

    η = P̄_m / (P̄_m + P̄_J),  P_m = Σ |τ q̇|,  P_J = Σ τ² ω_NL / τ_peak

P_J is Ohm's law: at stall, where no power is mechanical, the motor takes τ_peak ω_NL, and the
loss grows with the square of the torque. Everything is a function of arrays, time first and
joints last: NumPy in, NumPy out; JAX in, JAX out. Derivatives are finite everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from draft_core.errors import DraftError
from draft_core.namespace import is_traced, namespace

if TYPE_CHECKING:
    from draft_core.robot import Robot

PERCENTILE = 95.0  # of the samples of a joint, what the report states
NEAR = 0.05  # of the available torque: closer to it than this counts as at the limit
LEAST_SHARE = 0.01  # of the limit: utilisation is counted against at least this much torque


class Utilization(NamedTuple):
    """How much of its motors a motion uses, each entry shaped like the torque.

    Attributes:
        available: torque the motor has at this speed [N m] or [N].
        torque: |τ| / available; more than 1 is outside the envelope. Where saturated it is at
            least 1, and it never exceeds |τ| / (1 % of the limit).
        rated: |τ| / τ_stall; on the slanted edge of the envelope rated + speed = 1.
        speed: |q̇| / ω_NL.
        saturated: whether no torque is available: at or past the no-load speed.
    """

    available: Any
    torque: Any
    rated: Any
    speed: Any
    saturated: Any


@dataclass(frozen=True)
class TorqueSpeedReport:
    """A motion's use of each motor, one entry per joint.

    Attributes:
        names: of the motors; empty where none were given.
        torque: 95th percentile of |τ| / available, saturated samples at 1 or more.
        rated: 95th percentile of |τ| / τ_stall.
        speed: 95th percentile of |q̇| / ω_NL.
        saturated: fraction of the samples at or past the no-load speed.
        near_limit: fraction within 5 % of the available torque or beyond it; it counts the
            saturated ones too.
    """

    names: tuple[str, ...]
    torque: Any
    rated: Any
    speed: Any
    saturated: Any
    near_limit: Any


@dataclass(frozen=True)
class MotorLimits:
    """The envelopes of a robot's motors at one design; thrusters are not among them.

    Attributes:
        names: of the motors, in actuator order.
        actuators: index of each among the robot's actuators.
        dofs: index of each motor's joint among the robot's velocities.
        gear: joint torque per control (nmotor,).
        least, most: joint torque the motor gives one way and the other (nmotor,) [N m] or [N].
        no_load_speed: top speed of the joint (nmotor,) [rad/s] or [m/s]; inf where none is stated.
    """

    names: tuple[str, ...]
    actuators: tuple[int, ...]
    dofs: tuple[int, ...]
    gear: Any
    least: Any
    most: Any
    no_load_speed: Any

    @property
    def peak_torque(self) -> Any:
        """The larger of the two limits (nmotor,): the stall torque of the envelope."""
        xp = namespace(self.least, self.most)
        return xp.maximum(xp.abs(self.least), xp.abs(self.most))

    def torque_limit(self, torque: Any) -> Any:
        """Return the limit that holds for each torque's sign, shaped like it."""
        xp = namespace(torque, self.least, self.most)
        torque = _array(xp, torque)
        return xp.maximum(xp.where(torque < 0, -self.least, self.most), 0.0)


def available_torque(speed: Any, torque_limit: Any, stall_torque: Any, no_load_speed: Any) -> Any:
    """Return the torque a motor has at a speed, either way, never below 0 [N m].

    Args:
        speed: of the joint (..., joint) [rad/s].
        torque_limit: declared limit, a number or one per joint, 0 or more [N m].
        stall_torque: of the motor's line at rest, likewise, greater than 0 [N m].
        no_load_speed: where the line reaches 0, likewise, greater than 0; inf for none [rad/s].

    Raises:
        DraftError: shapes do not fit, or a number breaks its rule where it is known.
    """
    xp = namespace(speed, torque_limit, stall_torque, no_load_speed)
    speed = _motion(xp, speed=speed)[0]
    limit, stall, top = _envelope(xp, speed, torque_limit, stall_torque, no_load_speed)
    return _available(xp, speed, limit, stall, top)


def utilization(
    torque: Any, speed: Any, torque_limit: Any, stall_torque: Any, no_load_speed: Any
) -> Utilization:
    """Return how much of the available torque and of the top speed a motion uses.

    A joint at or past its no-load speed has no torque left. That reads as saturated and as a
    torque utilisation of 1 or more, never as 0, whatever the torque is.

    Args:
        torque: of the joints (..., joint) [N m].
        speed: of the joints, shaped like the torque [rad/s].
        torque_limit: as in `available_torque`; it may follow the torque's sign, entry by entry.
        stall_torque: as in `available_torque`.
        no_load_speed: as in `available_torque`.

    Raises:
        DraftError: shapes do not fit, or a number breaks its rule where it is known.
    """
    xp = namespace(torque, speed, torque_limit, stall_torque, no_load_speed)
    torque, speed = _motion(xp, torque=torque, speed=speed)
    limit, stall, top = _envelope(xp, torque, torque_limit, stall_torque, no_load_speed)
    available = _available(xp, speed, limit, stall, top)
    saturated = available <= 0
    floor = LEAST_SHARE * xp.where(limit > 0, xp.minimum(limit, stall), stall)
    share = xp.abs(torque) / xp.maximum(available, floor)
    share = xp.where(saturated, xp.maximum(share, 1.0), share)
    return Utilization(available, share, xp.abs(torque) / stall, xp.abs(speed) / top, saturated)


def torque_speed_report(
    torque: Any,
    speed: Any,
    torque_limit: Any,
    stall_torque: Any,
    no_load_speed: Any,
    names: Sequence[str] = (),
) -> TorqueSpeedReport:
    """Summarise a motion's use of each motor over time (and whatever else comes before it).

    Args:
        torque: (time, joint) or (..., time, joint) [N m].
        speed: shaped like the torque [rad/s].
        torque_limit: as in `utilization`.
        stall_torque: as in `utilization`.
        no_load_speed: as in `utilization`.
        names: of the joints, for the reader.

    Raises:
        DraftError: as `utilization`, or there is nothing to summarise, or too few names.
    """
    used = utilization(torque, speed, torque_limit, stall_torque, no_load_speed)
    shape = used.torque.shape
    if len(shape) < 2 or 0 in shape:
        raise DraftError(f"torque is {shape}; a report needs (time, joint), at least one of each.")
    if names and len(names) != shape[-1]:
        raise DraftError(f"there are {len(names)} names for {shape[-1]} joints; give one each.")
    xp = namespace(*used)
    over = tuple(range(len(shape) - 1))
    return TorqueSpeedReport(
        names=tuple(names),
        torque=xp.percentile(used.torque, PERCENTILE, axis=over),
        rated=xp.percentile(used.rated, PERCENTILE, axis=over),
        speed=xp.percentile(used.speed, PERCENTILE, axis=over),
        saturated=xp.mean(_array(xp, used.saturated), axis=over),
        near_limit=xp.mean(_array(xp, used.torque >= 1 - NEAR), axis=over),
    )


def mechanical_power(torque: Any, speed: Any) -> Any:
    """Return P_m = Σ_j |τ_j q̇_j| (...,) [W]: braking counts, since nothing is recovered.

    Args:
        torque: (..., joint) [N m].
        speed: (..., joint) [rad/s].

    Raises:
        DraftError: shapes differ.
    """
    xp = namespace(torque, speed)
    torque, speed = _motion(xp, torque=torque, speed=speed)
    return xp.sum(xp.abs(torque * speed), axis=-1)


def joule_power(torque: Any, peak_torque: Any, no_load_speed: Any) -> Any:
    """Return P_J = Σ_j τ_j² ω_NL,j / τ_peak,j (...,) [W], the theoretical copper loss.

    Args:
        torque: (..., joint) [N m].
        peak_torque: of each motor at stall, a number or one per joint, greater than 0 [N m].
        no_load_speed: likewise, finite [rad/s].

    Raises:
        DraftError: shapes do not fit, or a number breaks its rule where it is known.
    """
    xp = namespace(torque, peak_torque, no_load_speed)
    torque = _motion(xp, torque=torque)[0]
    peak = _per_joint(xp, peak_torque, "peak_torque", torque)
    top = _per_joint(xp, no_load_speed, "no_load_speed", torque)
    _check(_known(top) < np.inf, "no_load_speed", top, "finite: without it the loss is unknown")
    return xp.sum(torque * torque * top / peak, axis=-1)


def drivetrain_efficiency(
    torque: Any, speed: Any, peak_torque: Any, no_load_speed: Any, dt: Any = 1.0
) -> Any:
    """Return η = P̄_m / (P̄_m + P̄_J) of a motion, its means taken over time.

    A motion without any torque spends and yields nothing; its η is 0.

    Args:
        torque: (..., time, joint) [N m].
        speed: (..., time, joint) [rad/s].
        peak_torque: as in `joule_power`.
        no_load_speed: as in `joule_power`.
        dt: how long each sample lasts, one number or one per sample (time,) [s].

    Returns:
        One number per motion (...,), between 0 and 1.

    Raises:
        DraftError: shapes do not fit, or a number breaks its rule where it is known.
    """
    xp = namespace(torque, speed, peak_torque, no_load_speed, dt)
    torque, speed = _motion(xp, torque=torque, speed=speed)
    if torque.ndim < 2 or torque.shape[-2] == 0:
        raise DraftError(f"torque is {torque.shape}; efficiency needs (time, joint).")
    useful = mechanical_power(torque, speed)
    lost = joule_power(torque, peak_torque, no_load_speed)
    dt = _array(xp, dt)
    if dt.shape not in ((), torque.shape[-2:-1]):
        raise DraftError(
            f"dt is {dt.shape} and torque is {torque.shape}; give one number or "
            f"{torque.shape[-2]}, one per sample."
        )
    _check(_known(dt) > 0, "dt", dt, "greater than 0")
    useful, spent = xp.sum(useful * dt, axis=-1), xp.sum((useful + lost) * dt, axis=-1)
    idle = spent <= 0
    return xp.where(idle, 0.0, useful / xp.where(idle, 1.0, spent))


def motor_limits(robot: "Robot", design: Mapping[str, Any] | None = None) -> MotorLimits:
    """Return the envelopes of a robot's motors at a design, in actuator order.

    A control u of actuator ``actuators[i]`` is the joint torque ``gear[i] * u``.

    Raises:
        DraftError: the design cannot work, or the robot has no motors.
    """
    from draft_core.quantities import quantities

    rows = [(i, a) for i, a in enumerate(robot.actuators) if a.kind == "motor"]
    if not rows:
        raise DraftError(f"robot {robot.name!r} has no motors, so there are no torques to analyse.")
    where = [i for i, _ in rows]
    gear = quantities(robot.tree, robot.tree.resolve(design))["actuator_gear"][np.array(where), 0]
    control = robot.effort_limits(design)[np.array(where)]
    speeds = robot.speed_limits(design)
    xp = namespace(gear, control, *speeds)
    ends = gear[:, None] * control
    dofs = np.cumsum([0, *(joint.dofs for joint in robot.tree.joints)])
    return MotorLimits(
        names=tuple(a.name for _, a in rows),
        actuators=tuple(where),
        dofs=tuple(int(dofs[a.joint_id]) for _, a in rows if a.joint_id is not None),
        gear=gear,
        least=xp.min(ends, axis=1),
        most=xp.max(ends, axis=1),
        no_load_speed=xp.stack(
            [_array(xp, np.inf if speeds[i] is None else speeds[i]) for i in where]
        ),
    )


def robot_report(
    robot: "Robot", torque: Any, speed: Any, design: Mapping[str, Any] | None = None
) -> TorqueSpeedReport:
    """Return `torque_speed_report` with a robot's own motors.

    Args:
        robot: whose motors.
        torque: joint torques (..., time, motor) in the order of `motor_limits` [N m].
        speed: joint speeds, likewise [rad/s].
        design: parameter values by name.

    Raises:
        DraftError: as `motor_limits` and `torque_speed_report`.
    """
    limits = motor_limits(robot, design)
    shape = np.shape(torque)
    if not shape or shape[-1] != len(limits.names):
        raise DraftError(
            f"torque is {shape}; its last axis must have {len(limits.names)} motors: "
            f"{', '.join(limits.names)}."
        )
    return torque_speed_report(
        torque,
        speed,
        limits.torque_limit(torque),
        limits.peak_torque,
        limits.no_load_speed,
        limits.names,
    )


def _available(xp: Any, speed: Any, limit: Any, stall: Any, top: Any) -> Any:
    line = stall * (1 - xp.abs(speed) / top)
    return xp.maximum(xp.minimum(limit, line), 0.0)


def _array(xp: Any, value: Any) -> Any:
    return xp.asarray(value, dtype=float)


def _known(value: Any) -> Any:
    """Return the numbers of an array, or nothing where it is traced: then no rule applies."""
    return np.zeros(0) if is_traced(value) else np.asarray(value)


def _check(keeps: Any, name: str, value: Any, rule: str) -> None:
    if not np.all(keeps):
        bad = float(_known(value)[~keeps].flat[0])
        raise DraftError(f"{name} has {bad:g}; it must be {rule}.")


def _motion(xp: Any, **given: Any) -> list[Any]:
    """Return torques and speeds as arrays of one shape, joints last."""
    arrays = {name: _array(xp, value) for name, value in given.items()}
    shapes = [value.shape for value in arrays.values()]
    if len(set(shapes)) > 1:
        stated = " and ".join(f"{name} is {value.shape}" for name, value in arrays.items())
        raise DraftError(f"{stated}; they must have one shape, time first, joints last.")
    for name, value in arrays.items():
        if not value.shape:
            raise DraftError(f"{name} is one number; it must be an array with joints last.")
        _check(np.isfinite(_known(value)), name, value, "finite")
    return list(arrays.values())


def _per_joint(xp: Any, value: Any, name: str, like: Any) -> Any:
    """Return a positive number per joint, in a shape that fits the motion's."""
    value = _array(xp, value)
    if value.shape not in ((), like.shape[-1:]):
        raise DraftError(
            f"{name} is {value.shape} and the motion is {like.shape}; give one number or "
            f"{like.shape[-1]}, one per joint."
        )
    _check(_known(value) > 0, name, value, "greater than 0")
    return value


def _envelope(xp: Any, like: Any, limit: Any, stall: Any, top: Any) -> tuple[Any, Any, Any]:
    limit = _array(xp, limit)
    if limit.shape not in ((), like.shape[-1:], like.shape):
        raise DraftError(
            f"torque_limit is {limit.shape} and the motion is {like.shape}; give one number, "
            f"{like.shape[-1]}, one per joint, or one per entry."
        )
    _check(_known(limit) >= 0, "torque_limit", limit, "0 or more")
    return (
        limit,
        _per_joint(xp, stall, "stall_torque", like),
        _per_joint(xp, top, "no_load_speed", like),
    )

"""Where a solve begins, and the box it stays in.

Poses are interpolated between keyframes, velocities are zero, contacts that touch the ground carry
the robot's weight, and efforts are random (Spielberg et al. 2017, Sec. II-E).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.errors import ProblemError
from codesign.plant import Plant, index_of
from codesign.transcription import Layout
from codesign.transcription.limits import Limits, moving_limits, numeric_limits

Vector = NDArray[np.float64]

_BASE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_TOUCHING = 0.02  # a foot this close to the ground at a keyframe counts as touching; [m]
_FARTHEST = 1000.0  # a free base stays this close to the origin, also where no task holds it; [m]
_EFFORT_SPREAD = 0.05  # random efforts, as a share of the limits; larger ones did no good


@dataclass(frozen=True)
class Keyframe:
    """A rough pose at a fraction of the motion's duration.

    Attributes:
        at: fraction of the duration in [0, 1].
        pose: coordinates by name: x, y, z [m] and qw, qx, qy, qz of a free base, hinges [rad] and
            slides [m] by joint name. What is left out keeps the robot folder's own pose.
    """

    at: float
    pose: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no number.

        Raises:
            ProblemError: saying which.
        """
        if not isinstance(self.pose, Mapping):
            raise ProblemError(f"keyframe: pose is {self.pose!r}; it must map names to numbers")
        for name, value in {"at": self.at, **self.pose}.items():
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise ProblemError(f"keyframe: {name} is {value!r}; it must be a number")
            if not np.isfinite(value):
                raise ProblemError(f"keyframe: {name} is {value}")


def interpolate_keyframes(plant: Plant, keyframes: Sequence[Keyframe], fractions: Vector) -> Vector:
    """Return configurations at the given fractions of the duration, shape (K, nq).

    Raises:
        ProblemError: fractions out of order or outside [0, 1], or a name the robot lacks.
    """
    if not isinstance(keyframes, list | tuple) or not all(
        isinstance(frame, Keyframe) for frame in keyframes
    ):
        raise ProblemError("keyframes() must return a list of Keyframe(at, pose)")
    if not keyframes:
        return np.tile(plant.q_home, (len(fractions), 1))
    times = np.array([frame.at for frame in keyframes], dtype=float)
    if (
        not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0))
        or min(times) < 0
        or max(times) > 1
    ):
        raise ProblemError(
            f"keyframes are at {', '.join(f'{t:g}' for t in times)}; "
            "their fractions must increase from 0 to 1"
        )
    poses = _same_hemisphere(plant, np.array([_pose(plant, frame) for frame in keyframes]))
    q = np.stack([np.interp(fractions, times, column) for column in poses.T], axis=1)
    return _normalized(plant, q)


def _pose(plant: Plant, frame: Keyframe) -> Vector:
    q = plant.q_home.copy()
    scalar = [n for n in plant.robot.joint_names if _is_scalar(plant, n)]
    base = list(_BASE) if plant.has_free_base else []
    for name, value in frame.pose.items():
        if name in base:
            q[base.index(name)] = value
        else:
            index_of(name, [*base, *scalar], "keyframe coordinate")
            q[plant.joint_address(name)] = value
    return q


def _is_scalar(plant: Plant, joint: str) -> bool:
    kind = plant.nominal.jnt_type[plant.robot.joint_names.index(joint)]
    return int(kind) in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def quaternion_starts(plant: Plant) -> list[int]:
    """Return where in q each quaternion begins."""
    offsets = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
    return [
        int(plant.nominal.jnt_qposadr[joint]) + offsets[int(kind)]
        for joint, kind in enumerate(plant.nominal.jnt_type)
        if int(kind) in offsets
    ]


def _same_hemisphere(plant: Plant, poses: Vector) -> Vector:
    """Return poses whose quaternions turn the short way from one to the next.

    Raises:
        ProblemError: a quaternion is zero.
    """
    for start in quaternion_starts(plant):
        part = poses[:, start : start + 4]
        if (np.linalg.norm(part, axis=1) < 1e-9).any():
            raise ProblemError("a keyframe's quaternion (qw, qx, qy, qz) is zero")
        for k in range(1, len(part)):
            if part[k] @ part[k - 1] < 0:
                part[k] *= -1
    return poses


def _normalized(plant: Plant, q: Vector) -> Vector:
    for start in quaternion_starts(plant):
        part = q[:, start : start + 4]
        q[:, start : start + 4] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return q


def initial_point(
    plant: Plant, layout: Layout, keyframes: Sequence[Keyframe], duration: float, seed: int
) -> Vector:
    """Return the starting decision vector in physical units, epigraph variables at zero.

    Args:
        plant: robot, design space and terrain.
        layout: layout of the decision vector.
        keyframes: rough poses.
        duration: longest duration; the start uses all of it; [s].
        seed: seed of the random efforts and forces.
    """
    rng = np.random.default_rng(seed)
    knots, intervals, nc = layout.knots, layout.intervals, layout.nc
    q = interpolate_keyframes(plant, keyframes, np.linspace(0.0, 1.0, knots))
    limits = numeric_limits(plant, np.asarray(plant.space.initial)).effort
    low, high = (np.clip(limits[:, i], -plant.weight, plant.weight) for i in (0, 1))
    middle = np.clip(0.0, low, high)
    u = middle + _EFFORT_SPREAD * (rng.uniform(low, high, (intervals, layout.nu)) - middle)
    normal = _touching(plant, q[1:]) * plant.weight / max(nc, 1)
    noise = 0.05 * plant.weight / max(nc, 1)
    return layout.join(
        {
            "q": q,
            "u": u,
            "normal": normal + rng.uniform(0.0, noise, (intervals, nc)),
            "tangent": rng.uniform(0.0, noise, (intervals, nc, 4)),
            "slide": rng.uniform(0.0, 0.05, (intervals, nc)),
            "dt": np.full(intervals, duration / intervals),
            "design": np.asarray(plant.space.initial),
        }
    )


def _touching(plant: Plant, q: Vector) -> Vector:
    """Return 1 where a contact point of the nominal robot is near level 0, shape (len(q), nc)."""
    data = mujoco.MjData(plant.nominal)
    sites = [c.site_id for c in plant.robot.contacts]
    touching = np.zeros((len(q), len(sites)))
    for k, configuration in enumerate(q):
        data.qpos[:] = configuration
        mujoco.mj_kinematics(plant.nominal, data)
        touching[k] = data.site_xpos[sites, 2] < _TOUCHING
    return touching


def variable_bounds(
    plant: Plant,
    layout: Layout,
    duration: float,
    step_range: tuple[float, float],
    q_start: Vector | None = None,
) -> tuple[Vector, Vector]:
    """Return lower and upper bounds of the decision vector in physical units, shape (n,) each.

    Args:
        plant: robot and design space.
        layout: layout of the decision vector.
        duration: longest duration of the motion; [s].
        step_range: shortest and longest time step, as multiples of duration / intervals.
        q_start: the start's configurations, shape (K, nq); home by default.
    """
    low, high = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    f = layout.fields
    fixed = _fixed_limits(plant)
    q_low, q_high = _configuration_box(
        plant, fixed, plant.q_home[None] if q_start is None else q_start
    )
    low[f["q"]], high[f["q"]] = q_low, q_high
    speed = _speed_box(plant, fixed)
    low[f["v"]], high[f["v"]] = -speed, speed
    low[f["u"]], high[f["u"]] = fixed.effort[:, 0], fixed.effort[:, 1]
    for name in ("normal", "tangent", "slide"):
        low[f[name]] = 0.0
    step = duration / layout.intervals
    low[f["dt"]], high[f["dt"]] = step_range[0] * step, step_range[1] * step
    low[f["design"]], high[f["design"]] = plant.space.lower, plant.space.upper
    return low, high


def _fixed_limits(plant: Plant) -> Limits:
    """Return the limits that bound variables; those that move with the design are rows instead."""
    found = numeric_limits(plant, np.asarray(plant.space.initial))
    moving = moving_limits(plant)
    found.effort[list(moving.effort)] = (-np.inf, np.inf)
    found.speed[list(moving.speed)] = np.inf
    found.range[list(moving.range)] = (-np.inf, np.inf)
    return found


def unlimited_hinges(plant: Plant) -> list[int]:
    """Return the hinges without a range.

    They stay within a turn of the start's poses, so that idle limbs do not wander off.
    """
    model, hinge = plant.nominal, int(mujoco.mjtJoint.mjJNT_HINGE)
    joints = range(model.njnt)
    return [j for j in joints if int(model.jnt_type[j]) == hinge and not model.jnt_limited[j]]


def _configuration_box(plant: Plant, fixed: Limits, q_start: Vector) -> tuple[Vector, Vector]:
    """Return bounds of q: joint ranges, and boxes about unit quaternions and free bases."""
    model = plant.nominal
    low, high = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for joint, kind in enumerate(int(k) for k in model.jnt_type):
        start = int(model.jnt_qposadr[joint])
        if kind in (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)):
            first = start + (3 if kind == int(mujoco.mjtJoint.mjJNT_FREE) else 0)
            low[first : first + 4], high[first : first + 4] = -1.1, 1.1
            low[start:first], high[start:first] = -_FARTHEST, _FARTHEST
        else:
            low[start], high[start] = fixed.range[joint]
            if joint in unlimited_hinges(plant):
                turns = np.round(q_start[:, start] / (2 * np.pi))
                low[start], high[start] = (
                    2 * np.pi * (turns.min() - 1),
                    2 * np.pi * (turns.max() + 1),
                )
    return low, high


def _speed_box(plant: Plant, fixed: Limits) -> Vector:
    """Return the top speed of each degree of freedom; infinite where no motor sets one, (nv,)."""
    speed = np.full(plant.nominal.nv, np.inf)
    for actuator, limit in zip(plant.robot.actuators, fixed.speed, strict=True):
        if actuator.joint_id is not None:
            dof = int(plant.nominal.jnt_dofadr[actuator.joint_id])
            speed[dof] = min(speed[dof], float(limit))
    return speed

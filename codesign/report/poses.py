"""Configurations between the knots, and where they put the bodies.

Between knots k and k+1 the configuration moves at constant velocity on the manifold,

    q(s) = q_k ⊞ s (q_{k+1} ⊟ q_k),   s in [0, 1],

with ⊞ and ⊟ MuJoCo's ``mj_integratePos`` and ``mj_differentiatePos``; kinematics is MuJoCo C's.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

FRAMES_PER_SECOND = 30.0
MAX_FRAMES = 900


@dataclass(frozen=True)
class Motion:
    """World poses of every body over time.

    Attributes:
        t: times (F,) [s].
        position: origins of the body frames (F, nbody, 3) [m].
        quaternion: orientations of the body frames (F, nbody, 4), scalar first.
    """

    t: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray


def frame_times(t: np.ndarray, fps: float = FRAMES_PER_SECOND) -> np.ndarray:
    """Return evenly spaced times from the first knot to the last, about `fps` a second."""
    duration = float(t[-1] - t[0])
    count = int(np.clip(round(duration * fps) + 1, 2, MAX_FRAMES)) if duration > 0 else 1
    return np.linspace(t[0], t[-1], count)


def interpolate(
    model: mujoco.MjModel, t: np.ndarray, q: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Return configurations at `times`, at constant velocity between knots.

    Args:
        model: gives the manifold (which coordinates are quaternions).
        t: increasing knot times (K,) [s].
        q: configurations at the knots (K, nq).
        times: where to evaluate (F,) [s]; outside the knots the end configuration holds.

    Returns:
        Configurations (F, nq).
    """
    q = np.asarray(q, dtype=float)
    if len(t) == 1:
        return np.repeat(q, len(times), axis=0)
    knot = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    span = np.diff(t)[knot]
    fraction = np.clip((times - np.asarray(t)[knot]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
    velocity, frames = np.zeros(model.nv), np.empty((len(times), model.nq))
    for frame, (k, s) in enumerate(zip(knot, fraction, strict=True)):
        frames[frame] = q[k]
        mujoco.mj_differentiatePos(model, velocity, 1.0, q[k], q[k + 1])
        mujoco.mj_integratePos(model, frames[frame], velocity, float(s))
    return frames


def body_poses(model: mujoco.MjModel, t: np.ndarray, q: np.ndarray) -> Motion:
    """Return the world poses of every body at each configuration of `q` (F, nq)."""
    data = mujoco.MjData(model)
    position = np.empty((len(q), model.nbody, 3))
    quaternion = np.empty((len(q), model.nbody, 4))
    for frame, configuration in enumerate(q):
        data.qpos[:] = configuration
        mujoco.mj_kinematics(model, data)
        position[frame], quaternion[frame] = data.xpos, data.xquat
    return Motion(np.asarray(t, dtype=float), position, quaternion)


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the (3, 3) rotation of a unit quaternion (4,), scalar first."""
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, dtype=float))
    return matrix.reshape(3, 3)


def base_body(model: mujoco.MjModel) -> int:
    """Return the first body below the world: the one a viewer follows."""
    return 1 if model.nbody > 1 else 0

"""A floating base taken out of the dynamics, so that the limbs' terms do not depend on its pose.

Newton's law does not care where the base is, which way it points or how fast it moves in a straight
line. In the inertial frame that coincides with the base at one instant and moves along with it, the
motion (q, v, a) of a robot in gravity g becomes

    pose identity,   v' = (0, ω, q̇),   a' = (Rᵀ(v̇ − g), ω̇, q̈),   gravity 0,

with R the base's rotation and ω in the base's axes as MuJoCo has it. Only the force on the base has
to be turned back, f = R f'. The generalised forces are the same numbers as in the world frame;
their derivatives are far sparser, which is what the optimiser pays for.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, sec. 9.4 (floating bases).
"""

from __future__ import annotations

from typing import NamedTuple

from draft_core.backend import jax, jnp, mujoco
from draft_core.realization import RealizedModel

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class BaseFrame(NamedTuple):
    """Where the frame of the computation is in the world.

    Attributes:
        rotation: its axes in the world, shape (3, 3).
        origin: its origin in the world, shape (3,); [m].
        velocity: velocity of the origin in the world, shape (3,); [m/s].
    """

    rotation: jax.Array
    origin: jax.Array
    velocity: jax.Array


def has_floating_base(model: RealizedModel) -> bool:
    """Return whether one free joint carries every other joint."""
    kinds = [int(kind) for kind in model.jnt_type]
    one_tree = len({int(model.body_rootid[int(b)]) for b in model.jnt_bodyid}) == 1
    return bool(kinds) and kinds[0] == _FREE and kinds.count(_FREE) == 1 and one_tree


def rotation_matrix(quaternion: jax.Array) -> jax.Array:
    """Return the rotation of a quaternion of any length, shape (3, 3).

    It stays a rotation off the unit sphere, where a solver's iterates are: without the division
    they could buy thrust with a longer quaternion.
    """
    w, x, y, z = quaternion
    scale = 2.0 / jnp.dot(quaternion, quaternion)
    return jnp.eye(3) + scale * jnp.array(
        [
            [-(y * y + z * z), x * y - w * z, x * z + w * y],
            [x * y + w * z, -(x * x + z * z), y * z - w * x],
            [x * z - w * y, y * z + w * x, -(x * x + y * y)],
        ]
    )


def into_base_frame(
    model: RealizedModel, q: jax.Array, v: jax.Array, a: jax.Array
) -> tuple[BaseFrame, jax.Array, jax.Array, jax.Array]:
    """Return the frame of the base and the motion (q', v', a') seen from it.

    Gravity is inside a'. A robot without a floating base stays in the world frame, with the frame
    accelerating upwards in its place.
    """
    gravity = jnp.asarray(model.opt.gravity)
    if not has_floating_base(model):
        frame = BaseFrame(jnp.eye(3), jnp.zeros(3), jnp.zeros(3))
        return frame, q, v, a
    rotation = rotation_matrix(q[3:7])
    frame = BaseFrame(rotation, q[:3], v[:3])
    pose = jnp.concatenate([jnp.array(_IDENTITY), q[7:]])
    velocity = jnp.concatenate([jnp.zeros(3), v[3:]])
    acceleration = jnp.concatenate([rotation.T @ (a[:3] - gravity), a[3:]])
    return frame, pose, velocity, acceleration

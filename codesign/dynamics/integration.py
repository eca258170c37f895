"""Configurations integrated on their manifold: q⁺ = q ⊕ h v.

Hinges and slides live in ℝ. Free and ball joints carry a unit quaternion p and a body-frame angular
velocity ω, and the step is the exponential map

    p⁺ = p ∘ exp(h ω / 2),   exp(w/2) = (cos(|w|/2), sin(|w|/2)/|w| · w),

which preserves |p| exactly: a chain of steps from a unit quaternion never drifts off the sphere.
"""

from __future__ import annotations

from collections.abc import Sequence

from draft_core.backend import jax, jnp, mujoco

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_SMALL_ANGLE_SQUARED = 1e-8  # below it the series is exact to 1e-24, far under rounding


def rotation_quaternion(rotation: jax.Array) -> jax.Array:
    """Return the unit quaternion of a rotation vector.

    Value, gradient and Hessian are finite at zero rotation, where |w| itself is not smooth.

    Args:
        rotation: rotation vector w, shape (3,); [rad].

    Returns:
        Quaternion (w, x, y, z), shape (4,).
    """
    squared = jnp.dot(rotation, rotation)
    is_small = squared < _SMALL_ANGLE_SQUARED
    angle = jnp.sqrt(jnp.where(is_small, 1.0, squared))
    cosine = jnp.where(is_small, 1.0 - squared / 8.0, jnp.cos(angle / 2.0))
    sine_ratio = jnp.where(is_small, 0.5 - squared / 48.0, jnp.sin(angle / 2.0) / angle)
    return jnp.concatenate([cosine[None], sine_ratio * rotation])


def quaternion_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Return the Hamilton product of two (w, x, y, z) quaternions, shape (4,)."""
    a, u = left[0], left[1:]
    b, w = right[0], right[1:]
    return jnp.concatenate([(a * b - jnp.dot(u, w))[None], a * w + b * u + jnp.cross(u, w)])


def integrate_position(
    joint_types: Sequence[int], q: jax.Array, v: jax.Array, dt: jax.Array
) -> jax.Array:
    """Return q ⊕ dt·v.

    Args:
        joint_types: MuJoCo joint types (`mjtJoint`) in model order; static.
        q: configuration, shape (nq,).
        v: velocity, shape (nv,), free and ball joints with body-frame angular velocity.
        dt: step [s].

    Returns:
        Configuration after the step, shape (nq,).
    """
    parts: list[jax.Array] = []
    i = j = 0
    for kind in (int(kind) for kind in joint_types):
        if kind == _FREE:
            parts.append(q[i : i + 3] + dt * v[j : j + 3])
            i, j = i + 3, j + 3
        if kind in (_FREE, _BALL):
            turn = rotation_quaternion(dt * v[j : j + 3])
            parts.append(quaternion_product(q[i : i + 4], turn))
            i, j = i + 4, j + 3
        else:
            parts.append(q[i : i + 1] + dt * v[j : j + 1])
            i, j = i + 1, j + 1
    return jnp.concatenate(parts) if parts else q


def halfway(joint_types: Sequence[int], start: jax.Array, end: jax.Array) -> jax.Array:
    """Return the configuration halfway from one to another, along the geodesic.

    Where end = start ⊕ h v this is start ⊕ (h/2) v. For quaternions, the half of a turn below 360°.

    Args:
        joint_types: MuJoCo joint types (`mjtJoint`) in model order; static.
        start: configuration, shape (nq,), of unit quaternions.
        end: configuration, shape (nq,); its quaternions may not be opposite to those of `start`.

    Returns:
        Configuration, shape (nq,).
    """
    middle = (start + end) / 2.0
    parts: list[jax.Array] = []
    i = 0
    for kind in (int(kind) for kind in joint_types):
        if kind == _FREE:
            parts.append(middle[i : i + 3])
            i += 3
        size = 4 if kind in (_FREE, _BALL) else 1
        part = middle[i : i + size]
        parts.append(part / jnp.sqrt(jnp.dot(part, part)) if size == 4 else part)
        i += size
    return jnp.concatenate(parts) if parts else middle

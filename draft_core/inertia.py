"""Mass and inertia: solids in closed form, bodies composed as full tensors, principal axes.

A solid of mass m has principal moments about its centre; a body's tensor about its own centre
of mass c is Σ R_i diag(J_i) R_iᵀ + m_i (|d_i|² I − d_i d_iᵀ), with d_i = c_i − c.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from draft_core import rotations
from draft_core.namespace import Matrix3, Quaternion, Vector3, is_jax, namespace, stack


def _box(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    x, y, z = (value * value for value in s)
    return s[0] * s[1] * s[2], [(y + z) / 12, (x + z) / 12, (x + y) / 12]


def _cylinder(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    rr, ll = s[0] * s[0], s[1] * s[1]
    across = (3 * rr + ll) / 12
    return math.pi * rr * s[1], [across, across, rr / 2]


def _sphere(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    moment = 0.4 * s[0] * s[0]
    return 4 / 3 * math.pi * s[0] ** 3, [moment] * 3


def _capsule(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Cylinder of the stated length between two half spheres of its radius.

    A half sphere's centre is 3r/8 from its flat side, and its moment about an axis across,
    through its own centre, is (2/5 − 9/64) m r².
    """
    r, length = s[0], s[1]
    cylinder, (across, _, along) = _cylinder(s)
    ball, moments = _sphere([r])
    volume = cylinder + ball
    offset = length / 2 + 3 / 8 * r
    caps = moments[0] - 9 / 64 * r * r + offset * offset
    side = (cylinder * across + ball * caps) / volume
    return volume, [side, side, (cylinder * along + ball * moments[0]) / volume]


SOLIDS: dict[str, Callable[[Sequence[Any]], tuple[Any, list[Any]]]] = {
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "sphere": _sphere,
}


def solid_properties(shape: str, size: Sequence[Any]) -> tuple[Any, Vector3]:
    """Return a solid's volume [m³] and its principal moments per mass [m²].

    Args:
        shape: one of `SOLIDS`.
        size: box x, y, z; cylinder and capsule radius, length (of the straight part);
            sphere radius [m].
    """
    volume, moments = SOLIDS[shape](size)
    return volume, stack(moments)


class RigidBody(NamedTuple):
    """Mass properties in the body's frame.

    Attributes:
        mass: [kg].
        center: centre of mass (3,) [m].
        moments: principal moments about it (3,) [kg m²]; None until composed.
        quat: orientation of the principal axes (4,); None until composed.
        tensor: inertia about it along the body's axes (3, 3) [kg m²].
    """

    mass: Any
    center: Vector3
    moments: Vector3
    quat: Quaternion
    tensor: Matrix3


def _tensor(moments: Vector3, quat: Quaternion) -> Matrix3:
    if rotations.is_identity(quat):
        return stack([stack([moments[i] if i == j else 0.0 for j in range(3)]) for i in range(3)])
    turn = rotations.rotation(quat)
    return (turn * moments) @ turn.T


def single(mass: Any, center: Vector3, moments: Vector3, quat: Quaternion) -> RigidBody:
    """Return the mass properties of a body made of one solid, whose axes are its principal axes."""
    return RigidBody(mass, center, moments, quat, _tensor(moments, quat))


def turned(mass: Any, center: Vector3, tensor: Matrix3) -> RigidBody:
    """Return the mass properties of a body of which only the tensor along its axes is known."""
    return RigidBody(mass, center, None, None, tensor)


def compose(parts: Sequence[RigidBody]) -> RigidBody:
    """Return the mass properties of a body made of several."""
    if len(parts) == 1:
        part = parts[0]
        if part.moments is not None:
            return part
        return part._replace(**dict(zip(("moments", "quat"), principal_axes(part.tensor))))
    mass = sum(part.mass for part in parts)
    center = sum(part.mass * part.center for part in parts) / mass
    tensor: Any = 0.0
    for part in parts:
        d = part.center - center
        square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        tensor = tensor + part.tensor + part.mass * (square * np.eye(3) - d[:, None] * d[None, :])
    moments, quat = principal_axes(tensor)
    return RigidBody(mass, center, moments, quat, tensor)


def principal_axes(tensor: Matrix3) -> tuple[Vector3, Quaternion]:
    """Return principal moments (3,) and the orientation (4,) of the principal axes.

    A diagonal tensor comes back exactly, with the identity. Derivatives are finite where moments
    coincide: there the axes are free to choose, so their rate is taken as zero.

    Args:
        tensor: symmetric inertia (3, 3).
    """
    return _jax_principal_axes()(tensor) if is_jax(tensor) else _numpy_principal_axes(tensor)


_SWEEPS = 6


def _sweep(a: Matrix3, quat: Quaternion) -> tuple[Matrix3, Quaternion]:
    """Make each off-diagonal element zero in turn by a Jacobi rotation.

    For the pair (p, q) the angle is θ = ½ atan2(2 a_pq, a_pp - a_qq), taken within ±π/4 so that
    axes near the diagonal keep their order; convergence is quadratic.
    """
    xp = namespace(a)
    for p, q, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        apq, difference = a[p, q], a[p, p] - a[q, q]
        sign = xp.where(difference < 0, -1.0, 1.0)
        # the 1 keeps atan2 away from (0, 0)
        wide = xp.abs(difference) + xp.where(apq == 0, 1.0, 0.0)
        half = 0.25 * xp.arctan2(2 * apq * sign, wide)
        turn: list[Any] = [xp.cos(half), 0.0, 0.0, 0.0]
        turn[k + 1] = xp.sin(half)
        r = rotations.rotation(stack(turn))
        a, quat = r.T @ a @ r, rotations.multiply(quat, stack(turn))
    return a, quat


def _finish(a: Matrix3, quat: Quaternion) -> tuple[Vector3, Quaternion]:
    return stack([a[0, 0], a[1, 1], a[2, 2]]), rotations.normalize(quat)


def _numpy_principal_axes(tensor: Matrix3) -> tuple[Vector3, Quaternion]:
    state = tensor, stack(rotations.IDENTITY)
    for _ in range(_SWEEPS):
        state = _sweep(*state)
    return _finish(*state)


@functools.cache
def _jax_principal_axes() -> Callable[[Any], tuple[Any, Any]]:
    from draft_core.backend import jax, jnp

    @jax.custom_jvp
    def axes(tensor: Any) -> tuple[Any, Any]:
        start = tensor, jnp.asarray(rotations.IDENTITY)
        return _finish(*jax.lax.fori_loop(0, _SWEEPS, lambda _, state: _sweep(*state), start))

    @axes.defjvp
    def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        """J' = diag(B), B = Rᵀ A' R; axes turn at ω_k = B_ij / (J_i − J_j) about axis k."""
        moments, quat = axes(primals[0])
        r = rotations.rotation(quat)
        rate = r.T @ (0.5 * (tangents[0] + tangents[0].T)) @ r
        omega = []
        for i, j in ((1, 2), (2, 0), (0, 1)):
            gap = moments[i] - moments[j]
            apart = jnp.abs(gap) > 1e-12 * jnp.abs(moments).max()
            omega.append(jnp.where(apart, rate[i, j] / jnp.where(apart, gap, 1.0), 0.0))
        turn = rotations.multiply(quat, jnp.stack([jnp.zeros(()), *omega]))
        return (moments, quat), (jnp.diagonal(rate), 0.5 * turn)

    return jax.jit(axes)

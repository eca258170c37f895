"""Unit quaternions (w, x, y, z), as MuJoCo writes them, on NumPy or JAX arrays.

``rotation(q) @ v`` turns a vector of the child's frame into the parent's.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from draft_core.namespace import Quaternion, Vector3, namespace, stack

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def normalize(q: Float[Any, " n"]) -> Float[Any, " n"]:
    """Return q / ‖q‖ for a non-zero vector."""
    return q / namespace(q).sqrt(sum(q[i] * q[i] for i in range(q.shape[0])))


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return the quaternion of the rotation q followed, in the parent's frame, by p."""
    return namespace(p, q).einsum("kij,i,j->k", _PRODUCT, p, q)


def rotation(q: Float[Any, "*batch 4"]) -> Float[Any, "*batch 3 3"]:
    """Return the rotation matrix of each unit quaternion."""
    return namespace(q).einsum("abij,...i,...j->...ab", _ROTATION, q, q)


def _product_table() -> np.ndarray:
    """Return P with (pq)_k = Σ P_kij p_i q_j, from i² = j² = k² = ijk = -1."""
    table = np.zeros((4, 4, 4))
    table[0] = np.diag([1.0, -1.0, -1.0, -1.0])
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        table[i, 0, i] = table[i, i, 0] = 1.0
        table[k, i, j], table[k, j, i] = 1.0, -1.0
    return table


_PRODUCT = _product_table()
# v' = q v q*: the vector part of the product, q* = diag(1, -1, -1, -1) q
_ROTATION = np.einsum("kmj,mib,j->kbij", _PRODUCT, _PRODUCT, np.array([1.0, -1.0, -1.0, -1.0]))[
    1:, 1:
]


def from_euler(angles: Vector3) -> Quaternion:
    """Return the quaternion of successive turns about the body's own x, y and z axes [rad]."""
    xp = namespace(angles)
    turns = []
    for i in range(3):
        half = 0.5 * angles[i]
        turn: list[Any] = [xp.cos(half), 0.0, 0.0, 0.0]
        turn[i + 1] = xp.sin(half)
        turns.append(stack(turn))
    return multiply(multiply(turns[0], turns[1]), turns[2])


def from_z_axis(axis: Vector3) -> Quaternion:
    """Return the shortest rotation that takes the z axis to a direction.

    With a = axis/‖axis‖ it is (1 + a_z, −a_y, a_x, 0), normalised; for a = −z, where that
    vanishes, half a turn about x.
    """
    xp = namespace(axis)
    a = normalize(axis)
    opposite = a[2] < -1 + 1e-12
    if xp.__name__ == "numpy":
        return (
            stack([0.0, 1.0, 0.0, 0.0])
            if opposite
            else normalize(stack([1 + a[2], -a[1], a[0], 0.0]))
        )
    w = xp.where(opposite, 0.0, 1 + a[2])
    x = xp.where(opposite, 1.0, -a[1])
    return normalize(stack([w, x, a[0], 0.0]))


def z_axis(q: Quaternion) -> Vector3:
    """Return the direction of the turned frame's z axis: the third column of the rotation."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return stack([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])


def mirrored(q: Quaternion) -> Quaternion:
    """Return the rotation seen in the mirror y → −y: R' = S R S with S = diag(1, −1, 1).

    The rotation vector is a pseudovector: its x and z parts change sign.
    """
    return q * stack([1.0, -1.0, 1.0, -1.0])


def is_identity(q: Quaternion) -> bool:
    """Tell whether a constant quaternion is exactly the identity."""
    return namespace(q).__name__ == "numpy" and tuple(q) == IDENTITY

"""Unit quaternions (w, x, y, z), as MuJoCo writes them, on NumPy or JAX arrays.

``rotation(q) @ v`` turns a vector of the child's frame into the parent's.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from draft_core.namespace import namespace

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def normalize(q: Float[Any, "*batch n"]) -> Float[Any, "*batch n"]:
    """Return q / ‖q‖ for each non-zero vector."""
    return q / namespace(q).sqrt((q * q).sum(axis=-1, keepdims=True))


def multiply(p: Float[Any, "*batch 4"], q: Float[Any, "*batch 4"]) -> Float[Any, "*batch 4"]:
    """Return the quaternion of the rotation q followed, in the parent's frame, by p."""
    return _outer(p, q) @ _PRODUCTS


def rotation(q: Float[Any, "*batch 4"]) -> Float[Any, "*batch 3 3"]:
    """Return the rotation matrix of each unit quaternion."""
    matrices = _outer(q, q) @ _ROTATIONS
    return matrices.reshape(*q.shape[:-1], 3, 3)


def turned(
    matrix: Float[Any, "*batch 3 3"], vector: Float[Any, "*batch 3"]
) -> Float[Any, "*batch 3"]:
    """Return each matrix times its vector."""
    return (matrix @ vector[..., None])[..., 0]


def _outer(p: Any, q: Any) -> Any:
    """Return the products p_i q_j (..., 16)."""
    products = p[..., :, None] * q[..., None, :]
    return products.reshape(*products.shape[:-2], 16)


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
_ROTATION = np.einsum("kmj,mib,j->kbij", _PRODUCT, _PRODUCT, np.array([1.0, -1.0, -1.0, -1.0]))
# both as matrices that take the 16 products q_i q_j to the result
_PRODUCTS = _PRODUCT.reshape(4, 16).T.copy()
_ROTATIONS = _ROTATION[1:, 1:].reshape(9, 16).T.copy()


def from_euler(angles: Float[Any, "*batch 3"]) -> Float[Any, "*batch 4"]:
    """Return the quaternion of successive turns about the body's own x, y and z axes [rad]."""
    xp = namespace(angles)
    cos, sin = xp.cos(0.5 * angles), xp.sin(0.5 * angles)
    about = [cos[..., i, None] * _STILL + sin[..., i, None] * _AXES[i] for i in range(3)]
    return multiply(multiply(about[0], about[1]), about[2])


_STILL, *_AXES = np.eye(4)


def from_z_axis(axis: Float[Any, "*batch 3"]) -> Float[Any, "*batch 4"]:
    """Return the shortest rotation that takes the z axis to a direction.

    With a = axis/‖axis‖ it is (1 + a_z, −a_y, a_x, 0), normalised; for a = −z, where that
    vanishes, half a turn about x.
    """
    xp = namespace(axis)
    a = normalize(axis)
    opposite = a[..., 2] < -1 + 1e-12
    w = xp.where(opposite, 0.0, 1 + a[..., 2])
    x = xp.where(opposite, 1.0, -a[..., 1])
    return normalize(xp.stack([w, x, a[..., 0], xp.zeros_like(w)], axis=-1))


def mirrored(q: Float[Any, "*batch 4"]) -> Float[Any, "*batch 4"]:
    """Return the rotation seen in the mirror y → −y: R' = S R S with S = diag(1, −1, 1).

    The rotation vector is a pseudovector: its x and z parts change sign.
    """
    return q * MIRROR


MIRROR = np.array([1.0, -1.0, 1.0, -1.0])

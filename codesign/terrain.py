"""Terrain as a height function z = h(x, y), with normals by automatic differentiation.

The gap of a point is its height above the surface, measured along the local normal:

    φ(p) = (p_z − h(p_x, p_y)) n_z,   n = (−∂h/∂x, −∂h/∂y, 1) / ‖·‖.

It is exact on a plane of any slope and first-order elsewhere; it is zero exactly on the surface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from codesign.errors import ProblemError
from draft_core.backend import jax, jnp


def flat_height(position: jax.Array) -> jax.Array:
    """Return the height of level ground at the origin: 0 everywhere."""
    return jnp.zeros(())


@dataclass(frozen=True)
class Terrain:
    """A ground surface.

    Attributes:
        height: smooth JAX function of a horizontal position (2,) [m] that returns a height [m].
        name: what reports call it.
    """

    height: Callable[[jax.Array], jax.Array] = flat_height
    name: str = "flat ground"

    def frame(self, point: jax.Array) -> jax.Array:
        """Return rows (t₁, t₂, n) of the contact frame under a point (3,): orthonormal, (3, 3)."""
        slope = jax.grad(self.height)(point[:2])
        normal = jnp.stack([-slope[0], -slope[1], jnp.ones(())])
        normal = normal / jnp.sqrt(1.0 + jnp.dot(slope, slope))
        forward = jnp.stack([jnp.ones(()), jnp.zeros(()), slope[0]])
        forward = forward / jnp.sqrt(1.0 + slope[0] ** 2)
        return jnp.stack([forward, jnp.cross(normal, forward), normal])

    def gap(self, point: jax.Array) -> jax.Array:
        """Return the distance φ of a world point (3,) from the surface, positive above; [m]."""
        return (point[2] - self.height(point[:2])) * self.frame(point)[2, 2]


FLAT = Terrain()


def require_terrain(owner: str, terrain: object) -> None:
    """Refuse what is not a terrain with a height function of a horizontal position.

    Raises:
        ProblemError: it is not, and what would work.
    """
    if not isinstance(terrain, Terrain):
        raise ProblemError(
            f"{owner}: terrain is a {type(terrain).__name__}; "
            "it must be Terrain(height), such as Terrain(lambda position: 0.1 * position[0])"
        )
    try:
        shape = jax.eval_shape(terrain.height, jax.ShapeDtypeStruct((2,), jnp.float64))
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise ProblemError(f"{owner}: the terrain's height function fails: {error}") from error
    if getattr(shape, "shape", None) != () or not jnp.issubdtype(shape.dtype, jnp.floating):
        raise ProblemError(f"{owner}: the terrain's height function must return one real number")

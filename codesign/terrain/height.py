"""Terrain as a height function z = h(x, y), with normals by automatic differentiation.

The gap of a point is its height above the surface, measured along the local normal:

    φ(p) = (p_z − h(p_x, p_y)) n_z,   n = (−∂h/∂x, −∂h/∂y, 1) / ‖·‖.

It is exact on a plane of any slope and first-order elsewhere; it is zero exactly on the surface.
A step is a steep sigmoid: h = H σ(8 (x − x₀) / w), which rises by 96 % of H over the width w and
nowhere steeper than 2 H / w. Its riser is a slope, never quite vertical; `Cells` has vertical ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codesign.errors import ProblemError
from codesign.terrain.relief import FLAT_NAME, Relief, simplified
from codesign.tracing import evaluator
from draft_core.backend import jax, jnp

_PROFILE_SAMPLES = 2001  # along x, where the height does not depend on y
_GRID_SAMPLES = 161  # along each axis, where it does
_PROFILE_TOLERANCE = 1e-4  # of a profile drawn with fewer points; [m]


def flat_height(position: jax.Array) -> jax.Array:
    """Return the height of level ground at the origin: 0 everywhere."""
    return jnp.zeros(())


@dataclass(frozen=True)
class Terrain:
    """A ground surface given by its height.

    Attributes:
        height: smooth JAX function of a horizontal position (2,) [m] that returns a height [m].
        name: what reports call it.
    """

    height: Callable[[jax.Array], jax.Array] = flat_height
    name: str = ""

    def __post_init__(self) -> None:
        """Name what has no name."""
        if not self.name:
            object.__setattr__(self, "name", FLAT_NAME if self.is_level else "uneven ground")

    @property
    def is_level(self) -> bool:
        """Whether it is the plane z = 0."""
        return self.height is flat_height

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
        return self.above(point) * self.frame(point)[2, 2]

    def above(self, point: jax.Array) -> jax.Array:
        """Return how far a world point (3,) is above the surface, straight down; [m].

        It has the sign of the gap, without its normal.
        """
        return point[2] - self.height(point[:2])

    def relief(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Relief:
        """Return samples of the height over a rectangle: along x alone where y does not matter."""
        x = np.linspace(low[0], high[0], _PROFILE_SAMPLES)
        across = np.linspace(low[1], high[1], 9)
        profiles = self._sampled(x[::10], across)
        if np.ptp(profiles, axis=1).max() < 1e-9:
            profile = self._sampled(x, across[:1])[:, 0]
            kept = simplified(x, profile, _PROFILE_TOLERANCE)
            return Relief(x[kept], across[[0, -1]], np.stack([profile[kept]] * 2, axis=1))
        x, y = (np.linspace(low[i], high[i], _GRID_SAMPLES) for i in range(2))
        return Relief(x, y, self._sampled(x, y))

    def _sampled(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return heights at all pairs of x and y, shape (len(x), len(y)); [m]."""
        places = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        heights = np.asarray(evaluator(jax.vmap(self.height), places)(places), dtype=float)
        return np.broadcast_to(heights, len(places)).reshape(len(x), len(y))

    def require_valid(self, owner: str) -> None:
        """Refuse a height that is no real function of a horizontal position.

        Raises:
            ProblemError: naming the owner.
        """
        try:
            shape = jax.eval_shape(self.height, jax.ShapeDtypeStruct((2,), jnp.float64))
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise ProblemError(f"{owner}: the terrain's height function fails: {error}") from error
        is_real = jnp.issubdtype(getattr(shape, "dtype", jnp.int32), jnp.floating)
        if getattr(shape, "shape", None) != () or not is_real:
            raise ProblemError(
                f"{owner}: the terrain's height function must return one real number"
            )


@dataclass(frozen=True)
class Step:
    """The height of a step along x: 0 before it, `height` after it.

    Attributes:
        at: where half the height is reached; [m].
        height: of the step, negative for a step down; [m].
        width: over which 96 % of it is climbed; [m].
    """

    at: float
    height: float
    width: float

    def __call__(self, position: jax.Array) -> jax.Array:
        """Return the height at a horizontal position (2,); [m]."""
        return self.height * jax.nn.sigmoid(8.0 * (position[0] - self.at) / self.width)


def step_terrain(at: float, height: float, width: float = 0.02) -> Terrain:
    """Return level ground with a steep step along x, as a height function.

    Args:
        at: where half the height is reached; [m].
        height: of the step; [m].
        width: over which 96 % of it is climbed; [m].

    Raises:
        ProblemError: a number is not finite, or the width is not positive.
    """
    if not all(math.isfinite(value) for value in (at, height, width)) or width <= 0:
        raise ProblemError(
            f"step_terrain(at={at!r}, height={height!r}, width={width!r}): all must be finite "
            "lengths [m], and the width positive"
        )
    return Terrain(Step(float(at), float(height), float(width)), f"step of {height:g} m")


FLAT = Terrain()

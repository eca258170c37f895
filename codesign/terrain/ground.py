"""What dynamics, replay and pictures ask of a ground."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from codesign.terrain.relief import Relief
from draft_core.backend import jax


class Ground(Protocol):
    """A surface under the robot, as JAX functions and as numbers."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def is_level(self) -> bool:
        """Whether it is the plane z = 0."""
        ...

    def gap(self, point: jax.Array) -> jax.Array:
        """Return the distance φ of a world point (3,) from the surface, positive above; [m]."""
        ...

    def above(self, point: jax.Array) -> jax.Array:
        """Return what is positive above the surface and negative below it, cheaply, (3,); [m]."""
        ...

    def height(self, position: jax.Array, /) -> jax.Array:
        """Return the height at a horizontal position (2,), rounding left out; [m]."""
        ...

    def frame(self, point: jax.Array) -> jax.Array:
        """Return rows (t₁, t₂, n) of the contact frame at a point (3,): orthonormal, (3, 3)."""
        ...

    def relief(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Relief:
        """Return its shape over the rectangle from `low` to `high`, each (2,) [m]."""
        ...

    def require_valid(self, owner: str) -> None:
        """Refuse a shape that cannot be evaluated.

        Raises:
            ProblemError: naming the owner, and what would work.
        """
        ...

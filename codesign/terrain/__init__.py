"""The ground: a height function, or flat cells with vertical risers between them.

Whatever has the members of `Ground` can stand under a robot. To add a kind, write it in a file of
its own and name it in `KINDS`.
"""

from __future__ import annotations

from codesign.errors import ProblemError
from codesign.terrain.cells import Cells
from codesign.terrain.ground import Ground
from codesign.terrain.height import FLAT, Step, Terrain, flat_height, step_terrain
from codesign.terrain.relief import Relief, relief_under

KINDS = (Terrain, Cells)

__all__ = [
    "FLAT",
    "KINDS",
    "Cells",
    "Ground",
    "Relief",
    "Step",
    "Terrain",
    "flat_height",
    "relief_under",
    "require_terrain",
    "step_terrain",
]


def require_terrain(owner: str, terrain: object) -> None:
    """Refuse what is not a terrain, or one whose height is no function of a position.

    Raises:
        ProblemError: it is not, and what would work.
    """
    if not isinstance(terrain, KINDS):
        raise ProblemError(
            f"{owner}: terrain is a {type(terrain).__name__}; it must be Terrain(height), such as "
            "Terrain(lambda position: 0.1 * position[0]), or Cells(edges=[0.15], heights=[0, 0.1])"
        )
    terrain.require_valid(owner)

"""Who a robot's mass belongs to: roles, links and the trunk, as sums over its solids."""

import math
import typing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from draft_core.anatomy import Anatomy, parts
from draft_core.tree import RobotTree, Role, Solid

ROLES: tuple[Role, ...] = typing.get_args(Role)
# segments of the links that populations count as trunk
_TRUNK = ("trunk", "torso", "pelvis")


@dataclass(frozen=True)
class Owners:
    """Which solid and which body counts as what.

    Attributes:
        roles: 1 where a solid (column) has a role (row of `ROLES`), else 0.
        trunk: 1 for each body of the trunk, the world being body 0: those with a solid of a trunk's
            role or segment, and what is welded to them.
        trunk_solid: place of the root's lofted mesh among all solids, or None.
    """

    roles: Float[np.ndarray, "roles solids"]
    trunk: Float[np.ndarray, " bodies"]
    trunk_solid: int | None


@lru_cache(maxsize=32)
def owners(tree: RobotTree) -> Owners:
    """Return which solid and which body of a tree counts as what."""
    solids = [solid for link in tree.links for solid in link.solids]
    roles = np.array([[float(solid.role == role) for solid in solids] for role in ROLES])
    piece = pieces(tree)
    trunk = {piece[link.name] for link in tree.links if any(map(_is_trunk, link.solids))}
    lofted = [i for i, solid in enumerate(solids) if solid.mesh is not None]
    return Owners(
        roles.reshape(len(ROLES), len(solids)),
        np.array([0.0, *(float(piece[link.name] in trunk) for link in tree.links)]),
        lofted[0] if lofted else None,
    )


def _is_trunk(solid: Solid) -> bool:
    return solid.role == "trunk" or (solid.segment is not None and solid.segment.name in _TRUNK)


@lru_cache(maxsize=32)
def pieces(tree: RobotTree) -> dict[str, str]:
    """Return, for each link, the first link of those welded together with it."""
    first: dict[str, str] = {}
    for link in tree.links:
        welded = link.joint is None and link.parent is not None
        first[link.name] = first[str(link.parent)] if welded else link.name
    return first


def role_mass(anatomy: Anatomy, role: Role) -> Any:
    """Return the mass of all solids of a role [kg]."""
    return owners(anatomy.tree).roles[ROLES.index(role)] @ anatomy.fields["solid_mass"]


def trunk_mass(anatomy: Anatomy) -> Any:
    """Return the mass of the trunk's links with all they carry [kg]."""
    return owners(anatomy.tree).trunk @ anatomy.fields["body_mass"]


def volumes(anatomy: Anatomy) -> Float[Any, " n"]:
    """Return the volume of each solid of `Parts.solids` (n,) [m³], from MuJoCo's half sizes."""
    a, b, c = anatomy.fields["geom_size"].T
    box, disc, ball = _shapes(anatomy.tree)
    return 8 * box * a * b * c + math.pi * a * a * (2 * disc * b + 4 / 3 * ball * a)


@lru_cache(maxsize=32)
def _shapes(tree: RobotTree) -> Float[np.ndarray, "3 n"]:
    """Return 1 for each solid that is a box, has a straight part, and has round ends, else 0."""
    made_of = {"box": (1, 0, 0), "cylinder": (0, 1, 0), "capsule": (0, 1, 1), "sphere": (0, 0, 1)}
    rows = [made_of[str(solid.shape)] for solid in parts(tree).solids]
    return np.array(rows, dtype=float).reshape(-1, 3).T

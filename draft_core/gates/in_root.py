"""No solid is inside the root's mesh, but for its own trunk and for what the tree lets in.

    d ≥ −max(0.5 mm, 2 % s),   s = ½ V^(1/3)

d is `draft_core.separation.solids_from_mesh`, all joints at zero: the gap along the best of the
mesh's face normals and the solid's axes, which is never too large. Only where that does not pass
are edges and corners looked at too, and never under differentiation: constraints are on the safe
side. V is the solid's volume, so that s is half the side of its cube.

Solids on the root and on what hangs from it are one margin each; of all others the deepest is one.
Margins are in s. A solid or motor with ``may_enter_root: true`` is exempt, and the report lists it.
A mesh that is convex at the nominal parameters, and each slab of one that is not, counts as its
convex hull.

Source: Draft (Nguyen, Coelho, Kim 2026), which samples. Kinks: those of the distance, where another
direction becomes the best; a solid of (50 mm)³; where another solid becomes the deepest.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from draft_core.anatomy import Anatomy, parts
from draft_core.gates.chains import place_key, way_from_root
from draft_core.gates.margins import Gate, Margin, element, scalars
from draft_core.gates.masses import pieces, volumes
from draft_core.loft import is_convex_solid
from draft_core.meshes import mesh_topology, mesh_vertices
from draft_core.namespace import is_jax, namespace
from draft_core.separation import solids_from_mesh
from draft_core.tree import RobotTree, Solid

NAME, SWITCH = "in_root", "allow_actuator_in_structure"
LEAST, PART = 0.0005, 0.02  # tolerated depth [m], and as a part of half the cube's side


@dataclass(frozen=True)
class Judged:
    """Which solids are held out of the mesh.

    Attributes:
        near: their places among `Parts.solids` where each is a margin, one of each congruent set.
        rest: the places of all others.
        exempt: names of those that may lie inside.
        convex: whether the mesh is convex at the nominal parameters.
    """

    near: Int[np.ndarray, " n"]
    rest: Int[np.ndarray, " m"]
    exempt: tuple[str, ...]
    convex: bool


@lru_cache(maxsize=32)
def judged(tree: RobotTree) -> Judged | None:
    """Return which solids are held out of the root's mesh; None where it has none."""
    static, piece = parts(tree), pieces(tree)
    if static.trunk is None:
        return None
    root = tree.links[0].name
    first = {
        root,
        *(x.name for x in tree.links if x.parent is not None and piece[x.parent] == root),
    }
    symmetric = _is_symmetric(static.trunk)
    near: dict[Any, int] = {}
    rest = []
    for i, (solid, link) in enumerate(zip(static.solids, static.links, strict=True)):
        if solid.may_enter_root:
            continue
        if piece[link.name] not in first:
            rest.append(i)
            continue
        key = place_key([solid], [way_from_root(tree, link)[1:]])
        near.setdefault(key if symmetric else i, i)
    exempt = tuple(solid.name for solid in static.solids if solid.may_enter_root)
    return Judged(
        np.array(list(near.values()), dtype=int), np.array(rest, dtype=int), exempt, _convex(tree)
    )


def _is_symmetric(trunk: Solid) -> bool:
    """Tell whether a mesh is its own mirror image across y = 0, whatever its numbers are."""
    mesh = trunk.mesh
    if mesh is None or mesh.axis == "y":
        return False
    across = 0 if mesh.axis == "x" else 1  # of the plane's coordinates, which is y
    return all(
        s.size is not None and isinstance(s.center.stated, tuple) and s.center.stated[across] == 0.0
        for s in mesh.sections
    )


def _convex(tree: RobotTree) -> bool:
    trunk = parts(tree).trunk
    assert trunk is not None
    loft = mesh_topology(trunk)
    return loft.sections == 2 or is_convex_solid(mesh_vertices(trunk, tree.resolve()), loft.faces)


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each solid near the root, and one for all others."""
    static = judged(anatomy.tree)
    if static is None:
        return []
    index, count = np.concatenate([static.near, static.rest]), len(static.near)
    value, distance, least = _gaps(anatomy, index, static.convex)
    names = [anatomy.parts.solids[i].name for i in index]
    rows = zip(
        names[:count],
        *(scalars(x[:count]) for x in (value, distance, least)),
        strict=True,
    )
    near = [_margin(name, name, margin, gap, limit) for name, margin, gap, limit in rows]
    return [*near, *_rest(names[count:], value[count:], distance[count:], least[count:])]


def _rest(names: list[str], value: Any, distance: Any, least: Any) -> list[Margin]:
    """Return the margin of the deepest of the solids that are not near the root."""
    if not names:
        return []
    subject, at = "all other solids", value.argmin()
    if is_jax(value):
        return [_margin(subject, "a solid", value.min(), element(distance, at), element(least, at))]
    more = int((value < 0).sum()) - 1
    name = f"{names[at]} (and {more} more)" if more > 0 else names[at]
    return [_margin(subject, name, float(value[at]), float(distance[at]), float(least[at]))]


def _margin(subject: str, name: str, value: Any, distance: Any, least: Any) -> Margin:
    return Margin(
        gate=NAME,
        subject=subject,
        value=value,
        measured=distance,
        limit=least,
        unit="m",
        level="error",
        text=f"the gap between {name} and the root's mesh is {{measured}} m (negative: inside); "
        "{limit} m is tolerated",
        switch=SWITCH,
    )


def _gaps(anatomy: Anatomy, index: Int[np.ndarray, " n"], convex: bool) -> tuple[Any, Any, Any]:
    """Return margin, distance from the mesh [m] and its least [m] of each solid (n,)."""
    least, scale = _allowed(anatomy, index)
    distance = _distance(anatomy, index, convex, edges=False)
    value = (distance - least) / scale
    if not is_jax(value) and (value < 0).any():
        failing = np.flatnonzero(value < 0)
        distance[failing] = _distance(anatomy, index[failing], convex, edges=True)
        value = (distance - least) / scale
    return value, distance, least


def _distance(
    anatomy: Anatomy, index: Int[np.ndarray, " n"], convex: bool, edges: bool
) -> Float[Any, " n"]:
    trunk = anatomy.parts.trunk
    assert trunk is not None
    kinds, double = _sizes(anatomy.tree)
    return solids_from_mesh(
        [kinds[i] for i in index],
        anatomy.pos[index],
        anatomy.turn[index],
        anatomy.fields["geom_size"][index] * double[index],
        anatomy.vertices,
        mesh_topology(trunk),
        convex,
        edges,
    )


def _allowed(anatomy: Anatomy, index: Int[np.ndarray, " n"]) -> tuple[Any, Any]:
    """Return the least distance [m] and half the side of the cube [m] of each solid (n,)."""
    scale = 0.5 * volumes(anatomy)[index] ** (1 / 3)
    return -namespace(scale).maximum(LEAST, PART * scale), scale


@lru_cache(maxsize=32)
def _sizes(tree: RobotTree) -> tuple[tuple[str, ...], Float[np.ndarray, "n 3"]]:
    """Return the kind of each solid, and what turns MuJoCo's sizes into whole ones."""
    whole = {"box": (2.0, 2.0, 2.0), "sphere": (1.0, 0.0, 0.0)}
    kinds = tuple(str(solid.shape) for solid in parts(tree).solids)
    return kinds, np.array([whole.get(kind, (1.0, 2.0, 0.0)) for kind in kinds]).reshape(-1, 3)


GATE = Gate(
    NAME,
    "Solids in the root",
    "no solid but the root's own trunk is deeper in the root's mesh than 0.5 mm or 2 % of half the "
    "side of its cube",
    margins,
    SWITCH,
)

"""Signed separations of solids from a lofted mesh, batched over all solids.

The mesh is one convex body, or the slabs between its sections. As in `separation`, a set of
directions is tried, and none can make the margin too large. Convex bodies touch along the normal of
a face of the mesh, along an axis of the solid, across an edge of either, or from a corner to the
other's nearest point; each gives directions in closed form, but for a rim against an edge.
"""

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from draft_core import rotations
from draft_core.loft import Loft
from draft_core.namespace import namespace
from draft_core.rims import TIE, line_normals, rim_reach
from draft_core.vectors import PARALLEL, as_array, cross, direction, dot, pack, root, sign

_FAR = -1e6  # a separation that never is the largest [m]


def solids_from_mesh(
    kinds: Sequence[str],
    pos: Float[Any, "n 3"],
    quat: Float[Any, "n 4"] | Float[Any, "n 3 3"],
    size: Float[Any, "n 3"],
    vertices: Float[Any, "v 3"],
    loft: Loft,
    convex: bool = False,
    edges: bool = True,
) -> Float[Any, " n"]:
    """Return the separation of solids from a lofted mesh (n,) [m].

    Positive: outside by at least that; negative: inside, by the depth along the best direction out
    that was tried. A mesh that is not convex is taken slab by slab, and the least counts: a solid
    across two slabs then seems less deep than it is, for it may leave one by entering the other.

    Args:
        kinds: of `inertia.SOLIDS`, one for each solid.
        pos: centres, in the mesh's frame [m].
        quat: orientations there, or rotation matrices; cylinders and capsules lie along z.
        size: as `inertia.solid_properties` takes it, filled up with zeros [m].
        vertices: of the mesh, as `Loft.vertices` returns them [m].
        loft: the mesh's topology.
        convex: that the mesh is convex (`loft.is_convex_solid`), and one body.
        edges: try directions from the mesh's edges and corners too; without them the result is
            cheaper, and smaller where a solid is near one.
    """
    if not len(kinds):
        return np.zeros(0)
    solids, vertices = _solids(kinds, pos, quat, size), as_array(vertices)
    xp = namespace(vertices, *solids)
    bodies = _bodies(xp, vertices, loft, convex)
    margins = [_face_margin(xp, solids, bodies), _axis_margin(xp, solids, bodies)]
    if edges:
        boxes = [i for i, kind in enumerate(kinds) if kind == "box"]
        margins.append(_edge_margin(xp, solids, bodies) - TIE)
        margins.append(_corner_margin(xp, solids, bodies) - TIE)
        if boxes:
            margins.append(_box_edge_margin(xp, solids, bodies, np.array(boxes)))
    return functools.reduce(xp.maximum, margins).min(axis=0)


class _Solids(NamedTuple):
    """Convex solids, each a box (perhaps without width) widened by a ball or a disc.

    The disc lies across the third axis. Components come first, the n solids last.

    Attributes:
        center: (3, n) [m].
        turn: (3, 3, n); the second index numbers the axes.
        half: half lengths along them (3, n) [m].
        ball: radius (n,) [m].
        disc: radius (n,) [m].
    """

    center: Any
    turn: Any
    half: Any
    ball: Any
    disc: Any

    def reach(self, xp: ModuleType, along: Any) -> Any:
        """Return the support function of directions, given by their parts along the axes."""
        across = root(xp, along[0] * along[0] + along[1] * along[1])
        straight = dot(self.half, [xp.abs(part) for part in along])
        return straight + self.ball + self.disc * across

    def axes(self) -> list[Any]:
        """Return the axes, each as components (3, n)."""
        return [self.turn[:, i] for i in range(3)]


def _solids(kinds: Sequence[str], pos: Any, quat: Any, size: Any) -> _Solids:
    """Return the batch of solids, whose arguments `solids_from_mesh` describes."""
    if not hasattr(size, "shape"):
        size = [[*row, 0.0, 0.0][:3] for row in size]
    pos, quat, size = as_array(pos), as_array(quat), as_array(size)
    xp = namespace(pos, quat, size)
    box, cylinder, capsule, sphere = _masks(tuple(kinds))
    x, y, z = size.T
    half = [0.5 * box * x, 0.5 * box * y, 0.5 * (box * z + (cylinder + capsule) * y)]
    turn = xp.moveaxis(quat if quat.ndim == 3 else rotations.rotation(quat), 0, 2)
    return _Solids(pos.T, turn, pack(xp, half), (capsule + sphere) * x, cylinder * x)


class _Bodies(NamedTuple):
    """Convex bodies of equal topology: the slabs of a loft, or the whole of one.

    Attributes:
        corners: (k, v, 3) [m].
        normals: unit vectors out of the faces (k, f, 3).
        middles: of the edges, components of (k, e, 1) [m].
        edges: unit vectors along the edges, components of (k, e, 1).
    """

    corners: Any
    normals: Any
    middles: Any
    edges: Any


@functools.cache
def _masks(kinds: tuple[str, ...]) -> np.ndarray:
    """Return 1 where a solid is a box, a cylinder, a capsule, a sphere (4, n), and 0 elsewhere."""
    return np.array(
        [[kind == given for given in kinds] for kind in ("box", "cylinder", "capsule", "sphere")],
        dtype=float,
    )


@functools.cache
def _topology(loft: Loft, convex: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vertices of bodies (k, v), of their sides (k, f, 4) and of their edges (k, e, 2)."""
    n, m = loft
    ring = np.arange(m)
    after = np.roll(ring, -1)
    first = m * np.arange(n)[:, None, None]
    around = np.stack([ring, after], axis=1) + first
    along = np.stack([ring, ring + m], axis=1) + first[:-1]
    sides = np.stack([ring, after, after + m, ring + m], axis=1) + first[:-1]
    if convex:
        edges = np.concatenate([around.reshape(-1, 2), along.reshape(-1, 2)])
        return np.arange(n * m)[None], sides.reshape(1, -1, 4), edges[None]
    return loft.slabs, sides, np.concatenate([around[:-1], around[1:], along], axis=1)


def _bodies(xp: ModuleType, vertices: Any, loft: Loft, convex: bool) -> _Bodies:
    """Return the convex bodies of a loft."""
    corners, sides, edges = _topology(loft, convex)
    v = vertices.T
    a, b, c, d = (v[:, sides[..., i]] for i in range(4))
    normals = xp.swapaxes(pack(xp, direction(xp, *cross(c - a, d - b))), 0, 1)
    ring = v[:, : loft.points]
    area = cross(ring, v[:, np.roll(np.arange(loft.points), -1)])
    up = pack(xp, direction(xp, *(part.sum() for part in area)))
    caps = xp.broadcast_to(pack(xp, [up, -up]).T, (len(corners), 3, 2))
    start, end = (v[:, edges[..., i]][..., None] for i in range(2))
    return _Bodies(
        vertices[corners],
        xp.swapaxes(xp.concatenate([normals, caps], axis=2), 1, 2),
        0.5 * (start + end),
        direction(xp, *(end - start)),
    )


def _face_margin(xp: ModuleType, solids: _Solids, bodies: _Bodies) -> Any:
    """Return the largest separation along the normals of the bodies' faces (k, n)."""
    n = bodies.normals
    ahead = (bodies.corners @ xp.swapaxes(n, 1, 2)).max(axis=1)
    along = [n @ axis for axis in solids.axes()]
    return (n @ solids.center - ahead[..., None] - solids.reach(xp, along)).max(axis=1)


def _axis_margin(xp: ModuleType, solids: _Solids, bodies: _Bodies) -> Any:
    """Return the largest separation along the solids' axes, either way (k, n)."""
    margins = []
    for i, axis in enumerate(solids.axes()):
        corners, center = bodies.corners @ axis, dot(axis, solids.center)
        outside = xp.maximum(center - corners.max(axis=1), corners.min(axis=1) - center)
        disc = solids.disc if i < 2 else 0.0
        margins.append(outside - (solids.half[i] + solids.ball + disc))
    return functools.reduce(xp.maximum, margins)


def _projected(corners: Any, n: Any) -> Any:
    """Return corners (k, v, 3) along directions, components (3, k, d, n), as (k, v, d, n)."""
    k, d, count = n.shape[1:]
    return (corners @ n.swapaxes(0, 1).reshape(k, 3, d * count)).reshape(k, -1, d, count)


def _edge_margin(xp: ModuleType, solids: _Solids, bodies: _Bodies) -> Any:
    """Return the largest separation along normals of edges (k, n).

    Seen along an edge, a solid is its third axis, drawn out between two discs. The edge may meet
    the straight part, with the common normal of edge and axis, or a disc's rim.
    """
    u, axis = bodies.edges, solids.turn[:, 2]
    d = [center - middle for center, middle in zip(solids.center, bodies.middles, strict=True)]
    c, z, normal = dot(u, axis), dot(d, u), cross(u, axis)
    beside = [d[i] - z * u[i] for i in range(3)]
    square = dot(normal, normal)
    skew = square > PARALLEL
    s = xp.sqrt(xp.where(skew, square, 1.0))
    apart = direction(xp, *beside)
    # unit vectors across the edge: along the axis as it is seen, and across it
    ahead = [xp.where(skew, (axis[i] - c * u[i]) / s, 0.0) for i in range(3)]
    aside = [xp.where(skew, normal[i] / s, apart[i]) for i in range(3)]
    x, y, c = dot(beside, ahead), dot(beside, aside), xp.abs(c)
    straight = xp.where(skew, solids.half[2] * s, 0.0)
    # a box has no disc; the one around it is on the safe side
    disc = solids.disc + root(xp, solids.half[0] ** 2 + solids.half[1] ** 2)
    p, q = line_normals(xp, xp.abs(x) - straight, xp.abs(y), disc, c)
    reach = straight * p + rim_reach(xp, p, q, disc, c) + solids.ball
    p, q = p * sign(xp, x), q * sign(xp, y)
    n = pack(xp, [p * ahead[i] + q * aside[i] for i in range(3)])
    rims = dot(n, solids.center) - _projected(bodies.corners, n).max(axis=1) - reach
    sides = _either_way(xp, solids, bodies, pack(xp, aside))
    return xp.maximum(rims, sides).max(axis=1)


def _either_way(xp: ModuleType, solids: _Solids, bodies: _Bodies, n: Any) -> Any:
    """Return the separation along n or against it, components of (k, d, n), as (k, d, n)."""
    corners, center = _projected(bodies.corners, n), dot(n, solids.center)
    outside = xp.maximum(center - corners.max(axis=1), corners.min(axis=1) - center)
    return outside - solids.reach(xp, [dot(n, axis) for axis in solids.axes()])


def _box_edge_margin(xp: ModuleType, solids: _Solids, bodies: _Bodies, boxes: Any) -> Any:
    """Return the largest separation of boxes along normals of edges (k, n).

    They are the common normals of a box's and a body's edges, and the normals of a body's edges
    that point to the box's nearest corner.
    """
    some, u = _Solids(*(part[..., boxes] for part in solids)), bodies.edges
    normals = [direction(xp, *cross(u, axis)) for axis in some.axes()[:2]]
    d = [center - middle for center, middle in zip(some.center, bodies.middles, strict=True)]
    along = dot(d, u)
    beside = [d[i] - along * u[i] for i in range(3)]
    outside = _outside(xp, some, [dot(beside, axis) for axis in some.axes()])
    nearest = [dot(some.turn[i], outside) for i in range(3)]
    along = dot(nearest, u)
    normals.append(direction(xp, *(nearest[i] - along * u[i] for i in range(3))))
    margins = [_either_way(xp, some, bodies, pack(xp, n)).max(axis=1) for n in normals]
    place = np.full(solids.ball.shape[0], len(boxes))
    place[boxes] = np.arange(len(boxes))
    rest = np.full((len(bodies.corners), 1), _FAR)
    return xp.concatenate([functools.reduce(xp.maximum, margins), rest], axis=1)[:, place]


def _outside(xp: ModuleType, solids: _Solids, local: Any) -> list[Any]:
    """Return the way from points to the nearest points of solids without their ball and disc.

    Args:
        xp: numpy or jax.numpy.
        solids: n of them.
        local: from the points to the solids' centres, along the solids' axes [m].

    Returns:
        Components along the solids' axes [m].
    """
    return [
        part - xp.minimum(xp.maximum(part, -half), half)
        for part, half in zip(local, solids.half, strict=True)
    ]


def _corner_margin(xp: ModuleType, solids: _Solids, bodies: _Bodies) -> Any:
    """Return the largest separation along directions from the bodies' corners (k, n).

    They point to the solid's nearest point, and across its third axis.
    """
    v = bodies.corners.transpose(2, 0, 1)[..., None]
    d = [center - corner for center, corner in zip(solids.center, v, strict=True)]
    local = [dot(d, axis) for axis in solids.axes()]
    x, y, z = _outside(xp, solids, local)
    across = root(xp, x * x + y * y)
    less = xp.maximum(1 - solids.disc / xp.maximum(across, 1e-12), 0.0)
    along = direction(
        xp,
        xp.concatenate([x * less, x], axis=1),
        xp.concatenate([y * less, y], axis=1),
        xp.concatenate([z, 0 * z], axis=1),
    )
    n = pack(xp, [dot(solids.turn[i], along) for i in range(3)])
    ahead = _projected(bodies.corners, n).max(axis=1)
    return (dot(n, solids.center) - ahead - solids.reach(xp, along)).max(axis=1)

"""Geoms of a MuJoCo model as small convex meshes, with one colour each.

Round shapes carry the true surface normal at each vertex, so that a viewer may shade them
smoothly; flat shapes repeat a vertex for each face it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

SIDES = 20  # facets around a round shape
RINGS = 5  # facets from the equator to a pole

#: What MuJoCo gives a geom that states no colour.
_DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
_BASE_COLOUR = (0.24, 0.45, 0.72)
_LINK_COLOURS = ((0.88, 0.58, 0.22), (0.43, 0.62, 0.42), (0.72, 0.42, 0.45), (0.50, 0.48, 0.68))


@dataclass(frozen=True)
class Mesh:
    """A convex surface in its geom's frame.

    Attributes:
        vertices: (n, 3) [m].
        normals: outward unit normals (n, 3).
        triangles: indices (m, 3), counter-clockwise seen from outside.
    """

    vertices: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray


@dataclass(frozen=True)
class Shape:
    """A drawable geom: a mesh, the body it rides on, its pose there, its colour (0 to 1)."""

    kind: str
    size: tuple[float, ...]
    mesh: Mesh
    body: int
    position: np.ndarray
    quaternion: np.ndarray
    colour: tuple[float, float, float]


def shapes_of(model: mujoco.MjModel) -> list[Shape]:
    """Return every visible geom of the model; planes and height fields are left to the ground."""
    return [_shape(model, geom) for geom in range(model.ngeom) if _is_drawn(model, geom)]


def _is_drawn(model: mujoco.MjModel, geom: int) -> bool:
    known = mujoco.mjtGeom(model.geom_type[geom]) in _KINDS
    return bool(known and model.geom_rgba[geom, 3] > 0)


def _shape(model: mujoco.MjModel, geom: int) -> Shape:
    kind = _KINDS[mujoco.mjtGeom(model.geom_type[geom])]
    size = tuple(float(value) for value in model.geom_size[geom])
    mesh = _hull_of_mesh(model, geom) if kind == "mesh" else _BUILDERS[kind](size)
    body = int(model.geom_bodyid[geom])
    return Shape(
        kind=kind,
        size=size,
        mesh=mesh,
        body=body,
        position=model.geom_pos[geom].copy(),
        quaternion=model.geom_quat[geom].copy(),
        colour=_colour(model, geom, body),
    )


def _colour(model: mujoco.MjModel, geom: int, body: int) -> tuple[float, float, float]:
    stated = tuple(float(value) for value in model.geom_rgba[geom])
    if not np.allclose(stated, _DEFAULT_RGBA, atol=1e-6):
        return stated[0], stated[1], stated[2]
    depth = _depth(model, body)
    return _BASE_COLOUR if depth <= 1 else _LINK_COLOURS[(depth - 2) % len(_LINK_COLOURS)]


def _depth(model: mujoco.MjModel, body: int) -> int:
    depth = 0
    while body:
        body, depth = int(model.body_parentid[body]), depth + 1
    return depth


def box(size: tuple[float, ...]) -> Mesh:
    """Return a box with half extents `size` (3) [m]."""
    corners, normals, triangles = [], [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = sign * np.eye(3)[axis]
            across, up = np.eye(3)[(axis + 1) % 3], sign * np.eye(3)[(axis + 2) % 3]
            first = len(corners)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corners.append((normal + a * across + b * up) * np.asarray(size[:3]))
                normals.append(normal)
            triangles += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(np.array(corners), np.array(normals), np.array(triangles))


def ellipsoid(size: tuple[float, ...]) -> Mesh:
    """Return an ellipsoid with semi-axes `size` (3) [m]."""
    unit = _capsule_of(1.0, 0.0)
    semi = np.asarray(size[:3])
    normals = unit.normals / semi
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Mesh(unit.vertices * semi, normals, unit.triangles)


def sphere(size: tuple[float, ...]) -> Mesh:
    """Return a sphere of radius ``size[0]`` [m]."""
    return _capsule_of(size[0], 0.0)


def capsule(size: tuple[float, ...]) -> Mesh:
    """Return a capsule of radius ``size[0]`` and half length ``size[1]`` along z [m]."""
    return _capsule_of(size[0], size[1])


def cylinder(size: tuple[float, ...]) -> Mesh:
    """Return a cylinder of radius ``size[0]`` and half length ``size[1]`` along z [m]."""
    radius, half = size[0], size[1]
    circle = _circle()
    wall = np.concatenate([circle * [radius, radius, 0] + [0, 0, z] for z in (-half, half)])
    caps = [np.concatenate([[[0, 0, z]], circle * radius + [0, 0, z]]) for z in (-half, half)]
    vertices = np.concatenate([wall, *caps])
    axis = np.array([0.0, 0.0, 1.0])
    normals = np.concatenate(
        [circle, circle, *(np.tile(s * axis, (SIDES + 1, 1)) for s in (-1, 1))]
    )
    triangles = list(_band(0, SIDES))
    for start, is_top in ((2 * SIDES, False), (3 * SIDES + 1, True)):
        for i in range(SIDES):
            a, b = start + 1 + i, start + 1 + (i + 1) % SIDES
            triangles.append((start, a, b) if is_top else (start, b, a))
    return Mesh(vertices, normals, np.array(triangles))


def _circle() -> np.ndarray:
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(SIDES)], axis=1)


def _band(lower: int, upper: int) -> list[tuple[int, int, int]]:
    """Triangles between two rings of SIDES vertices that start at `lower` and `upper`."""
    triangles = []
    for i in range(SIDES):
        j = (i + 1) % SIDES
        triangles += [
            (lower + i, lower + j, upper + j),
            (lower + i, upper + j, upper + i),
        ]
    return triangles


def _capsule_of(radius: float, half: float) -> Mesh:
    """Rings of latitude from pole to pole; the two halves are moved apart by 2 `half`."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, 2 * RINGS + 1)
    latitude = np.insert(latitude, RINGS, 0.0)  # the equator belongs to both halves
    shift = np.where(np.arange(len(latitude)) <= RINGS, -half, half)
    circle = _circle()
    normals = np.concatenate([circle * np.cos(angle) + [0, 0, np.sin(angle)] for angle in latitude])
    vertices = radius * normals
    vertices[:, 2] += np.repeat(shift, SIDES)
    rings = range(len(latitude) - 1)
    triangles = [t for r in rings for t in _band(r * SIDES, (r + 1) * SIDES)]
    return Mesh(vertices, normals, np.array(triangles))


def _hull_of_mesh(model: mujoco.MjModel, geom: int) -> Mesh:
    """Convex hull of the geom's mesh, shaded flat."""
    mesh = int(model.geom_dataid[geom])
    start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    points = np.asarray(model.mesh_vert[start : start + count], dtype=float)
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    outward = hull.equations[:, :3]
    wound = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_inward = np.einsum("ij,ij->i", wound, outward) < 0
    corners[is_inward] = corners[is_inward][:, ::-1]
    triangles = np.arange(3 * len(corners)).reshape(-1, 3)
    return Mesh(corners.reshape(-1, 3), np.repeat(outward, 3, axis=0), triangles)


_KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}

_BUILDERS: dict[str, Callable[[tuple[float, ...]], Mesh]] = {
    "box": box,
    "sphere": sphere,
    "capsule": capsule,
    "cylinder": cylinder,
    "ellipsoid": ellipsoid,
}

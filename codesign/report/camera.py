"""A parallel projection, and the plane geometry that draws convex solids in the right order.

A camera at azimuth α and elevation β looks along −d, with

    d = (cos β cos α, cos β sin α, sin β),   right = (−sin α, cos α, 0),   up = d × right.

Two convex solids whose silhouettes overlap are ordered by the depth of their front surfaces at a
point of the overlap; the picture is then painted from back to front.
"""

from __future__ import annotations

import graphlib
from dataclasses import dataclass

import numpy as np

Polygon = np.ndarray  # (n, 2) points in the picture, counter-clockwise in (right, up)

#: Overlaps smaller than this are silhouettes that merely touch [m²].
_TOUCHING = 1e-9


@dataclass(frozen=True)
class Camera:
    """Parallel projection onto the plane through `target`.

    Attributes:
        azimuth: α [rad], from x towards y.
        elevation: β [rad], positive from above.
        target: world point at the picture's origin (3,) [m].
    """

    azimuth: float
    elevation: float
    target: np.ndarray

    @property
    def towards(self) -> np.ndarray:
        """Unit vector d from the target to the viewer."""
        a, b = self.azimuth, self.elevation
        return np.array([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])

    @property
    def right(self) -> np.ndarray:
        """Unit vector to the right of the picture."""
        return np.array([-np.sin(self.azimuth), np.cos(self.azimuth), 0.0])

    @property
    def up(self) -> np.ndarray:
        """Unit vector to the top of the picture."""
        return np.cross(self.towards, self.right)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return (…, 2) picture coordinates, right and up [m], of world points (…, 3)."""
        return (np.asarray(points) - self.target) @ np.stack([self.right, self.up], axis=1)

    def lift(self, point: np.ndarray) -> np.ndarray:
        """Return the world point (3,) of the target plane seen at a picture point (2,)."""
        return self.target + point[0] * self.right + point[1] * self.up


@dataclass(frozen=True)
class Solid:
    """A convex solid in the world, as triangles, with its silhouette in the picture.

    Attributes:
        corners: triangle corners (m, 3, 3) [m].
        normals: outward unit normals of the triangles (m, 3).
        silhouette: convex polygon in the picture.
    """

    corners: np.ndarray
    normals: np.ndarray
    silhouette: Polygon

    @classmethod
    def seen(cls, camera: Camera, vertices: np.ndarray, triangles: np.ndarray) -> Solid:
        """Return the solid with world `vertices` (n, 3); triangles without area are dropped."""
        corners = vertices[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normals, axis=1)
        keep = length > 1e-12 * max(float(length.max()), 1e-300)
        normals = normals[keep] / length[keep, None]
        return cls(corners[keep], normals, convex_hull(camera.project(vertices)))


def convex_hull(points: np.ndarray) -> Polygon:
    """Return the convex hull of picture points (n, 2), counter-clockwise (monotone chain)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered).reshape(-1, 2)
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _chain(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a, b, c) -> float:
    """Twice the signed area of the triangle a b c: positive when it turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def intersection(a: Polygon, b: Polygon) -> Polygon:
    """Return the overlap of two convex polygons (Sutherland and Hodgman, 1974)."""
    clipped = [tuple(point) for point in a]
    for start, end in zip(b, np.roll(b, -1, axis=0), strict=True):
        clipped = _clip(clipped, start, end)
        if not clipped:
            break
    return np.array(clipped).reshape(-1, 2)


def _clip(polygon: list, start: np.ndarray, end: np.ndarray) -> list:
    """The part of `polygon` to the left of the line from `start` to `end`."""
    kept = []
    for i, point in enumerate(polygon):
        before = polygon[i - 1]
        side, side_before = _turn(start, end, point), _turn(start, end, before)
        if (side >= 0) != (side_before >= 0):
            s = side_before / (side_before - side)
            kept.append(tuple(b + s * (p - b) for b, p in zip(before, point, strict=True)))
        if side >= 0:
            kept.append(tuple(point))
    return kept


def area(polygon: Polygon) -> float:
    """Return the signed area of a polygon, positive when counter-clockwise [m²]."""
    x, y = polygon.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def front_depth(camera: Camera, solid: Solid, point: np.ndarray) -> float:
    """Return how far towards the viewer the solid's surface lies at a picture point (2,) [m]."""
    facing = solid.normals @ camera.towards
    visible = facing > 1e-9
    origin = camera.lift(point)
    reach = np.einsum("ij,ij->i", solid.normals, solid.corners[:, 0] - origin)
    return float(np.min(reach[visible] / facing[visible]))


def painting_order(camera: Camera, solids: list[Solid]) -> list[int]:
    """Return indices of `solids` from back to front."""
    behind: dict[int, set[int]] = {i: set() for i in range(len(solids))}
    for i in range(len(solids)):
        for j in range(i):
            front = _in_front(camera, solids[i], solids[j])
            if front is not None:
                behind[i if front else j].add(j if front else i)
    try:
        return list(graphlib.TopologicalSorter(behind).static_order())
    except graphlib.CycleError:  # solids that pierce each other have no order
        centre = [float(s.corners.mean(axis=(0, 1)) @ camera.towards) for s in solids]
        return sorted(range(len(solids)), key=centre.__getitem__)


def _in_front(camera: Camera, a: Solid, b: Solid) -> bool | None:
    """Whether `a` hides `b` where they overlap; None where they do not."""
    low_a, high_a = a.silhouette.min(axis=0), a.silhouette.max(axis=0)
    low_b, high_b = b.silhouette.min(axis=0), b.silhouette.max(axis=0)
    if np.any(low_a > high_b) or np.any(low_b > high_a):
        return None
    overlap = intersection(a.silhouette, b.silhouette)
    if len(overlap) < 3 or area(overlap) < _TOUCHING:
        return None
    middle = overlap.mean(axis=0)
    return front_depth(camera, a, middle) > front_depth(camera, b, middle)

"""A closed mesh lofted from stacked cross-sections, and exact integrals over it.

A polyhedron is the signed sum of the tetrahedra that its triangles (a, b, c) span with a point o:

    V = Σ det/6,  ∫ x xᵀ dV = Σ det/120 (a aᵀ + b bᵀ + c cᵀ + s sᵀ),  s = a + b + c,

with a, b, c taken from o and det = a · (b × c). The topology depends on counts alone, so that
volume, centre and inertia are smooth functions of the sections and their stations.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from draft_core.namespace import Matrix3, Vector3, namespace, stack

# the plane's coordinates of each stacking direction, so that (u, v, axis) is right-handed
PLANES = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}
# corners of a rectangle, each cut twice, counter-clockwise from the right side: signs of the half
# sides, and how much of the chamfer each point gives way along them
_CORNERS = np.array([[1, -1], [1, 1], [1, 1], [-1, 1], [-1, 1], [-1, -1], [-1, -1], [1, -1]], float)
_CUTS = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]], float)


def chamfered_rectangle(width: Any, height: Any, chamfer: Any = 0.0, inset: Any = 0.0) -> Any:
    """Return the 8 points of a rectangle with cut corners, counter-clockwise (8, 2) [m].

    Args:
        width: outer size along the first coordinate [m].
        height: outer size along the second [m].
        chamfer: length cut off each edge at each corner, less than half the smaller side that is
            left [m]; 0 leaves the corners, each as two points that coincide.
        inset: how far each of the four sides moves inwards; the chamfer stays as it is [m].
    """
    half = stack([0.5 * width - inset, 0.5 * height - inset])
    return _CORNERS * (half - chamfer * _CUTS)


def polygon(points: Sequence[Sequence[Any]]) -> Any:
    """Return stated points as a section (m, 2) [m]; they go counter-clockwise."""
    return stack([stack(list(point)) for point in points])


def is_convex(points: Float[Any, "m 2"], slack: float = 1e-9) -> bool:
    """Tell whether a polygon of numbers is convex and goes around once, counter-clockwise.

    Args:
        points: corners; ones that coincide or lie on a side are allowed.
        slack: how much a corner may turn the wrong way, relative to the polygon's size squared.
    """
    points = np.asarray(points, dtype=float)
    sides = np.roll(points, -1, axis=0) - points
    lengths = np.hypot(sides[:, 0], sides[:, 1])
    size = lengths.max(initial=0.0)
    sides = sides[lengths > 1e-12 * size]
    after = np.roll(sides, -1, axis=0)
    turns = sides[:, 0] * after[:, 1] - sides[:, 1] * after[:, 0]
    along = (sides * after).sum(axis=1)
    once = abs(np.arctan2(turns, along).sum() - 2 * np.pi) < 1e-6
    return bool(len(sides) > 2 and once and (turns >= -slack * size * size).all())


def goes_once_around(points: Float[Any, "m 2"]) -> bool:
    """Tell whether a polygon of numbers goes once around its inside, counter-clockwise.

    Corners may coincide and sides may touch, but no side crosses another.

    Args:
        points: corners.
    """
    points = np.asarray(points, dtype=float)
    sides = np.roll(points, -1, axis=0) - points
    lengths = np.hypot(sides[:, 0], sides[:, 1])
    keep = lengths > 1e-12 * lengths.max(initial=0.0)
    sides, starts = sides[keep], points[keep]
    if len(sides) < 3:
        return False
    after = np.roll(sides, -1, axis=0)
    turns = sides[:, 0] * after[:, 1] - sides[:, 1] * after[:, 0]
    angles = np.arctan2(turns, (sides * after).sum(axis=1))
    if abs(angles.sum() - 2 * np.pi) > 1e-6:  # a figure of eight turns 0, twice around 4 pi
        return False
    return bool((angles >= 0).all()) or not _crosses(starts, starts + sides)


def _crosses(starts: Float[np.ndarray, "m 2"], ends: Float[np.ndarray, "m 2"]) -> bool:
    """Tell whether any two of some line segments cross inside both."""

    def side_of(points: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, "m m"]:
        """Return on which side of each segment (rows) each point lies, and how far."""
        arm = points[None] - starts[:, None]
        return along[:, None, 0] * arm[..., 1] - along[:, None, 1] * arm[..., 0]

    along = ends - starts
    small = 1e-12 * np.abs(along).max() ** 2
    one, other = side_of(starts), side_of(ends)
    parted = ((one > small) & (other < -small)) | ((one < -small) & (other > small))
    return bool((parted & parted.T).any())


def better_start(lower: Float[Any, "m 2"], upper: Float[Any, "m 2"]) -> int | None:
    """Return from which corner a section would match another clearly better than from its first.

    Both are taken about their middles, at the same size. With c the correlation of the corners that
    belong together, 1 for two of the same shape and cos φ for one that is turned by φ, another
    start is clearly better where c < 0.95 and 1 − c is less than half as large from there.

    Args:
        lower: corners of one section.
        upper: corners of the next, equally many.

    Returns:
        The corner of the upper section that matches the lower's first; None where the first does.
    """
    a, b = (_normalised(np.asarray(points, dtype=float)) for points in (lower, upper))
    m = len(a)
    corner = np.arange(m)
    found = (a @ b.T)[corner, (corner + corner[:, None]) % m].sum(axis=1)  # by the start
    best = int(found.argmax())
    turned = found[0] < 0.95 and 1 - found[best] < 0.5 * (1 - found[0])
    return best if turned else None


def _normalised(points: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, "m 2"]:
    about = points - points.mean(axis=0)
    return about / np.sqrt((about * about).sum())


class Loft(NamedTuple):
    """Topology of a loft: n sections of m points each, closed by a fan at either end.

    Vertices are numbered section by section. The fans start from each end's first point, which
    covers convex ends; the integrals of `polyhedron` hold for any.

    Attributes:
        sections: n, at least 2.
        points: m, at least 3.
    """

    sections: int
    points: int

    @property
    def faces(self) -> Int[np.ndarray, "faces 3"]:
        """Triangles (2 m (n − 1) + 2 (m − 2), 3), counter-clockwise seen from outside."""
        return _faces(self.sections, self.points)

    @property
    def slabs(self) -> Int[np.ndarray, "slabs corners"]:
        """Vertices of each solid between two consecutive sections (n − 1, 2 m)."""
        first = self.points * np.arange(self.sections - 1)
        return first[:, None] + np.arange(2 * self.points)

    def vertices(self, sections: Any, stations: Any, axis: str = "x") -> Any:
        """Return the vertices (n m, 3) [m].

        Args:
            sections: points of each section (n, m, 2) [m]; the plane's coordinates are (y, z) for
                axis x, (z, x) for y and (x, y) for z.
            stations: position of each section along the axis, ascending (n,) [m].
            axis: stacking direction: x, y or z.
        """
        xp = namespace(sections, stations, *sections, *stations)
        plane = xp.stack([xp.asarray(section, dtype=float) for section in sections])
        along = xp.stack([xp.asarray(station, dtype=float) for station in stations])
        along = xp.broadcast_to(along[:, None, None], (self.sections, self.points, 1))
        together = xp.concatenate([plane, along], axis=2).reshape(-1, 3)
        # column k of the result is the plane's coordinate that PLANES says lies along k
        return together[:, np.argsort(PLANES[axis])]


@functools.cache
def _faces(sections: int, points: int) -> np.ndarray:
    lower = np.arange(points)
    after = (lower + 1) % points
    upper, upper_after = lower + points, after + points
    band = np.stack([lower, after, upper_after, lower, upper_after, upper], axis=1).reshape(-1, 3)
    bands = [band + points * k for k in range(sections - 1)]
    middle = np.arange(1, points - 1)
    fan = np.stack([np.zeros_like(middle), middle, middle + 1], axis=1)
    faces = np.concatenate([*bands, fan[:, ::-1], fan + points * (sections - 1)])
    faces.setflags(write=False)
    return faces


class Integrals(NamedTuple):
    """Exact integrals over a solid of unit density.

    Attributes:
        volume: [m³].
        center: (3,) [m].
        tensor: ∫ (r² I − r rᵀ) dV about the centre (3, 3) [m⁵].
    """

    volume: Any
    center: Vector3
    tensor: Matrix3


def polyhedron(vertices: Float[Any, "v 3"], faces: Int[np.ndarray, "f 3"]) -> Integrals:
    """Return volume, centre and inertia per density of a closed polyhedron.

    Args:
        vertices: [m].
        faces: triangles, counter-clockwise seen from outside.

    References:
        Tonon (2004), Explicit exact formulas for the 3-D tetrahedron inertia tensor in terms of
        its vertex coordinates, J. Math. Stat. 1(1).
    """
    xp = namespace(vertices)
    origin = vertices.sum(axis=0) / vertices.shape[0]
    corners = (vertices - origin)[faces.T]
    a, b, c = corners
    normal = b[:, _NEXT] * c[:, _LAST] - b[:, _LAST] * c[:, _NEXT]
    det = (a * normal).sum(axis=1)
    volume = det.sum() / 6
    total = a + b + c
    shift = det @ total / (24 * volume)
    arms = xp.concatenate([a, b, c, total])
    weighted = xp.concatenate([det, det, det, det])[:, None] * arms
    spread = weighted.T @ arms / 120 - volume * shift[:, None] * shift[None, :]
    square = spread[0, 0] + spread[1, 1] + spread[2, 2]
    return Integrals(volume, origin + shift, square * np.eye(3) - spread)


_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


def is_convex_solid(
    vertices: Float[Any, "v 3"], faces: Int[np.ndarray, "f 3"], slack: float = 1e-9
) -> bool:
    """Tell whether a closed polyhedron of numbers lies on the inner side of all its faces.

    Args:
        vertices: [m].
        faces: triangles, counter-clockwise seen from outside; ones without area say nothing.
        slack: how far a vertex may stand out, relative to the solid's size.
    """
    vertices = np.asarray(vertices, dtype=float)
    a, b, c = vertices[faces.T]
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    size = np.ptp(vertices, axis=0).max()
    real = length > 1e-12 * size * size
    normal = normal[real] / length[real, None]
    out = vertices @ normal.T - (a[real] * normal).sum(axis=1)
    return bool(out.max() <= slack * size)


def equivalent_box(volume: Any, tensor: Matrix3) -> tuple[Vector3, Any]:
    """Return the sides (3,) [m] and volume [m³] of the box with the same inertia per mass.

    The sides lie along the given axes: l = √(12 ⟨x²⟩), ⟨x²⟩ = (J_yy + J_zz − J_xx) / (2 V).

    Args:
        volume: of the solid [m³].
        tensor: its inertia per density about its centre (3, 3) [m⁵].
    """
    x, y, z = tensor[0, 0], tensor[1, 1], tensor[2, 2]
    square = stack([y + z - x, z + x - y, x + y - z]) * (6 / volume)
    sides = namespace(square).sqrt(square)
    return sides, sides[0] * sides[1] * sides[2]

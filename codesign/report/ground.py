"""Ground that is not level, as shapes beside the robot's own."""

from __future__ import annotations

import numpy as np

from codesign.report.shapes import Mesh, Shape, box
from codesign.terrain.relief import Block, Relief

_COLOUR = (0.66, 0.68, 0.70)
_MOST_PIECES = 16  # along each axis of ground that varies along both
_MOST_SLICES = 100  # of ground that varies along x alone
_NOWHERE = np.array([1.0, 0.0, 0.0, 0.0])


def ground_shapes(relief: Relief | None) -> list[Shape]:
    """Return what stands above the ground's lowest height; nothing for level ground."""
    if relief is None:
        return []
    most = _MOST_SLICES if relief.is_profile else _MOST_PIECES
    return [_shape(block, relief.lowest) for block in relief.blocks(most)]


def _shape(block: Block, bottom: float) -> Shape:
    size = tuple(np.ptp(block.corners(bottom), axis=0).tolist())
    mesh = _hexahedron(block.corners(bottom))
    return Shape("box", size, mesh, 0, np.zeros(3), _NOWHERE, _COLOUR)


def _hexahedron(corners: np.ndarray) -> Mesh:
    """Return the body between four lower and four upper corners (8, 3), of x and y low and high."""
    unit = box((1.0, 1.0, 1.0))
    is_high = (unit.vertices > 0).astype(int)
    vertices = corners[(is_high @ np.array([2, 1, 4])).astype(int)]
    normals = unit.normals.copy()
    for a, b, c in unit.triangles:
        across = np.cross(vertices[b] - vertices[a], vertices[c] - vertices[a])
        length = float(np.linalg.norm(across))
        if length > 0:  # the edge of a wedge is no face
            normals[[a, b, c]] = across / length
    return Mesh(vertices, normals, unit.triangles)

"""Lofted meshes in numbers: cross-sections to vertices, vertices to mass and inertia."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from draft_core import inertia, loft
from draft_core.errors import DraftError
from draft_core.namespace import is_traced, namespace, stack
from draft_core.tree import CrossSection, Solid

Environment = Mapping[str, Any]
LEAST_THICKNESS = 1e-4  # of a mesh, as a part of its vertices' greatest coordinate


def mesh_body(
    solid: Solid, env: Environment, vertices: Float[Any, "vertices 3"]
) -> inertia.RigidBody:
    """Return the mass properties of a lofted mesh of these vertices, uniform in density.

    A trunk's density is that of the box with the same inertia per mass, as its trend is fitted:
    its mass is density × that box's volume.

    Raises:
        DraftError: it is too thin for its size to be integrated in double precision.
    """
    exact = loft.polyhedron(vertices, mesh_topology(solid).faces)
    _thick(solid, exact, vertices)
    if solid.mass is not None:
        mass = solid.mass.evaluate(env)
    else:
        assert solid.density is not None
        volume = exact.volume
        if solid.segment is not None:
            _, volume = loft.equivalent_box(exact.volume, exact.tensor)
        mass = solid.density.evaluate(env) * volume
    return inertia.RigidBody(mass, exact.center, exact.tensor * (mass / exact.volume))


def _thick(solid: Solid, exact: loft.Integrals, vertices: Any) -> None:
    """Refuse a mesh whose inertia is lost in rounding, and whose volume in MuJoCo's 32 bits.

    How thick it is follows from differences of moments: squares of its thickness against those
    of its reach.
    """
    if is_traced(vertices):
        return
    volume, tensor = float(exact.volume), np.asarray(exact.tensor, dtype=float)
    reach = float(np.abs(np.asarray(vertices)).max())
    thick = 0.0
    if volume > 0 and np.isfinite(tensor).all():
        spread = (np.trace(tensor) / 2 * np.eye(3) - tensor) / volume
        thick = math.sqrt(12 * max(float(np.linalg.eigvalsh(spread)[0]), 0.0))
    if not thick >= LEAST_THICKNESS * reach:
        raise DraftError(
            f"mesh.yaml: the mesh of node {solid.name!r} is {thick:g} m thick and reaches "
            f"{reach:g} m from the node's origin; it must be at least {LEAST_THICKNESS:g} of that."
        )


def mesh_topology(solid: Solid) -> loft.Loft:
    """Return which vertices of a lofted mesh make its faces."""
    assert solid.mesh is not None
    return loft.Loft(len(solid.mesh.sections), solid.mesh.corners)


def mesh_vertices(solid: Solid, env: Environment) -> Float[Any, "vertices 3"]:
    """Return the vertices of a lofted mesh in its body's frame [m].

    Raises:
        DraftError: the sections do not ascend, or one has nothing left between its cuts.
    """
    assert solid.mesh is not None
    sections: list[Any] = []
    stations: list[Any] = []
    for i, section in enumerate(solid.mesh.sections):
        station = section.station.evaluate(env)
        _ascend(stations, station, section.station.where)
        stations.append(station)
        sections.append(section_points(section, env))
        if i and (section.points or solid.mesh.sections[i - 1].points):
            _matching(sections[i - 1], sections[i], section)
    return mesh_topology(solid).vertices(sections, stations, solid.mesh.axis)


def _matching(lower: Any, upper: Any, section: CrossSection) -> None:
    """Refuse sections whose corners do not lie above each other: their sides would cross."""
    if is_traced(lower) or is_traced(upper) or np.array_equal(lower, upper):
        return
    start = loft.better_start(lower, upper)
    if start is not None:
        raise DraftError(
            f"{section.where} is turned against the section before it, corner by corner; "
            f"begin it with its corner {start} (from 0), which lies above the first one there."
        )
    if not loft.goes_once_around((lower + upper) / 2):
        raise DraftError(
            f"{section.where} does not match the section before it: half way between them "
            "the outline crosses itself; give corners that lie above each other the same number."
        )


def _ascend(stations: Sequence[Any], station: Any, where: str) -> None:
    if not stations or is_traced(station) or is_traced(stations[-1]):
        return
    if not station > stations[-1]:
        raise DraftError(
            f"{where} is {float(station):g}, not above the section before it at "
            f"{float(stations[-1]):g}; sections are stacked upwards."
        )


def section_points(section: CrossSection, env: Environment) -> Float[Any, "corners 2"]:
    """Return the corners of a cross-section in its plane [m].

    Raises:
        DraftError: its cuts leave nothing of a side.
    """
    center, inset = section.center.evaluate(env), section.inset.evaluate(env)
    if section.size is None:
        points = stack([point.evaluate(env) for point in section.points])
        return center + _shrunk(points, inset, section)
    width, height = section.size.items(env)
    chamfer = section.chamfer.evaluate(env)
    half = namespace(width, height).minimum(width, height) / 2
    if not is_traced(half - inset) and not inset < half:
        raise DraftError(
            f"{section.where}, inset is {float(inset):g} m, which leaves nothing of the smaller "
            f"side; it must be below {float(half):g} m."
        )
    if not is_traced(chamfer - half + inset) and not chamfer < half - inset:
        raise DraftError(
            f"{section.where}, chamfer is {float(chamfer):g} m, which leaves nothing of the "
            f"smaller side; it must be below {float(half - inset):g} m, half of that side"
            f"{' after the inset' if inset else ''}."
        )
    return center + loft.chamfered_rectangle(width, height, chamfer, inset)


def _shrunk(points: Any, inset: Any, section: CrossSection) -> Any:
    """Return a polygon with all sides moved inwards, each corner along its bisector.

    A corner between sides of inward normals n₁ and n₂ moves by d (n₁ + n₂) / (1 + n₁·n₂).
    """
    _around(points, section)
    if isinstance(inset, float) and inset == 0.0:
        return points
    xp = namespace(points, inset)
    side = xp.roll(points, -1, axis=0) - points
    length = xp.sqrt((side * side).sum(axis=1))[:, None]
    after = xp.stack([-side[:, 1], side[:, 0]], axis=1) / length
    before = xp.roll(after, 1, axis=0)
    step = (before + after) / (1 + (before * after).sum(axis=1))[:, None]
    result = points + inset * step
    if not is_traced(result):
        left = ((xp.roll(result, -1, axis=0) - result) * side).sum(axis=1).min()
        if not left > 0 or not loft.goes_once_around(result):
            raise DraftError(
                f"{section.where}, inset is {float(inset):g} m, which leaves nothing of a side of "
                "the polygon; it must be less, and no two corners may coincide."
            )
    return result


def _around(points: Any, section: CrossSection) -> None:
    """Refuse a polygon that does not go once around, counter-clockwise."""
    if is_traced(points) or loft.goes_once_around(points):
        return
    xp = namespace(points)
    x, y = points[:, 0], points[:, 1]
    area = float((x * xp.roll(y, -1) - y * xp.roll(x, -1)).sum() / 2)
    wrong = (
        f"its area is {area:g} m^2; give the corners counter-clockwise"
        if not area > 0
        else "its sides cross or go around more than once; give the corners of one outline"
    )
    raise DraftError(f"{section.where}, polygon: {wrong}.")

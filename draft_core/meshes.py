"""Lofted meshes in numbers: cross-sections to vertices, vertices to mass and inertia."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxtyping import Float

from draft_core import inertia, loft
from draft_core.errors import DraftError
from draft_core.namespace import is_traced, namespace, stack
from draft_core.tree import CrossSection, Solid

Environment = Mapping[str, Any]


def mesh_body(
    solid: Solid, env: Environment, vertices: Float[Any, "vertices 3"]
) -> inertia.RigidBody:
    """Return the mass properties of a lofted mesh of these vertices, uniform in density.

    A trunk's density is that of the box with the same inertia per mass, as its trend is fitted:
    its mass is density × that box's volume.
    """
    exact = loft.polyhedron(vertices, mesh_topology(solid).faces)
    if solid.mass is not None:
        mass = solid.mass.evaluate(env)
    else:
        assert solid.density is not None
        volume = exact.volume
        if solid.segment is not None:
            _, volume = loft.equivalent_box(exact.volume, exact.tensor)
        mass = solid.density.evaluate(env) * volume
    return inertia.RigidBody(mass, exact.center, exact.tensor * (mass / exact.volume))


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
    for section in solid.mesh.sections:
        station = section.station.evaluate(env)
        _ascend(stations, station, section.station.where)
        stations.append(station)
        sections.append(section_points(section, env))
    return mesh_topology(solid).vertices(sections, stations, solid.mesh.axis)


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
    least = namespace(width, height).minimum(width, height) / 2 - inset
    if not is_traced(chamfer - least) and not chamfer < least:
        raise DraftError(
            f"{section.chamfer.where}: a chamfer of {float(chamfer):g} m leaves nothing of the "
            f"side; after the inset it must be below {float(least):g} m."
        )
    return center + loft.chamfered_rectangle(width, height, chamfer, inset)


def _shrunk(points: Any, inset: Any, section: CrossSection) -> Any:
    """Return a polygon with all sides moved inwards, each corner along its bisector.

    A corner between sides of inward normals n₁ and n₂ moves by d (n₁ + n₂) / (1 + n₁·n₂).
    """
    if isinstance(inset, float) and inset == 0.0:
        _around(points, section)
        return points
    xp = namespace(points, inset)
    side = xp.roll(points, -1, axis=0) - points
    length = xp.sqrt((side * side).sum(axis=1))[:, None]
    after = xp.stack([-side[:, 1], side[:, 0]], axis=1) / length
    before = xp.roll(after, 1, axis=0)
    step = (before + after) / (1 + (before * after).sum(axis=1))[:, None]
    result = points + inset * step
    _around(result, section)
    if (
        not is_traced(result)
        and ((xp.roll(result, -1, axis=0) - result) * side).sum(axis=1).min() <= 0
    ):
        raise DraftError(
            f"{section.inset.where}, inset: {float(inset):g} m leaves nothing of a side."
        )
    return result


def _around(points: Any, section: CrossSection) -> None:
    """Refuse a polygon that does not go counter-clockwise."""
    if is_traced(points):
        return
    xp = namespace(points)
    x, y = points[:, 0], points[:, 1]
    area = (x * xp.roll(y, -1) - y * xp.roll(x, -1)).sum() / 2
    if not area > 0:
        raise DraftError(
            f"{section.inset.where}, polygon: its area is {float(area):g} m^2; give the corners "
            "counter-clockwise."
        )

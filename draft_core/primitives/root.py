"""``root``: the body everything hangs from, free in the world or welded to it.

Plain solids as any link, or ``shape: mesh``: the loft of mesh.yaml, whose mass is stated, a
density's, or (``segment: trunk``) its population's: trunk density times the volume of the box
with the same inertia.
"""

from draft_core.context import Context
from draft_core.errors import DraftError
from draft_core.primitives import parts
from draft_core.primitives.lofting import lofted_mesh
from draft_core.section import Section
from draft_core.tree import Link, Pose, Scalar, Segment, Solid
from draft_core.trends import structure

_MESH_KEYS = (*parts.COMMON_KEYS, "shape", "mass", "density", "segment", "rgba")


def parse(name: str, section: Section, context: Context) -> Link:
    """Return the root's link."""
    if section.data.get("shape") != "mesh":
        if "segment" in section:
            raise DraftError(f"{section.where} has a segment, which needs 'shape: mesh'.")
        return parts.link(name, section, "root", None, context)
    section = Section(section.data, section.where, _MESH_KEYS)
    if not context.mesh:
        raise DraftError(f"{section.where} has shape mesh, but there is no mesh.yaml beside it.")
    solid = _trunk(name, section, context)
    return parts.link(name, section, "root", None, context, pieces=(solid,))


def _trunk(name: str, section: Section, context: Context) -> Solid:
    stated = [key for key in ("mass", "density", "segment") if key in section]
    if len(stated) != 1:
        raise DraftError(
            f"{section.where} has {' and '.join(stated) or 'no mass'}; state one of "
            "'segment: trunk' (its population's density), 'mass: 5' [kg] and "
            "'density: 700' [kg/m^3]."
        )
    density, segment = section.scalar("density", "positive"), None
    if "segment" in section:
        section.word("segment", ("trunk",))
        population = context.needs_population(section.where)
        density = Scalar(structure.trunk_density(population), section.at("segment"))
        segment = Segment(population, "trunk")
    return Solid(
        name=name,
        shape="mesh",
        size=None,
        pose=Pose(),
        mass=section.scalar("mass", "positive"),
        density=density,
        inertia=None,
        role="trunk",
        mesh=lofted_mesh(context.mesh),
        segment=segment,
        rgba=section.vector("rgba", (3, 4), "not negative"),
    )


PRIMITIVE = parts.Primitive("root", (*parts.LINK_KEYS, "segment"), parse)

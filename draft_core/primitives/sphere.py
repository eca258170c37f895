"""``sphere``: the end of a chain that touches the ground in a point."""

from typing import Any

from draft_core.context import Context
from draft_core.formula import Formula
from draft_core.primitives import members, parts
from draft_core.section import Section
from draft_core.tree import ContactPoint, Leaf, Link, Pose, Solid, Vector, leaf


def parse(name: str, section: Section, context: Context) -> Link:
    """Return the link; its contact point is the lowest of the sphere, if it touches."""
    radius, center = section.number("radius", "0.02"), section.vector("center")
    mass, density, segment = members.mass(name, section, context)
    ball = Solid(
        name=name,
        shape="sphere",
        size=Vector((radius,), section.at("radius"), (1,), "positive", ("",)),
        pose=Pose(center),
        mass=mass,
        density=density,
        inertia=None,
        role="structure",
        segment=segment,
        may_enter_root=section.switch("may_enter_root"),
        rgba=section.vector("rgba", (3, 4), "not negative"),
    )
    parent = section.require("parent", "shin")
    if not section.switch("touches", True):
        return parts.link(name, section, "sphere", parent, context, (ball,))
    friction = parts.friction(section)
    lowest = Formula("the lowest point", _lowest, _items(center, radius), (), section.where)
    touch = ContactPoint(name, Pose(Vector(lowest, section.where)), friction)
    return parts.link(name, section, "sphere", parent, context, (ball,), (touch,))


def _items(center: Vector | None, radius: Leaf) -> tuple[Any, ...]:
    stated = (0.0, 0.0, 0.0) if center is None else center.stated
    return (*stated, radius) if isinstance(stated, tuple) else (stated, radius)


def _lowest(*values: Any) -> tuple[Any, ...]:
    *center, radius = values
    x, y, z = center[0] if len(center) == 1 else center
    return x, y, z - radius


def _diameter(data: dict[str, Any], where: str) -> Leaf:
    radius = members.length_of(data, "radius", where)
    if isinstance(radius, float):
        return 2 * radius
    return Formula("2 r", _doubled, (leaf(data["radius"], where),), (), where)


def _doubled(value: Any) -> Any:
    return 2 * value


members.OWN_LENGTH["sphere"] = _diameter
PRIMITIVE = parts.Primitive(
    "sphere",
    (
        *parts.COMMON_KEYS,
        *members.MASS_KEYS,
        *("parent", "radius", "center", "friction", "touches", "rgba", "may_enter_root"),
    ),
    parse,
)

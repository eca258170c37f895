"""``basic``: a structural cylinder from its joint to the next one."""

from typing import Any

from draft_core.context import Context
from draft_core.formula import Formula
from draft_core.primitives import members, parts
from draft_core.section import Section
from draft_core.tree import Leaf, Link, Pose, Scalar, Solid, Vector

DOWN = (0.0, 0.0, -1.0)


def parse(name: str, section: Section, context: Context) -> Link:
    """Return the link."""
    length, radius = section.number("length", "0.2"), section.number("radius", "0.02")
    start, where = section.vector("start"), section.where
    direction = section.vector("direction") or Vector(DOWN, section.at("direction"))
    mass, density, segment = members.mass(name, section, context)
    member = Solid(
        name=name,
        shape="cylinder",
        size=Vector((radius, length), where, (2,), "positive", ("radius", "length")),
        pose=Pose(start, direction, "axis", Scalar(_half(length, where), where)),
        mass=mass,
        density=density,
        inertia=None,
        role="structure",
        segment=segment,
        may_enter_root=section.switch("may_enter_root"),
        rgba=section.vector("rgba", (3, 4), "not negative"),
    )
    parent = section.require("parent", "body")
    return parts.link(name, section, "basic", parent, context, pieces=(member,))


def _half(length: Leaf, where: str) -> Leaf:
    if isinstance(length, float):
        return length / 2
    return Formula("length / 2", _halved, (length,), (), where)


def _halved(value: Any) -> Any:
    return value / 2


members.OWN_LENGTH["basic"] = lambda data, where: members.length_of(data, "length", where)
PRIMITIVE = parts.Primitive(
    "basic",
    (
        *parts.COMMON_KEYS,
        *members.MASS_KEYS,
        *("parent", "length", "radius", "direction", "start", "rgba", "may_enter_root"),
    ),
    parse,
)

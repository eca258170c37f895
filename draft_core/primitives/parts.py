"""What the primitives share: solids, joints, motors, sites, contact points and thrusters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from draft_core.errors import DraftError
from draft_core.section import Section, as_vector, check_name
from draft_core.tree import (
    ContactPoint,
    Joint,
    Link,
    Motor,
    Scalar,
    Site,
    Solid,
    Thruster,
    Vector,
    leaf,
)

# the numbers that state a shape's size, in order
SHAPES: dict[str, tuple[str, ...]] = {
    "box": ("x", "y", "z"),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "sphere": ("radius",),
}
SOLID_KEYS = ("shape", "size", "center", "quat", "euler", "mass", "density", "inertia")
CARRIED_KEYS = ("sites", "contacts", "thrusters")
DEFAULT_FRICTION = 1.0


@dataclass(frozen=True)
class Primitive:
    """A kind of node.

    Attributes:
        name: the word after ``primitive:``.
        keys: the keys such a node may have.
        parse: builds the link from the node's name and mapping.
    """

    name: str
    keys: tuple[str, ...]
    parse: Callable[[str, Section], Link]


def size(shape: str, section: Section) -> Vector:
    """Return the size of a shape, stated as a mapping or as a list in the same order."""
    parts = SHAPES[shape]
    example = "{" + ", ".join(f"{part}: 0.1" for part in parts) + "}"
    stated = section.require("size", example)
    where = section.at("size")
    if isinstance(stated, dict):
        inner = Section(stated, where, parts)
        items = tuple(leaf(inner.require(part, "0.1"), inner.at(part)) for part in parts)
        return Vector(items, where, (len(parts),), "positive")
    return as_vector(stated, where, (len(parts),), "positive")


def solid(name: str, section: Section) -> Solid:
    """Return one rigid piece.

    Raises:
        DraftError: its mass is stated twice or not at all, or it has neither a shape nor mass
            and inertia.
    """
    shape = section.word("shape", SHAPES) if "shape" in section else None
    mass, density = section.scalar("mass", "positive"), section.scalar("density", "positive")
    inertia = section.vector("inertia", rule="positive")
    if (mass is None) == (density is None):
        given = "both mass and density" if mass else "no mass"
        raise DraftError(
            f"{section.where} has {given}; state one of 'mass: 0.1' [kg] and "
            "'density: 1000' [kg/m^3]."
        )
    if shape is None and (mass is None or inertia is None):
        raise DraftError(
            f"{section.where} has no shape; give 'shape: box' and a size, or both mass and inertia."
        )
    if shape is None and "size" in section:
        raise DraftError(
            f"{section.where} has a size but no shape; add one of: {', '.join(SHAPES)}."
        )
    return Solid(
        name=name,
        shape=shape,
        size=size(shape, section) if shape else None,
        pose=section.pose("center"),
        mass=mass,
        density=density,
        inertia=inertia,
    )


def solids(name: str, section: Section) -> tuple[Solid, ...]:
    """Return the solids of a node: the one it states inline, or those under ``solids``.

    Inline, the node's own ``quat``/``euler`` is the link's, so a turned solid goes under
    ``solids`` or is turned by ``solid_quat``/``solid_euler``.
    """
    inline = [
        key for key in ("shape", "size", "center", "mass", "density", "inertia") if key in section
    ]
    if "solids" not in section:
        turned = {key: section.data.get(f"solid_{key}") for key in ("quat", "euler")}
        stated = {key: section.data[key] for key in inline} | {
            k: v for k, v in turned.items() if v is not None
        }
        return (solid(name, Section(stated, section.where, SOLID_KEYS)),)
    if inline:
        raise DraftError(
            f"{section.where} has both 'solids' and {inline[0]!r}; move it into one of the solids."
        )
    return tuple(
        solid(f"{name}_{key}", Section(data, where, SOLID_KEYS))
        for key, data, where in named(section, "solids")
    )


def named(section: Section, key: str) -> list[tuple[str, Any, str]]:
    """Return (name, mapping, place) for each entry of a mapping of named things."""
    if key not in section:
        return []
    stated, where = section.data[key], section.at(key)
    if not isinstance(stated, dict) or not stated:
        raise DraftError(
            f"{where} must be a mapping from names, such as "
            f"'{key}: {{a_name: {{pos: [0, 0, 0]}}}}'."
        )
    return [(check_name(name, where), data, f"{where}, {name}") for name, data in stated.items()]


def joint(name: str, section: Section) -> Joint | None:
    """Return the joint of a node, or None for one that is welded to its parent."""
    if "joint" not in section:
        return None
    stated, where = section.data["joint"], section.at("joint")
    if isinstance(stated, str):
        stated = {"type": stated}
    kind = Section(stated, where, JOINT_KEYS["hinge"]).word("type", JOINT_KEYS)
    inner = Section(stated, where, JOINT_KEYS[kind])
    if kind in ("hinge", "slide"):
        inner.require("axis", "[0, 1, 0]")
    return Joint(
        name=inner.name("name", name),
        type=kind,  # pyright: ignore[reportArgumentType]
        axis=inner.vector("axis"),
        range=_ball_range(inner) if kind == "ball" else inner.vector("range", (2,)),
        armature=inner.scalar("armature", "not negative"),
        damping=inner.scalar("damping", "not negative"),
        frictionloss=inner.scalar("frictionloss", "not negative"),
        stiffness=inner.scalar("stiffness", "not negative"),
        springref=inner.scalar("springref"),
    )


_LOSSES = ("armature", "damping", "frictionloss")
JOINT_KEYS: dict[str, tuple[str, ...]] = {
    "free": ("type", "name"),
    "hinge": ("type", "name", "axis", "range", *_LOSSES, "stiffness", "springref"),
    "slide": ("type", "name", "axis", "range", *_LOSSES, "stiffness", "springref"),
    "ball": ("type", "name", "range", *_LOSSES, "stiffness"),
}


def _ball_range(section: Section) -> Vector | None:
    return section.vector("range", (2,), "not negative")


def motor(joint: Joint | None, section: Section) -> Motor | None:
    """Return the motor of a node's joint.

    Raises:
        DraftError: the node has no hinge or slide for it.
    """
    if "motor" not in section:
        return None
    inner = Section(section.data["motor"], section.at("motor"), ("name", "limit", "gear", "speed"))
    if joint is None or joint.type not in ("hinge", "slide"):
        given = f"a {joint.type} joint" if joint else "no joint"
        raise DraftError(f"{inner.where} needs a hinge or slide; this node has {given}.")
    limit = inner.require("limit", "1.5")
    return Motor(
        name=inner.name("name", joint.name),
        limit=_limit(limit, inner.at("limit")),
        gear=inner.scalar("gear", "positive"),
        speed=inner.scalar("speed", "positive"),
    )


def _limit(stated: object, where: str) -> Vector:
    if isinstance(stated, list):
        return as_vector(stated, where, (2,), "any")
    return Vector((leaf(stated, where),), where, (1,), "positive")


def sites(section: Section) -> tuple[Site, ...]:
    """Return the named frames of a node."""
    keys = ("pos", "quat", "euler", "axis")
    return tuple(
        Site(name, Section(data, where, keys).pose(axis=True))
        for name, data, where in named(section, "sites")
    )


def contacts(section: Section) -> tuple[ContactPoint, ...]:
    """Return the contact points of a node."""
    result = []
    for name, data, where in named(section, "contacts"):
        inner = Section(data, where, ("pos", "friction"))
        friction = inner.scalar("friction", "not negative")
        default = Scalar(DEFAULT_FRICTION, inner.at("friction"))
        result.append(ContactPoint(name, inner.pose(), friction or default))
    return tuple(result)


def thrusters(section: Section) -> tuple[Thruster, ...]:
    """Return the thrusters of a node."""
    result = []
    for name, data, where in named(section, "thrusters"):
        inner = Section(data, where, ("pos", "quat", "euler", "axis", "limit", "drag"))
        limit = _limit(inner.require("limit", "[0, 5]"), inner.at("limit"))
        result.append(Thruster(name, inner.pose(axis=True), limit, inner.scalar("drag")))
    return tuple(result)


LINK_KEYS = (
    *("primitive", "pos", "quat", "euler", "joint", "motor"),
    *(
        "shape",
        "size",
        "center",
        "solid_quat",
        "solid_euler",
        "mass",
        "density",
        "inertia",
        "solids",
    ),
    *CARRIED_KEYS,
)


def link(name: str, section: Section, primitive: str, parent: str | None) -> Link:
    """Return the link of a node whose keys are all of `LINK_KEYS`."""
    moves = joint(name, section)
    return Link(
        name=name,
        primitive=primitive,
        parent=parent,
        pose=section.pose(),
        joint=moves,
        motor=motor(moves, section),
        solids=solids(name, section),
        sites=sites(section),
        contacts=contacts(section),
        thrusters=thrusters(section),
    )

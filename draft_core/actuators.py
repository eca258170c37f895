"""Actuators of motor classes as solids: a cylinder on the link that carries it.

A joint's motor sits on the link the joint moves in (its parent's), at the joint, along its axis,
unless the tree says otherwise. Its radius, length and mass are those of its class, so that one
edit of the class moves geometry, collision, mass and inertia.
"""

from collections.abc import Mapping
from dataclasses import replace

from draft_core.errors import DraftError, close_match, known_names
from draft_core.tree import Link, Motor, Pose, Scalar, Solid, Vector


def with_actuators(links: Mapping[str, Link]) -> dict[str, Link]:
    """Return the links with the cylinders of the motor classes they carry.

    Raises:
        DraftError: a motor is carried by a node that does not exist.
    """
    carried: dict[str, list[Solid]] = {}
    for link in links.values():
        if link.motor is None or link.motor.kind is None or link.joint is None:
            continue
        if not link.motor.has_body:
            continue
        carrier = link.motor.carrier or link.parent
        if carrier is None:
            raise DraftError(
                f"tree.yaml, node {link.name!r}, motor names a motor class, whose body needs a "
                "link to sit on, and the root hangs from none; add 'carried_by' and 'pos'."
            )
        if carrier not in links:
            raise DraftError(
                f"tree.yaml, node {link.name!r}, motor: carried_by names {carrier!r}, which is no "
                f"node{close_match(str(carrier), links)}. There are: {known_names(links)}."
            )
        carried.setdefault(carrier, []).append(_cylinder(link, link.motor))
    return {
        name: replace(link, solids=(*link.solids, *carried.get(name, ())))
        for name, link in links.items()
    }


def _cylinder(link: Link, motor: Motor) -> Solid:
    """Return a motor's cylinder, stated in the frame of its joint or in the carrier's."""
    kind, joint = motor.kind, link.joint
    assert kind is not None
    assert joint is not None
    where = f"parameters.yaml, {kind.key}"
    place = motor.place or Pose()
    axis = place.turn or joint.axis
    return Solid(
        name=f"{link.name}_actuator",
        shape="cylinder",
        size=Vector(
            (kind.read("radius", where), kind.read("length", where)),
            *(where, (2,), "positive", ("radius", "length")),
        ),
        pose=Pose(place.pos, axis, "axis", motor.shift),
        mass=Scalar(kind.read("mass", where), f"{where}.mass", "positive"),
        density=None,
        inertia=None,
        role="actuator",
        within=None if motor.carrier else link.pose,
        mirrored=link.mirrored,
        drives=joint.name,
        motor=kind,
        may_enter_root=motor.may_enter_root,
    )

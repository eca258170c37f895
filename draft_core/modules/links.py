"""A module stated as links of the tree: constants of the file, and what the node says otherwise.

The module's root body is the node: it has the node's name, and its frame is where the node is
attached. Everything else is named ``<node>_<its own name>``. A link's frame is moved to where its
joint is, so that every joint goes through its link's origin.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from draft_core.context import Context
from draft_core.errors import DraftError, close_match, known_names
from draft_core.formula import Formula
from draft_core.modules.compiled import compiled
from draft_core.modules.model import (
    ModuleActuator,
    ModuleBody,
    ModuleGeom,
    ModuleJoint,
    ModuleModel,
    Place,
    compose,
    inverse,
    turned,
)
from draft_core.modules.sensing import Names, module_sensors
from draft_core.modules.source import read_module
from draft_core.primitives import parts
from draft_core.section import Section, check_name
from draft_core.sensors import Sensor
from draft_core.tree import Asset, Joint, Leaf, Link, Motor, Pose, Scalar, Site, Solid, Vector

LOSSES = ("armature", "damping", "frictionloss")
KEYS = (*parts.COMMON_KEYS, "parent", "module", "role", "bodies", "joints", "geoms")
BODY_KEYS = ("mass", "inertia", "center", "role")
JOINT_KEYS = ("range", *LOSSES, "stiffness", "springref", "motor")
GEOM_KEYS = ("rgba", "friction", "collides", "may_enter_root")
ROLES = ("module", "stated", "structure", "actuator", "trunk")
EVERY = "*"
_HOME = Place((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Module:
    """What a node adds to the tree; all but a module add one link.

    Attributes:
        links: the node's own first, parents before children.
        sensors: what the file measures.
        excluded: pairs of links that do not collide.
    """

    links: tuple[Link, ...]
    sensors: tuple[Sensor, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()


def module_of(name: str, section: Section, context: Context) -> Module:
    """Return what a module node adds to the tree.

    Args:
        name: the node's.
        section: what the file states, with no keys beyond `KEYS`.
        context: the folder around it.

    Raises:
        DraftError: the module's files cannot be used, or an override names what it has not.
    """
    file = section.require("module", "modules/hand.xml")
    source = read_module(context.folder, file, section.where)
    try:
        model = compiled(source)
    except DraftError as error:
        raise DraftError(f"{section.where}, {error}") from None
    return _Builder(name, section, context, model).module(source.sensors)


@dataclass(frozen=True)
class _Held:
    """Where a body of the file is in the tree.

    Attributes:
        link: the link that it is, or is part of.
        place: its frame in that link's.
        is_link: whether it is one of its own; a body without mass or joint is not.
    """

    link: str
    place: Place
    is_link: bool


class _Builder:
    """Turns one module into links."""

    def __init__(self, name: str, section: Section, context: Context, model: ModuleModel):
        self.name = name
        self.section = section
        self.context = context
        self.model = model
        self.where = section.where
        self.role = section.word("role", ROLES, "module")
        joints = [body.joint.name for body in model.bodies if body.joint]
        geoms = [geom.name for body in model.bodies for geom in body.geoms]
        self.bodies = self._overrides("bodies", [body.name for body in model.bodies])
        self.joints = self._overrides("joints", joints)
        self.geoms = self._overrides("geoms", geoms)
        self.actuators = self._actuators()

    def _overrides(self, key: str, names: list[str]) -> dict[str, Any]:
        """Return what the node says of each of the module's bodies, joints or geoms it names."""
        stated = self.section.data.get(key)
        if stated is None:
            return {}
        where = self.section.at(key)
        if not isinstance(stated, dict):
            raise DraftError(f"{where} must be a mapping from the module's own names.")
        for name in stated:
            if name not in names and name != EVERY:
                raise DraftError(
                    f"{where} names {name!r}, which the module does not have"
                    f"{close_match(name, names)}. There are: {known_names(names)}."
                )
        every = stated.get(EVERY, {})
        if not isinstance(every, dict):
            raise DraftError(f"{where}, '{EVERY}' must be a mapping; it holds for all of them.")
        given = {name: stated.get(name, {}) for name in (names if every else stated)}
        return {n: {**every, **own} if isinstance(own, dict) else own for n, own in given.items()}

    def _actuators(self) -> dict[str, ModuleActuator]:
        """Return the file's actuators by the joint they act on."""
        result: dict[str, ModuleActuator] = {}
        for actuator in self.model.actuators:
            if actuator.joint in result:
                raise DraftError(
                    f"{self.where}: the module has two actuators on joint {actuator.joint!r}; "
                    "leave one."
                )
            result[actuator.joint] = actuator
        return result

    def named(self, name: str) -> str:
        """Return the name in the robot of something of the module's."""
        clean = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        return check_name(f"{self.name}_{clean}", self.where)

    def module(self, sensors: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> Module:
        """Return all of it."""
        held: list[_Held] = []
        links: dict[str, Link] = {}
        for body in self.model.bodies:
            if body.parent is None:
                held.append(_Held(self.name, body.place, True))
                links[self.name] = self._root(body)
            elif body.joint is None and body.mass == 0 and body.name not in self.bodies:
                over = held[body.parent]
                held.append(_Held(over.link, compose(over.place, body.place), False))
            else:
                held.append(self._held(body))
                links[held[-1].link] = self._inner(body, held)
            owner = links[held[-1].link]
            links[owner.name] = self._filled(owner, body, held[-1].place)
        by_name = {body.name: at for body, at in zip(self.model.bodies, held, strict=True)}
        pairs = [(by_name[a].link, by_name[b].link) for a, b in self.model.excluded]
        found = tuple(links.values())
        names = self._names(by_name, found)
        return Module(
            links=found,
            sensors=module_sensors(sensors, names, self.named, self.where),
            excluded=tuple(pair for pair in pairs if pair[0] != pair[1]),
        )

    def _names(self, held: Mapping[str, _Held], links: tuple[Link, ...]) -> Names:
        """Return the robot's names of what the module's sensors may be on."""
        joints = {link.joint.name: link for link in links if link.joint}
        own = [body.joint.name for body in self.model.bodies if body.joint]
        present = {name: joints[self.named(name)] for name in own if self.named(name) in joints}
        motors = {
            actuator.name: motor.name
            for joint, actuator in self.actuators.items()
            if joint in present and (motor := present[joint].motor)
        }
        brought = {*own, *(actuator.name for actuator in self.model.actuators)}
        return Names(
            sites={name: self.named(name) for body in self.model.bodies for name, _ in body.sites},
            joints={name: self.named(name) for name in present},
            actuators=motors,
            bodies={name: at.link for name, at in held.items() if at.is_link},
            frames={name: at.link for name, at in held.items() if at.is_link and at.place == _HOME},
            absent=frozenset(brought - {*present, *motors}),
        )

    def _held(self, body: ModuleBody) -> _Held:
        anchor = body.joint.anchor if body.joint else (0.0, 0.0, 0.0)
        return _Held(self.named(body.name), inverse(Place(anchor, _HOME.quat)), True)

    def _root(self, body: ModuleBody) -> Link:
        """Return the link that the node is, without the module's geometry."""
        parent = self.section.require("parent", "body")
        link = parts.link(self.name, self.section, "module", parent, self.context, pieces=())
        if body.joint is None:
            return link
        if link.joint is not None:
            raise DraftError(
                f"{self.section.at('joint')}: the module's root {body.name!r} has a joint of its "
                f"own, {body.joint.name!r}; leave one of them out."
            )
        anchor = compose(body.place, Place(body.joint.anchor, _HOME.quat)).pos
        if max(map(abs, anchor)) > 1e-9:
            raise DraftError(
                f"{self.where}: the joint {body.joint.name!r} of the module's root is at "
                f"{[round(x, 9) for x in anchor]}; put it at the origin of the module's "
                "<worldbody>, where the node is attached."
            )
        joint, motor = self._moves(body.joint, body.place)
        return replace(link, joint=joint, motor=motor)

    def _inner(self, body: ModuleBody, held: list[_Held]) -> Link:
        """Return the link of a body that hangs from another of the module's."""
        assert body.parent is not None
        over, own = held[body.parent], held[-1]
        pose = compose(compose(over.place, body.place), inverse(own.place))
        joint, motor = self._moves(body.joint, own.place) if body.joint else (None, None)
        return Link(
            name=own.link,
            primitive="module",
            parent=over.link,
            pose=self._pose(pose),
            joint=joint,
            motor=motor,
            solids=(),
        )

    def _filled(self, link: Link, body: ModuleBody, place: Place) -> Link:
        """Return a link with what a body adds to it: mass, geoms and sites."""
        has_mass = body.mass > 0 or body.parent is None or body.name in self.bodies
        mass = [self._mass(link, body, place)] if has_mass else []
        geoms = [self._geom(g, place) for g in body.geoms if self.geoms.get(g.name, g) is not None]
        sites = [Site(self.named(n), self._pose(compose(place, site))) for n, site in body.sites]
        return replace(link, solids=(*link.solids, *mass, *geoms), sites=(*link.sites, *sites))

    def _pose(self, place: Place) -> Pose:
        turn = None if place.quat == _HOME.quat else Vector(place.quat, self.where, (4,))
        return Pose(Vector(place.pos, self.where), turn)

    def _mass(self, link: Link, body: ModuleBody, place: Place) -> Solid:
        """Return a body's mass, centre and moments as the file or the node states them."""
        where = f"{self.section.at('bodies')}, {body.name}"
        section = Section(self.bodies.get(body.name, {}), where, BODY_KEYS)
        mass = section.scalar("mass", "positive")
        inertia = section.vector("inertia", rule="positive")
        if body.mass == 0 and (mass is None or inertia is None):
            raise DraftError(
                f"{where}: this body of the module has no mass; give it one in the file, or 'mass' "
                "[kg] and 'inertia' [kg m^2] here."
            )
        mass = mass or Scalar(body.mass, where)
        return Solid(
            name=f"{link.name}_mass",
            shape=None,
            size=None,
            pose=self._pose(compose(place, body.inertial)),
            mass=mass,
            density=None,
            inertia=inertia or Vector(_moments(body, mass.stated, where), where, (3,)),
            role=section.word("role", ROLES, self.role),  # pyright: ignore[reportArgumentType]
        )

    def _geom(self, geom: ModuleGeom, place: Place) -> Solid:
        """Return a geom as a solid without mass."""
        where = f"{self.section.at('geoms')}, {geom.name}"
        section = Section(self.geoms.get(geom.name, {}), where, GEOM_KEYS)
        mesh = geom.mesh
        return Solid(
            name=self.named(geom.name),
            shape=geom.shape,
            size=Vector(geom.size, where, (len(geom.size),)) if geom.size else None,
            pose=self._pose(compose(place, geom.place)),
            mass=None,
            density=None,
            inertia=None,
            role="module",
            asset=Asset(self.named(mesh.file), mesh.data, mesh.scale) if mesh else None,
            may_enter_root=section.switch("may_enter_root"),
            rgba=section.vector("rgba", (3, 4), "not negative") or Vector(geom.rgba, where, (4,)),
            friction=section.vector("friction", rule="not negative")
            or Vector(geom.friction, where),
            attributes=_attributes(geom, section),
        )

    def _moves(self, joint: ModuleJoint, place: Place) -> tuple[Joint | None, Motor | None]:
        """Return a joint of the module and its motor; neither where the node takes it out.

        Args:
            joint: as the file states it.
            place: its body's frame in its link's.
        """
        where = f"{self.section.at('joints')}, {joint.name}"
        stated = self.joints.get(joint.name, {})
        if stated is None:
            return None, None
        section = Section(stated, where, JOINT_KEYS)
        bare = Joint(
            name=self.named(joint.name),
            type=joint.type,
            axis=None if joint.type == "ball" else Vector(turned(place, joint.axis), where),
            range=section.vector("range", (2,)) or _range(joint, where),
            **{
                key: section.scalar(key, "any" if key == "springref" else "not negative")
                for key in (*LOSSES, "stiffness", "springref")
            },
        )
        motor = self._motor(bare, joint, section)
        driven = parts.with_class(bare, motor) or bare
        if motor is not None and motor.carrier is None:
            motor = replace(motor, has_body=False)  # its mass is in the module's
        own = {
            key: Scalar(value, where)
            for key, value in joint.numbers.items()
            if value and getattr(driven, key) is None
        }
        return replace(driven, **own), motor

    def _motor(self, joint: Joint, own: ModuleJoint, section: Section) -> Motor | None:
        """Return the motor the node gives a joint, or else the file's."""
        actuator = self.actuators.get(own.name)
        name = self.named(actuator.name) if actuator else joint.name
        named = (self.section.data.get("joints") or {}).get(own.name, {})
        if "motor" in named or ("motor" in section.data and actuator):
            motor = parts.motor(joint, section, self.context)
            return replace(motor, name=name) if motor and motor.name == joint.name else motor
        if actuator is None:
            return None
        if actuator.limits is None:
            raise DraftError(
                f"{section.where}: the module's actuator {actuator.name!r} limits no force; state "
                f"forcerange there, or 'joints: {{\"{EVERY}\": {{motor: {{limit: 1}}}}}}' here."
            )
        limit = Vector(actuator.limits, section.where, (2,))
        return Motor(name, limit, gear=Scalar(actuator.gear, section.where))


def _attributes(geom: ModuleGeom, section: Section) -> tuple[tuple[str, str], ...]:
    """Return what MJCF says of a geom's contacts, which the node may switch off."""
    if "collides" not in section or section.switch("collides"):
        return geom.attributes
    kept = tuple(item for item in geom.attributes if item[0] not in ("contype", "conaffinity"))
    return (("contype", "0"), ("conaffinity", "0"), *kept)


def _range(joint: ModuleJoint, where: str) -> Vector | None:
    return None if joint.range is None else Vector(joint.range, where, (2,))


def _moments(body: ModuleBody, mass: Leaf, where: str) -> tuple[Leaf, ...]:
    """Return a body's principal moments, which grow with its mass."""
    if mass == body.mass:
        return body.inertia
    per_mass = [moment / body.mass for moment in body.inertia]
    if isinstance(mass, float):
        return tuple(mass * ratio for ratio in per_mass)
    return tuple(Formula("m J / m of the module", _times, (mass, r), (), where) for r in per_mass)


def _times(mass: Any, ratio: Any) -> Any:
    return mass * ratio

"""A robot as static topology: which bodies there are, and which expressions give their numbers.

Everything here is frozen and hashable. Numbers that may follow the design are `Scalar` and
`Vector`: what the file states, where it states it, and the rule it must keep.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from draft_core.motors import MotorClass
from draft_core.parameters import ParameterTable
from draft_core.stated import MAX_MAGNITUDE as MAX_MAGNITUDE
from draft_core.stated import Leaf as Leaf
from draft_core.stated import Rule as Rule
from draft_core.stated import Scalar, Vector
from draft_core.stated import leaf as leaf

JOINT_DOFS = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}


@dataclass(frozen=True)
class Pose:
    """Position and orientation of a frame in its parent's.

    Attributes:
        pos: position [m]; None for the origin.
        turn: orientation as `kind` says; None for the parent's.
        kind: "quat" (w, x, y, z, any length), "euler" (turns about the frame's own x, y, z
            [rad]) or "axis" (the direction of the frame's z axis).
        shift: how far it is moved along its own z axis [m].
    """

    pos: Vector | None = None
    turn: Vector | None = None
    kind: Literal["quat", "euler", "axis"] = "quat"
    shift: Scalar | None = None


@dataclass(frozen=True)
class CrossSection:
    """One cross-section of a lofted mesh, in the plane across the stacking axis.

    Attributes:
        station: where it is along the axis [m].
        size: width and height of a rectangle [m]; None for a polygon.
        chamfer: length cut from each side at each corner of the rectangle [m].
        points: x, y of a polygon's corners, counter-clockwise, one `Vector` each [m].
        center: its centre in the plane [m].
        inset: how much it shrinks on all sides [m].
        where: its place, for messages.
    """

    station: Scalar
    size: Vector | None
    chamfer: Scalar
    points: tuple[Vector, ...]
    center: Vector
    inset: Scalar
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class LoftedMesh:
    """A closed mesh lofted from stacked cross-sections of equally many corners."""

    axis: Literal["x", "y", "z"]
    sections: tuple[CrossSection, ...]

    @property
    def corners(self) -> int:
        """Corners of each section."""
        return len(self.sections[0].points) or 8


@dataclass(frozen=True)
class Asset:
    """A mesh file that a module brings along.

    Attributes:
        file: its name under ``assets/``.
        data: its bytes.
        scale: factors along its axes.
    """

    file: str
    data: bytes = field(repr=False)
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Segment:
    """Whose structural trend gives a member's mass: a class of a population."""

    population: str
    name: str


Role = Literal["stated", "structure", "trunk", "actuator", "module"]


@dataclass(frozen=True)
class Solid:
    """A rigid piece of a body: gives mass, inertia and collision geometry.

    Attributes:
        name: its geom's name.
        shape: box, cylinder, capsule, sphere or mesh; None for a mass without geometry.
        size: box x, y, z; cylinder and capsule radius, length; sphere radius [m].
        pose: of its centre and principal axes in the body's frame.
        mass: [kg]; None where the density gives it.
        density: [kg/m³]; None where the mass is stated. Neither: a geometry without mass.
        inertia: stated principal moments about its centre [kg m²]; None to compute them.
        role: what its mass counts as.
        within: the frame in the body's that `pose` is stated in; None for the body's own.
        mirrored: whether its numbers are to be seen in the mirror y → −y.
        mesh: the cross-sections of a lofted mesh.
        asset: the file of a module's mesh.
        segment: whose structural trend gives the mass.
        drives: the joint an actuator drives.
        motor: the class of that actuator.
        may_enter_root: whether it may lie inside the root's mesh.
        rgba: red, green, blue and, if given, opacity, 0 to 1; None for the role's own.
        friction: sliding, torsional and rolling coefficients; None for the link's.
        attributes: names and values of what else MJCF says about its contacts and group.
    """

    name: str
    shape: str | None
    size: Vector | None
    pose: Pose
    mass: Scalar | None
    density: Scalar | None
    inertia: Vector | None
    role: Role = "stated"
    within: Pose | None = None
    mirrored: bool = False
    mesh: LoftedMesh | None = None
    asset: Asset | None = None
    segment: Segment | None = None
    drives: str | None = None
    motor: MotorClass | None = None
    may_enter_root: bool = False
    rgba: Vector | None = None
    friction: Vector | None = None
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def collides(self) -> bool:
        """Whether it can touch anything; what cannot is there to be seen."""
        return not {("contype", "0"), ("conaffinity", "0")} <= {*self.attributes}

    @property
    def is_massless(self) -> bool:
        """Whether it is geometry only."""
        return self.mass is None and self.density is None


@dataclass(frozen=True)
class Joint:
    """What a body may do in its parent.

    Attributes:
        axis: of a hinge or slide, in the body's frame, any length.
        range: least and most angle [rad] or displacement [m]; of a ball, the most angle only.
        armature: reflected inertia [kg m²] or [kg].
        damping: [N m s] or [N s/m].
        frictionloss: [N m] or [N].
        stiffness: [N m/rad] or [N/m], about springref [rad] or [m].
    """

    name: str
    type: Literal["free", "hinge", "slide", "ball"]
    axis: Vector | None = None
    range: Vector | None = None
    armature: Scalar | None = None
    damping: Scalar | None = None
    frictionloss: Scalar | None = None
    stiffness: Scalar | None = None
    springref: Scalar | None = None

    @property
    def dofs(self) -> int:
        """How many degrees of freedom it has."""
        return JOINT_DOFS[self.type]


@dataclass(frozen=True)
class Motor:
    """An actuator on a hinge or slide: joint effort = gear * control.

    Attributes:
        limit: least and most control [N m] or [N], or one number for both signs.
        gear: joint effort per control.
        speed: top speed of the joint [rad/s] or [m/s]; None for no limit.
        kind: the motor class its numbers are from, if any.
        carrier: the node that carries its cylinder; None for the joint's parent.
        place: its centre and axis in the carrier's frame; None for the joint's own.
        shift: how far it is moved along its axis [m].
        may_enter_root: whether its cylinder may lie inside the root's mesh.
        has_body: whether there is a cylinder; a module's own bodies hold its motors' masses.
    """

    name: str
    limit: Vector
    gear: Scalar | None = None
    speed: Scalar | None = None
    kind: MotorClass | None = None
    carrier: str | None = None
    place: Pose | None = None
    shift: Scalar | None = None
    may_enter_root: bool = False
    has_body: bool = True


@dataclass(frozen=True)
class Site:
    """A named frame on a body."""

    name: str
    pose: Pose


@dataclass(frozen=True)
class ContactPoint:
    """A point of a body that may touch the ground, with its friction coefficient."""

    name: str
    pose: Pose
    friction: Scalar


@dataclass(frozen=True)
class Thruster:
    """A thrust along the z axis of a site, with a torque ``drag * thrust`` about it.

    Attributes:
        limit: least and most thrust [N], or the most alone.
        drag: torque per thrust [m]; its sign is the direction of spin.
    """

    name: str
    pose: Pose
    limit: Vector
    drag: Scalar | None = None


@dataclass(frozen=True)
class Link:
    """A body: where it hangs, how it moves, what it is made of and what it carries.

    Attributes:
        mirrored: whether all its numbers are to be seen in the mirror y → −y.
    """

    name: str
    primitive: str
    parent: str | None
    pose: Pose
    joint: Joint | None
    motor: Motor | None
    solids: tuple[Solid, ...]
    sites: tuple[Site, ...] = ()
    contacts: tuple[ContactPoint, ...] = ()
    thrusters: tuple[Thruster, ...] = ()
    mirrored: bool = False


@dataclass(frozen=True)
class RobotTree:
    """A robot: its parameters and its bodies in MuJoCo's order (depth first, parents before).

    Attributes:
        name: the robot's.
        parameters: every parameter.
        links: the bodies.
        population: whose structural trends hold, if any.
        sensors: what measures it.
        overridden: names of the parameters that overrides state.
        excluded: pairs of links that do not collide, beside those that touch at their joints.
    """

    name: str
    parameters: ParameterTable
    links: tuple[Link, ...]
    population: str | None = None
    sensors: tuple[Any, ...] = ()
    overridden: tuple[str, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()

    def __hash__(self) -> int:
        """Hash once: a tree is the key of caches."""
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle what it states, not what is kept with it (`memo`)."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.name, self.parameters, self.links, self.population, self.sensors))

    @functools.cached_property
    def meshes(self) -> tuple[Solid, ...]:
        """The solids that are meshes, in MuJoCo's order."""
        return tuple(s for link in self.links for s in link.solids if s.shape == "mesh")

    def resolve(self, design: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return every parameter's value at a design."""
        return self.parameters.resolve(design)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Joints in MuJoCo's order."""
        return tuple(link.joint for link in self.links if link.joint)

    @property
    def site_names(self) -> tuple[str, ...]:
        """Sites, contact points and thrusters: everything that is a site in MuJoCo's order."""
        return tuple(
            item.name
            for link in self.links
            for item in (*link.sites, *link.contacts, *link.thrusters)
        )

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Actuators in MuJoCo's order: motors and thrusters, body by body."""
        names: list[str] = []
        for link in self.links:
            names += [link.motor.name] if link.motor else []
            names += [thruster.name for thruster in link.thrusters]
        return tuple(names)

"""The fields of joints, geometry and actuators of all bodies of a tree at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from draft_core import rotations
from draft_core.bodies import Solids
from draft_core.errors import DraftError
from draft_core.frames import AXIAL_MIRROR, VECTOR_MIRROR, Directions, Frames
from draft_core.namespace import is_traced, namespace, replaced
from draft_core.register import Numbers, Register
from draft_core.stated import Vector
from draft_core.tree import Joint, Link, RobotTree

GEOM_FRICTION = (1.0, 0.005, 0.0001)  # sliding, torsional, rolling; where no contact point is
MIN_SIZE = 1e-12  # of a solid [m]; what MuJoCo divides by is at least 1e-15
_COORDINATES = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}
_LOSSES = ("armature", "damping", "frictionloss")


class Intervals:
    """The least and most of something, row by row; those that are stated ascend."""

    def __init__(
        self,
        places: Sequence[Sequence[int]],
        stated: Mapping[int, Vector],
        factors: Sequence[Sequence[float]] | None = None,
    ):
        """Keep where the two ends are.

        Args:
            places: of the ends, (n, 2).
            stated: what states both ends of a row.
            factors: of the ends, (n, 2); None for 1.
        """
        self._places = np.array(places, dtype=int).reshape(-1, 2)
        self._factors = np.array(factors, dtype=float).reshape(-1, 2) if factors else 1.0
        self._rows = np.array([*stated], dtype=int)
        self._stated = stated

    def at(self, numbers: Numbers) -> Float[Any, "n 2"]:
        """Return the intervals.

        Raises:
            DraftError: a known one does not ascend.
        """
        rows = self._rows[numbers.known_rows(self._places[self._rows])]
        ends = numbers.known[self._places[rows]]
        for row, (low, high) in zip(rows, ends, strict=True):
            if not low < high:
                raise DraftError(
                    f"{self._stated[row].where} is [{low:g}, {high:g}]; "
                    "the first must be less than the second."
                )
        return numbers(self._places) * self._factors

    def begin_at_zero(self, numbers: Numbers, rows: Sequence[int]) -> None:
        """Check that the known ones of some rows begin at 0.

        Raises:
            DraftError: one does not.
        """
        for row in rows:
            place = self._places[row, :1]
            if len(numbers.known_rows(place[None])) and numbers.known[place[0]] != 0:
                raise DraftError(
                    f"{self._stated[row].where} begins at {numbers.known[place[0]]:g}; "
                    "a ball's range begins at 0."
                )


class Joints:
    """The fields jnt_*, dof_* and qpos*."""

    def __init__(self, register: Register, tree: RobotTree):
        """Register what the joints state.

        Raises:
            DraftError: a constant breaks its rule.
        """
        rows = [(i, link, link.joint) for i, link in enumerate(tree.links) if link.joint]
        joints = [joint for _, _, joint in rows]
        axes = {row: joint.axis for row, joint in enumerate(joints) if joint.axis}
        self._axial = np.array([*axes], dtype=int)
        self._axes = Directions.of(register, [*axes.values()], rotations.normalize)
        self._up = np.tile((0.0, 0.0, 1.0), (len(rows), 1))
        self._mirror = np.array([_axis_mirror(rows[i][1], rows[i][2]) for i in axes]).reshape(-1, 3)
        ranges = {row: joint.range for row, joint in enumerate(joints) if joint.range}
        places = [register.vector(joint.range, (0.0, 0.0)) for joint in joints]
        self._range = Intervals(places, ranges)
        self._balls = [row for row in ranges if joints[row].type == "ball"]
        limits = [_own_torque(link) for _, link, _ in rows]
        torques = [register.vector(limit, (0.0,)) * 2 for limit in limits]
        self._torque = Intervals(torques, {}, [(-1.0, 1.0)] * len(rows))
        self._stiffness = np.array([register.scalar(j.stiffness) for j in joints], dtype=int)
        dofs = np.array([joint.dofs for joint in joints], dtype=int)
        self._losses = {
            f"dof_{key}": np.repeat(
                np.array([register.scalar(getattr(j, key)) for j in joints], dtype=int), dofs
            )
            for key in _LOSSES
        }
        widths = [_COORDINATES[joint.type] for joint in joints]
        first = np.cumsum([0, *widths])
        free = [row for row, joint in enumerate(joints) if joint.type == "free"]
        self._free_links = np.array([rows[row][0] for row in free], dtype=int)
        self._free = np.array([first[row] + np.arange(7) for row in free], dtype=int).ravel()
        self._home = np.zeros(first[-1])
        self._home[[first[row] for row in range(len(rows)) if joints[row].type == "ball"]] = 1.0
        springs = [
            [register.scalar(None, value) for value in rotations.IDENTITY]
            if joint.type == "ball"
            else [register.scalar(joint.springref)] * width
            for joint, width in zip(joints, widths, strict=True)
        ]
        self._spring = np.array([place for places in springs for place in places], dtype=int)

    def at(self, numbers: Numbers, links: Frames) -> dict[str, Any]:
        """Return the fields.

        Args:
            numbers: of the register.
            links: the links' frames, where free joints rest.

        Raises:
            DraftError: an axis is zero or a range does not ascend.
        """
        self._range.begin_at_zero(numbers, self._balls)
        pose = self._free_links, links
        return {
            "jnt_axis": replaced(self._up, self._axial, self._axes.at(numbers) * self._mirror),
            "jnt_range": self._range.at(numbers),
            "jnt_actfrcrange": self._torque.at(numbers),
            "jnt_stiffness": numbers(self._stiffness),
            **{key: numbers(places) for key, places in self._losses.items()},
            "qpos0": self._at_home(self._home, *pose),
            "qpos_spring": self._at_home(numbers(self._spring), *pose),
        }

    def _at_home(self, coordinates: Any, free: np.ndarray, links: Frames) -> Any:
        """Return coordinates with those of free joints at their links' poses."""
        if not len(free):
            return coordinates
        xp = namespace(links.pos, links.quat)
        pose = xp.concatenate([links.pos[free], links.quat[free]], axis=1)
        return replaced(coordinates, self._free, pose.reshape(-1))


def _axis_mirror(link: Link, joint: Joint) -> tuple[float, ...]:
    if not link.mirrored:
        return (1.0, 1.0, 1.0)
    return AXIAL_MIRROR if joint.type == "hinge" else VECTOR_MIRROR


def _own_torque(link: Link) -> Vector | None:
    """Return the torque that bounds a joint with a motor class; None for no bound."""
    return link.motor.limit if link.motor and link.motor.kind else None


class Geoms:
    """The fields geom_* of the solids of a plain shape."""

    def __init__(self, register: Register, tree: RobotTree, solids: Solids):
        """Register sizes and friction.

        Raises:
            DraftError: a constant breaks its rule.
        """
        geoms = [solids.each[i] for i in solids.geoms]
        self._frame = np.searchsorted(solids.placed, solids.geoms)
        self._names = [solid.name for solid in geoms]
        zero = register.scalar(None)
        sizes = [[*register.vector(solid.size), zero, zero][:3] for solid in geoms]
        self._size = np.array(sizes, dtype=int).reshape(-1, 3)
        self._sized = self._size != zero
        shapes = [str(solid.shape) for solid in geoms]
        self._factor = np.array([_HALVED[shape] for shape in shapes]).reshape(-1, 3)
        extents = [_EXTENTS[shape] for shape in shapes]
        self._extents = np.arange(len(geoms))[:, None], np.array(extents, int).reshape(-1, 3)
        self._capsules = np.flatnonzero([shape == "capsule" for shape in shapes])
        self._corners = np.flatnonzero([shape in ("box", "cylinder") for shape in shapes])
        self._friction = self._frictions(register, tree, solids)

    def _frictions(self, register: Register, tree: RobotTree, solids: Solids) -> np.ndarray:
        """Return the places of each geom's friction at each contact point of its link.

        Links of fewer points repeat one, (points, geoms, 3).
        """
        rest = [register.scalar(None, value) for value in GEOM_FRICTION]
        links: list[list[int]] = []
        for link in tree.links:
            own = [register.scalar(contact.friction) for contact in link.contacts]
            links.append([*dict.fromkeys(own)] or rest[:1])
        most = max((len(places) for places in links), default=1)
        rows = [[*places, *places[:1] * most][:most] for places in links]
        sliding = np.array(rows, dtype=int)[solids.owner[solids.geoms]]
        rolling = (np.full_like(sliding.T, place) for place in rest[1:])
        found = np.stack([sliding.T, *rolling], axis=2)
        for geom, i in enumerate(solids.geoms):
            friction = solids.each[i].friction
            if friction is not None:  # a module's own
                found[:, geom] = register.vector(friction)
        return found

    def at(self, numbers: Numbers, frames: Frames) -> dict[str, Any]:
        """Return the fields.

        Args:
            numbers: of the register.
            frames: of the placed solids.

        Raises:
            DraftError: a solid is smaller than MuJoCo can tell from nothing.
        """
        size = numbers(self._size) * self._factor
        self._check(size)
        return {
            "geom_pos": frames.pos[self._frame],
            "geom_quat": frames.quat[self._frame],
            "geom_size": size,
            "geom_rbound": self._radius(size),
            "geom_aabb": self._box(size),
            "geom_friction": self._slide(numbers),
        }

    def _check(self, size: Float[Any, "n 3"]) -> None:
        if is_traced(size):
            return
        small = np.flatnonzero((np.asarray(size) < MIN_SIZE)[self._sized])
        if len(small):
            row = np.argwhere(self._sized)[small[0]]
            raise DraftError(
                f"tree.yaml, solid {self._names[row[0]]!r} has a size of "
                f"{float(size[row[0], row[1]]):g} m; it must be at least {MIN_SIZE:g} m."
            )

    def _radius(self, size: Float[Any, "n 3"]) -> Float[Any, " n"]:
        """Return the radius of the ball around each geom."""
        radius = size[:, 0] + size[:, 1]  # of capsules, and of spheres, whose second is 0
        if not len(self._corners):
            return radius
        cornered = size[self._corners]
        square = (cornered * cornered).sum(axis=1)
        return replaced(radius, self._corners, namespace(square).sqrt(square))

    def _box(self, size: Float[Any, "n 3"]) -> Float[Any, "n 6"]:
        """Return centre and half extents of the box around each geom in its own frame."""
        extents = size[self._extents]
        if len(self._capsules):
            tall = size[self._capsules]
            tops = namespace(size).stack([tall[:, 0], tall[:, 0], tall[:, 0] + tall[:, 1]], axis=1)
            extents = replaced(extents, self._capsules, tops)
        return namespace(extents).concatenate([np.zeros(extents.shape), extents], axis=1)

    def _slide(self, numbers: Numbers) -> Float[Any, "n 3"]:
        """Return each geom's friction: the largest of its link's contact points."""
        result = numbers(self._friction[0])
        for places in self._friction[1:]:
            other = numbers(places)
            result = namespace(result, other).maximum(result, other)
        return result


# MuJoCo's sizes are halves, but for radii
_HALVED = {
    "box": (0.5, 0.5, 0.5),
    "cylinder": (1.0, 0.5, 1.0),
    "capsule": (1.0, 0.5, 1.0),
    "sphere": (1.0, 1.0, 1.0),
}
# which of MuJoCo's sizes is half the extent along x, y and z
_EXTENTS = {"box": (0, 1, 2), "cylinder": (0, 0, 1), "capsule": (0, 0, 1), "sphere": (0, 0, 0)}


class Actuators:
    """The fields actuator_*: of motors and thrusters, body by body."""

    def __init__(self, register: Register, tree: RobotTree):
        """Register gears and limits.

        Raises:
            DraftError: a constant breaks its rule.
        """
        zero, one = register.scalar(None), register.scalar(None, 1.0)
        gears: list[list[int]] = []
        signs: list[float] = []
        limits: list[tuple[Vector, bool]] = []
        for link in tree.links:
            if link.motor:
                gears.append([register.scalar(link.motor.gear, 1.0), *[zero] * 5])
                limits.append((link.motor.limit, True))
                signs.append(1.0)
            for thruster in link.thrusters:
                gears.append([zero, zero, one, zero, zero, register.scalar(thruster.drag)])
                limits.append((thruster.limit, False))
                signs.append(-1.0 if link.mirrored else 1.0)
        self._gear = np.array(gears, dtype=int).reshape(-1, 6)
        self._spin = np.ones((len(gears), 6))
        self._spin[:, 5] = signs  # a mirrored thruster spins the other way
        both = {i: limit for i, (limit, _) in enumerate(limits) if limit.sizes == (2,)}
        places, factors = [], []
        for limit, both_ways in limits:
            ends = register.vector(limit)
            one_number = len(ends) == 1
            least = (ends if both_ways else [zero]) if one_number else []
            places.append([*least, *ends])
            factors.append((-1.0, 1.0) if one_number and both_ways else (1.0, 1.0))
        self._limit = Intervals(places, both, factors)

    def at(self, numbers: Numbers) -> dict[str, Any]:
        """Return the fields.

        Raises:
            DraftError: a limit does not ascend.
        """
        gear = numbers(self._gear) * self._spin
        return {"actuator_gear": gear, "actuator_ctrlrange": self.limits(numbers)}

    def limits(self, numbers: Numbers) -> Float[Any, "nu 2"]:
        """Return the least and most control of every actuator [N m] or [N].

        Raises:
            DraftError: one does not ascend.
        """
        return self._limit.at(numbers)

"""Frames of many poses at once; an orientation that follows no parameter is worked out once.

A pose is a position p, a turn R and a shift s along the turned z axis: x ↦ p + s R e_z + R x. Seen
in the mirror S = diag(1, −1, 1), it has S p and S R S, and its shift stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from draft_core import rotations
from draft_core.errors import DraftError
from draft_core.namespace import replaced
from draft_core.register import Numbers, Register
from draft_core.stated import Vector
from draft_core.tree import Pose

VECTOR_MIRROR = (1.0, -1.0, 1.0)
AXIAL_MIRROR = (-1.0, 1.0, -1.0)
_ORIGIN = (0.0, 0.0, 0.0)
_TURNS: dict[str, Callable[[Any], Any]] = {
    "euler": rotations.from_euler,
    "axis": rotations.from_z_axis,
    "quat": rotations.normalize,
}


class Frames(NamedTuple):
    """Frames, each in its parent's.

    Attributes:
        pos: position (n, 3) [m].
        quat: orientation (n, 4).
        turn: the same as a matrix (n, 3, 3).
    """

    pos: Float[Any, "n 3"]
    quat: Float[Any, "n 4"]
    turn: Float[Any, "n 3 3"]


@dataclass(frozen=True)
class Directions:
    """A function of stated vectors, row by row; those that are constant are evaluated once.

    Attributes:
        function: of vectors (m, k), their values (m, ·).
        vectors: what states them; for messages.
        places: of their numbers (n, k).
        constant: values of those that follow no parameter (n, ·).
        rows: the others.
        is_direction: whether a vector must not be zero.
    """

    function: Callable[[Any], Any]
    vectors: tuple[Vector, ...]
    places: Int[np.ndarray, "n k"]
    constant: Float[np.ndarray, "n c"]
    rows: Int[np.ndarray, " r"]
    is_direction: bool

    @staticmethod
    def of(
        register: Register,
        vectors: Sequence[Vector],
        function: Callable[[Any], Any],
        is_direction: bool = True,
    ) -> "Directions":
        """Register the vectors and evaluate the constant ones.

        Raises:
            DraftError: a constant one is zero or breaks its rule.
        """
        width = vectors[0].sizes[0] if vectors else 3
        places = np.array([register.vector(v) for v in vectors], dtype=int).reshape(-1, width)
        values = register.constants(places)
        still = ~np.isnan(values).any(axis=1)
        if is_direction:
            _non_zero(values[still], [vectors[int(i)] for i in np.flatnonzero(still)])
        found = function(values[still])
        constant = np.zeros((len(places), found.shape[1]))
        constant[still] = found
        constant.setflags(write=False)  # shared by all designs
        return Directions(
            function, tuple(vectors), places, constant, np.flatnonzero(~still), is_direction
        )

    def at(self, numbers: Numbers) -> Any:
        """Return the values (n, ·).

        Raises:
            DraftError: one that must have a direction is zero.
        """
        if not len(self.rows):
            return self.constant
        places = self.places[self.rows]
        if self.is_direction:
            rows = numbers.known_rows(places)
            _non_zero(numbers.known[places[rows]], [self.vectors[self.rows[i]] for i in rows])
        return replaced(self.constant, self.rows, self.function(numbers(places)))


def _non_zero(values: Float[np.ndarray, "n k"], stated: Sequence[Vector]) -> None:
    short = np.flatnonzero(~((values * values).sum(axis=1) > 1e-20))
    if len(short):
        raise DraftError(f"{stated[short[0]].where} is zero; it must have a direction.")


class Orientations:
    """Orientations of many poses."""

    def __init__(self, register: Register, poses: Sequence[tuple[Pose, bool]]):
        """Register the turns of poses, each seen in the mirror or not.

        Raises:
            DraftError: a constant one has no direction or breaks its rule.
        """
        self._still = np.tile(rotations.IDENTITY, (len(poses), 1))
        self._groups: list[tuple[Int[np.ndarray, " r"], Directions]] = []
        for kind, function in _TURNS.items():
            rows = [i for i, (pose, _) in enumerate(poses) if pose.turn and pose.kind == kind]
            turns = [turn for i in rows if (turn := poses[i][0].turn)]
            if rows:
                group = Directions.of(register, turns, function, kind != "euler")
                self._still[rows] = group.constant
                self._groups.append((np.array(rows), group))
        self._mirror = _signs(rotations.MIRROR, [seen for _, seen in poses])
        self.is_constant = not any(len(group.rows) for _, group in self._groups)
        if self.is_constant:
            self._constant = self._mirrored(self._still)
            for shared in self._constant:
                shared.setflags(write=False)

    def at(self, numbers: Numbers) -> tuple[Float[Any, "n 4"], Float[Any, "n 3 3"]]:
        """Return quaternions and matrices."""
        if self.is_constant:
            return self._constant
        quat: Any = self._still
        for rows, group in self._groups:
            if len(group.rows):
                quat = replaced(quat, rows, group.at(numbers))
        return self._mirrored(quat)

    def _mirrored(self, quat: Any) -> tuple[Any, Any]:
        quat = quat * self._mirror
        return quat, rotations.rotation(quat)


class Poses:
    """Frames of many poses, as functions of the numbers of a register."""

    def __init__(self, register: Register, poses: Sequence[tuple[Pose, bool]]):
        """Register the poses, each seen in the mirror or not.

        Raises:
            DraftError: a constant of one breaks its rule.
        """
        places = [register.vector(pose.pos, _ORIGIN) for pose, _ in poses]
        self._pos = np.array(places, dtype=int).reshape(-1, 3)
        self.orientations = Orientations(register, poses)
        shifts = [(i, pose.shift) for i, (pose, _) in enumerate(poses) if pose.shift]
        self._shifted = np.array([i for i, _ in shifts], dtype=int)
        self._shift = np.array([register.scalar(shift) for _, shift in shifts], dtype=int)
        self._mirror = _signs(VECTOR_MIRROR, [seen for _, seen in poses])

    def at(self, numbers: Numbers) -> Frames:
        """Return the frames."""
        pos = numbers(self._pos) * self._mirror
        quat, turn = self.orientations.at(numbers)
        if len(self._shifted):
            rows = self._shifted
            step = numbers(self._shift)[:, None] * turn[rows, :, 2]
            pos = replaced(pos, rows, pos[rows] + step)
        return Frames(pos, quat, turn)


class NestedPoses:
    """Frames of poses, some of which are stated in a frame that is itself a pose."""

    def __init__(
        self,
        register: Register,
        poses: Sequence[tuple[Pose, bool]],
        within: Sequence[Pose | None],
    ):
        """Register the poses, each seen in the mirror or not, and what each is stated in.

        Raises:
            DraftError: a constant of one breaks its rule.
        """
        self._inner = Poses(register, poses)
        self._rows = np.array([i for i, pose in enumerate(within) if pose], dtype=int)
        around = [(pose, poses[i][1]) for i, pose in enumerate(within) if pose]
        self._outer = Poses(register, around)
        both = (self._outer.orientations, self._inner.orientations)
        self._constant = None
        if all(orientations.is_constant for orientations in both):
            self._constant = self._chained(*(o.at(_NOTHING) for o in both))

    def at(self, numbers: Numbers) -> Frames:
        """Return the frames."""
        inner = self._inner.at(numbers)
        if not len(self._rows):
            return inner
        outer = self._outer.at(numbers)
        pos = outer.pos + rotations.turned(outer.turn, inner.pos[self._rows])
        turns = self._constant or self._chained(outer[1:], inner[1:])
        return Frames(replaced(inner.pos, self._rows, pos), *turns)

    def _chained(self, outer: tuple[Any, ...], inner: tuple[Any, ...]) -> tuple[Any, Any]:
        rows, (quat, turn) = self._rows, inner
        return (
            replaced(quat, rows, rotations.multiply(outer[0], quat[rows])),
            replaced(turn, rows, outer[1] @ turn[rows]),
        )


_NOTHING = Numbers(np.zeros(0))


def _signs(mirror: Any, seen: Sequence[bool]) -> Float[np.ndarray, "n k"]:
    """Return the factors of rows seen in a mirror or not."""
    return np.where(np.array(seen, dtype=bool)[:, None], np.array(mirror), 1.0)

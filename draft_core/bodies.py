"""The mass properties of all bodies of a tree at once: solids in groups of a kind, then bodies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from draft_core import inertia
from draft_core.errors import DraftError
from draft_core.frames import Frames, NestedPoses
from draft_core.meshes import mesh_body, mesh_vertices
from draft_core.namespace import is_traced, joined, stack
from draft_core.register import Numbers, Register
from draft_core.rotations import IDENTITY
from draft_core.stated import MAX_MAGNITUDE, Environment, Vector
from draft_core.tree import Pose, RobotTree, Solid

MIN_MASS = 1e-14  # [kg] and [kg m²]: MuJoCo refuses a moving body below 1e-15
_WORLD = inertia.RigidBody(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3, 3)))
_WORLD_AXES = np.zeros((1, 3)), np.array([IDENTITY])
_NO_KIND = np.zeros(0), np.zeros((0, 3))


class Solids:
    """Every solid of a tree, in order.

    Attributes:
        owner: the link of each, from 0 (n,).
        each: the solids.
        placed: those that have a frame of their own: all but meshes.
        geoms: those that are geometry of the optimiser's model: plain shapes.
        heavy: those that have mass.
    """

    def __init__(self, register: Register, tree: RobotTree):
        """Register where they are.

        Raises:
            DraftError: a constant breaks its rule.
        """
        every = [(i, solid) for i, link in enumerate(tree.links) for solid in link.solids]
        self.owner = np.array([i for i, _ in every], dtype=int)
        self.each = tuple(solid for _, solid in every)
        has_size = np.array([s.shape is not None and s.size is not None for s in self.each], bool)
        is_mesh = np.array([s.mesh is not None for s in self.each], dtype=bool)
        self.heavy = np.flatnonzero([not s.is_massless for s in self.each])
        self.geoms = np.flatnonzero(has_size)
        self.placed = np.flatnonzero(~is_mesh)
        placed = [self.each[i] for i in self.placed]
        poses: list[tuple[Pose, bool]] = [(solid.pose, solid.mirrored) for solid in placed]
        self._poses = NestedPoses(register, poses, [solid.within for solid in placed])

    def frames(self, numbers: Numbers) -> Frames:
        """Return the frames of the placed solids in their bodies."""
        return self._poses.at(numbers)


class Bodies:
    """Mass, centre, principal axes and tensor of every body, as functions of the numbers.

    The solids with mass, here `parts`, are in the order of their kinds; meshes come last.
    """

    def __init__(self, register: Register, tree: RobotTree, solids: Solids):
        """Register what the solids state.

        Raises:
            DraftError: a constant breaks its rule, or a body has no mass.
        """
        self._names = [link.name for link in tree.links]
        plain = {int(i): s for i in solids.heavy if (s := solids.each[i]).mesh is None}
        self._kinds = _kinds(register, plain)
        rows = np.array([i for kind in self._kinds for i in kind.rows], dtype=int)
        self._frame = np.searchsorted(solids.placed, rows)
        meshes = {int(i): s for i in solids.heavy if (s := solids.each[i]).mesh is not None}
        self._meshes = tuple(meshes.values())
        rows = np.array([*rows, *meshes], dtype=int)
        self._solid_names = [solids.each[i].name for i in rows]
        self._solid_order = np.zeros(len(solids.each), dtype=int)  # 0 for those without mass
        self._solid_order[rows] = np.arange(1, len(rows) + 1)
        self._composition(solids.owner[rows])

    def _composition(self, owner: Int[np.ndarray, " parts"]) -> None:
        """Tell the bodies of one part from those of several, and where each one's numbers are."""
        n, parts, plain = len(self._names), len(owner), len(owner) - len(self._meshes)
        count = np.bincount(owner, minlength=n)
        if not count.all():
            raise self._too_light(int(np.argmin(count)), 0.0, 0.0)
        alone = np.flatnonzero(count[owner] == 1)
        self._several = np.flatnonzero(count[owner] > 1)
        composed, self._part_of = np.unique(owner[self._several], return_inverse=True)
        # among the world's, those of parts, and those of composed bodies
        self._order = np.zeros(n + 1, dtype=int)
        self._order[owner[alone] + 1] = 1 + alone
        self._order[composed + 1] = 1 + parts + np.arange(len(composed))
        # principal axes: among the world's, those of plain parts, and those to be found
        self._skew = np.array([*composed, *owner[alone[alone >= plain]]], dtype=int) + 1
        self._axes_order = self._order.copy()
        self._axes_order[self._skew] = 1 + plain + np.arange(len(self._skew))

    def at(self, numbers: Numbers, env: Environment, frames: Frames) -> dict[str, Any]:
        """Return the fields body_* that follow from solids, and solid_mass.

        Args:
            numbers: of the register.
            env: every parameter's value.
            frames: of the placed solids.

        Raises:
            DraftError: a mesh or stated moments cannot be, or a body is too light or too heavy.
        """
        vertices = [mesh_vertices(mesh, env) for mesh in self._meshes]
        part, moments, quat = self._parts(numbers, env, frames, vertices)
        groups = [_WORLD, part]
        if len(self._several):
            several = inertia.RigidBody(*(item[self._several] for item in part))
            groups.append(inertia.compose(several, self._part_of))
        mass, center, tensor = (joined(*x)[self._order] for x in zip(*groups, strict=True))
        axes = [_WORLD_AXES, (moments, quat)]
        if len(self._skew):
            axes.append(inertia.principal_axes(tensor[self._skew]))
        moments, quat = (joined(*x)[self._axes_order] for x in zip(*axes, strict=True))
        self._possible_masses(part.mass, mass, moments)
        return {
            "body_mass": mass,
            "body_ipos": center,
            "body_iquat": quat,
            "body_inertia": moments,
            "body_fullinertia": tensor,
            "solid_mass": joined(_WORLD.mass, part.mass)[self._solid_order],
            "trunk_vertices": vertices[0] if vertices else np.zeros((0, 3)),
        }

    def _parts(
        self, numbers: Numbers, env: Environment, frames: Frames, vertices: Sequence[Any]
    ) -> tuple[inertia.RigidBody, Float[Any, "plain 3"], Float[Any, "plain 4"]]:
        """Return the parts, and moments and principal axes of those that are no meshes."""
        pos, quat, turn = (item[self._frame] for item in frames)
        kinds = [kind.at(numbers) for kind in self._kinds] or [_NO_KIND]
        mass, moments = (joined(*items) for items in zip(*kinds, strict=True))
        parts = [inertia.RigidBody(mass, pos, inertia.tensor(moments, turn))]
        for mesh, corners in zip(self._meshes, vertices, strict=True):
            parts.append(inertia.RigidBody(*(stack([x]) for x in mesh_body(mesh, env, corners))))
        return inertia.RigidBody(*(joined(*x) for x in zip(*parts, strict=True))), moments, quat

    def _possible_masses(self, part: Any, mass: Any, moments: Any) -> None:
        """Hold what follows from sizes to the rules of what is stated.

        Raises:
            DraftError: a solid has no mass, or a body too little or too much.
        """
        if is_traced(part) or is_traced(mass) or is_traced(moments):
            return
        part, mass, moments = (np.asarray(item) for item in (part, mass[1:], moments[1:]))
        light = np.flatnonzero(~(part > 0))
        if len(light):
            raise DraftError(
                f"tree.yaml, solid {self._solid_names[light[0]]!r} has mass "
                f"{part[light[0]]:g} kg by its size and density; it must be greater than 0."
            )
        least, most = moments.min(axis=1), moments.max(axis=1)
        light = np.flatnonzero(~(np.minimum(mass, least) >= MIN_MASS))
        if len(light):
            raise self._too_light(int(light[0]), float(mass[light[0]]), float(least[light[0]]))
        heavy = np.flatnonzero(~(np.maximum(mass, most) <= MAX_MAGNITUDE))
        if len(heavy):
            raise DraftError(
                f"tree.yaml, node {self._names[heavy[0]]!r} has mass {mass[heavy[0]]:g} kg and "
                f"greatest moment {most[heavy[0]]:g} kg m^2; both must be at most "
                f"{MAX_MAGNITUDE:g}."
            )

    def _too_light(self, link: int, mass: float, moment: float) -> DraftError:
        return DraftError(
            f"tree.yaml, node {self._names[link]!r} has mass {mass:g} kg and least moment "
            f"{moment:g} kg m^2; both must be at least {MIN_MASS:g}."
        )


@dataclass(frozen=True)
class _Kind:
    """Solids whose mass and moments follow in the same way from what is stated.

    Attributes:
        rows: which of the solids with mass (k,).
        shape: None where mass and moments are stated.
        size: places of the sizes (k, ·).
        mass: places of the masses (k,), or of the densities.
        is_density: which.
        moments: places of the principal moments (k, 3); no rows where they follow from the shape.
        stated: what states them.
    """

    rows: Int[np.ndarray, " k"]
    shape: str | None
    size: Int[np.ndarray, "k s"]
    mass: Int[np.ndarray, " k"]
    is_density: bool
    moments: Int[np.ndarray, "j 3"]
    stated: tuple[Vector, ...]

    def at(self, numbers: Numbers) -> tuple[Float[Any, " k"], Float[Any, "k 3"]]:
        """Return masses [kg] and principal moments [kg m²].

        Raises:
            DraftError: stated moments are those of no body.
        """
        mass, per_mass = numbers(self.mass), None
        if self.shape is not None:
            size = numbers(self.size)
            volume, per_mass = inertia.solid_properties(self.shape, list(size.T))
            mass = mass * volume if self.is_density else mass
        if not self.stated:
            return mass, mass[:, None] * per_mass
        rows = numbers.known_rows(self.moments)
        _possible(numbers.known[self.moments[rows]], [self.stated[i] for i in rows])
        return mass, numbers(self.moments)


def _kinds(register: Register, solids: dict[int, Solid]) -> tuple[_Kind, ...]:
    """Register what solids state of their mass, and sort them into kinds."""
    groups: dict[tuple[str | None, bool, bool], list[tuple[int, Solid]]] = {}
    for row, solid in solids.items():
        shape = solid.shape if solid.size is not None else None
        key = (shape, solid.mass is None, solid.inertia is not None)
        groups.setdefault(key, []).append((row, solid))
    return tuple(_kind(register, key, rows) for key, rows in groups.items())


def _kind(
    register: Register, key: tuple[str | None, bool, bool], rows: list[tuple[int, Solid]]
) -> _Kind:
    shape, is_density, _ = key
    solids = [solid for _, solid in rows]
    stated = tuple(s.inertia for s in solids if s.inertia is not None)
    return _Kind(
        rows=np.array([row for row, _ in rows], dtype=int),
        shape=shape,
        size=np.array([register.vector(s.size) for s in solids], dtype=int),
        mass=np.array([register.scalar(s.mass or s.density) for s in solids], dtype=int),
        is_density=is_density,
        moments=np.array([register.vector(v) for v in stated], dtype=int).reshape(-1, 3),
        stated=stated,
    )


def _possible(moments: Float[np.ndarray, "k 3"], stated: Sequence[Vector]) -> None:
    """Refuse principal moments that no mass distribution has: each is at most the others' sum."""
    least = np.sort(moments, axis=1)
    wrong = np.flatnonzero(least[:, 0] + least[:, 1] < least[:, 2] * (1 - 1e-12))
    if len(wrong):
        a, b, c = least[wrong[0]]
        raise DraftError(
            f"{stated[wrong[0]].where} has moments {a:g}, {b:g} and {c:g}; no body has one above "
            f"the sum of the others, so the largest may be {a + b:g}."
        )

"""A robot at one design as the gates see it: every solid placed at the reference pose.

It is made of the same numbers as the model (`quantities`), so a gate judges what is simulated.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from draft_core import rotations
from draft_core.derived import body_frames, structure
from draft_core.inertia import SOLIDS
from draft_core.memo import once_per_tree
from draft_core.motors import MotorClass
from draft_core.namespace import namespace, stack
from draft_core.quantities import quantities
from draft_core.tree import Link, RobotTree, Solid


@dataclass(frozen=True)
class Parts:
    """The static side: which solids there are and whose.

    Attributes:
        solids: every solid with a plain shape (geom order).
        links: the link of each.
        body: the body of each, MuJoCo's number.
        index: the place of each among all solids of the tree, for ``solid_mass``.
        trunk: the root's lofted mesh, if it has one.
        motors: the motor classes that joints use, by key.
        drives: joints driven by a motor class that is a solid of its own: (link, class).
    """

    solids: tuple[Solid, ...]
    links: tuple[Link, ...]
    body: Int[np.ndarray, " n"]
    index: Int[np.ndarray, " n"]
    trunk: Solid | None
    motors: Mapping[str, MotorClass]
    drives: tuple[tuple[Link, MotorClass], ...]


@once_per_tree
def parts(tree: RobotTree) -> Parts:
    """Return the solids and motors of a tree, the same at every design."""
    every = [
        (body, link, solid)
        for body, link in enumerate(tree.links, start=1)
        for solid in link.solids
    ]
    plain = [(i, *item) for i, item in enumerate(every) if item[2].shape and item[2].size]
    driven = [(x, x.motor, x.motor.kind) for x in tree.links if x.motor and x.motor.kind]
    drives = [(link, kind) for link, motor, kind in driven if motor.has_body]
    return Parts(
        solids=tuple(solid for *_, solid in plain),
        links=tuple(link for _, _, link, _ in plain),
        body=np.array([body for _, body, _, _ in plain], dtype=int),
        index=np.array([i for i, *_ in plain], dtype=int),
        trunk=next((s for s in tree.meshes if s.mesh is not None), None),
        motors={kind.key: kind for *_, kind in driven},
        drives=tuple(drives),
    )


@dataclass(frozen=True)
class Anatomy:
    """A robot at one design, all joints at zero, seen from its root.

    Attributes:
        tree: the robot.
        parts: its solids and motors; the arrays below have one row per ``parts.solids``.
        env: every parameter's value.
        fields: what `quantities` gives.
        pos: centre of each solid in the root's frame (n, 3) [m].
        turn: its axes there (n, 3, 3).
        mass: (n,) [kg].
        vertices: of the root's lofted mesh, in the root's frame (vertices, 3) [m]; or None.
    """

    tree: RobotTree
    parts: Parts
    env: Mapping[str, Any]
    fields: Mapping[str, Any]
    pos: Float[Any, "n 3"]
    turn: Float[Any, "n 3 3"]
    mass: Float[Any, " n"]
    vertices: Any

    def motor(self, key: str, field: str) -> Any:
        """Return one number of a motor class."""
        return self.env[f"{key}.{field}"]

    @functools.cached_property
    def volume(self) -> Float[Any, " n"]:
        """Volume of each solid (n,) [m³]."""
        sizes = [s.size.items(self.env) if s.size else [] for s in self.parts.solids]
        rows = zip(self.parts.solids, sizes, strict=True)
        return stack([SOLIDS[str(solid.shape)](size)[0] for solid, size in rows])

    @property
    def total_mass(self) -> Any:
        """Mass of the robot [kg]."""
        return self.fields["body_mass"].sum()


def anatomy(
    tree: RobotTree,
    env: Mapping[str, Any],
    fields: Mapping[str, Any] | None = None,
    frames: tuple[Any, Any] | None = None,
) -> Anatomy:
    """Return a robot at one design as the gates see it.

    Args:
        tree: the robot.
        env: every parameter's value, as `RobotTree.resolve` gives them.
        fields: what `quantities` gives there, if it is at hand.
        frames: what `body_frames` gives there, if it is at hand.
    """
    fields = quantities(tree, env) if fields is None else fields
    static = parts(tree)
    places, turns = body_frames(structure(tree), fields) if frames is None else frames
    xp = namespace(places, turns, fields["geom_pos"], fields["geom_quat"])
    # the root's own pose in the world is left out: gates see the robot, not where it stands
    back, body = turns[1].T, static.body
    turn = xp.einsum("ij,njk->nik", back, turns[body])
    return Anatomy(
        tree=tree,
        parts=static,
        env=env,
        fields=fields,
        pos=(places[body] - places[1]) @ turns[1]
        + xp.einsum("nij,nj->ni", turn, fields["geom_pos"]),
        turn=xp.einsum("nij,njk->nik", turn, rotations.rotation(fields["geom_quat"])),
        mass=fields["solid_mass"][static.index],
        vertices=fields["trunk_vertices"] if static.trunk else None,
    )

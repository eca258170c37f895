"""Fields that MuJoCo's compiler derives from the others, as functions of the design.

At the reference configuration q₀ every hinge and slide is at zero, so body poses compose from
the tree alone. With J_b the Jacobian of body b's centre of mass (angular Jʳ, linear Jᵖ),

    M = Σ_b m_b Jᵖᵀ Jᵖ + Jʳᵀ I_b Jʳ + diag(armature).

The rest follows MuJoCo's definitions (engine_setconst.c: set0 and setStat).
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from draft_core import rotations
from draft_core.errors import DraftError
from draft_core.memo import once_per_tree
from draft_core.namespace import joined, namespace, replaced
from draft_core.tree import JOINT_DOFS, RobotTree

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Structure:
    """What of a tree's topology the derived fields need, as constant arrays.

    Attributes:
        parent: body index of each body's parent (nbody,).
        joints: (body, type, first dof) of each joint.
        dof_body: body of each dof (nv,).
        moves: whether a dof moves a body (nbody, nv).
        geom_body: body of each geom (ngeom,).
        site_body: body of each site (nsite,).
        actuator: (first dof, None) of a motor, (None, site) of a thruster.
        above: whether a body is in the subtree of another (nbody, nbody).
    """

    parent: Int[np.ndarray, " nbody"]
    joints: tuple[tuple[int, str, int], ...]
    dof_body: Int[np.ndarray, " nv"]
    moves: Bool[np.ndarray, "nbody nv"]
    geom_body: Int[np.ndarray, " ngeom"]
    site_body: Int[np.ndarray, " nsite"]
    actuator: tuple[tuple[int | None, int | None], ...]
    above: Bool[np.ndarray, "nbody nbody"]

    @functools.cached_property
    def levels(self) -> list[tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]]:
        """Bodies by their distance from the world, and each one's parent in the level before."""
        depth = self.above.sum(axis=0) - 1
        place = np.zeros(len(depth), dtype=int)
        levels = []
        for level in range(1, int(depth.max()) + 1):
            bodies = np.flatnonzero(depth == level)
            place[bodies] = np.arange(len(bodies))
            levels.append((bodies, place[self.parent[bodies]]))
        return levels

    @functools.cached_property
    def joint_body(self) -> Int[np.ndarray, " njnt"]:
        """Body of each joint."""
        return np.array([body for body, _, _ in self.joints], dtype=int)

    @functools.cached_property
    def dofs(self) -> "Dofs":
        """How each dof moves."""
        return _dofs(self)

    @functools.cached_property
    def average(self) -> Float[np.ndarray, "nv nv"]:
        """Averages dofs' values over the three of a turn or a move."""
        average = np.zeros((len(self.dof_body), len(self.dof_body)))
        for _, kind, dof in self.joints:
            width = min(JOINT_DOFS[kind], 3)
            for first in range(dof, dof + JOINT_DOFS[kind], width):
                average[first : first + width, first : first + width] = 1 / width
        return average

    @functools.cached_property
    def near(self) -> Bool[np.ndarray, "nbody near"]:
        """Whether a joint, and after these a geom, is counted to a body's size."""
        bodies, owner = np.arange(len(self.parent))[:, None], self.joint_body
        joint_near = (bodies == owner) | (bodies == self.parent[owner])
        return np.concatenate([joint_near, bodies == self.geom_body], axis=1)

    @functools.cached_property
    def level_order(self) -> Int[np.ndarray, " nbody"]:
        """Where each body is when they are sorted by level."""
        return np.argsort(np.concatenate([[0], *(bodies for bodies, _ in self.levels)]))


class Dofs(NamedTuple):
    """How degrees of freedom move: about or along an axis of a body.

    Attributes:
        body: whose axis it is: the joint's, or the world's where a free joint moves (nv,).
        axis: in that body's frame, where it is no joint's own (nv, 3).
        stated: the dofs of hinges and slides, whose axes joints state.
        joint: the joints of these.
        turns: 1 for a dof that turns, 0 for one that moves (nv, 1).
    """

    body: Int[np.ndarray, " nv"]
    axis: Float[np.ndarray, "nv 3"]
    stated: Int[np.ndarray, " k"]
    joint: Int[np.ndarray, " k"]
    turns: Float[np.ndarray, "nv 1"]


def _dofs(shape: Structure) -> Dofs:
    rows: list[tuple[int, Any, bool]] = []
    for body, kind, _ in shape.joints:
        if kind == "free":
            rows += [(0, axis, False) for axis in np.eye(3)]
        if kind in ("free", "ball"):
            rows += [(body, axis, True) for axis in np.eye(3)]
        if kind in ("hinge", "slide"):
            rows.append((body, np.zeros(3), kind == "hinge"))
    own = [(dof, j) for j, (_, kind, dof) in enumerate(shape.joints) if kind in ("hinge", "slide")]
    return Dofs(
        np.array([body for body, _, _ in rows], dtype=int),
        np.array([axis for _, axis, _ in rows], dtype=float).reshape(-1, 3),
        np.array([dof for dof, _ in own], dtype=int),
        np.array([joint for _, joint in own], dtype=int),
        np.array([turns for _, _, turns in rows], dtype=float)[:, None],
    )


@once_per_tree
def structure(tree: RobotTree) -> Structure:
    """Return the constant arrays of a tree."""
    index = {link.name: i + 1 for i, link in enumerate(tree.links)}
    n = len(tree.links) + 1
    parent = np.array([0] + [index[link.parent] if link.parent else 0 for link in tree.links])
    above = np.eye(n, dtype=bool)
    for body in range(1, n):
        above[:, body] |= above[:, parent[body]]
    joints, dof_body, actuator, sites, geoms = [], [], [], [], []
    for body, link in enumerate(tree.links, start=1):
        if link.joint:
            joints.append((body, link.joint.type, len(dof_body)))
            if link.motor:
                actuator.append((len(dof_body), None))
            dof_body += [body] * link.joint.dofs
        geoms += [body for solid in link.solids if solid.shape and solid.size]
        first_thruster = len(sites) + len(link.sites) + len(link.contacts)
        actuator += [(None, first_thruster + i) for i in range(len(link.thrusters))]
        sites += [body] * (len(link.sites) + len(link.contacts) + len(link.thrusters))
    dofs = np.array(dof_body, dtype=int)
    return Structure(
        parent=parent,
        joints=tuple(joints),
        dof_body=dofs,
        moves=above[dofs].T if len(dofs) else np.zeros((n, 0), dtype=bool),
        geom_body=np.array(geoms, dtype=int),
        site_body=np.array(sites, dtype=int),
        actuator=tuple(actuator),
        above=above,
    )


class _Reference(NamedTuple):
    """World poses at q₀ and the dofs' motion there."""

    pos: Float[Any, "nbody 3"]
    turn: Float[Any, "nbody 3 3"]
    center: Float[Any, "nbody 3"]
    spin: Float[Any, "nv 3"]  # angular velocity per dof rate
    slide: Float[Any, "nv 3"]  # linear velocity of the anchor per dof rate
    anchor: Float[Any, "nv 3"]
    joint_anchor: Float[Any, "njnt 3"]


def derived(
    shape: Structure,
    simple: np.ndarray,
    fields: Mapping[str, Any],
    frames: tuple[Any, Any] | None = None,
) -> Arrays:
    """Return subtree masses, inverse weights, reference inertia and the model's statistics.

    Args:
        shape: topology.
        simple: MuJoCo's ``body_simple`` (nbody,); a 2 marks a lone sliding body, whose inverse
            weight MuJoCo takes as 1/m.
        fields: what `quantities` gives.
        frames: what `body_frames` gives, if it is at hand.
    """
    reference = _reference(shape, fields, frames or body_frames(shape, fields))
    jacobian = _jacobians(reference.center, shape.moves, reference)
    xp = namespace(
        jacobian, fields["body_mass"], fields["body_fullinertia"], fields["dof_armature"]
    )
    mass = _mass_matrix(xp, reference, jacobian, fields)
    nv = len(shape.dof_body)
    inverse = _inverse(xp, mass)
    diagonal = xp.diagonal(mass) if nv else np.zeros(0)
    return {
        "body_subtreemass": shape.above @ fields["body_mass"],
        "dof_M0": diagonal,
        "body_invweight0": _body_weights(xp, simple, jacobian, inverse, fields),
        "dof_invweight0": _dof_weights(xp, shape, simple, inverse, fields),
        "actuator_acc0": _accelerations(shape, reference, inverse, fields),
        "stat.meaninertia": diagonal.mean() if nv else 1.0,
        "stat.meanmass": fields["body_mass"][1:].mean(),
        **_extent(shape, reference, fields),
    }


def body_frames(
    shape: Structure, fields: Mapping[str, Any]
) -> tuple[Float[Any, "nbody 3"], Float[Any, "nbody 3 3"]]:
    """Return position [m] and orientation of each body in the world, all joints at zero."""
    pos, turn = fields["body_pos"], rotations.rotation(fields["body_quat"])
    places, turns = [pos[:1]], [turn[:1]]
    for bodies, parents in shape.levels:
        outer = turns[-1][parents]
        places.append(places[-1][parents] + rotations.turned(outer, pos[bodies]))
        turns.append(outer @ turn[bodies])
    return joined(*places)[shape.level_order], joined(*turns)[shape.level_order]


def _reference(shape: Structure, fields: Mapping[str, Any], frames: tuple[Any, Any]) -> _Reference:
    pos, turn = frames
    dofs = shape.dofs
    own = fields["jnt_axis"][dofs.joint]
    axis = rotations.turned(turn[dofs.body], replaced(dofs.axis, dofs.stated, own))
    return _Reference(
        pos=pos,
        turn=turn,
        center=pos + rotations.turned(turn, fields["body_ipos"]),
        spin=axis * dofs.turns,
        slide=axis * (1 - dofs.turns),
        anchor=pos[shape.dof_body],
        joint_anchor=pos[shape.joint_body],
    )


# ε_ijk, so that (s × r)_k = Σ s_i r_j ε_ijk
_CROSS = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _CROSS[_i, _j, _k], _CROSS[_j, _i, _k] = 1.0, -1.0


def _jacobians(
    points: Float[Any, "n 3"], moves: Bool[np.ndarray, "n nv"], reference: _Reference
) -> Float[Any, "nv n 6"]:
    """Return the Jacobians, linear then angular, of points moved by the given dofs."""
    offset = points[None, :, :] - reference.anchor[:, None, :]
    spin = reference.spin
    cross = (spin @ _CROSS.reshape(3, 9)).reshape(-1, 3, 3)
    linear = reference.slide[:, None, :] + offset @ cross
    xp = namespace(linear, spin)
    angular = xp.broadcast_to(spin[:, None, :], linear.shape)
    return xp.concatenate([linear, angular], axis=2) * moves.T[:, :, None]


def _mass_matrix(
    xp: Any, reference: _Reference, jacobian: Float[Any, "nv n 6"], fields: Mapping[str, Any]
) -> Float[Any, "nv nv"]:
    turn = reference.turn
    inertia = turn @ fields["body_fullinertia"] @ turn.swapaxes(-1, -2)
    linear, angular = jacobian[:, :, :3], jacobian[:, :, 3:]
    momentum = linear * fields["body_mass"][:, None]
    spin = (angular.swapaxes(0, 1) @ inertia).swapaxes(0, 1)
    change = xp.concatenate([momentum, spin], axis=2)
    return _rows(change) @ _rows(jacobian).T + fields["dof_armature"] * np.eye(len(jacobian))


def _rows(jacobian: Float[Any, "nv n 6"]) -> Float[Any, "nv m"]:
    """Return the Jacobians of n points side by side."""
    return jacobian.reshape(jacobian.shape[0], 6 * jacobian.shape[1])


def _inverse(xp: Any, mass: Float[Any, "nv nv"]) -> Float[Any, "nv nv"]:
    try:
        return xp.linalg.inv(mass) if len(mass) else np.zeros((0, 0))
    except np.linalg.LinAlgError:
        raise DraftError(
            "the robot's mass matrix is singular at its reference pose; its masses and lengths are "
            "too far apart."
        ) from None


def _body_weights(
    xp: Any,
    simple: np.ndarray,
    jacobian: Float[Any, "nv n 6"],
    inverse: Float[Any, "nv nv"],
    fields: Mapping[str, Any],
) -> Float[Any, "n 2"]:
    """Return the mean inverse inertia of each body's centre, translational and rotational."""
    flat = _rows(jacobian)
    each = (flat * (inverse @ flat)).sum(axis=0).reshape(-1, 2, 3).sum(axis=2) / 3
    if not (simple == 2).any():
        return each
    sliding = simple == 2
    move = xp.where(sliding, 1 / (fields["body_mass"] + ~sliding), each[:, 0])
    return xp.stack([move, xp.where(sliding, 0.0, each[:, 1])], axis=1)


def _dof_weights(
    xp: Any, shape: Structure, simple: np.ndarray, inverse: Any, fields: Mapping[str, Any]
) -> Float[Any, " nv"]:
    """Return the inverse inertia of each dof, averaged over the three of a turn or a move."""
    sliding = simple[shape.dof_body] == 2
    mass = fields["body_mass"][shape.dof_body] + ~sliding
    return xp.where(sliding, 1 / mass, shape.average @ xp.diagonal(inverse))


def _accelerations(
    shape: Structure, reference: _Reference, inverse: Any, fields: Mapping[str, Any]
) -> Float[Any, " nu"]:
    """Return ‖M⁻¹ Bᵢ‖ for each actuator's unit control, B its generalised force."""
    gear = fields["actuator_gear"]
    on_dof = {i: dof for i, (dof, _) in enumerate(shape.actuator) if dof is not None}
    on_site = {i: site for i, (_, site) in enumerate(shape.actuator) if site is not None}
    motors = np.array([*on_dof], dtype=int)
    force: Any = np.zeros((len(shape.actuator), len(shape.dof_body)))
    pull = gear[motors, :1] * np.eye(len(shape.dof_body))[np.array([*on_dof.values()], dtype=int)]
    force = replaced(force, motors, pull)
    if on_site:
        sites = np.array([*on_site.values()], dtype=int)
        pushed = _pushed(shape, reference, sites, gear[np.array([*on_site])], fields)
        force = replaced(force, np.array([*on_site]), pushed)
    rate = force @ inverse
    return namespace(rate).sqrt((rate * rate).sum(axis=-1))


def _pushed(
    shape: Structure,
    reference: _Reference,
    sites: Int[np.ndarray, " k"],
    wrench: Float[Any, "k 6"],
    fields: Mapping[str, Any],
) -> Float[Any, "k nv"]:
    """Return the generalised forces of wrenches in the frames of sites."""
    body = shape.site_body[sites]
    turn = reference.turn[body] @ rotations.rotation(fields["site_quat"][sites])
    points = _points(body, fields["site_pos"][sites], reference)
    jacobian = _jacobians(points, shape.moves[body], reference)
    both = [rotations.turned(turn, wrench[:, :3]), rotations.turned(turn, wrench[:, 3:])]
    xp = namespace(*both)
    return (jacobian * xp.concatenate(both, axis=1)).sum(axis=-1).T


def _extent(shape: Structure, reference: _Reference, fields: Mapping[str, Any]) -> Arrays:
    """Return the centre and extent of the robot's bounding box, and its bodies' mean size.

    A body's size is the largest distance from its centre of mass to its joints (its own and its
    children's) and to the far side of its geoms.
    """
    geom = _points(shape.geom_body, fields["geom_pos"], reference)
    site = _points(shape.site_body, fields["site_pos"], reference)
    radius = fields["geom_rbound"]
    xp = namespace(geom, site, radius, reference.center, reference.pos)
    points = xp.concatenate([reference.pos[1:], reference.center[1:], reference.joint_anchor, site])
    low = xp.concatenate([points, geom - radius[:, None]]).min(axis=0)
    high = xp.concatenate([points, geom + radius[:, None]]).max(axis=0)
    size = _body_sizes(xp, shape, reference, geom, radius)
    mean = size[1:].mean()
    span = xp.maximum((high - low).max(), 1e-5)
    return {
        "stat.center": 0.5 * (low + high),
        "stat.meansize": mean,
        "stat.extent": namespace(span, mean).maximum(span, 2 * mean),
    }


def _body_sizes(
    xp: Any, shape: Structure, reference: _Reference, geom: Float[Any, "ngeom 3"], radius: Any
) -> Float[Any, " nbody"]:
    far = _distances(reference.center, joined(reference.joint_anchor, geom))
    far = far + joined(np.zeros(len(shape.joints)), radius)
    return xp.where(shape.near, far, 1e-5).max(axis=1, initial=1e-5)


def _points(
    bodies: np.ndarray, local: Float[Any, "n 3"], reference: _Reference
) -> Float[Any, "n 3"]:
    return reference.pos[bodies] + rotations.turned(reference.turn[bodies], local)


def _distances(a: Float[Any, "n 3"], b: Float[Any, "m 3"]) -> Float[Any, "n m"]:
    """Return ‖a_i − b_j‖, with a finite derivative where the points coincide."""
    offset = a[:, None, :] - b[None, :, :]
    xp = namespace(offset)
    square = (offset * offset).sum(axis=-1)
    apart = square > 0
    return xp.where(apart, xp.sqrt(xp.where(apart, square, 1.0)), 0.0)

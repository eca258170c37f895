"""Fields that MuJoCo's compiler derives from the others, as functions of the design.

At the reference configuration q₀ every hinge and slide is at zero, so body poses compose from
the tree alone. With J_b the Jacobian of body b's centre of mass (angular Jʳ, linear Jᵖ),

    M = Σ_b m_b Jᵖᵀ Jᵖ + Jʳᵀ I_b Jʳ + diag(armature).

The rest follows MuJoCo's definitions (engine_setconst.c: set0 and setStat).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from draft_core import rotations
from draft_core.errors import DraftError
from draft_core.memo import once_per_tree
from draft_core.namespace import namespace, stack
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
    linear, angular = _center_jacobians(shape, reference)
    xp = namespace(
        linear, angular, fields["body_mass"], fields["body_fullinertia"], fields["dof_armature"]
    )
    mass = _mass_matrix(xp, shape, reference, linear, angular, fields)
    nv = len(shape.dof_body)
    inverse = _inverse(xp, mass)
    diagonal = xp.diagonal(mass) if nv else np.zeros(0)
    return {
        "body_subtreemass": shape.above @ fields["body_mass"],
        "dof_M0": diagonal,
        "body_invweight0": _body_weights(xp, simple, linear, angular, inverse, fields),
        "dof_invweight0": _dof_weights(xp, shape, simple, inverse, fields),
        "actuator_acc0": _accelerations(xp, shape, reference, inverse, fields),
        "stat.meaninertia": diagonal.mean() if nv else 1.0,
        "stat.meanmass": fields["body_mass"][1:].mean(),
        **_extent(shape, reference, fields),
    }


def body_frames(
    shape: Structure, fields: Mapping[str, Any]
) -> tuple[Float[Any, "nbody 3"], Float[Any, "nbody 3 3"]]:
    """Return position [m] and orientation of each body in the world, all joints at zero."""
    local = rotations.rotation(fields["body_quat"])
    pos, turn = [fields["body_pos"][0]], [local[0]]
    for body in range(1, len(shape.parent)):
        parent = shape.parent[body]
        pos.append(pos[parent] + turn[parent] @ fields["body_pos"][body])
        turn.append(turn[parent] @ local[body])
    return stack(pos), stack(turn)


def _reference(shape: Structure, fields: Mapping[str, Any], frames: tuple[Any, Any]) -> _Reference:
    pos, turn = frames
    center = pos + namespace(turn, fields["body_ipos"]).einsum(
        "bij,bj->bi", turn, fields["body_ipos"]
    )
    spin, slide, anchor = [], [], []
    zero, eye = np.zeros(3), np.eye(3)
    for joint, (body, kind, _) in enumerate(shape.joints):
        if kind == "free":
            spin += [zero] * 3
            slide += list(eye)
        if kind in ("free", "ball"):
            spin += [turn[body][:, i] for i in range(3)]
            slide += [zero] * 3
        if kind in ("hinge", "slide"):
            axis = turn[body] @ fields["jnt_axis"][joint]
            spin.append(axis if kind == "hinge" else zero)
            slide.append(axis if kind == "slide" else zero)
        anchor += [pos[body]] * JOINT_DOFS[kind]
    return _Reference(
        pos,
        turn,
        center,
        stack(spin, (3,)),
        stack(slide, (3,)),
        stack(anchor, (3,)),
        stack([pos[body] for body, _, _ in shape.joints], (3,)),
    )


def _jacobians(
    points: Float[Any, "n 3"], moves: Bool[np.ndarray, "n nv"], reference: _Reference
) -> tuple[Float[Any, "n nv 3"], Float[Any, "n nv 3"]]:
    """Return linear and angular Jacobians of points moved by the given dofs."""
    offset = points[:, None, :] - reference.anchor[None]
    xp = namespace(offset, reference.spin)
    linear = reference.slide[None] + xp.cross(reference.spin[None] + 0 * offset, offset)
    mask = moves[:, :, None]
    return linear * mask, reference.spin[None] * mask


def _center_jacobians(shape: Structure, reference: _Reference) -> tuple[Any, Any]:
    return _jacobians(reference.center, shape.moves, reference)


def _mass_matrix(
    xp: Any,
    shape: Structure,
    reference: _Reference,
    linear: Any,
    angular: Any,
    fields: Mapping[str, Any],
) -> Any:
    inertia = reference.turn @ fields["body_fullinertia"] @ reference.turn.swapaxes(-1, -2)
    # Σ_b m_b L_b L_bᵀ + A_b J_b A_bᵀ as two products of matrices
    translation = _rows(linear * fields["body_mass"][:, None, None]) @ _rows(linear).T
    rotation = _rows(angular @ inertia) @ _rows(angular).T
    armature = fields["dof_armature"]
    return translation + rotation + armature * np.eye(len(shape.dof_body))


def _rows(jacobian: Float[Any, "n nv 3"]) -> Float[Any, "nv m"]:
    """Return the Jacobians of n points side by side."""
    return jacobian.transpose(1, 0, 2).reshape(jacobian.shape[1], 3 * jacobian.shape[0])


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
    linear: Any,
    angular: Any,
    inverse: Any,
    fields: Mapping[str, Any],
) -> Float[Any, "nbody 2"]:
    """Return the mean inverse inertia of each body's centre, translational and rotational."""
    move = (linear * (inverse @ linear)).sum(axis=(1, 2)) / 3
    turn = (angular * (inverse @ angular)).sum(axis=(1, 2)) / 3
    sliding = simple == 2
    move = xp.where(sliding, 1 / (fields["body_mass"] + ~sliding), move)
    return xp.stack([move, xp.where(sliding, 0.0, turn)], axis=1)


def _dof_weights(
    xp: Any, shape: Structure, simple: np.ndarray, inverse: Any, fields: Mapping[str, Any]
) -> Float[Any, " nv"]:
    """Return the inverse inertia of each dof, averaged over the three of a turn or a move."""
    nv = len(shape.dof_body)
    average = np.zeros((nv, nv))
    for _, kind, dof in shape.joints:
        width = min(JOINT_DOFS[kind], 3)
        for first in range(dof, dof + JOINT_DOFS[kind], width):
            average[first : first + width, first : first + width] = 1 / width
    sliding = simple[shape.dof_body] == 2
    mass = fields["body_mass"][shape.dof_body] + ~sliding
    return xp.where(sliding, 1 / mass, average @ xp.diagonal(inverse))


def _accelerations(
    xp: Any, shape: Structure, reference: _Reference, inverse: Any, fields: Mapping[str, Any]
) -> Any:
    """Return ‖M⁻¹ Bᵢ‖ for each actuator's unit control, B its generalised force."""
    nv = len(shape.dof_body)
    forces = []
    for i, (dof, site) in enumerate(shape.actuator):
        gear = fields["actuator_gear"][i]
        if dof is not None:
            forces.append(gear[0] * np.eye(nv)[dof])
            continue
        assert site is not None
        body = shape.site_body[site]
        turn = reference.turn[body] @ rotations.rotation(fields["site_quat"][site])
        point = reference.pos[body] + reference.turn[body] @ fields["site_pos"][site]
        linear, angular = _jacobians(point[None], shape.moves[body][None], reference)
        forces.append(linear[0] @ (turn @ gear[:3]) + angular[0] @ (turn @ gear[3:]))
    rate = stack(forces, (nv,)) @ inverse
    return namespace(rate).sqrt((rate * rate).sum(axis=-1))


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
    bodies = np.arange(len(shape.parent))[:, None]
    owner = np.array([body for body, _, _ in shape.joints], dtype=int)
    joint_near = (bodies == owner) | (bodies == shape.parent[owner])
    joint = _distances(reference.center, reference.joint_anchor)
    reach = radius + _distances(reference.center, geom)
    near = np.concatenate([joint_near, bodies == shape.geom_body], axis=1)
    sizes = xp.where(near, xp.concatenate([joint, reach], axis=1), 1e-5)
    return xp.maximum(sizes.max(axis=1, initial=0.0), 1e-5)


def _points(
    bodies: np.ndarray, local: Float[Any, "n 3"], reference: _Reference
) -> Float[Any, "n 3"]:
    turn = reference.turn[bodies]
    xp = namespace(turn, local)
    return reference.pos[bodies] + xp.einsum("nij,nj->ni", turn, local)


def _distances(a: Float[Any, "n 3"], b: Float[Any, "m 3"]) -> Float[Any, "n m"]:
    """Return ‖a_i − b_j‖, with a finite derivative where the points coincide."""
    offset = a[:, None, :] - b[None, :, :]
    xp = namespace(offset)
    square = (offset * offset).sum(axis=-1)
    apart = square > 0
    return xp.where(apart, xp.sqrt(xp.where(apart, square, 1.0)), 0.0)

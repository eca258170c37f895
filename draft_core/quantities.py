"""The design turned into numbers: what a tree states, as arrays in MuJoCo's order and names.

This is the only place where a design becomes numbers. `realize` (for the optimiser) and `mjcf`
(for MuJoCo) both read them from here, so they cannot disagree. On floats this is NumPy alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draft_core import inertia, rotations
from draft_core.errors import DraftError
from draft_core.meshes import mesh_body
from draft_core.namespace import is_jax, is_traced, namespace, stack
from draft_core.tree import Joint, Link, Pose, RobotTree, Scalar, Solid, Vector

Arrays = dict[str, Any]
Environment = Mapping[str, Any]

_VECTOR_MIRROR = (1.0, -1.0, 1.0)
_AXIAL_MIRROR = (-1.0, 1.0, -1.0)
MIN_MASS = 1e-14  # [kg] and [kg m²]: MuJoCo refuses a moving body below 1e-15
OWN_FIELDS = ("body_fullinertia", "solid_mass")
DEFAULT_GEOM_FRICTION = (1.0, 0.005, 0.0001)


@dataclass(frozen=True)
class Frame:
    """A frame in its parent's: position [m] and unit quaternion."""

    pos: Any
    quat: Any


def frame(pose: Pose, env: Environment, mirrored: bool) -> Frame:
    """Return the numbers of a pose, seen in the mirror if asked."""
    pos = pose.pos.evaluate(env) if pose.pos else stack([0.0, 0.0, 0.0])
    quat = _turn(pose, env)
    if pose.shift is not None:
        pos = pos + pose.shift.evaluate(env) * rotations.z_axis(quat)
    if mirrored:
        pos = pos * stack(_VECTOR_MIRROR)
        quat = quat if rotations.is_identity(quat) else rotations.mirrored(quat)
    return Frame(pos, quat)


def solid_frame(solid: Solid, env: Environment) -> Frame:
    """Return the frame of a solid's centre and axes in its body's."""
    own = frame(solid.pose, env, solid.mirrored)
    if solid.within is None:
        return own
    outer = frame(solid.within, env, solid.mirrored)
    if rotations.is_identity(outer.quat):
        return Frame(outer.pos + own.pos, own.quat)
    turned = rotations.rotation(outer.quat) @ own.pos
    return Frame(outer.pos + turned, rotations.multiply(outer.quat, own.quat))


def _turn(pose: Pose, env: Environment) -> Any:
    if pose.turn is None:
        return stack(rotations.IDENTITY)
    value = pose.turn.evaluate(env)
    if pose.kind == "euler":
        return rotations.from_euler(value)
    _non_zero(value, pose.turn)
    return rotations.from_z_axis(value) if pose.kind == "axis" else rotations.normalize(value)


def _non_zero(value: Any, stated: Vector) -> None:
    if not is_traced(value) and not float((value * value).sum()) > 1e-20:
        raise DraftError(f"{stated.where} is zero; it must have a direction.")


def _value(scalar: Scalar | None, env: Environment, default: float = 0.0) -> Any:
    return default if scalar is None else scalar.evaluate(env)


def solid_body(solid: Solid, env: Environment) -> inertia.RigidBody:
    """Return the mass properties of one solid in its body's frame."""
    if solid.mesh is not None:
        return mesh_body(solid, env)
    place = solid_frame(solid, env)
    volume, per_mass = None, None
    if solid.shape is not None and solid.size is not None:
        volume, per_mass = inertia.solid_properties(solid.shape, solid.size.items(env))
    mass = solid.mass.evaluate(env) if solid.mass else _value(solid.density, env) * volume
    moments = solid.inertia.evaluate(env) if solid.inertia else mass * per_mass
    if solid.inertia is not None:
        _possible(moments, solid.inertia)
    return inertia.single(mass, place.pos, moments, place.quat)


def _possible(moments: Any, stated: Vector) -> None:
    """Refuse principal moments that no mass distribution has: each is at most the others' sum."""
    if is_traced(moments):
        return
    a, b, c = sorted(float(m) for m in moments)
    if a + b < c * (1 - 1e-12):
        raise DraftError(
            f"{stated.where} has moments {a:g}, {b:g} and {c:g}; no body has one above the sum of "
            f"the others, so the largest may be {a + b:g}."
        )


def quantities(tree: RobotTree, env: Environment) -> Arrays:
    """Return the fields of the model that the tree states, by MuJoCo's names.

    Args:
        tree: the robot.
        env: every parameter's value, as `RobotTree.resolve` gives them.

    Returns:
        body_*, jnt_*, dof_*, geom_*, site_*, actuator_* and qpos_* arrays, the world body
        included; ``body_fullinertia`` (nbody, 3, 3) about the centre of mass along the body's
        axes [kg m²]; ``solid_mass`` (nsolid,), of every solid of every link [kg]. The last two
        are no fields of MuJoCo's model (`OWN_FIELDS`).

    Raises:
        DraftError: a number breaks its rule (only where numbers are known, not while traced).
    """
    return {
        **_bodies(tree, env),
        **_joints(tree, env),
        **_geoms(tree, env),
        **_sites(tree, env),
        **_actuators(tree, env),
    }


def _bodies(tree: RobotTree, env: Environment) -> Arrays:
    frames = [frame(link.pose, env, link.mirrored) for link in tree.links]
    pieces = [
        [None if solid.is_massless else solid_body(solid, env) for solid in link.solids]
        for link in tree.links
    ]
    bodies = [inertia.compose([p for p in link if p is not None]) for link in pieces]
    for link, body in zip(tree.links, bodies, strict=True):
        _heavy_enough(link, body)
    origin, still = stack([0.0, 0.0, 0.0]), stack(rotations.IDENTITY)
    return {
        "body_pos": stack([origin, *(f.pos for f in frames)]),
        "body_quat": stack([still, *(f.quat for f in frames)]),
        "body_mass": stack([0.0, *(b.mass for b in bodies)]),
        "body_ipos": stack([origin, *(b.center for b in bodies)]),
        "body_iquat": stack([still, *(b.quat for b in bodies)]),
        "body_inertia": stack([origin, *(b.moments for b in bodies)]),
        "solid_mass": stack([0.0 if p is None else p.mass for link in pieces for p in link]),
        "body_fullinertia": stack([stack([origin] * 3), *(b.tensor for b in bodies)]),
    }


def _heavy_enough(link: Link, body: inertia.RigidBody) -> None:
    if is_traced(body.mass) or is_traced(body.moments):
        return
    least = min(float(body.mass), *(float(m) for m in body.moments))
    if least < MIN_MASS:
        raise DraftError(
            f"tree.yaml, node {link.name!r} has mass {float(body.mass):g} kg and least moment "
            f"{float(min(body.moments)):g} kg m^2; both must be at least {MIN_MASS:g}."
        )


def _joints(tree: RobotTree, env: Environment) -> Arrays:
    rows = [(link, link.joint) for link in tree.links if link.joint]
    per_dof = {key: [] for key in ("armature", "damping", "frictionloss")}
    spring: list[Any] = []
    start: list[Any] = []
    for link, joint in rows:
        for key, values in per_dof.items():
            values += [_value(getattr(joint, key), env)] * joint.dofs
        rest, reference = _rest(link, joint, env)
        start += rest
        spring += reference
    return {
        "jnt_axis": stack([_axis(link, joint, env) for link, joint in rows], (3,)),
        "jnt_range": stack([_range(joint, env) for _, joint in rows], (2,)),
        "jnt_actfrcrange": stack([_actuator_force(link, env) for link, _ in rows], (2,)),
        "jnt_stiffness": stack([_value(joint.stiffness, env) for _, joint in rows]),
        **{f"dof_{key}": stack(values) for key, values in per_dof.items()},
        "qpos0": stack(start),
        "qpos_spring": stack(spring),
    }


def _actuator_force(link: Link, env: Environment) -> Any:
    """Return the least and most effort the joint's actuator gives it; 0, 0 for no limit."""
    if link.motor is None or link.motor.kind is None:
        return stack([0.0, 0.0])
    (torque,) = link.motor.limit.items(env)
    return stack([-torque, torque])


def _rest(link: Link, joint: Joint, env: Environment) -> tuple[list[Any], list[Any]]:
    """Return the joint's part of qpos0 and of qpos_spring."""
    if joint.type == "free":
        place = frame(link.pose, env, link.mirrored)
        pose = [*(place.pos[i] for i in range(3)), *(place.quat[i] for i in range(4))]
        return pose, pose
    if joint.type == "ball":
        return list(rotations.IDENTITY), list(rotations.IDENTITY)
    return [0.0], [_value(joint.springref, env)]


def _axis(link: Link, joint: Joint, env: Environment) -> Any:
    if joint.axis is None:
        return stack([0.0, 0.0, 1.0])
    axis = joint.axis.evaluate(env)
    _non_zero(axis, joint.axis)
    axis = rotations.normalize(axis)
    if link.mirrored:
        axis = axis * stack(_AXIAL_MIRROR if joint.type == "hinge" else _VECTOR_MIRROR)
    return axis


def _range(joint: Joint, env: Environment) -> Any:
    if joint.range is None:
        return stack([0.0, 0.0])
    low, high = joint.range.items(env)
    _ascending(low, high, joint.range)
    if joint.type == "ball" and not is_traced(low) and low != 0:
        raise DraftError(f"{joint.range.where} begins at {low:g}; a ball's range begins at 0.")
    return stack([low, high])


def _ascending(low: Any, high: Any, stated: Vector) -> None:
    if not is_traced(low) and not is_traced(high) and not low < high:
        raise DraftError(
            f"{stated.where} is [{float(low):g}, {float(high):g}]; "
            "the first must be less than the second."
        )


def _geoms(tree: RobotTree, env: Environment) -> Arrays:
    rows: dict[str, list[Any]] = {
        key: []
        for key in (
            "geom_pos",
            "geom_quat",
            "geom_size",
            "geom_rbound",
            "geom_aabb",
            "geom_friction",
        )
    }
    for link in tree.links:
        friction = geom_friction(link, env)
        for solid in link.solids:
            if solid.shape is None or solid.size is None:
                continue  # meshes are no part of the optimiser's model
            place = solid_frame(solid, env)
            size, box = _geom_size(solid.shape, solid.size.items(env))
            rows["geom_pos"].append(place.pos)
            rows["geom_quat"].append(place.quat)
            rows["geom_size"].append(stack(size))
            rows["geom_rbound"].append(_bounding_radius(solid.shape, size))
            rows["geom_aabb"].append(stack([0.0, 0.0, 0.0, *box]))
            rows["geom_friction"].append(stack([friction, *DEFAULT_GEOM_FRICTION[1:]]))
    shapes = {
        "geom_pos": (3,),
        "geom_quat": (4,),
        "geom_size": (3,),
        "geom_aabb": (6,),
        "geom_friction": (3,),
    }
    return {key: stack(values, shapes.get(key, ())) for key, values in rows.items()}


def geom_friction(link: Link, env: Environment) -> Any:
    """Return the sliding friction of a link's collision geometry: its contact points' largest."""
    values = [contact.friction.evaluate(env) for contact in link.contacts]
    if not values:
        return DEFAULT_GEOM_FRICTION[0]
    result = values[0]
    for value in values[1:]:
        result = namespace(result, value).maximum(result, value)
    return result


def _geom_size(shape: str, size: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return MuJoCo's three sizes (halves) and the half extents of the bounding box."""
    if shape == "box":
        half = [s / 2 for s in size]
        return half, half
    r = size[0]
    if shape == "sphere":
        return [r, 0.0, 0.0], [r, r, r]
    half_length = size[1] / 2
    top = half_length if shape == "cylinder" else r + half_length
    return [r, half_length, 0.0], [r, r, top]


def _bounding_radius(shape: str, size: Sequence[Any]) -> Any:
    if shape == "sphere":
        return size[0]
    if shape == "capsule":
        return size[0] + size[1]
    square = sum(s * s for s in size)
    return namespace(square).sqrt(square) if is_jax(square) else math.sqrt(square)


def _sites(tree: RobotTree, env: Environment) -> Arrays:
    frames = [
        frame(item.pose, env, link.mirrored)
        for link in tree.links
        for item in (*link.sites, *link.contacts, *link.thrusters)
    ]
    return {
        "site_pos": stack([f.pos for f in frames], (3,)),
        "site_quat": stack([f.quat for f in frames], (4,)),
    }


def contact_friction(tree: RobotTree, env: Environment) -> Any:
    """Return the friction coefficient of every contact point (ncontact,)."""
    return stack([c.friction.evaluate(env) for link in tree.links for c in link.contacts])


def _actuators(tree: RobotTree, env: Environment) -> Arrays:
    gears, limits = [], []
    for link in tree.links:
        if link.motor:
            gears.append(stack([_value(link.motor.gear, env, 1.0), *[0.0] * 5]))
            limits.append(_effort(link.motor.limit, env, both_ways=True))
        for thruster in link.thrusters:
            spin = _value(thruster.drag, env) * (-1.0 if link.mirrored else 1.0)
            gears.append(stack([0.0, 0.0, 1.0, 0.0, 0.0, spin]))
            limits.append(_effort(thruster.limit, env, both_ways=False))
    return {
        "actuator_gear": stack(gears, (6,)),
        "actuator_ctrlrange": stack(limits, (2,)),
    }


def _effort(limit: Vector, env: Environment, both_ways: bool) -> Any:
    values = limit.items(env)
    if len(values) == 1:
        return stack([-values[0] if both_ways else 0.0, values[0]])
    _ascending(values[0], values[1], limit)
    return stack(values)


def effort_limits(tree: RobotTree, env: Environment) -> Any:
    """Return the least and most control of every actuator (nu, 2) [N m] or [N]."""
    return _actuators(tree, env)["actuator_ctrlrange"]


def speed_limits(tree: RobotTree, env: Environment) -> list[Any]:
    """Return each actuator's top joint speed [rad/s] or [m/s], None where it has none."""
    result: list[Any] = []
    for link in tree.links:
        if link.motor:
            result.append(link.motor.speed.evaluate(env) if link.motor.speed else None)
        result += [None] * len(link.thrusters)
    return result

"""The design turned into numbers: what a tree states, as arrays in MuJoCo's order and names.

This is the only place where a design becomes numbers. `realize` (for the optimiser) and `mjcf`
(for MuJoCo) both read them from here, so they cannot disagree. On floats this is NumPy alone.

A tree is made into a plan, once: which numbers go where. A design then costs one evaluation of
each expression, and array operations over all bodies, solids and joints together.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from draft_core import rotations
from draft_core.bodies import Bodies, Solids
from draft_core.equipment import GEOM_FRICTION, Actuators, Geoms, Joints
from draft_core.frames import Poses
from draft_core.memo import once_per_tree
from draft_core.namespace import namespace, replaced, stack
from draft_core.register import Register
from draft_core.tree import Link, RobotTree, Solid

Arrays = dict[str, Any]
Environment = Mapping[str, Any]

OWN_FIELDS = ("body_fullinertia", "solid_mass", "trunk_vertices")


def quantities(tree: RobotTree, env: Environment) -> Arrays:
    """Return the fields of the model that the tree states, by MuJoCo's names.

    Args:
        tree: the robot.
        env: every parameter's value, as `RobotTree.resolve` gives them.

    Returns:
        body_*, jnt_*, dof_*, geom_*, site_*, actuator_* and qpos_* arrays, the world body
        included; ``body_fullinertia`` (nbody, 3, 3) about the centre of mass along the body's
        axes [kg m²]; ``solid_mass`` (nsolid,), of every solid of every link [kg];
        ``trunk_vertices`` (vertices, 3) of the root's lofted mesh in its frame [m], none without
        one. The last three are no fields of MuJoCo's model (`OWN_FIELDS`). Arrays that follow
        no parameter may be shared between calls and are not to be changed.

    Raises:
        DraftError: a number breaks its rule (only where numbers are known, not while traced).
    """
    plan = _plan(tree)
    numbers = plan.stated.at(env)
    with np.errstate(all="ignore"):  # what becomes infinite or undefined is refused by name
        links, solids = plan.links.at(numbers), plan.solids.frames(numbers)
        sites = plan.sites.at(numbers)
        return {
            "body_pos": replaced(plan.origins, plan.moving, links.pos),
            "body_quat": replaced(plan.upright, plan.moving, links.quat),
            **plan.bodies.at(numbers, env, solids),
            **plan.joints.at(numbers, links),
            **plan.geoms.at(numbers, solids),
            "site_pos": sites.pos,
            "site_quat": sites.quat,
            **plan.actuators.at(numbers),
        }


class _Plan:
    """Where each number of a tree goes."""

    def __init__(self, tree: RobotTree):
        """Register all numbers, in the order in which mistakes are told.

        Raises:
            DraftError: a constant breaks its rule.
        """
        register = Register()
        self.links = Poses(register, [(link.pose, link.mirrored) for link in tree.links])
        self.solids = Solids(register, tree)
        self.bodies = Bodies(register, tree, self.solids)
        self.joints = Joints(register, tree)
        self.geoms = Geoms(register, tree, self.solids)
        carried = [
            (item.pose, link.mirrored)
            for link in tree.links
            for item in (*link.sites, *link.contacts, *link.thrusters)
        ]
        self.sites = Poses(register, carried)
        self.actuators = Actuators(register, tree)
        frictions = [contact.friction for link in tree.links for contact in link.contacts]
        self.friction = np.array([register.scalar(friction) for friction in frictions], dtype=int)
        self.stated = register.finished()
        self.moving = np.arange(1, len(tree.links) + 1)  # the world is body 0
        self.origins = np.zeros((len(tree.links) + 1, 3))
        self.upright = np.tile(rotations.IDENTITY, (len(tree.links) + 1, 1))


@once_per_tree
def _plan(tree: RobotTree) -> _Plan:
    return _Plan(tree)


def mesh_frames(tree: RobotTree, env: Environment) -> dict[str, tuple[Any, Any]]:
    """Return position and quaternion of each module's mesh in its link, by its solid's name."""
    if not any(solid.asset for solid in tree.meshes):
        return {}
    plan = _plan(tree)
    frames = plan.solids.frames(plan.stated.at(env))
    rows = enumerate(plan.solids.each[i] for i in plan.solids.placed)
    return {s.name: (frames.pos[row], frames.quat[row]) for row, s in rows if s.asset is not None}


def solid_friction(solid: Solid, sliding: Any, env: Environment) -> Any:
    """Return a geom's three coefficients: its own, or its link's sliding friction.

    Args:
        solid: what the geom is of.
        sliding: the link's, as `geom_friction` gives it.
        env: every parameter's value.
    """
    if solid.friction is not None:
        return solid.friction.evaluate(env)
    return stack([sliding, *GEOM_FRICTION[1:]])


def geom_friction(link: Link, env: Environment) -> Any:
    """Return the sliding friction of a link's collision geometry: its contact points' largest."""
    values = [contact.friction.evaluate(env) for contact in link.contacts]
    if not values:
        return GEOM_FRICTION[0]
    result = values[0]
    for value in values[1:]:
        result = namespace(result, value).maximum(result, value)
    return result


def contact_friction(tree: RobotTree, env: Environment) -> Any:
    """Return the friction coefficient of every contact point (ncontact,)."""
    plan = _plan(tree)
    return plan.stated.at(env)(plan.friction)


def effort_limits(tree: RobotTree, env: Environment) -> Any:
    """Return the least and most control of every actuator (nu, 2) [N m] or [N]."""
    plan = _plan(tree)
    return plan.actuators.limits(plan.stated.at(env))


def speed_limits(tree: RobotTree, env: Environment) -> list[Any]:
    """Return each actuator's top joint speed [rad/s] or [m/s], None where it has none."""
    result: list[Any] = []
    for link in tree.links:
        if link.motor:
            result.append(link.motor.speed.evaluate(env) if link.motor.speed else None)
        result += [None] * len(link.thrusters)
    return result

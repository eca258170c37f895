"""Inverse dynamics of a realised robot: τ = M(q) a + c(q, v) + d v − B(q) u − Σ Jᵀ λ.

MuJoCo MJX supplies kinematics and the recursive Newton–Euler pass. Two things are replaced, neither
of which changes a value:

- MJX builds spatial inertias from principal moments in a principal frame, which a design-dependent
  body only has through an eigen-decomposition. Here they come from the full tensor in the body
  frame.
- MJX refers spatial vectors to the centre of mass of the whole tree, which couples every joint with
  every other. Here they refer to the origin of the base's frame (`base_frame`), so that the
  derivatives of one limb's terms hold no entry of another's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from mujoco.mjx._src import smooth, support

from codesign.dynamics.base_frame import BaseFrame, has_floating_base, into_base_frame
from draft_core import Robot
from draft_core.backend import jax, jnp, mjx, mujoco
from draft_core.realization import RealizedModel

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)


class MovingRobot(NamedTuple):
    """A robot at one instant of a motion, seen from the frame of its base.

    Attributes:
        frame: the frame in the world.
        data: MJX data in that frame.
    """

    frame: BaseFrame
    data: mjx.Data

    def site_position(self, site: int) -> jax.Array:
        """Return a site's position in the world, shape (3,); [m]."""
        return self.frame.origin + self.frame.rotation @ self.data.site_xpos[site]

    def geom_pose(self, geom: int) -> tuple[jax.Array, jax.Array]:
        """Return a geom's position (3,) [m] and rotation (3, 3) in the world."""
        rotation = self.frame.rotation
        position = self.frame.origin + rotation @ self.data.geom_xpos[geom]
        return position, rotation @ self.data.geom_xmat[geom]


def template_data(robot: Robot) -> mjx.Data:
    """Return an `mjx.Data` of zeros with the robot's topology, to be filled by `kinematics`."""
    model = robot.base_model.__copy__()
    # MJX refuses some pairs of shapes; the optimisation model has no collision geometry.
    model.geom_contype[:] = 0
    model.geom_conaffinity[:] = 0
    with jax.ensure_compile_time_eval():  # it may be made while something else is being traced
        data = mjx.make_data(model)
    return jax.tree_util.tree_map(np.asarray, data)


@jax.jit
def kinematics(model: RealizedModel, template: mjx.Data, q: jax.Array) -> mjx.Data:
    """Return data with world poses and motion axes at a configuration, shape (nq,).

    Motion axes refer to the world's origin. Jitted so that tracing many knots traces it once.
    """
    data = smooth.kinematics(model, template.replace(qpos=q))
    return data.replace(
        subtree_com=jnp.zeros_like(data.subtree_com), cdof=_motion_axes(model, data)
    )


def inverse_dynamics(
    model: RealizedModel, template: mjx.Data, q: jax.Array, v: jax.Array, a: jax.Array
) -> tuple[jax.Array, MovingRobot]:
    """Return the generalised force that the motion (q, v, a) needs, and the robot behind it.

    Args:
        model: robot realised at one design.
        template: from `template_data`.
        q: configuration, shape (nq,); quaternions of unit length.
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).

    Returns:
        Force τ with actuators and contacts still to supply it, shape (nv,), [N] or [N m] by degree
        of freedom: rigid-body terms, armature, joint damping and joint springs. Dry friction
        (`frictionloss`) is not smooth and is left out.

    References:
        Featherstone (2008), Rigid Body Dynamics Algorithms, ch. 5 (Newton–Euler).
    """
    frame, pose, velocity, acceleration = into_base_frame(model, q, v, a)
    if has_floating_base(model):  # gravity is in the acceleration already
        model = model.replace(opt=model.opt.replace(gravity=jnp.zeros(3)))
    data = kinematics(model, template, pose).replace(qvel=velocity, qacc=acceleration)
    data = data.tree_replace({"_impl.cinert": _spatial_inertia(model, data)})
    data = smooth.rne(model, smooth.com_vel(model, data), flg_acc=True)
    force = data.qfrc_bias
    if has_floating_base(model):
        force = jnp.concatenate([frame.rotation @ force[:3], force[3:]])
    passive = model.dof_damping * v + _spring_force(model, q)
    return force + model.dof_armature * a + passive, MovingRobot(frame, data)


def moving_robot(
    model: RealizedModel, template: mjx.Data, q: jax.Array, v: jax.Array
) -> MovingRobot:
    """Return the robot in motion (q, v), shapes (nq,) and (nv,), without its dynamics."""
    frame, pose, velocity, _ = into_base_frame(model, q, v, jnp.zeros(model.nv))
    return MovingRobot(frame, kinematics(model, template, pose).replace(qvel=velocity))


def _motion_axes(model: RealizedModel, data: mjx.Data) -> jax.Array:
    """Return MJX's `cdof` (nv, 6), each axis as (angular, linear velocity of the origin)."""
    axes: list[jax.Array] = []
    for joint, kind in enumerate(int(k) for k in model.jnt_type):
        anchor = data.xanchor[joint]
        if kind == _FREE:
            axes += [jnp.concatenate([jnp.zeros(3), axis]) for axis in jnp.eye(3)]
        if kind in (_FREE, _BALL):
            columns = data.xmat[int(model.jnt_bodyid[joint])].T
            axes += [jnp.concatenate([axis, jnp.cross(anchor, axis)]) for axis in columns]
        elif kind == _SLIDE:
            axes.append(jnp.concatenate([jnp.zeros(3), data.xaxis[joint]]))
        else:
            axis = data.xaxis[joint]
            axes.append(jnp.concatenate([axis, jnp.cross(anchor, axis)]))
    return jnp.stack(axes) if axes else jnp.zeros((0, 6))


def _spatial_inertia(model: RealizedModel, data: mjx.Data) -> jax.Array:
    """Return MJX's `cinert` (nbody, 10) about the origin, from each body's full tensor."""

    def about_origin(inertia: Any, rotation: Any, center: Any, mass: Any) -> jax.Array:
        turned = rotation @ inertia @ rotation.T
        shift = jnp.dot(center, center) * jnp.eye(3) - jnp.outer(center, center)
        full = turned + mass * shift
        upper = [full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2]]
        return jnp.concatenate([jnp.stack(upper), mass * center, mass[None]])

    return jax.vmap(about_origin)(model.body_fullinertia, data.xmat, data.xipos, model.body_mass)


def _spring_force(model: RealizedModel, q: jax.Array) -> jax.Array:
    """Return joint-spring forces k (q − q_spring) on hinges and slides, shape (nv,)."""
    force = jnp.zeros(model.nv)
    for joint, kind in enumerate(int(k) for k in model.jnt_type):
        if kind not in (_FREE, _BALL):
            dof, adr = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
            stretch = q[adr] - model.qpos_spring[adr]
            force = force.at[dof].set(model.jnt_stiffness[joint] * stretch)
    return force


def point_jacobian(
    model: RealizedModel, data: mjx.Data, point: jax.Array, body: int
) -> tuple[jax.Array, jax.Array]:
    """Return (nv, 3) Jacobians, transposed, of a point's linear and angular velocity.

    Args:
        model: robot realised at one design.
        data: from `kinematics`, or of a `MovingRobot` and then in its frame.
        point: position of a point fixed to the body, in the frame of `data`, shape (3,); [m].
        body: body id; static.

    Returns:
        (Jpᵀ, Jrᵀ): velocity = Jp v [m/s] and Jr v [rad/s]; force f at the point acts as Jpᵀ f.
    """
    return support.jac(model, data, point, body)  # type: ignore[arg-type]


def site_force(model: RealizedModel, robot: MovingRobot, site: int, force: jax.Array) -> jax.Array:
    """Return the generalised force of a world-frame force (3,) [N] on a site, shape (nv,)."""
    body = int(model.site_bodyid[site])
    jacobian, _ = point_jacobian(model, robot.data, robot.data.site_xpos[site], body)
    effect = jacobian @ (robot.frame.rotation.T @ force)
    if has_floating_base(model):
        effect = jnp.concatenate([force, effect[3:]])
    return effect


def site_velocity(model: RealizedModel, robot: MovingRobot, site: int) -> jax.Array:
    """Return the velocity of a site in the world, shape (3,); [m/s]."""
    body = int(model.site_bodyid[site])
    jacobian, _ = point_jacobian(model, robot.data, robot.data.site_xpos[site], body)
    return robot.frame.velocity + robot.frame.rotation @ (jacobian.T @ robot.data.qvel)


def actuator_force(
    robot: Robot, model: RealizedModel, moving: MovingRobot, u: jax.Array
) -> jax.Array:
    """Return B(q) u, the generalised force of all actuators, shape (nv,).

    A motor turns effort into gear × effort on its joint; a thruster applies the wrench
    gear × effort in its site's frame (thrust along z and the drag torque about it).
    """
    force = jnp.zeros(model.nv)
    for index, actuator in enumerate(robot.actuators):
        gear = model.actuator_gear[index]
        if actuator.site_id is None:
            dof = int(model.jnt_dofadr[actuator.joint_id])
            force = force.at[dof].add(gear[0] * u[index])
        else:
            force = force + _thruster_force(model, moving, actuator.site_id, gear * u[index])
    return force


def _thruster_force(
    model: RealizedModel, moving: MovingRobot, site: int, wrench: jax.Array
) -> jax.Array:
    """Return the generalised force of a wrench (6,) in a site's own frame, shape (nv,)."""
    data, body = moving.data, int(model.site_bodyid[site])
    rotation = data.site_xmat[site]
    jacp, jacr = point_jacobian(model, data, data.site_xpos[site], body)
    effect = jacp @ (rotation @ wrench[:3]) + jacr @ (rotation @ wrench[3:])
    if has_floating_base(model):
        effect = jnp.concatenate([moving.frame.rotation @ effect[:3], effect[3:]])
    return effect

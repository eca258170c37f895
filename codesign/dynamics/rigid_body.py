"""Inverse dynamics of a realised robot: τ = M(q) a + c(q, v) + d v − B(q) u − Σ Jᵀ λ.

MuJoCo MJX supplies kinematics and the recursive Newton–Euler pass. One thing is replaced: MJX builds
each body's spatial inertia from principal moments in a principal frame, which a design-dependent body
only has through an eigen-decomposition. Here it is built from the full tensor in the body frame,
which is a polynomial in the design.
"""

from __future__ import annotations

from typing import Any

from draft_core import Robot
from draft_core.backend import jax, jnp, mjx, mujoco
from draft_core.realization import RealizedModel
from mujoco.mjx._src import smooth, support


def template_data(robot: Robot) -> mjx.Data:
    """Return an `mjx.Data` of zeros with the robot's topology, to be filled by `kinematics`."""
    return mjx.make_data(robot.base_model)


def kinematics(model: RealizedModel, template: mjx.Data, q: jax.Array) -> mjx.Data:
    """Return data with world poses and motion axes at a configuration, shape (nq,)."""
    data = smooth.kinematics(model, template.replace(qpos=q))
    return smooth.com_pos(model, data)


def inverse_dynamics(
    model: RealizedModel, template: mjx.Data, q: jax.Array, v: jax.Array, a: jax.Array
) -> tuple[jax.Array, mjx.Data]:
    """Return the generalised force that the motion (q, v, a) needs, and the data behind it.

    Args:
        model: robot realised at one design.
        template: from `template_data`.
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).

    Returns:
        Force τ with actuators and contacts still to supply it, shape (nv,), [N] or [N m] by degree
        of freedom: rigid-body terms, armature, joint damping and joint springs. Dry friction
        (`frictionloss`) is not smooth and is left out.

    References:
        Featherstone (2008), Rigid Body Dynamics Algorithms, ch. 5 (Newton–Euler).
    """
    data = kinematics(model, template, q).replace(qvel=v, qacc=a)
    data = data.tree_replace({"_impl.cinert": _spatial_inertia(model, data)})
    data = smooth.rne(model, smooth.com_vel(model, data), flg_acc=True)
    passive = model.dof_damping * v + _spring_force(model, q)
    return data.qfrc_bias + model.dof_armature * a + passive, data


def _spatial_inertia(model: RealizedModel, data: mjx.Data) -> jax.Array:
    """Return MJX's `cinert` (nbody, 10) from full tensors about each body's centre of mass."""

    def about_root(inertia: Any, rotation: Any, offset: Any, mass: Any) -> jax.Array:
        in_world = rotation @ inertia @ rotation.T
        shifted = in_world + mass * (jnp.dot(offset, offset) * jnp.eye(3) - jnp.outer(offset, offset))
        upper = jnp.stack(
            [shifted[0, 0], shifted[1, 1], shifted[2, 2], shifted[0, 1], shifted[0, 2], shifted[1, 2]]
        )
        return jnp.concatenate([upper, mass * offset, mass[None]])

    offset = data.xipos - data.subtree_com[jnp.array(model.body_rootid)]
    return jax.vmap(about_root)(model.body_fullinertia, data.xmat, offset, model.body_mass)


def _spring_force(model: RealizedModel, q: jax.Array) -> jax.Array:
    """Return joint-spring forces k (q − q_spring) on hinges and slides, shape (nv,)."""
    scalar_kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    force = jnp.zeros(model.nv)
    for joint, kind in enumerate(model.jnt_type):
        if int(kind) in scalar_kinds:
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
        data: from `kinematics` or `inverse_dynamics`.
        point: world position of a point fixed to the body, shape (3,); [m].
        body: body id; static.

    Returns:
        (Jpᵀ, Jrᵀ): velocity = Jp v [m/s] and Jr v [rad/s]; force f at the point acts as Jpᵀ f.
    """
    return support.jac(model, data, point, body)  # type: ignore[arg-type]


def actuator_force(robot: Robot, model: RealizedModel, data: mjx.Data, u: jax.Array) -> jax.Array:
    """Return B(q) u, the generalised force of all actuators, shape (nv,).

    A motor turns effort into gear × effort on its joint; a thruster applies the wrench
    gear × effort in its site's frame (thrust along z and the drag torque about it).
    """
    force = jnp.zeros(model.nv)
    for index, actuator in enumerate(robot.actuators):
        gear = model.actuator_gear[index]
        if actuator.kind == "motor":
            dof = int(model.jnt_dofadr[actuator.joint_id])
            force = force.at[dof].add(gear[0] * u[index])
        else:
            site = actuator.site_id
            rotation = data.site_xmat[site]
            jacp, jacr = point_jacobian(
                model, data, data.site_xpos[site], int(model.site_bodyid[site])
            )
            wrench = jacp @ (rotation @ gear[:3]) + jacr @ (rotation @ gear[3:])
            force = force + wrench * u[index]
    return force

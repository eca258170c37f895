"""An independent check of an answer: MuJoCo C on the compiled design.

Per interval, with everything taken where the integrator takes it (q_θ, v_θ; its end for θ = 1):

    residual        M(q_θ)(v⁺ − v)/h + c − B u − Σ Jᵀ λ             (mj_inverse, mj_jac)
    energy          ΔE = actuator work + contact work + numerical energy
    actuator work   h v_θ·B u,     contact work   h Σ λ·v_contact

A contact that did positive work is not physical, however well the relaxed equations are met.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.plant import Plant

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """A trajectory as plain numbers; shapes as in `Trajectory`."""

    q: Vector
    v: Vector
    u: Vector
    contact_force: Vector
    dt: Vector


@dataclass(frozen=True)
class EnergyAudit:
    """Energy balance of every interval, shape (N,) each; [J]."""

    change: Vector
    actuator_work: Vector
    contact_work: Vector
    damping_work: Vector

    @property
    def numerical_energy(self) -> Vector:
        """What the integrator made (+) or lost (−); [J]."""
        return self.change - self.actuator_work - self.contact_work - self.damping_work

    @property
    def made_by_integrator(self) -> float:
        """Net energy that the integrator made over the motion, negative when it lost some; [J]."""
        return float(np.sum(self.numerical_energy))

    @property
    def most_made_by_integrator(self) -> float:
        """Most net energy that the integrator made over any stretch of the motion; [J].

        What it makes first and loses later lifts a robot all the same.
        """
        made = np.concatenate([[0.0], np.cumsum(self.numerical_energy)])
        return float(np.max(made - np.minimum.accumulate(made)))

    @property
    def total_actuator_work(self) -> float:
        """Σ |actuator work| over intervals; [J]."""
        return float(np.sum(np.abs(self.actuator_work)))

    @property
    def positive_contact_work(self) -> float:
        """Sum of the positive contact works of intervals; [J]."""
        return float(np.sum(np.maximum(self.contact_work, 0.0)))

    @property
    def worst_contact_work(self) -> float:
        """Largest positive contact work of an interval; [J]."""
        return float(max(0.0, np.max(self.contact_work, initial=0.0)))


@dataclass(frozen=True)
class PhysicsAudit:
    """Residuals recomputed in MuJoCo C.

    Attributes:
        dynamics: |residual| per interval and degree of freedom, shape (N, nv); [N] or [N m].
        integration: |q⁺ ⊖ (q ⊕ h v⁺)|, shape (N, nv); [m] or [rad].
        energy: energy balance.
    """

    dynamics: Vector
    integration: Vector
    energy: EnergyAudit


def audit_physics(
    plant: Plant, model: mujoco.MjModel, motion: Motion, theta: float = 1.0
) -> PhysicsAudit:
    """Return residuals and energies of a motion of a compiled design.

    Args:
        plant: names the contact points.
        model: the design's compiled MJCF.
        motion: trajectory with K knots.
        theta: 1 for backward Euler, 1/2 for the implicit midpoint rule.
    """
    model = smooth_copy(model)
    data = mujoco.MjData(model)
    n = len(motion.dt)
    dynamics, integration = np.zeros((n, model.nv)), np.zeros((n, model.nv))
    energy = np.array([_energy(model, data, q, v) for q, v in zip(motion.q, motion.v, strict=True)])
    works = np.zeros((n, 3))
    for k in range(n):
        dt, v = motion.dt[k], (1.0 - theta) * motion.v[k] + theta * motion.v[k + 1]
        stepped, inside = motion.q[k].copy(), motion.q[k].copy()
        mujoco.mj_integratePos(model, stepped, v, dt)
        mujoco.mj_differentiatePos(model, integration[k], 1.0, stepped, motion.q[k + 1])
        mujoco.mj_integratePos(model, inside, v, theta * dt)
        _set(model, data, motion.q[k + 1] if theta == 1.0 else inside, v)
        data.ctrl[:] = motion.u[k]
        mujoco.mj_forward(model, data)
        actuation, damping = data.qfrc_actuator.copy(), data.qfrc_damper.copy()
        contact = _contact_force(plant, model, data, motion.contact_force[k])
        data.qacc[:] = (motion.v[k + 1] - motion.v[k]) / dt
        mujoco.mj_inverse(model, data)
        dynamics[k] = data.qfrc_inverse - actuation - contact
        works[k] = dt * (v @ actuation), dt * (v @ contact), dt * (v @ damping)
    balance = EnergyAudit(np.diff(energy), works[:, 0], works[:, 1], works[:, 2])
    return PhysicsAudit(np.abs(dynamics), np.abs(integration), balance)


def smooth_copy(model: mujoco.MjModel) -> mujoco.MjModel:
    """Return the model without MuJoCo's own contacts, limits, clamps and dry friction."""
    smooth = copy.copy(model)
    disable = mujoco.mjtDisableBit
    smooth.opt.disableflags |= int(disable.mjDSBL_CONSTRAINT) | int(disable.mjDSBL_CLAMPCTRL)
    smooth.actuator_forcelimited[:] = 0
    smooth.jnt_actfrclimited[:] = 0
    return smooth


def _set(model: mujoco.MjModel, data: mujoco.MjData, q: Vector, v: Vector) -> None:
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = q, v


def _energy(model: mujoco.MjModel, data: mujoco.MjData, q: Vector, v: Vector) -> float:
    """Return kinetic plus potential energy; [J]."""
    _set(model, data, q, v)
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return float(np.sum(data.energy))


def _contact_force(
    plant: Plant, model: mujoco.MjModel, data: mujoco.MjData, forces: Vector
) -> Vector:
    """Return Σ Jᵀ λ of the contact points, shape (nv,)."""
    total = np.zeros(model.nv)
    jacobian = np.zeros((3, model.nv))
    for contact, force in zip(plant.robot.contacts, forces, strict=True):
        mujoco.mj_jacSite(model, data, jacobian, None, contact.site_id)
        total += jacobian.T @ force
    return total

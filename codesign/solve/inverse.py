"""Poses that put feet where they should be, and the efforts and contact forces of a motion.

Inverse kinematics at one knot is a damped least-squares problem in the tangent space,

    minimise Σ w_c² ‖p_c(q) − p̂_c‖² + Σ w_i² (q ⊖ q̂)_i²,

with the interpolated pose q̂: feet count most, the body less, legs least. Inverse dynamics gives
the generalised force τ = M(q⁺)(v⁺ − v)/h + c(q⁺, v⁺) of every interval, which efforts and contact
forces share out:

    minimise ‖τ − B u − Σ Jᵀ λ‖² + ρ² ‖u/ū‖²,   λ = Σ_j c_j (n ± μ t_j),  c ≥ 0,

with the edges of the friction pyramid for contacts that stand, none for those in the air.
Everything is MuJoCo C on the compiled design.

References:
    Wampler (1986), damped least squares; Lawson and Hanson (1974), nonnegative least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import splu

from codesign.physics import smooth_copy

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEPS = 12  # most steps of the inverse kinematics at a knot
_LEG_WEIGHT, _BODY_WEIGHT = 0.003, 0.03  # of a radian or metre off, a metre of a foot being 1
_EFFORT_WEIGHT = 0.02  # ρ: of an effort at its limit, the robot's weight being 1
_FORCE_WEIGHT = 0.005  # of a contact force of the robot's weight
_SMOOTHNESS = 0.02  # α: of the midpoint rule's velocities
_STILL = 1e-5  # [m] or [rad]: a step smaller than this ends the search


@dataclass(frozen=True)
class Forces:
    """Efforts and contact forces of every interval.

    Attributes:
        u: efforts within their limits, shape (N, nu); [N m] or [N].
        normal: normal forces, shape (N, nc); [N].
        tangent: along +t₁, −t₁, +t₂, −t₂, within the pyramid, shape (N, nc, 4); [N].
        slide: sliding speeds max |ψ|, shape (N, nc); [m/s].
    """

    u: Vector
    normal: Vector
    tangent: Vector
    slide: Vector


class Mechanism:
    """A compiled design, asked by MuJoCo C.

    Args:
        model: the design's compiled MJCF.
        sites: site of each contact point.
    """

    def __init__(self, model: mujoco.MjModel, sites: Sequence[int]) -> None:
        self.model = smooth_copy(model)
        self.sites = list(sites)
        self._data = mujoco.MjData(self.model)
        self._jacobian = np.zeros((3, self.model.nv))

    def places(self, q: Vector) -> Vector:
        """Return positions of the contact points at configurations (K, nq), shape (K, nc, 3)."""
        found = np.zeros((len(q), len(self.sites), 3))
        for k, configuration in enumerate(q):
            self._data.qpos[:] = configuration
            mujoco.mj_kinematics(self.model, self._data)
            found[k] = self._data.site_xpos[self.sites]
        return found

    def jacobians(self) -> Vector:
        """Return Jacobians of the contact points at the data's pose, shape (nc, 3, nv)."""
        found = np.zeros((len(self.sites), 3, self.model.nv))
        for c, site in enumerate(self.sites):
            mujoco.mj_jacSite(self.model, self._data, self._jacobian, None, site)
            found[c] = self._jacobian
        return found

    def body_dofs(self) -> Flags:
        """Return the degrees of freedom that carry every foot: the body's rather than a leg's."""
        model = self.model
        carries = np.ones(model.nv, dtype=bool)
        for site in self.sites:
            mine, body = np.zeros(model.nv, dtype=bool), int(model.site_bodyid[site])
            while body > 0:
                first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
                mine[first : first + count] = count > 0
                body = int(model.body_parentid[body])
            carries &= mine
        if len({int(model.site_bodyid[site]) for site in self.sites}) == 1:
            parents = model.body_parentid[model.dof_bodyid]
            carries &= parents == 0
        return carries

    def reach(
        self, q: Vector, near: Vector, targets: Vector, low: Vector, high: Vector, body: Flags
    ) -> Vector:
        """Return a configuration near another whose contact points are at their targets.

        Args:
            q: where to begin, shape (nq,).
            near: the configuration to stay near, shape (nq,).
            targets: positions of the points, NaN for those that may be anywhere, shape (nc, 3).
            low: lower bounds of q.
            high: upper bounds of q.
            body: degrees of freedom to hold on to, from `body_dofs`.
        """
        model, data = self.model, self._data
        led = np.isfinite(targets).all(axis=1)
        weight = np.where(body, _BODY_WEIGHT, _LEG_WEIGHT)
        off = np.zeros(model.nv)
        q = q.copy()
        for _ in range(_STEPS):
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_differentiatePos(model, off, 1.0, near, q)
            miss = (data.site_xpos[self.sites] - targets)[led].ravel()
            jacobian = self.jacobians()[led].reshape(-1, model.nv)
            matrix = jacobian.T @ jacobian + np.diag(weight**2 + 1e-6)
            step = -np.linalg.solve(matrix, jacobian.T @ miss + weight**2 * off)
            step *= min(1.0, 0.5 / max(np.max(np.abs(step)), 1e-9))
            mujoco.mj_integratePos(model, q, step, 1.0)
            q = np.clip(q, low, high)
            if np.max(np.abs(step)) < _STILL:
                break
        return q

    def velocities(self, q: Vector, dt: Vector, theta: float, at_rest: Flags) -> Vector:
        """Return velocities with which the configurations follow from each other, shape (K, nv).

        Backward Euler's are (q⁺ ⊖ q)/h. The midpoint rule's would ring, as it holds only means of
        neighbours; among those that meet it nearly, the smoothest are taken.

        Args:
            q: configurations, shape (K, nq).
            dt: time steps, shape (N,); [s].
            theta: 1 for backward Euler, 1/2 for the implicit midpoint rule.
            at_rest: knots that are at rest, whatever the steps beside them say, shape (K,).
        """
        steps = np.zeros((len(dt), self.model.nv))
        for k, step in enumerate(dt):
            mujoco.mj_differentiatePos(self.model, steps[k], step, q[k], q[k + 1])
        if theta == 1.0:
            v = np.concatenate([steps[:1], steps])
            v[at_rest] = 0.0
            return v
        return _smooth_velocities(steps, theta, at_rest)

    def forces(
        self,
        q: Vector,
        v: Vector,
        dt: Vector,
        stands: Flags,
        frames: Vector,
        friction: Vector,
        limits: Vector,
        weight: float,
        theta: float,
    ) -> Forces:
        """Return the efforts and contact forces that move the robot as stated, or nearly so.

        Args:
            q: configurations, shape (K, nq).
            v: velocities, shape (K, nv).
            dt: time steps, shape (N,); [s].
            stands: contacts that may push in each interval, shape (N, nc).
            frames: rows (t₁, t₂, n) of the contact frames at its end, shape (N, nc, 3, 3).
            friction: μ of each contact, shape (nc,).
            limits: lower and upper effort of each actuator, shape (nu, 2).
            weight: the robot's weight; [N].
            theta: where in the step forces act: 1 at its end, 1/2 in its middle.
        """
        model, data = self.model, self._data
        n, nc, nu = len(dt), len(self.sites), model.nu
        strongest = np.clip(np.max(np.abs(limits), axis=1), 1e-9, weight)
        found = Forces(
            np.zeros((n, nu)), np.zeros((n, nc)), np.zeros((n, nc, 4)), np.zeros((n, nc))
        )
        for k in range(n):
            mujoco.mj_resetData(model, data)
            acting = (1.0 - theta) * v[k] + theta * v[k + 1]
            data.qpos[:], data.qvel[:] = q[k + 1], acting
            if theta != 1.0:
                data.qpos[:] = q[k]
                mujoco.mj_integratePos(model, data.qpos, acting, theta * dt[k])
            mujoco.mj_forward(model, data)
            jacobians = self.jacobians()
            moving = np.einsum("cij,cjv,v->ci", frames[k], jacobians, acting)
            found.slide[k] = np.max(np.abs(moving[:, :2]), axis=1, initial=0.0)
            supply = self._actuation() * strongest
            data.qacc[:] = (v[k + 1] - v[k]) / dt[k]
            mujoco.mj_inverse(model, data)
            pushing = np.flatnonzero(stands[k])
            edges = _pyramid_edges(frames[k][pushing], friction[pushing])  # (s, 4, 3)
            push = np.einsum("cej,cjv->vce", edges, jacobians[pushing]).reshape(model.nv, -1)
            back = np.where(limits[:, 0] < 0, -supply, 0.0)
            u, share = _share_out(
                np.hstack([supply, back]) / weight, push, data.qfrc_inverse / weight
            )
            found.u[k] = np.clip(u * strongest, limits[:, 0], limits[:, 1])
            share = share.reshape(len(pushing), 4) * weight
            found.normal[k, pushing] = share.sum(axis=1)
            found.tangent[k, pushing] = share * friction[pushing, None]
        return found

    def _actuation(self) -> Vector:
        """Return B(q) at the data's pose, shape (nv, nu)."""
        model, data = self.model, self._data
        moment = np.zeros((model.nu, model.nv))
        mujoco.mju_sparse2dense(
            moment,
            data.actuator_moment.ravel(),
            data.moment_rownnz,
            data.moment_rowadr,
            data.moment_colind.ravel(),
        )
        return moment.T * model.actuator_gainprm[:, 0]


def _smooth_velocities(steps: Vector, theta: float, at_rest: Flags) -> Vector:
    """Return v (K, nv) that minimises Σ ‖(1 − θ) v + θ v⁺ − d‖² + α Σ ‖v⁺ − 2 v + v⁻‖².

    Args:
        steps: d, the mean velocity of each interval, shape (N, nv).
        theta: θ.
        at_rest: knots at which v is zero, shape (K,).
    """
    n = len(steps)
    here = csr_array(eye_array(n + 1))
    mean = (1.0 - theta) * here[:-1] + theta * here[1:]
    bend = here[2:] - 2.0 * here[1:-1] + here[:-2]
    moving = np.flatnonzero(~at_rest)
    matrix = (mean.T @ mean + _SMOOTHNESS * bend.T @ bend + 1e-9 * here).tocsc()
    v = np.zeros((n + 1, steps.shape[1]))
    if len(moving):
        v[moving] = splu(matrix[moving][:, moving]).solve((mean.T @ steps)[moving])
    return v


def _pyramid_edges(frames: Vector, friction: Vector) -> Vector:
    """Return the edges n ± μ t of friction pyramids in the world, shape (s, 4, 3)."""
    t1, t2, normal = (
        friction[:, None] * frames[:, 0],
        friction[:, None] * frames[:, 1],
        frames[:, 2],
    )
    return np.stack([normal + t1, normal - t1, normal + t2, normal - t2], axis=1)


def _share_out(supply: Vector, push: Vector, needed: Vector) -> tuple[Vector, Vector]:
    """Return efforts and edge forces (≥ 0) whose sum is nearest to what is needed.

    Args:
        supply: effect of each effort, forwards and then backwards, shape (nv, 2 nu).
        push: effect of each edge force, shape (nv, e).
        needed: generalised force, shape (nv,).
    """
    nu, edges = supply.shape[1] // 2, push.shape[1]
    cost = np.concatenate([np.full(2 * nu, _EFFORT_WEIGHT), np.full(edges, _FORCE_WEIGHT)])
    matrix = np.vstack([np.hstack([supply, push]), np.diag(cost)])
    target = np.concatenate([needed, np.zeros(len(cost))])
    if not np.all(np.isfinite(target)) or not np.all(np.isfinite(matrix)):
        return np.zeros(nu), np.zeros(edges)
    try:
        found = nnls(matrix, target)[0]
    except RuntimeError:  # it ran out of iterations
        found = np.zeros(len(cost))
    return found[:nu] - found[nu : 2 * nu], found[2 * nu :]

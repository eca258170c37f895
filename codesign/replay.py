"""The plan outside the optimiser: MuJoCo's own contacts and integrator at 1 kHz, under feedback.

Motors follow the plan with joint feedback on top of its efforts,

    u = u_k + k_p (q_plan − q) + k_d (v_plan − v),   clipped to the motor's limit,

and robots with thrusters, which joint feedback cannot hold, with a time-varying linear-quadratic
regulator about the plan, u = u_k − K_t (x ⊖ x_plan). A plan that survives this is one that a
controller could have found; one that does not says so.

References:
    Anderson and Moore (1990), Optimal Control: Linear Quadratic Methods, ch. 2 (Riccati recursion).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.errors import SolutionError
from codesign.terrain.relief import FLAT_NAME
from codesign.terrain.scene import add_ground
from draft_core.swap import write_whole

if TYPE_CHECKING:
    from codesign.solution import Solution

Vector = NDArray[np.float64]

STEP = 1e-3  # of the simulation; [s]
LONGEST = 600.0  # motion that is replayed; [s]
_REGULATOR_STEPS = 10  # simulation steps per step of the regulator
_STIFFNESS = 2.0  # k_p: the motor's limit is reached half a radian off the plan
_DAMPING_TIME = 0.02  # k_d = k_p × this; [s]
_ARRIVAL_SHARE, _ARRIVAL = 0.25, 0.05  # of the way the plan goes; [m] or [rad]
_FALL = np.pi / 4  # a base tilted by more than this from the plan has fallen; [rad]


@dataclass(frozen=True)
class Replay:
    """How the plan fared in simulation.

    Attributes:
        t: times of the record, shape (M,); [s].
        q: simulated configurations, shape (M, nq).
        position_error: largest distance of the base (or of the first link) from the plan; [m].
        final_position_error: the same at the end; [m].
        tilt_error: largest angle of the base from the plan; [rad].
        joint_error: root-mean-square error of hinges and slides; [rad] or [m].
        saturated: share of control steps in which some effort was clipped.
        fell: whether the base tilted by more than 45° from the plan or the simulation blew up.
        arrived: whether it did not fall and ended within a quarter of the way that the plan goes
            (or 5 cm) of the plan's end.
    """

    t: Vector
    q: Vector
    position_error: float
    final_position_error: float
    tilt_error: float
    joint_error: float
    saturated: float
    fell: bool
    arrived: bool

    def to_json(self) -> dict[str, Any]:
        """Return the figures without the record."""
        return {name: v for name, v in asdict(self).items() if name not in ("t", "q")}

    def save(self, path: Path) -> Path:
        """Write the figures as JSON, whole or not at all."""
        write_whole(path, json.dumps(self.to_json(), indent=2) + "\n")
        return path


class Plan:
    """The optimised motion as a function of time."""

    def __init__(self, model: mujoco.MjModel, solution: Solution) -> None:
        """Args: the compiled design and the solution it came from."""
        self._model, self._solution = model, solution

    @property
    def duration(self) -> float:
        """Time of the last knot; [s]."""
        return float(self._solution.t[-1])

    def at(self, time: float) -> tuple[Vector, Vector, Vector]:
        """Return configuration, velocity and effort at a time."""
        s = self._solution
        k = int(np.clip(np.searchsorted(s.t, time, side="right") - 1, 0, len(s.dt) - 1))
        share = float(np.clip((time - s.t[k]) / s.dt[k], 0.0, 1.0))
        step, q = np.zeros(self._model.nv), s.q[k].copy()
        mujoco.mj_differentiatePos(self._model, step, 1.0, s.q[k], s.q[k + 1])
        mujoco.mj_integratePos(self._model, q, step, share)
        return q, step / s.dt[k], s.u[k]


def replay(solution: Solution) -> Replay:
    """Simulate a solution's plan on its own ground and measure how far it strays.

    Raises:
        SolutionError: the solution was saved without the shape of its terrain, its trajectory
            holds values that are not numbers, or it is longer than `LONGEST`.
    """
    if solution.terrain != FLAT_NAME and solution.relief is None:
        raise SolutionError(
            f"this solution walks on '{solution.terrain}', whose shape it does not hold; solve "
            "again to replay it"
        )
    moving = (solution.t, solution.q, solution.v, solution.u)
    if not all(np.all(np.isfinite(values)) for values in moving) or np.any(solution.dt <= 0):
        raise SolutionError("this solution's trajectory holds values that are not numbers or times")
    if solution.t[-1] > LONGEST:
        raise SolutionError(
            f"a motion of {solution.t[-1]:.4g} s is not replayed; at most {LONGEST:g} s are"
        )
    model = _scene(solution)
    plan = Plan(model, solution)
    has_thrusters = bool((model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_SITE)).any())
    feedback = _Regulator(model, plan) if has_thrusters else _JointFeedback(model)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = solution.q[0], solution.v[0]
    record = _Record(model)
    for i in range(int(np.ceil(plan.duration / STEP))):
        q, v, u = plan.at(i * STEP)
        wanted = u + feedback(i, data, q, v)
        low, high = model.actuator_ctrlrange.T
        data.ctrl[:] = np.clip(wanted, low, high)
        record.add(data, q, bool(np.any(wanted != data.ctrl)))
        mujoco.mj_step(model, data)
    record.add(data, plan.at(plan.duration)[0], False)
    return record.summary()


def _scene(solution: Solution) -> mujoco.MjModel:
    """Return the compiled design on its ground, stepped at 1 kHz."""
    robot = solution.robot.compile(solution.design, gates=False)
    spec = mujoco.MjSpec.from_string(robot.xml)
    ground = add_ground(spec, solution.relief)
    if not robot.model.nsite or solution.contact_force.shape[1] == 0:
        for geom in ground:
            geom.contype = geom.conaffinity = 0  # nothing was planned to touch
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return spec.compile()


class _JointFeedback:
    """Proportional-derivative feedback on every motor's joint."""

    def __init__(self, model: mujoco.MjModel) -> None:
        joints = model.actuator_trnid[:, 0]
        self._q = model.jnt_qposadr[joints]
        self._v = model.jnt_dofadr[joints]
        limit = np.abs(model.actuator_ctrlrange).max(axis=1)
        gear = model.actuator_gear[:, 0]
        self._kp = _STIFFNESS * np.where(np.isfinite(limit), limit, 1.0) * np.sign(gear)

    def __call__(self, step: int, data: mujoco.MjData, q: Vector, v: Vector) -> Vector:
        """Return the effort to add."""
        position, speed = q[self._q] - data.qpos[self._q], v[self._v] - data.qvel[self._v]
        return self._kp * (position + _DAMPING_TIME * speed)


class _Regulator:
    """Linear-quadratic feedback about the plan, from MuJoCo's own linearisation."""

    def __init__(self, model: mujoco.MjModel, plan: Plan) -> None:
        self._model = model
        self._gains = self._riccati(plan)

    def _riccati(self, plan: Plan) -> list[Vector]:
        model = self._model
        nx, nu = 2 * model.nv, model.nu
        limit = np.abs(model.actuator_ctrlrange).max(axis=1)
        effort = np.where(np.isfinite(limit) & (limit > 0), limit, 1.0)
        r = np.diag(1.0 / effort**2)
        cost = np.eye(nx)
        cost[model.nv :, model.nv :] *= 0.1
        value, gains = 10.0 * cost, []
        count = int(np.ceil(plan.duration / (STEP * _REGULATOR_STEPS)))
        for k in reversed(range(count)):
            a, b = self._linearise(plan, k * STEP * _REGULATOR_STEPS, nx, nu)
            gain = np.linalg.solve(r + b.T @ value @ b, b.T @ value @ a)
            value = cost + a.T @ value @ (a - b @ gain)
            gains.append(gain)
        return gains[::-1]

    def _linearise(self, plan: Plan, time: float, nx: int, nu: int) -> tuple[Vector, Vector]:
        model = self._model
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.ctrl[:] = plan.at(time)
        a, b = np.zeros((nx, nx)), np.zeros((nx, nu))
        small = model.opt.timestep
        model.opt.timestep = STEP * _REGULATOR_STEPS
        mujoco.mjd_transitionFD(model, data, 1e-6, True, a, b, None, None)
        model.opt.timestep = small
        return a, b

    def __call__(self, step: int, data: mujoco.MjData, q: Vector, v: Vector) -> Vector:
        """Return the effort to add."""
        gain = self._gains[min(step // _REGULATOR_STEPS, len(self._gains) - 1)]
        error = np.zeros(self._model.nv)
        mujoco.mj_differentiatePos(self._model, error, 1.0, q, data.qpos)
        return -gain @ np.concatenate([error, data.qvel - v])


class _Record:
    """Errors of a running simulation."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._free = bool(model.njnt) and int(model.jnt_type[0]) == int(mujoco.mjtJoint.mjJNT_FREE)
        self._times: list[float] = []
        self._q: list[Vector] = []
        self._errors: list[Vector] = []
        self._clipped: list[bool] = []
        self._planned: list[Vector] = []

    def add(self, data: mujoco.MjData, q: Vector, clipped: bool) -> None:
        """Note one instant."""
        error = np.zeros(self._model.nv)
        mujoco.mj_differentiatePos(self._model, error, 1.0, q, data.qpos)
        self._times.append(float(data.time))
        self._q.append(data.qpos.copy())
        self._errors.append(error)
        self._clipped.append(clipped)
        self._planned.append(q)

    def _way(self) -> float:
        """Return how far the plan strays from its beginning, base or joints; [m] or [rad]."""
        q = np.array(self._planned)
        part = q[:, :3] if self._free else q
        return float(np.abs(part - part[0]).max(initial=0.0))

    def summary(self) -> Replay:
        """Return the figures."""
        errors = np.array(self._errors)
        blew_up = not np.isfinite(errors).all()
        errors = np.nan_to_num(errors, nan=1e9, posinf=1e9, neginf=-1e9)
        base = 6 if self._free else 0
        position = np.linalg.norm(errors[:, :3], axis=1) if self._free else np.zeros(len(errors))
        tilt = np.linalg.norm(errors[:, 3:6], axis=1) if self._free else np.zeros(len(errors))
        joints = errors[:, base:]
        fell = bool(blew_up or tilt.max() > _FALL)
        strayed = position[-1] if self._free else np.abs(joints[-1]).max(initial=0.0)
        return Replay(
            t=np.array(self._times[::10]),
            q=np.array(self._q[::10]),
            position_error=float(position.max()),
            final_position_error=float(position[-1]),
            tilt_error=float(tilt.max()),
            joint_error=float(np.sqrt(np.mean(joints**2))) if joints.size else 0.0,
            saturated=float(np.mean(self._clipped)),
            fell=fell,
            arrived=bool(not fell and strayed <= max(_ARRIVAL_SHARE * self._way(), _ARRIVAL)),
        )

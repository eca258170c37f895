"""A six-legged robot that walks by formula, shaped like a solved problem.

The report needs only the attributes of a solution, so it is tested without solving anything.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import mujoco
import numpy as np

from codesign.audit import Audit, Violation
from codesign.physics import EnergyAudit
from codesign.solution import DesignValue, PhaseRecord, Solution
from codesign.solve.status import SolveStatus

if TYPE_CHECKING:
    from draft_core import Robot

LEGS = {
    "fl": (0.12, 1),
    "fr": (0.12, -1),
    "ml": (0, 1),
    "mr": (0, -1),
    "rl": (-0.12, 1),
    "rr": (-0.12, -1),
}


def walker_model() -> mujoco.MjModel:
    legs = "".join(
        f"""
        <body name="leg_{name}" pos="{x} {0.06 * side} 0">
          <joint name="leg_{name}" axis="0 1 0" range="-1.5 1.5"/>
          <geom type="capsule" size="0.012 0.069" pos="0 {0.012 * side} -0.069" mass="0.02"/>
          <site name="foot_{name}" pos="0 {0.012 * side} -0.15"/>
        </body>"""
        for name, (x, side) in LEGS.items()
    )
    motors = "".join(
        f'<motor name="leg_{n}" joint="leg_{n}" ctrlrange="-1.5 1.5" ctrllimited="true"/>'
        for n in LEGS
    )
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco><worldbody>
      <body name="body" pos="0 0 0.15"><freejoint/>
        <geom type="box" size="0.15 0.05 0.025" mass="0.4"/>
        <geom type="cylinder" size="0.03 0.012" pos="0.05 0 0.037" mass="0.01"/>
        <geom type="sphere" size="0.015" pos="0.155 0 0" mass="0.01"/>
        <site name="nose" pos="0.16 0 0"/>{legs}
      </body></worldbody><actuator>{motors}</actuator></mujoco>""")


def walker_solution(model: mujoco.MjModel, **changes) -> Solution:
    knots = 17
    t = np.linspace(0.0, 4.0, knots)
    phase = 2 * np.pi * t
    q = np.zeros((knots, model.nq))
    q[:, 0] = 0.45 * t / t[-1]
    q[:, 2] = 0.15 + 0.005 * np.sin(2 * phase)
    pitch = 0.1 * (t / t[-1]) ** 4
    q[:, 3], q[:, 5] = np.cos(pitch / 2), np.sin(-pitch / 2)
    swing = np.where(np.arange(6) % 2 == 0, 1.0, -1.0)
    q[:, 7:] = 0.35 * np.sin(phase / 2)[:, None] * swing
    stance = np.maximum(0.0, np.sin(phase[:-1, None] / 2 + np.pi / 2 * (1 - swing)))
    force = np.zeros((knots - 1, 6, 3))
    force[..., 2], force[..., 0] = 2.2 * stance, 0.3 * stance * swing
    u = 0.05 * np.cos(phase[:-1, None] / 2 + 0.2 * np.arange(6)) * swing
    work = 0.02 * np.abs(np.sin(phase[:-1]))
    names = ["leg_length", "leg_mass", "body_mass", "body_x", "body_y", "body_z"]
    lower = [0.05, 0.02, 0.3, 0.2, 0.05, 0.02]
    upper = [0.2, 0.1, 0.5, 0.4, 0.2, 0.1]
    final = [0.1498, 0.02, 0.3, 0.31, 0.11, 0.05]
    solution = Solution(
        problem="Hexapod",
        options={"beta": 0.0},
        seed=0,
        status=SolveStatus.SOLVED,
        message="every residual is below its tolerance",
        objective=0.0512,
        design_values={
            name: DesignValue(value, "kg" if "mass" in name else "m", low, high, (low + high) / 2)
            for name, value, low, high in zip(names, final, lower, upper, strict=True)
        },
        t=t,
        q=q,
        v=np.zeros((knots, model.nv)),
        u=u,
        contact_force=force,
        dt=np.diff(t),
        normal=force[..., 2],
        tangent=np.zeros((knots - 1, 6, 4)),
        slide=np.zeros((knots - 1, 6)),
        audit=Audit(
            worst=(
                Violation("complementarity", 7, "foot_ml", 8.7e-5, "", 8.7e-5),
                Violation("dynamics", 3, "leg_fl", 3.1e-9, "N m", 1e-9),
                Violation("duration", None, "", 1e-12, "s", 1e-12),
            ),
            max_dynamics_residual=3.1e-9,
            max_violation=2.4e-8,
            max_complementarity=8.7e-5,
            energy=EnergyAudit(0.6 * work, work, -0.3 * work, 0 * work),
            objective=0.0512,
        ),
        notes=("nothing depends on design variable 'body_y': it keeps its initial value",),
        phases=(
            PhaseRecord("feasibility", 1.0, 120, "Solve_Succeeded", 0.0, 1e-7, 6.1),
            PhaseRecord("objective", 1e-2, 202, "Solve_Succeeded", 0.061, 1e-7, 9.4),
            PhaseRecord("objective", 1e-4, 90, "Solve_Succeeded", 0.0512, 2e-8, 6.2),
        ),
        wall_s=21.7,
        build_s=2.9,
        robot_folder="robots/walker",
        robot=cast("Robot", SimpleNamespace(contact_names=tuple(f"foot_{name}" for name in LEGS))),
        robot_source={},
        versions={"codesign": "0.1.0", "mujoco": "4.0.0", "jax": "0.10.2", "casadi": "3.8.2"},
    )
    return replace(solution, **changes)
